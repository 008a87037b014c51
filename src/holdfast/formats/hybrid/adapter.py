"""The `hybrid` format: `.claude/state/workflow.json` with a Markdown view of it (document 000)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingError, StateError
from holdfast.files.lock import locked
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import record, store, transitions, view
from holdfast.formats.hybrid.foreign import foreign
from holdfast.formats.hybrid.past import follow, parsed, restore, written
from holdfast.formats.hybrid.view import generate_markdown
from holdfast.workflow import assignments, extras
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Changes, Found, Judged, Phase, Problem, Start, Status, Workflow
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from holdfast.formats.hybrid.transitions import Mover
    from holdfast.workflow.records import Records

__all__ = [
    "NAME",
    "Workflow",
    "brief",
    "candidates",
    "change",
    "find",
    "foreign",
    "generate_markdown",
    "judge",
    "match_phase",
    "move",
    "noted",
    "parsed",
    "reopen",
    "restore",
    "start",
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


def change(
    project: Records,
    workflow: Workflow,
    edit: Callable[[Draft], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Workflow:
    """Run `edit` on the workflow's draft, then write its state, its view and what is kept beside the state.

    `repair` writes a broken file again from its last generation, even if nothing changes. Raises TransitionError,
    StateError.
    """
    made: list[_Draft] = []

    def apply(data: dict[str, Any]) -> None:
        store.expect(data, workflow.id)
        made[:] = [_Draft(data)]
        edit(made[0])

    with locked(files.path(project).parent):
        store.change(project, apply, why=why, error=error, repair=repair)
        draft = made[0]
        if draft.extra is not None:
            extras.add(project, workflow.path, workflow.id, draft.extra)
        if draft.notes is not None:
            extras.write_notes(project, workflow.path, workflow.id, draft.notes)
        now = find(project).workflows[0]
        project.observe(now)
        return now


class _Draft(Draft):
    """The JSON of the state file during one change, moved by a person."""

    advances = True  # R000-35

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extra: Changes | None = None
        self.notes: dict[str, Any] | None = None

    def units(self) -> tuple[Phase, ...]:
        return files.read_phases(self.data, [])

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        transitions.move(self.data, self._index(id), status, handover=note, advance=False)

    def reopen(self, id: str) -> None:
        transitions.reopen(self.data, self._index(id))
        self.notes = {}

    def end(self, *, early: bool) -> None:
        transitions.finish(self.data)

    def cancel(self, reason: str) -> None:
        transitions.cancel(self.data)
        self.notes = {extras.CANCELLED: reason}

    def add(self, changes: Changes) -> None:
        self.extra = changes

    def unit(self, id: str) -> Phase:
        return self.units()[self._index(id)]

    def rename(self, id: str, title: str) -> None:
        self.data["phases"][self._index(id)]["title"] = title

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        transitions.move(self.data, self._index(id), None, handover=text or "", deliverables=deliverables)

    def nothing_due(self) -> str:
        return f"{files.FILE} lists no phases; `holdfast done --all` ends the workflow"

    def _index(self, id: str) -> int:
        return store.index_of(self.data, id)


def noted(workflow: Workflow, changes: Changes, note: str) -> Changes:
    """Return changes with a note on the current phase: what it hands over once it is completed, else a context value.

    An unfinished phase has no hand-over (R000-12).
    """
    if changes.status == "completed" or (changes.status is None and workflow.phase_status == "completed"):
        before = next((each.handover for each in workflow.phases if each.number == workflow.current), "")
        return replace(changes, handover="\n".join(filter(None, (before, changes.handover, note))))
    return changes.with_note(workflow, note)


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
    return assignments.match_phase(workflow, text, agent)


def judge(project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
    """Move a phase because of its agent. The deliverables of a finished one are read from its words (I000-14).

    The result is extracted first, then the state is written, then the view (R000-28). Raises StateError if state or
    view can't be written; another call writes what is missing.
    """
    deliverables, handover = assignments.extract_result(words) if status == "completed" else ((), "")
    error = words if status == "failed" else ""
    with locked(files.path(project).parent):
        moved = move(project, phase_id, status, deliverables=deliverables, handover=handover, error=error)
        view.insist(project, files.load(project).data)
    return Judged(*moved)


def brief(project: Records, workflow: Workflow, phase: Phase) -> None:
    """Return None: an agent gets no brief of its phase, since its prompt holds the hand-over."""


def reopen(project: Records, phase_id: str) -> Workflow:
    """Make a completed or failed phase active again; for people only, never for a hook (I000-15)."""

    def edit(data: dict[str, Any]) -> None:
        transitions.reopen(data, store.index_of(data, phase_id))

    return store.change(project, edit, why=f"{phase_id} reopened")[0]
