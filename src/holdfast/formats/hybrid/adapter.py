"""The `hybrid` format: `.claude/state/workflow.json` with a Markdown view of it (document 000)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingError, StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import record, store, transitions, view
from holdfast.formats.hybrid.past import follow, parsed, restore, written
from holdfast.formats.hybrid.view import generate_markdown
from holdfast.workflow import extras
from holdfast.workflow.model import Changes, Found, Judged, Phase, Problem, Start, Status, Step, Workflow
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from holdfast.formats.hybrid.transitions import Mover
    from holdfast.workflow.model import Foreign
    from holdfast.workflow.records import Records

__all__ = [
    "NAME",
    "Workflow",
    "begin",
    "brief",
    "candidates",
    "done",
    "find",
    "foreign",
    "generate_markdown",
    "judge",
    "match_phase",
    "move",
    "noted",
    "parsed",
    "ready",
    "reopen",
    "restore",
    "start",
    "step",
    "undoing",
    "update",
    "written",
]

NAME = files.NAME


def find(project: Records) -> Found:
    """Return the project's one workflow, or a problem if its file can't be read.

    The file alone holds the state, for every session (R000-36). Without the file there is no workflow, and hooks have
    nothing to do (R000-27).
    """
    try:
        file = files.load(project)
    except MissingError:
        return Found()
    except StateError as error:
        return Found(problems=(Problem(error.path, error.reason),))
    broken = (Problem(file.path, file.trouble),) if file.broken else ()
    workflow, problems = extras.merged(project, files.view(project, file))
    return Found((workflow,), broken + problems)


def candidates(project: Records, keys: Collection[str]) -> Found:
    """Return what `find` does, since there is at most one workflow.

    If somebody owns it, its files follow what was changed by hand.
    """
    found = find(project)
    owned = (follow(project, each) if project.owner(each) else each for each in found.workflows)
    return Found(tuple(owned), found.problems)


def foreign(project: Records) -> Iterator[Foreign]:
    """Yield the files of other programs (`foreign.py`)."""
    from holdfast.formats.hybrid.foreign import foreign  # imported here, because no event asks

    yield from foreign(project)


def start(project: Records, start: Start) -> Workflow:
    """Create the workflow with its phases (R000-33). A finished one is replaced and stays in the archive.

    A phase without an agent gets general-purpose, because the document requires one (R000-09). If others have an agent,
    a warning says so. Raises TransitionError, SchemaMismatch.
    """
    phases = tuple((title, agent or record.DEFAULT_AGENT) for title, agent in start.phases)
    workflow = store.create(project, replace(start, phases=phases))
    without = [quoted(title) for title, agent in start.phases if not agent]
    if not without or len(without) == len(phases):
        return workflow
    warning = f"each hybrid phase needs an agent, so {', '.join(without)} got {record.DEFAULT_AGENT}"
    return replace(workflow, warnings=(*workflow.warnings, warning))


def begin(project: Records, workflow: Workflow) -> Workflow:
    """Start the first pending phase, unless one is active or failed."""

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        transitions.begin(data)

    return store.change(project, edit, why="begin")[0]


def done(project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
    """Complete the current phase and start the next, which gets `note` (R000-34); the last completes the workflow.

    With `everything`, the workflow is ended, and phases that never began stay pending, so that nothing claims to be
    done that isn't. Nothing happens if somebody else completed the phase meanwhile. Raises TransitionError if the phase
    failed, or if the workflow was completed already or lists no phases.
    """
    if workflow.finished:
        raise TransitionError(
            f"{quoted(workflow.title)} is completed; `holdfast hybrid reopen PHASE` makes a phase active again"
        )
    if not workflow.phases and not everything:
        raise TransitionError(f"{workflow.place} lists no phases; `holdfast done --all` ends the workflow")

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        if everything:
            transitions.finish(data, note)
        else:
            seen = workflow.current if workflow.phase_status != "completed" else None
            transitions.done(data, None if seen is None else seen - 1, note)

    return store.change(project, edit, why="done")[0]


def update(project: Records, workflow: Workflow, changes: Changes) -> Workflow:
    """Apply changes to the current phase, or to phase `changes.current`, which becomes active if no status is given.

    Reading, reminders and context are kept in a file beside the state (`extras`). A broken state file is replaced by
    its last generation with the changes applied, even if they change nothing. Raises TransitionError.
    """

    def edit(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        _apply(data, changes)

    with locked(files.path(project).parent):
        store.change(project, edit, why="update", error=changes.error, repair=True)
        extras.add(project, workflow.path, workflow.id, changes)
        return find(project).workflows[0]


def noted(workflow: Workflow, changes: Changes, note: str) -> Changes:
    """Return changes with a note on the current phase: what it hands over once it is completed, else a context value.

    An unfinished phase has no hand-over (R000-12).
    """
    if changes.status == "completed" or (changes.status is None and workflow.phase_status == "completed"):
        before = next((each.handover for each in workflow.phases if each.number == workflow.current), "")
        return replace(changes, handover="\n".join(filter(None, (before, changes.handover, note))))
    return changes.with_note(workflow, note)


def step(workflow: Workflow) -> Step | None:
    """Return the active, failed or next pending phase with its agent's prompt (R000-34, R000-35); None at the end.

    The prompt's context is the hand-over of the phase before it; the first phase has none (I000-4).
    """
    phase = _due(workflow)
    if phase is None:
        return None
    handover = workflow.phases[phase.number - 2].handover if phase.number > 1 else ""
    verb = {"active": "go on with", "failed": "retry"}.get(phase.status, "start")
    agent = f" (agent {phase.agent})" if phase.agent else ""
    text = f'{verb} phase {phase.number}/{workflow.total} "{phase.title}"{agent}'
    prompt = f"{phase.title}\n\nContext: {handover}" if handover else phase.title
    return Step(phase.number, workflow.total, phase.title, phase.agent, prompt, text)


def move(
    project: Records,
    phase_id: str,
    status: Status | None,
    *,
    deliverables: Sequence[str] = (),
    handover: str = "",
    advance: bool = True,
    error: str = "",
    by: Mover = "hook",
) -> tuple[Workflow, bool]:
    """Change one phase in a single read and write under the lock, then write the view (R000-21, R000-24).

    Returns the workflow as it is now and whether anything changed. A move that isn't allowed does nothing if `by` is a
    hook and raises TransitionError for a person. With `status` None, only deliverables and hand-over are written.
    `error` is what a failed phase said, for the ledger.
    """

    def edit(data: dict[str, Any]) -> None:
        index = store.index_of(data, phase_id)
        transitions.move(data, index, status, deliverables=deliverables, handover=handover, advance=advance, by=by)
        if by == "person":
            transitions.check_error(data, index, error)

    return store.change(project, edit, why=f"{phase_id} {status or 'noted'}", error=error)


def match_phase(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the phase an agent was launched for (`assignments.match_phase`)."""
    from holdfast.workflow import assignments  # imported here, because most events launch no agent

    return assignments.match_phase(workflow, text, agent)


