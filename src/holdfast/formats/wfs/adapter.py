"""The `wfs` format: sessions in `.workflow/` with hierarchical tasks, one JSON file each (document 002)."""

from __future__ import annotations

import heapq
import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import HoldfastError, LargeError, StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, index, markers, places, store, transitions, turns
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import session as sessions
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.agents import match as match_phase
from holdfast.formats.wfs.change import changing
from holdfast.formats.wfs.foreign import foreign
from holdfast.formats.wfs.next import nothing_due, ready, step
from holdfast.formats.wfs.past import parsed, restore, written
from holdfast.formats.wfs.task import New
from holdfast.workflow import extras, manyfiles, statefile
from holdfast.workflow import views as outlines
from holdfast.workflow.model import Brief, Changes, Found, Judged, Problem, Start, Workflow
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.transitions import After
    from holdfast.workflow.model import Phase, Status
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import Room

__all__ = [
    "NAME",
    "begin",
    "brief",
    "candidates",
    "done",
    "find",
    "foreign",
    "judge",
    "match_phase",
    "parsed",
    "ready",
    "restore",
    "start",
    "step",
    "undoing",
    "update",
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
    same = [each for each in find(project).workflows if each.title == start.title and not each.finished]
    if same and not start.replace:
        raise TransitionError(
            f"{quoted(start.title)} ({same[0].id}) is in the way: it is unfinished; {outlines.ways(project, same[0])}"
        )
    if start.total is not None and not start.phases:
        raise TransitionError(f"the {NAME} format has no --total, because it lists each task; name them with --phase")
    if not start.replace:
        turns.leave(project, turns.active(project), start.session, "add --replace to pause it all the same")

    def fill(session: Session) -> None:
        with extras.begun(project, places.state(session.folder), session.name, start):
            if start.phases:
                transitions.chain(project, session, [New(title, agent=_agent(agent)) for title, agent in start.phases])

    session = store.create(project, start.title, start.kind, fill=fill)
    return _observed(project, views.of_session(project, store.get(project, session.name)))


def begin(project: Records, workflow: Workflow) -> Workflow:
    """Begin the next task that can be begun; do nothing while one is active."""
    session = _going(project, workflow)
    board = index.board(project, session.folder)
    due = next(iter(board.current), None)
    if due is None or due.status == "active":
        return views.of_session(project, session)
    return _after(project, transitions.begin(project, session, due.id))


def done(project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
    """Complete the current task with `note` as its summary and begin the next; the last one completes the session.

    Nothing happens if somebody else completed the task meanwhile. With `everything`, the session is ended and its
    remaining tasks stay as they are, so that nothing claims to be done that isn't. Raises TransitionError.
    """
    session = _session(project, workflow)
    if workflow.finished:
        raise TransitionError(f"{session.name} is completed; `holdfast wfs resume {session.name}` opens it again")
    if everything:
        return _observed(project, views.of_session(project, store.complete(project, session.name, anyway=True)))
    _going(project, workflow)
    if not workflow.due:
        raise TransitionError(f"{session.name}: {nothing_due(index.board(project, session.folder))}")
    after = transitions.complete(project, session, workflow.due[0], note)
    if after.board.finished:
        now = _observed(project, views.of_session(project, store.complete(project, after.session.name)))
    else:
        now = begin(project, _after(project, after)) if after.changed else views.of_session(project, after.session)
    return _warned(now, after.notes)


def update(project: Records, workflow: Workflow, changes: Changes) -> Workflow:
    """Change the status, title or summary of the current task, or of task number `changes.current`.

    If `changes.phase` is the title of another task, that task is changed instead. Reading, reminders and context are
    stored beside the session's state (`extras`). Raises TransitionError.
    """
    session, notes = _session(project, workflow), list[str]()
    if changes.total not in (None, workflow.total) or changes.deliverables:
        raise TransitionError(
            f"the {NAME} format has no --total and no --deliverable; `holdfast wfs task add TITLE` adds a task, and "
            "--context writes a summary"
        )
    if changes.error and changes.status not in ("blocked", "failed"):  # else it would belong to any blocked task
        raise TransitionError("only a blocked task has an error; add --status blocked")
    task, title = _task_meant(workflow, changes)
    jump = changes.current is not None or (title is None and changes.phase is not None)
    status = changes.status or ("active" if jump else None)
    if task is not None and status is not None:
        session = _going(project, workflow)
    if task is not None:
        alone = not any(each.status == "active" for each in workflow.phases)
        notes = _move(project, session, task, status, title or "", changes.handover or "", anyway=jump and alone)
    with changing(project, session, why="update") as change:
        extras.add(project, workflow.path, session.name, changes)
    now = views.workflow(project, change.session, change.board)
    return _warned(_observed(project, now, error=changes.error), [*notes, *change.notes])


def _task_meant(workflow: Workflow, changes: Changes) -> tuple[Phase | None, str | None]:
    """Return the task that a change is about, and its new title, None for none. Raises TransitionError."""
    number, title = workflow.current, changes.phase
    other = next((each for each in workflow.phases if title and each.title == title), None)
    if changes.current is not None:
        number = changes.current
    elif other is not None:
        number, title = other.number, None
    task = next((each for each in workflow.phases if each.number == number), None)
    wanted = changes.phase or changes.status or changes.handover is not None or changes.current is not None
    if task is None and wanted:
        which = "no task is current" if number is None else f"no task is phase {number}"
        raise TransitionError(f"{workflow.id}: {which}; `holdfast wfs task list` shows the tasks")
    return (task if wanted else None), title


def _move(
    project: Records,
    session: Session,
    task: Phase,
    status: Status | None,
    title: str,
    summary: str,
    *,
    anyway: bool,
) -> list[str]:
    """Move a task and give it a title or a summary; return notes for the user."""
    done = list[transitions.After]()
    if status == "completed":
        done.append(transitions.complete(project, session, task.id, summary))
    elif status == "active":
        done.append(transitions.begin(project, session, task.id, anyway=anyway))
    elif status in ("blocked", "failed"):
        done.append(transitions.block(project, session, task.id))
    elif status == "pending":
        raise TransitionError("a task can't become pending again; add --status blocked instead")
    if title or (summary and status != "completed"):
        rest = "" if status == "completed" else summary
        done.append(transitions.note(project, session, task.id, title=title, summary=rest))
    return [note for each in done for note in each.notes]


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
        with locked(session.folder):  # if it can't be written, the task is judged again
            lists.insist(project, after.session, after.board)
    return Judged(observed, after.changed, remark, after.notes)


def brief(project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
    """Return a task as its agent gets it, with everything it inherits (R002-44); None if it can't be read."""
    from holdfast.formats.wfs import context as contexts
    from holdfast.formats.wfs import steps

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


def undoing(phase_id: str) -> str:
    """Return the command with which a person makes a completed task active again."""
    return f"holdfast wfs task reopen {phase_id}"


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


def _going(project: Records, workflow: Workflow) -> Session:
    """Return a session. Raises TransitionError if it is paused, so that nobody goes on with it by accident."""
    session = _session(project, workflow)
    if session.standing == "paused":
        raise TransitionError(f"{session.name} is paused; `holdfast wfs resume {session.name}` continues it")
    return session


def _after(project: Records, after: After) -> Workflow:
    return _warned(_observed(project, views.workflow(project, after.session, after.board)), after.notes)


def _warned(workflow: Workflow, notes: Iterable[str]) -> Workflow:
    return replace(workflow, warnings=(*workflow.warnings, *notes))


def _observed(project: Records, workflow: Workflow, error: str = "") -> Workflow:
    project.observe(workflow, error=error, at=clock.stamp())
    return workflow


def _agent(name: str) -> str:
    return name if not name or name.startswith("@") else f"@{name}"
