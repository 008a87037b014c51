"""The `hybrid` format: `.claude/state/workflow.json` with a Markdown view of it (document 000)."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingError, StateError, TransitionError
from holdfast.project import Project
from holdfast.workflow import values
from holdfast.workflow.formats import hybrid_file as files
from holdfast.workflow.formats import hybrid_moves as moves
from holdfast.workflow.formats import hybrid_store as store
from holdfast.workflow.formats.hybrid_agents import extract_result, match_phase
from holdfast.workflow.formats.hybrid_view import generate_markdown
from holdfast.workflow.model import Changes, Found, Phase, Problem, Start, Status, Step, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.workflow.formats.hybrid_moves import Mover

__all__ = [
    "NAME",
    "Workflow",
    "begin",
    "create_workflow_state",
    "done",
    "extract_result",
    "find",
    "generate_markdown",
    "get_workflow_state",
    "match_phase",
    "move",
    "reopen",
    "start",
    "step",
    "update",
    "update_phase_status",
]

NAME = files.NAME
DEFAULT_AGENT = "general-purpose"


def create_workflow_state(
    task: str, phases: Iterable[tuple[str, str] | str], *, root: str | os.PathLike[str] | None = None
) -> str:
    """Create the project's workflow with its view, and return its id `wf_YYYYMMDD_HHMMSS` (R000-16).

    `phases` are (title, agent) pairs; a title alone gets the agent general-purpose. `root` is the project, by default
    the one around the working directory. Raises TransitionError over an unfinished workflow, NotOurs over a file of
    another schema (I000-17).
    """
    pairs = tuple((phase, DEFAULT_AGENT) if isinstance(phase, str) else (phase[0], phase[1]) for phase in phases)
    return start(_project(root), Start(title=task, phases=pairs)).id


def update_phase_status(
    workflow_id: str,
    phase_id: str,
    status: Status,
    deliverables: Sequence[str] | None = None,
    context_for_next: str | None = None,
    *,
    advance: bool = True,
    root: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Set a phase's status, write the view and return the new state (R000-18); the to-do list is not touched.

    What is omitted stays (I000-3). Completing advances to the next phase unless `advance` is false (I000-7); a second
    completion changes nothing that was written (I000-8). Raises TransitionError, and HoldfastError for a wrong id.
    """
    project = _project(root)

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow_id)
        index = store.index_of(data, phase_id)
        given, handover = deliverables or (), context_for_next or ""
        moves.move(data, index, status, deliverables=given, handover=handover, advance=advance)

    return copy.deepcopy(store.change(project, edit, why=f"{phase_id} {status}")[0].data)


