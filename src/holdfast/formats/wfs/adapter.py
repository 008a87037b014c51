"""The `wfs` format: sessions in `.workflow/` with hierarchical tasks, one JSON file each (document 002)."""

from __future__ import annotations

import heapq
import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import HoldfastError, LargeError, StateError, TransitionError, command_line
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, index, markers, places, steps, store, transitions, turns
from holdfast.formats.wfs import context as contexts
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import session as sessions
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.change import changing
from holdfast.formats.wfs.foreign import foreign
from holdfast.formats.wfs.next import nothing_due, step
from holdfast.formats.wfs.past import parsed, restore, written
from holdfast.formats.wfs.task import New
from holdfast.workflow import assignments, extras, manyfiles, statefile
from holdfast.workflow import views as outlines
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Brief, Found, Judged, Problem, Start, Workflow
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.model import Changes, Phase, Status
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import Room

__all__ = [
    "NAME",
    "brief",
    "candidates",
    "change",
    "find",
    "foreign",
    "judge",
    "match_phase",
    "parsed",
    "restore",
    "start",
    "step",
    "with_keys",
    "written",
]

NAME = views.NAME
SUMMARY_LIMIT_CHARS = 20_000
"""Characters of an agent's last message that become a task's summary."""
MOST = 16
"""Last changed sessions that an event reads, besides those that are marked or wanted."""


def find(project: Records) -> Found:
    """Return the project's sessions as workflows."""
    folders = store.folders(project)
    return _read(project, folders, len(folders))


def candidates(project: Records, keys: Collection[str]) -> Found:
    """Return the sessions that an event can be about: those with these keys, the marked ones, the last changed.

    The first is read whatever its size, the others as far as `statefile.BUDGET_BYTES` goes.
    """
    at = {each.name: each for each in store.folders(project)}
    wanted = [*_named(keys), *markers.newest_first(project, markers.active(project))[:MOST]]
    found, _ = manyfiles.newest(dict.fromkeys(at, 0), lambda name: _changed(at[name]), wanted)
    last = dict.fromkeys([*wanted, *heapq.nlargest(MOST, found, key=found.__getitem__)])
    return _read(project, [at[name] for name in last if name in at], len(at), statefile.Room())


def with_keys(project: Records, keys: Collection[str]) -> Found:
    """Return the sessions with these keys, and no others."""
    there = [places.top(project) / name for name in _named(keys) if places.has(project, name)]
    return _read(project, there, len(there), statefile.Room())


def _named(keys: Collection[str]) -> list[str]:
    """Return the names of the sessions with some keys."""
    paths = [key.removeprefix(f"{NAME}:").rpartition("#")[0] for key in keys if key.startswith(f"{NAME}:")]
    return list(dict.fromkeys(parts[1] for path in paths if len(parts := path.split("/")) > 2))


def start(project: Records, start: Start) -> Workflow:
    """Make a session with the given phases as tasks, one after the other, and activate it (R002-09).

    Raises:
        TransitionError: the type is unknown, or a session of this title is unfinished (with `replace` it is paused).
        StateError: it can't be written.
    """
    if start.kind and start.kind not in choice.COMPLEXITIES:
        raise TransitionError(
            f"the {NAME} format has no type {quoted(start.kind)}; it knows {', '.join(choice.COMPLEXITIES)}"
        )
    if start.total is not None and not start.phases:
        raise TransitionError(f"the {NAME} format has no --total, because it lists each task; name them with --phase")
    with locked(places.top(project)):  # else two who start the same at once both find nothing in the way
        return _start(project, start)


def _start(project: Records, start: Start) -> Workflow:
    same = [each for each in find(project).workflows if each.title == start.title and not each.finished]
    if same and not start.replace:
        raise TransitionError(
            f"{quoted(start.title)} ({same[0].id}) is in the way: it is unfinished; {outlines.ways(project, same[0])}"
        )
    if not start.replace:
        turns.leave(project, turns.active(project), start.session, "add --replace to pause it all the same")

    def fill(session: Session) -> None:
        with extras.begun(project, places.state(session.folder), session.name, start):
            if start.phases:
                transitions.chain(project, session, [New(title, agent=_agent(agent)) for title, agent in start.phases])

    session = store.create(project, start.title, start.kind, fill=fill)
    return _observed(project, views.of_session(project, store.get(project, session.name)))


