"""The Markdown view of a `hybrid` workflow, generated from its state and never read back (R000-24)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast import log
from holdfast.errors import MissingError, StateError
from holdfast.files import atomic, document
from holdfast.formats.hybrid import schema
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.workflow.records import Records

FILE = ".claude/workflow_state_system.md"  # R000-22, I000-18

_HEADING = "# Workflow Status: "
_NUMBERED = re.compile(r"phase_(\d{1,6})")


def generate_markdown(workflow: Mapping[str, Any]) -> str:
    """Return the view of a state (the JSON object of the state file) in the form of R000-23 and I000-13.

    It depends on the state alone (R000-20) and shows its status, a completed workflow's too (R000-25). Line breaks
    inside values become spaces. N is the number in the phase's id.
    """
    phases = [schema.complete(phase, number) for number, phase in enumerate(workflow.get("phases") or [])]
    current = next((phase for phase in phases if phase["id"] == workflow.get("current_phase")), None)
    title = _line(current["title"]) if current else "none"
    head = [
        f"{_HEADING}{_line(workflow.get('task'))}",
        "",
        f"Status: {_line(workflow.get('status'))} | Current Phase: {title}",
        "",
        "## Phases",
        "",
    ]
    return "\n".join([*head, *(_row(phase, number) for number, phase in enumerate(phases))]) + "\n"


def write(project: Records, workflow: Mapping[str, Any]) -> None:
    """Write the view of a state if it differs. Hold the state's lock. Raises StateError if it can't be written.

    A file that doesn't begin like a view belongs to somebody else and stays, which is only logged.
    """
    path = project.root / FILE
    if not is_current(project, workflow):
        atomic.write(path, rendered(workflow), durable=False)
    elif stranger(project):
        log.write("warning", f"{path}: isn't a view that Holdfast wrote, so it isn't overwritten. Rename it to get one")


def is_current(project: Records, workflow: Mapping[str, Any]) -> bool:
    """Return whether the view shows a state, or is somebody else's file. Raises StateError if it can't be read."""
    statefile.guard(project.root, project.root / FILE)
    present = _present(project)
    return present == rendered(workflow) or _is_strange(present)


def stranger(project: Records) -> str:
    """Say why the file in the view's place isn't Holdfast's; empty if it is, or if there is none."""
    try:
        statefile.guard(project.root, project.root / FILE)
        present = _present(project)
    except StateError as error:
        return error.reason
    return f'is somebody else\'s: it does not begin with "{_HEADING.strip()}"' if _is_strange(present) else ""


def _is_strange(present: bytes) -> bool:
    return bool(present) and not present.startswith(_HEADING.encode())


def rendered(workflow: Mapping[str, Any]) -> bytes:
    """Return the bytes of the view of a state."""
    return generate_markdown(workflow).encode("utf-8", "replace")


def _present(project: Records) -> bytes:
    try:
        return document.read(project.root / FILE, within=project.root)[0]
    except MissingError:
        return b""


def _row(phase: Mapping[str, Any], number: int) -> str:
    """Return a phase's line, in which a failed phase is marked (I000-12)."""
    match = _NUMBERED.fullmatch(values.text(phase["id"]))
    line = f"Phase {match[1] if match else number}: {_line(phase['title'])}"
    status = schema.read_status(phase["status"])
    if status != "completed":
        return f"- [ ] {line} ✗ failed" if status == "failed" else f"- [ ] {line}"
    delivered = ", ".join(map(_line, values.texts(phase["deliverables"], "", [])))
    return f"- [x] {line} → {delivered}" if delivered else f"- [x] {line}"


def _line(value: Any) -> str:
    return " ".join(values.text(value).split())