def judge(project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
    """Move a phase because of its agent. The deliverables of a finished one are read from its words (I000-14).

    The result is extracted first, then the state is written, then the view (R000-28). Raises StateError if state or
    view can't be written; another call writes what is missing.
    """
    from holdfast.workflow import assignments

    deliverables, handover = assignments.extract_result(words) if status == "completed" else ((), "")
    error = words if status == "failed" else ""
    with locked(files.path(project).parent):
        moved = move(project, phase_id, status, deliverables=deliverables, handover=handover, error=error)
        view.insist(project, files.load(project).data)
    return Judged(*moved)


def brief(project: Records, workflow: Workflow, phase: Phase) -> None:
    """Return None: an agent gets no brief of its phase, since its prompt holds the hand-over."""


def ready(workflow: Workflow) -> tuple[Phase, ...]:
    """Return the phase that is due, if no phase is active, because only one is active at a time (R000-15)."""
    due = None if any(each.status == "active" for each in workflow.phases) else _due(workflow)
    return (due,) if due else ()


def undoing(phase_id: str) -> str:
    """Return the command with which a person makes a completed phase active again (I000-15)."""
    return f"holdfast hybrid reopen {phase_id}"


def reopen(project: Records, phase_id: str) -> Workflow:
    """Make a completed or failed phase active again; for people only, never for a hook (I000-15)."""

    def edit(data: dict[str, Any]) -> None:
        transitions.reopen(data, store.index_of(data, phase_id))

    return store.change(project, edit, why=f"{phase_id} reopened")[0]


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
        raise TransitionError(
            f"the file lists {count(len(data['phases']), 'phase')}, and --total can't change that; to have other "
            "phases, start a new workflow"
        )
    if changes.current is not None and not 1 <= changes.current <= len(data["phases"]):
        raise TransitionError(
            f"there is no phase {changes.current}; the workflow has {count(len(data['phases']), 'phase')}, from 1 on"
        )
    index = transitions.due(data) if changes.current is None else changes.current - 1
    wants_phase = changes.phase or changes.status or changes.deliverables or changes.handover is not None
    if index is None and wants_phase:
        raise TransitionError("no phase is current; name one with --phase N")
    if index is not None and (wants_phase or changes.current is not None):
        status = changes.status or ("active" if changes.current is not None else None)
        transitions.move(data, index, status, deliverables=changes.deliverables, handover=changes.handover or "")
        if changes.phase:
            data["phases"][index]["title"] = changes.phase
    transitions.check_error(data, index, changes.error)
