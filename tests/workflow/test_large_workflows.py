"""A workflow of any size gets its guidance: what is rendered is bounded, and a sentence says what was left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.clients.client import Client
from holdfast.config import Config
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance, registry, wording
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.workflow.model import Workflow

MANY = 30_000


def write(root: Path, place: str, data: dict[str, Any]) -> None:
    path = root / place
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(data))


def hybrid(root: Path) -> None:
    half = MANY // 2
    statuses = ["completed"] * half + ["active"] + ["pending"] * (half - 1)
    phases = [
        {
            "id": f"p{n}",
            "title": f"Title {n}",
            "agent": "",
            "status": status,
            "deliverables": [],
            "context_for_next": "",
        }
        for n, status in enumerate(statuses)
    ]
    data = {"id": "wf_1", "task": "Big", "status": "active", "current_phase": f"p{half}", "phases": phases}
    write(root, ".claude/state/workflow.json", data)


def compaction(root: Path, **changes: Any) -> None:
    data = {
        "workflow": "Big",
        "workflow_type": "custom",
        "phase": {"current": 2, "total": 4, "name": "Build", "status": "in_progress"},
        "required_reading": [],
        "context": {},
        "key_reminders": [],
        "created_at": "2026-01-01T00:00:00Z",
    }
    write(root, "untracked/workflow-state/big/state-big-20260101_000000.json", data | changes)


def listed_phases(root: Path) -> None:
    where = {"current": MANY // 2, "total": MANY, "name": "Build", "status": "in_progress"}
    compaction(root, phase=where, context={"phases": [f"Title {n}" for n in range(MANY)]})


LARGE: dict[str, Callable[[Path], None]] = {
    "hybrid phases": hybrid,
    "compaction phases": listed_phases,
    "reading": lambda root: compaction(root, required_reading=[f"@docs/{n}.md" for n in range(MANY)]),
    "reminders": lambda root: compaction(root, key_reminders=[f"Mind {n}" for n in range(MANY)]),
    "context": lambda root: compaction(root, context={f"k{n}": "v" for n in range(MANY)}),
    "nested context": lambda root: compaction(root, context={"k": [["v"] * 100] * (MANY // 100)}),
}


def load(root: Path) -> Workflow:
    (workflow,) = registry.all_found(Workspace(root, Config(), client=Client())).workflows
    return workflow


@each_row("name", LARGE)
def test_what_is_rendered_is_bounded(tmp_path: Path, name: str) -> None:
    """However many facts there are; the next step is always told."""
    LARGE[name](tmp_path)
    workflow = load(tmp_path)
    given = guidance.build(workflow, root=tmp_path, sidecar=tmp_path / "sidecar.md")
    assert "Next step: " in given.text
    assert "Workflow: Big" in given.text
    assert (
        f"more lines were not looked at, this workflow being too large: `holdfast status {workflow.id}`" in given.text
    )
    assert "more lines were not looked at" in given.sidecar_text
    assert wording.units(given.text) <= guidance.LIMIT_UNITS
    assert len(given.sidecar_text) <= 2 * guidance.SIDECAR_LIMIT_CHARS