def change(
    project: Records,
    workflow: Workflow,
    edit: Callable[[Draft], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Workflow:
    """Run `edit` on the session's draft under its lock. Each move of a task is written at once.

    The session's state is always written again if it is broken. Raises TransitionError, StateError.
    """
    draft = _Draft(project, _session(project, workflow))
    with locked(places.top(project)), locked(draft.session.folder):
        edit(draft)
        if draft.extra is not None:
            with changing(project, draft.session, why=why):
                extras.add(project, workflow.path, draft.session.name, draft.extra)
        elif repair and draft.session.file.broken:
            with changing(project, draft.session, why=why):
                pass
        return _warned(_observed(project, draft.workflow(), error), draft.notes)


class _Draft(Draft):
    """A session during one change."""

    unit_word = "task"

    def __init__(self, project: Records, session: Session) -> None:
        self.project, self.session = project, session
        self.notes: list[str] = []
        self.extra: Changes | None = None

    def workflow(self) -> Workflow:
        """Return the session as it is now."""
        return views.of_session(self.project, store.get(self.project, self.session.name))

    def units(self) -> Sequence[Phase]:
        return self.workflow().phases

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        self._insist_active()
        if status == "pending":
            self.refuse("a task can't become pending again; add --status blocked instead")
        if status == "completed":
            after = transitions.complete(self.project, self.session, id, note)
        elif status == "active":
            alone = all(each.status != "active" for each in self.units())
            after = transitions.begin(self.project, self.session, id, anyway=alone)
        else:
            after = transitions.block(self.project, self.session, id)
        self.notes += after.notes

    def reopen(self, id: str) -> None:
        if self.session.standing != "active":
            self.session = store.resume(self.project, self.session.name)
        self.notes += transitions.begin(self.project, self.session, id, anyway=True, reopen=True).notes

    def end(self, *, early: bool) -> None:
        store.complete(self.project, self.session.name, anyway=early)

    def cancel(self, reason: str) -> None:
        store.pause(self.project, self.session.name, why="cancel")

    def add(self, changes: Changes) -> None:
        self.extra = changes

    def rename(self, id: str, title: str) -> None:
        self.notes += transitions.note(self.project, self.session, id, title=title).notes

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        if deliverables:
            self.refuse("a task keeps no deliverables; --context writes its summary")
        self.notes += transitions.note(self.project, self.session, id, summary=text or "").notes

    def resize(self, total: int) -> None:
        if total != len(self.units()):
            self.refuse("a session lists each task; `holdfast wfs task add TITLE` adds one")

    def following(self, completed: str = "") -> Phase | None:
        self._insist_active()
        now = self.workflow()
        if any(each.status == "active" for each in now.phases):
            return None
        return next((each for each in now.phases if each.id in now.due[:1]), None)

    def all_completed(self) -> bool:
        return self._board().finished

    def nothing_due(self) -> str:
        return f"{self.session.name}: {nothing_due(self._board())}"

    def _insist_active(self) -> None:
        """Refuse to move a paused session, so that nobody goes on with it by accident."""
        if self.session.standing == "paused":
            name = self.session.name
            self.refuse(f"{name} is paused; `{command_line('wfs', 'resume', name)}` continues it")

    def _board(self) -> Board:
        return index.board(self.project, self.session.folder)


def judge(project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
    """Move a task because of its agent: a completed one gets the agent's words as summary, a failed one is blocked.

    A hook never completes a session. If all tasks are done, that is reported and left to whoever works in it. Raises
    TransitionError if the session is completed, so that the agent's words aren't stored, and StateError if task,
    session or list can't be written; another call writes what is missing.
    """
    session = _session(project, workflow)
    remark = ""
    if status == "active":
        if session.standing == "completed":
            return Judged(workflow, changed=False)
        after, remark = transitions.launch(project, session, phase_id)
        if not after.tasks:
            return Judged(workflow, changed=False)
    elif status == "completed":
        after = transitions.complete(project, session, phase_id, words[:SUMMARY_LIMIT_CHARS])
    else:
        after = transitions.block(project, session, phase_id)
    observed = _observed(
        project, views.workflow(project, after.session, after.board), words if status == "failed" else ""
    )
    if not after.board.ticked_early:
        with locked(session.folder):  # another agent may have ended since; if it fails, the task is judged again
            lists.insist(project, after.session, index.board(project, session.folder))
    return Judged(observed, after.changed, remark, after.notes)


def match_phase(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the task an agent was launched for (`assignments.match_phase`)."""
    return assignments.match_phase(workflow, text, agent)


def brief(project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
    """Return a task as its agent gets it, with everything it inherits (R002-44); None if it can't be read."""
    try:
        session = _session(project, workflow)
        board = index.board(project, session.folder)
        task = board.find(phase.id)
        taken = steps.standings(
            contexts.read(project, session, task.name), steps.runs(project, views.key(session), task.id)
        )
        given = contexts.task_context(project, session, board, task, steps.outputs(taken))
    except HoldfastError:
        return None
    return Brief(given.lines(), f"holdfast wfs task show {task.id} --for-agent --session {session.name}")


def _read(project: Records, folders: Iterable[Path], total: int, room: Room | None = None) -> Found:
    marked = markers.newest_first(project, markers.active(project))
    going = marked
    if len(marked) > 1:
        there = (each for each in marked[:MOST] if places.has(project, each))
        going = [each for each in there if not sessions.is_over(project, places.top(project) / each)]
    found, problems, left = list[Workflow](), list[Problem](), total
    for number, folder in enumerate(folders):
        spent = room if number else None
        try:
            if spent is not None and not spent.take([_size(folder)]):
                continue
            board = index.board(project, folder, spent)
        except LargeError:
            continue
        left -= 1
        try:
            session = sessions.load(project, folder, marked=folder.name in marked)
        except StateError as error:
            problems.append(Problem(error.path, error.reason))
            continue
        if session.file.broken:
            problems.append(
                Problem(session.file.path, f"{session.file.broken}{statefile.KEPT_IS_USED}{statefile.DOCTOR_SAYS_HOW}")
            )
        problems += board.problems
        workflow = views.workflow(project, session, board)
        if len(going) > 1 and session.marked and session.standing != "completed":
            said = f"several sessions are marked as active, and {going[0]} counts"
            said = f"{said}; `holdfast wfs repair` unmarks the others"
            rests = session.name != going[0]
            status: Status = "pending" if rests else workflow.status
            workflow = replace(workflow, paused=rests, status=status, warnings=(said, *workflow.warnings))
        found.append(workflow)
    return Found(tuple(found), tuple(problems), left)


def _changed(folder: Path) -> int:
    """Return when a session's state was last changed (ns since 1970); Holdfast writes it with each of its tasks."""
    with suppress(OSError):
        return os.stat(places.state(folder)).st_mtime_ns  # noqa: PTH116 - of each of many, for each event
    return 0


def _size(folder: Path) -> int:
    with suppress(OSError):
        return places.state(folder).stat().st_size
    return 0


def _session(project: Records, workflow: Workflow) -> Session:
    return store.get(project, workflow.id)


def _warned(workflow: Workflow, notes: Iterable[str]) -> Workflow:
    return replace(workflow, warnings=(*workflow.warnings, *notes))


def _observed(project: Records, workflow: Workflow, error: str = "") -> Workflow:
    project.observe(workflow, error=error, at=clock.stamp())
    return workflow


def _agent(name: str) -> str:
    return name if not name or name.startswith("@") else f"@{name}"