def get_workflow_state(workflow_id: str, *, root: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the state with this id (R000-19). Raises HoldfastError when the project's workflow is another or none."""
    data = files.load(_project(root)).data
    store.expect(data, workflow_id)
    return copy.deepcopy(data)


def find(project: Project) -> Found:
    """Return the project's one workflow of this format, or a problem where its file cannot be read."""
    try:
        file = files.load(project)
    except MissingError:
        return Found()
    except StateError as error:
        return Found(problems=(Problem(error.path, error.reason),))
    broken = (Problem(file.path, f"{file.broken}; its last generation is used"),) if file.broken else ()
    return Found((files.view(project, file),), broken)


def start(project: Project, start: Start) -> Workflow:
    """Create the workflow; a finished one gives way and stays as a generation. Raises TransitionError, NotOurs."""
    if not start.title.strip() or not start.phases or not all(title.strip() for title, _ in start.phases):
        raise TransitionError("a hybrid workflow needs a task and at least one phase, each with a title")

    def make(id_: str) -> dict[str, Any]:
        return {**files.fresh(id_, start.title, list(start.phases)), **_extras(start)}

    return files.view(project, store.create(project, make))


def begin(project: Project, workflow: Workflow) -> Workflow:
    """Start the first pending phase, unless one is active or failed."""

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        moves.begin(data)

    return files.view(project, store.change(project, edit, why="begin")[0])


def done(project: Project, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
    """Complete the current phase, leave `note` for the next and start it; the last one completes the workflow.

    When somebody else completed the phase meanwhile nothing happens. Raises TransitionError when it failed.
    """

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        if everything:
            moves.finish(data, note)
        else:
            seen = workflow.current if workflow.phase_status != "completed" else None
            moves.done(data, None if seen is None else seen - 1, note)

    return files.view(project, store.change(project, edit, why="done")[0])


def update(project: Project, workflow: Workflow, changes: Changes) -> Workflow:
    """Apply changes to the current phase, or to phase `changes.current`, which becomes active without a status.

    Reading, reminders and context are kept as extra keys of the file (R000-38). Raises TransitionError.
    """

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        _apply(data, changes)

    return files.view(project, store.change(project, edit, why="update")[0])


def step(workflow: Workflow) -> Step | None:
    """Return the active, failed or next pending phase with the prompt for its agent (R000-35), or None at the end."""
    phase = _due(workflow)
    if phase is None:
        return None
    handover = workflow.phases[phase.number - 2].handover if phase.number > 1 else ""
    verb = {"active": "go on with", "failed": "retry"}.get(phase.status, "start")
    agent = f" with the agent {phase.agent}" if phase.agent else ""
    text = f'{verb} phase {phase.number}/{workflow.total} "{phase.title}" ({phase.id}){agent}'
    prompt = f"{phase.title}\n\nContext: {handover}" if handover else phase.title
    return Step(phase.number, workflow.total, phase.title, phase.agent, prompt, text)


def move(
    project: Project,
    phase_id: str,
    status: Status | None,
    *,
    deliverables: Sequence[str] = (),
    handover: str = "",
    advance: bool = True,
    by: Mover = "hook",
) -> tuple[Workflow, bool]:
    """Change one phase in a single read and write under the lock, the view after it (R000-21, R000-24).

    Returns the workflow as it is now and whether anything changed. What is not allowed does nothing when `by` a hook
    and raises TransitionError for a person; `status` None writes only deliverables and hand-over.
    """

    def edit(data: dict[str, Any]) -> None:
        index = store.index_of(data, phase_id)
        moves.move(data, index, status, deliverables=deliverables, handover=handover, advance=advance, by=by)

    file, changed = store.change(project, edit, why=f"{phase_id} {status or 'noted'}")
    return files.view(project, file), changed


def reopen(project: Project, phase_id: str) -> Workflow:
    """Make a completed or failed phase active again; for people only, never for a hook (I000-15)."""

    def edit(data: dict[str, Any]) -> None:
        moves.reopen(data, store.index_of(data, phase_id))

    return files.view(project, store.change(project, edit, why=f"{phase_id} reopened")[0])


def _project(root: str | os.PathLike[str] | None) -> Project:
    from holdfast import paths

    return Project.open(paths.find_root(os.fspath(root) if root is not None else None, os.environ, Path.cwd()))


def _extras(start: Start) -> dict[str, Any]:
    extras = {
        files.TYPE: start.kind,
        files.READING: list(map(values.at, start.reading)),
        files.REMINDERS: list(start.reminders),
        files.CONTEXT: dict(start.context),
    }
    return {key: value for key, value in extras.items() if value}


def _due(workflow: Workflow) -> Phase | None:
    if workflow.finished:
        return None
    current = next((phase for phase in workflow.phases if phase.number == workflow.current), None)
    if current and current.status != "completed":
        return current
    unfinished = [phase for phase in workflow.phases if phase.status != "completed"]
    return min(unfinished, key=lambda phase: (phase.status == "pending", phase.number), default=None)


def _apply(data: dict[str, Any], changes: Changes) -> None:
    if changes.total not in (None, len(data["phases"])):
        raise TransitionError(f"a hybrid workflow has the phases it lists, {len(data['phases'])}")
    if changes.current is not None and not 1 <= changes.current <= len(data["phases"]):
        raise TransitionError(f"phase {changes.current} is not one of the {len(data['phases'])} phases")
    index = moves.due(data) if changes.current is None else changes.current - 1
    wants_phase = changes.phase or changes.status or changes.deliverables or changes.handover is not None
    if index is None and wants_phase:
        raise TransitionError("no phase is current; name one")
    if index is not None and (wants_phase or changes.current is not None):
        status = changes.status or ("active" if changes.current is not None else None)
        moves.move(data, index, status, deliverables=changes.deliverables, handover=changes.handover or "")
        if changes.phase:
            data["phases"][index]["title"] = changes.phase
    for key, new in ((files.READING, tuple(map(values.at, changes.reading))), (files.REMINDERS, changes.reminders)):
        if new:
            data[key] = values.added(data.get(key), new)
    if changes.context:
        data[files.CONTEXT] = {**values.mapping(data.get(files.CONTEXT), files.CONTEXT, []), **changes.context}
