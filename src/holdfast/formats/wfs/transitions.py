"""The transitions of `wfs` tasks: add, decompose, begin, complete, block (R002-45)."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError, TransitionError
from holdfast.formats.wfs import choice, ids, places, rules
from holdfast.formats.wfs import edit as edits
from holdfast.formats.wfs import task as tasks
from holdfast.formats.wfs.change import changing
from holdfast.formats.wfs.edit import Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.change import Change
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.task import New
    from holdfast.workflow.records import Records


NOTHING = Edit({})


class After(NamedTuple):
    """A session after a change.

    Attributes:
        session: the session as it is now.
        board: its tasks as they are now.
        tasks: the tasks that were changed or added.
        changed: whether anything was changed.
        notes: notes for the user.
        changes: the changes in a task, a sentence each.
    """

    session: Session
    board: Board
    tasks: tuple[Brief, ...]
    changed: bool = True
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


def add(project: Records, session: Session, new: New, parent: str = "", edit: Edit = NOTHING) -> After:
    """Add a task or, with `parent`, a subtask; a parent becomes a container with its first subtask (R002-47).

    Raises:
        HoldfastError: a value breaks a rule, or there is no such parent.
        TransitionError: the parent can't have subtasks, or the session is completed.
        StateError: it cannot be written.
    """
    return decompose(project, session, parent, [new], edit) if parent else _add(project, session, new, edit)


def chain(project: Records, session: Session, new: Sequence[New]) -> After:
    """Add tasks in one change, each of which depends on the one before. Raises as `add` does."""
    with changing(project, session, why="add tasks") as change:
        made, last = list[str](), _known(change.board)
        for each in new:
            _refuse_new(each, change)
            id_ = ids.following(last)
            change.create(id_, tasks.fresh(id_, replace(each, depends_on=tuple(made[-1:]))))
            made.append(id_)
            last = [id_]
    return _after(change, made)


def decompose(project: Records, session: Session, parent: str, new: Sequence[New], edit: Edit = NOTHING) -> After:
    """Decompose a task into subtasks that inherit its context (R002-31, R002-47); it becomes a container.

    Each subtask gets the values of `edit`. Raises as `add` does.
    """
    with changing(project, session, why=f"decompose {parent}") as change:
        above = change.board.find(parent)
        _refuse_parent(above, change.board)
        for each in new:
            _refuse_new(each, change)
        data = change.read(above.name)
        known, made = _known(change.board), list[str]()
        for each in new:
            id_ = ids.following([*known, *made], above.id)
            change.create(id_, _edited(change, id_, tasks.fresh(id_, each, data), edit))
            made.append(id_)
        change.edit(above.name, lambda data: data.update(status="container"))
    return _after(change, made)


def begin(project: Records, session: Session, id_: str, *, anyway: bool = False, reopen: bool = False) -> After:
    """Begin a task (R002-17). Several may be active at a time. An active task stays as it is.

    Args:
        project: the project.
        session: the task's session.
        id_: the task's id.
        anyway: whether to begin it even if it waits for others.
        reopen: whether to begin it even if it is completed; for people only, never for a hook.

    Raises:
        TransitionError: it is a container, is completed, or waits for others.
    """
    with changing(project, session, why=f"begin {id_}") as change:
        task = change.board.find(id_)
        _refuse_container(task, change.board, "begun")
        waits = change.board.waits_for(task)
        if waits and not anyway:
            raise TransitionError(
                f"{task.id} depends on {', '.join(waits)}, which is not completed; add --anyway to begin it now"
            )
        if task.status == "completed" and not reopen:
            raise TransitionError(f"{task.id} is completed; `holdfast wfs task reopen {task.id}` begins it again")
        changed = task.raw_status != "active" and change.edit(task.name, lambda data: data.update(status="active"))
    return _after(change, [task.id], changed=changed)


def launch(project: Records, session: Session, id_: str) -> tuple[After, str]:
    """Begin a task because an agent was launched for it, whatever it waits for.

    Returns:
        The session, without tasks if this one is gone or completed by now; and what speaks against the launch.

    Raises:
        HoldfastError: several files have the task's id.
        TransitionError: the task is a container.
    """
    with changing(project, session, why=f"begin {id_}") as change:
        there = change.board.get(id_)
        if there is None or there.status == "completed":
            return _after(change, [], changed=False), ""
        task = change.board.find(id_)
        _refuse_container(task, change.board, "begun")
        waits = change.board.waits_for(task)
        remark = f"it depends on {', '.join(waits)}, not completed yet" if waits else ""
        remark = "it was blocked" if task.status == "blocked" else remark
        changed = task.raw_status != "active" and change.edit(task.name, lambda data: data.update(status="active"))
    return _after(change, [task.id], changed=changed), remark


def complete(project: Records, session: Session, id_: str, summary: str = "") -> After:
    """Complete a task and write its summary (R002-14, R002-39); its container is completed with its last subtask.

    A task that is completed already only gets a missing summary.

    Raises:
        TransitionError: it is a container.
    """
    with changing(project, session, why=f"complete {id_}") as change:
        task = change.board.find(id_)
        _refuse_container(task, change.board, "completed")
        has = task.id in places.summarised(session.folder)
        changed = False
        if summary.strip() and (task.status != "completed" or not has):
            change.summarise(task.id, _summary(task, summary))  # first, because a completed task isn't redone
            changed = True
        if task.raw_status != "completed":
            changed = change.edit(task.name, lambda data: data.update(status="completed")) or changed
    return _after(change, [task.id], changed=changed)


def block(project: Records, session: Session, id_: str) -> After:
    """Block a task until it is begun again. Raises TransitionError if it is a container or completed."""
    with changing(project, session, why=f"block {id_}") as change:
        task = change.board.find(id_)
        _refuse_container(task, change.board, "blocked")
        if task.status == "completed":
            raise TransitionError(f"{task.id} is completed; `holdfast wfs task reopen {task.id}` begins it again")
        changed = task.raw_status != "blocked" and change.edit(task.name, lambda data: data.update(status="blocked"))
    return _after(change, [task.id], changed=changed)


def note(
    project: Records,
    session: Session,
    id_: str,
    *,
    title: str = "",
    summary: str = "",
) -> After:
    """Give a task a new title or a summary; its status stays as it is."""
    with changing(project, session, why=f"note on {id_}") as change:
        task = change.board.find(id_)
        changed = bool(title) and change.edit(task.name, lambda data: data.update(title=title))
        if summary.strip():
            change.summarise(task.id, _summary(task, summary))
            changed = True
    return _after(change, [task.id], changed=changed)


def change(project: Records, session: Session, id_: str, edit: Edit) -> After:
    """Change a task's content, but not its status.

    Raises:
        HoldfastError: the task would break a rule that it doesn't break yet, or a value to remove isn't there.
        TransitionError: the session is completed.
        StateError: it cannot be written.
    """
    with changing(project, session, why=f"set {id_}") as change:
        task = change.board.find(id_)
        said, remarks = list[str](), list[str]()

        def apply(data: dict[str, Any]) -> None:
            before = copy.deepcopy(data)
            said[:] = edits.apply(data, edit)
            remarks[:] = edits.refuse(task.name, before, data, change.board, change.exists)

        changed = change.edit(task.name, apply)
    after = _after(change, [task.id], changed=changed)
    return after._replace(notes=(*remarks, *after.notes), changes=tuple(said))


def _edited(change: Change, name: str, data: dict[str, Any], edit: Edit) -> dict[str, Any]:
    if edit.given:
        edits.apply(data, edit)
        change.notes += edits.refuse(name, {}, data, change.board, change.exists)
    return data


def _add(project: Records, session: Session, new: New, edit: Edit) -> After:
    with changing(project, session, why="add a task") as change:
        _refuse_new(new, change)
        id_ = ids.following(_known(change.board))
        change.create(id_, _edited(change, id_, tasks.fresh(id_, new), edit))
    return _after(change, [id_])


def _known(board: Board) -> list[str]:
    """Return every id in use, including those of unreadable files and those in file names only."""
    names = [problem.path.stem for problem in board.problems]
    return [*names, *(name for task in board.tasks for name in (task.id, task.name))]


def _refuse_new(new: New, change: Change) -> None:
    if not new.title.strip():
        raise HoldfastError("a task needs a title: `holdfast wfs task add TITLE`")
    if new.kind and new.kind not in choice.TYPES:
        raise HoldfastError(f"{new.kind!r} is not a type of task; the types are {', '.join(choice.TYPES)}")
    unknown = [each for each in new.depends_on if change.board.get(each) is None]
    if unknown:
        raise HoldfastError(
            f"there is no task {', '.join(unknown)} to depend on; `holdfast wfs task list` shows the tasks"
        )
    for path in new.focus_paths:
        if wrong := rules.inexact(path, change.exists):
            raise HoldfastError(f"the focus path {path!r} can't be used: {wrong[0]}; {wrong[1]}")


def _refuse_parent(above: Brief, board: Board) -> None:
    if above.key and above.key.is_sub:
        raise TransitionError(f"{above.id} can't have subtasks: an id has two levels at most; add a task of its own")
    numbered = [each for each in board.tasks if each.key and each.key.parent == above.key]
    if between := [each.id for each in numbered if not board.parent_id(each)]:
        raise TransitionError(
            f"{above.id} can't have subtasks, or {', '.join(between)} would be one too; add a task of its own"
        )
    if not board.is_container(above) and above.status == "completed":
        raise TransitionError(
            f"{above.id} is completed; add a task of its own, or reopen it with `holdfast wfs task reopen {above.id}`"
        )


def _refuse_container(task: Brief, board: Board, what: str) -> None:
    if board.is_container(task):
        children = ", ".join(each.id for each in board.children(task)) or "none yet"
        raise TransitionError(
            f"{task.id} is a container and can't be {what} itself; its status follows from its subtasks ({children})"
        )


def _summary(task: Brief, text: str) -> str:
    body = text.strip()
    return f"{body}\n" if body.startswith("#") else f"# {task.id}: {task.title}\n\n{body}\n"


def _after(change: Change, named: Sequence[str], *, changed: bool = True) -> After:
    found = tuple(task for id_ in named if (task := change.board.get(id_)))
    return After(change.session, change.board, found, changed, tuple(change.notes))
