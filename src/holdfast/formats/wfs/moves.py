"""Change the tasks of a `wfs` session: add, decompose, begin, complete, block (R002-45).

Each change holds the lock of the session's folder. The session's state and its list follow from the tasks.
"""

from __future__ import annotations

import copy
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError, MissingError, StateError, TransitionError, command_line
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, ids, paths, schema, session, todo_list, tree
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.tree import Task, Tree
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


@dataclass(frozen=True, slots=True)
class NewTask:
    """The values of a new task.

    Attributes:
        title: what to do.
        kind: its type; empty derives it from the title.
        agent: who works on it; empty derives it from type and title.
        requirements: what it must do.
        focus_paths: where in the project it is done.
        acceptance: how to tell that it is done.
        depends_on: the ids of the tasks that come before it.
    """

    title: str
    kind: str = ""
    agent: str = ""
    requirements: tuple[str, ...] = ()
    focus_paths: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()


class Moved(NamedTuple):
    """A session after a change.

    Attributes:
        session: the session as it is now.
        tree: its tasks as they are now.
        tasks: the tasks that were changed or added.
        changed: whether anything was changed.
        notes: notes for the user.
        remark: what is unusual about the move, in a few words.
    """

    session: Session
    tree: Tree
    tasks: tuple[Task, ...]
    changed: bool
    notes: tuple[str, ...]
    remark: str = ""


def content(id_: str, new: NewTask, above: Task | None = None) -> dict[str, Any]:
    """Return the content of a new task's file, with exactly the schema's keys (R002-19, R002-22).

    Args:
        id_: its id.
        new: its values.
        above: the parent task, whose context it inherits (R002-31); None for none.
    """
    kind = new.kind or choice.type_of(new.title)
    context = above.context if above else None
    inherited = [*context.handed_down, *context.requirements] if context else []
    return {
        "id": id_,
        "title": new.title,
        "status": "pending",
        "meta": {"type": kind, "agent": new.agent or choice.agent_of(kind, new.title)},
        "context": {
            "requirements": list(new.requirements),
            "focus_paths": list(new.focus_paths) or list(context.focus_paths if context else ()),
            "acceptance": list(new.acceptance),
            "parent": above.id if above else None,
            "depends_on": list(new.depends_on),
            "inherited": {"from": above.id if above else None, "context": list(dict.fromkeys(inherited))},
            "shared_context": dict(context.shared_context) if context else {},
        },
        "flow_control": {
            "pre_analysis": [],
            "implementation_approach": {"task_description": "", "modification_points": [], "logic_flow": []},
            "target_files": [],
        },
    }


@contextmanager
def changing(project: Records, wanted: Session, *, why: str) -> Iterator[Change]:
    """Change tasks of a session in a block, after which the session's state and list are updated.

    Raises:
        TransitionError: the session is completed; a late change must not revive it.
        StateError: its folder is gone or can't be written.
    """
    statefile.guard(project.root, paths.state(wanted.folder))
    if not wanted.folder.is_dir():
        raise StateError(wanted.folder, "has been moved or removed, so nothing is written there")
    with locked(wanted.folder):
        now = session.load(project, wanted.folder, marked=wanted.marked)
        now.ensure_open()
        change = Change(project, now, why)
        try:
            yield change
        finally:
            if change.written or sys.exc_info()[0] is None:  # also after half a change
                change.close()


class Change:
    """A change of a session's tasks, while its folder is locked.

    Attributes:
        session: the session, before the change and after it.
        tree: its tasks before the change, and after it (`close`).
        written: whether a file was written.
        notes: notes for the user.
    """

    def __init__(self, project: Records, session: Session, why: str) -> None:
        self._project = project
        self._why = why
        self.session = session
        self.tree = tree.read(project, session.folder)
        self.written = False
        self.notes: list[str] = []
        self._list_before = todo_list.generate(session, self.tree)

    def edit(self, task: Task, edit: Callable[[dict[str, Any]], None]) -> bool:
        """Change a task's file and return whether it was written. All else in it stays. Raises StateError."""

        def apply(file: StateFile) -> dict[str, Any]:
            data = copy.deepcopy(file.data)
            edit(data)
            return data

        path = paths.task(self.session.folder, task.name)
        _, written = statefile.rewrite(self._project, path, apply, why=self._why)
        self.written = self.written or written
        return written

    def set_status(self, task: Task, status: str) -> bool:
        """Write a task's status unless it has it; return whether it was written. Raises StateError."""
        return task.raw_status != status and self.edit(task, lambda data: data.update(status=status))

    def create(self, name: str, data: dict[str, Any]) -> None:
        """Write the file of a new task.

        Raises:
            HoldfastError: a value breaks a rule of the document.
            StateError: there is such a file already.
        """
        exists = schema.Strict(lambda path: (self._project.root / path).exists())
        wrong = [each for each in schema.faults(schema.TaskFile, data, exists) if each.rule]
        if wrong:
            raise HoldfastError("; ".join(f"{each.field}: {each.problem}; {each.remedy}" for each in wrong))
        path = paths.task(self.session.folder, name)
        if os.path.lexists(path):
            raise StateError(path, "is there already")
        statefile.write(self._project, path, data, None, why=self._why)
        self.written = True

    def summarize(self, task: Task, text: str) -> None:
        """Write a task's summary; an earlier one is saved as a version. Raises StateError."""
        path, body = paths.summary(self.session.folder, task.id), text.strip()
        with suppress(MissingError):
            self._project.keep(path, document.read(path, within=self._project.root)[0], why=f"before {self._why}")
        whole = f"{body}\n" if body.startswith("#") else f"# {task.id}: {task.title}\n\n{body}\n"
        atomic.write(path, whole.encode("utf-8", "replace"))

    def close(self) -> None:
        """Update the session's state (R002-46, I002-24) and its list (R002-45, I002-3) from the tasks."""
        self.tree = tree.read(self._project, self.session.folder)
        self.session = follow(self._project, self.session, self.tree, why=self._why)
        if news := todo_list.write_or_log(self._project, self.session, self.tree, self._list_before):
            self.notes.append(news)

    def moved(self, *ids_: str, changed: bool = True, remark: str = "") -> Moved:
        """Return the session as it is after the change, with the tasks that have these ids."""
        tasks = tuple(task for id_ in ids_ if (task := self.tree.get(id_)))
        return Moved(self.session, self.tree, tasks, changed, tuple(self.notes), remark)


def follow(project: Records, wanted: Session, tasks: Tree, *, why: str) -> Session:
    """Write into a session's state what follows from its tasks. Hold its folder's lock. Raises StateError."""

    def apply(file: StateFile) -> dict[str, Any]:
        return followed(file.data, tasks)

    file, _ = statefile.rewrite(project, paths.state(wanted.folder), apply, why=why, repair=True)
    return session.view(file, wanted.folder, marked=wanted.marked)


def followed(state: Mapping[str, Any], tasks: Tree) -> dict[str, Any]:
    """Return a session's state with what follows from its tasks (R002-46, I002-24)."""
    data = copy.deepcopy(dict(state))
    data["progress"] = progress = values.members(data.get("progress"))
    passed = schema.read(schema.SessionFile, state).progress.completed_phases
    data["type"] = choice.upgraded(str(data.get("type") or ""), len(tasks.leaves))
    plan, implement, review = schema.PHASES
    if data.get("current_phase") == review and tasks.leaves and not tasks.finished:  # one was reopened or added
        data["current_phase"] = implement
        passed = [each for each in passed if each not in (implement, review)]
    reached = [(plan, implement)] if any(each.status != "pending" for each in tasks.leaves) else []
    reached += [(implement, review)] if tasks.finished else []
    for phase, following in reached:
        if data.get("current_phase") in (phase, None, ""):
            data["current_phase"] = following
        passed += [] if phase in passed else [phase]
    progress["completed_phases"] = passed
    progress["current_tasks"] = [each.id for each in tasks.current]
    return data


def add(project: Records, wanted: Session, new: NewTask, parent: str = "") -> Moved:
    """Add a task or, with `parent`, a subtask; a parent becomes a container with its first subtask (R002-47).

    Raises:
        HoldfastError: a value breaks a rule, or there is no such parent.
        TransitionError: the parent can't have subtasks, or the session is completed.
        StateError: it cannot be written.
    """
    return decompose(project, wanted, parent, [new]) if parent else chain(project, wanted, [new])


def chain(project: Records, wanted: Session, new: Sequence[NewTask]) -> Moved:
    """Add tasks in one change, each of which depends on the one before. Raises as `add` does."""
    added = list[str]()
    with changing(project, wanted, why="add tasks" if len(new) > 1 else "add a task") as change:
        for each in new:
            _check_new(each, change.tree)
            id_ = ids.following([*change.tree.known_ids, *added])
            data = content(id_, each)
            data["context"]["depends_on"] += added[-1:]
            change.create(id_, data)
            added.append(id_)
    return change.moved(*added)


def decompose(project: Records, wanted: Session, parent: str, new: Sequence[NewTask]) -> Moved:
    """Decompose a task into subtasks that inherit its context (R002-31, R002-47); it becomes a container.

    Raises as `add` does.
    """
    added = list[str]()
    with changing(project, wanted, why=f"decompose {parent}") as change:
        above = change.tree.find(parent)
        _check_parent(above, change.tree)
        for each in new:
            _check_new(each, change.tree)
        for each in new:
            id_ = ids.following([*change.tree.known_ids, *added], above.id)
            change.create(id_, content(id_, each, above))
            added.append(id_)
        change.set_status(above, "container")
    return change.moved(*added)


def begin(project: Records, wanted: Session, id_: str, *, anyway: bool = False, reopen: bool = False) -> Moved:
    """Begin a task (R002-17). Several may be active at a time. An active task stays as it is.

    Args:
        project: the project.
        wanted: the task's session.
        id_: the task's id.
        anyway: whether to begin it even if it waits for others.
        reopen: whether to begin it even if it is completed; for people only, never for a hook.

    Raises:
        TransitionError: it is a container, is completed, or waits for others.
    """
    with changing(project, wanted, why=f"begin {id_}") as change:
        task = change.tree.find(id_)
        _check_leaf(task, change.tree, "begun")
        waits = ", ".join(change.tree.waits_for(task))
        if waits and not anyway:
            raise TransitionError(
                f"{task.id} depends on {waits}, which is not completed; complete that first, or take it out of "
                f"depends_on in {paths.TASKS}/{task.name}.json"
            )
        if task.status == "completed" and not reopen:
            raise TransitionError(f"{task.id} is completed; {_reopening(task)} begins it again")
        changed = change.set_status(task, "active")
    remark = f"it depends on {waits}, not completed yet" if waits else ""
    return change.moved(task.id, changed=changed, remark="it was blocked" if task.status == "blocked" else remark)


def complete(project: Records, wanted: Session, id_: str, summary: str = "") -> Moved:
    """Complete a task and write its summary (R002-14, R002-39); its container is completed with its last subtask.

    A task that is completed already only gets a missing summary.

    Raises:
        TransitionError: it is a container.
    """
    with changing(project, wanted, why=f"complete {id_}") as change:
        task = change.tree.find(id_)
        _check_leaf(task, change.tree, "completed")
        changed = False
        if summary.strip() and (task.status != "completed" or task.id not in change.tree.summarized):
            change.summarize(task, summary)  # first, because a completed task isn't redone
            changed = True
        changed = change.set_status(task, "completed") or changed
    return change.moved(task.id, changed=changed)


def block(project: Records, wanted: Session, id_: str) -> Moved:
    """Block a task until it is begun again. Raises TransitionError if it is a container or completed."""
    with changing(project, wanted, why=f"block {id_}") as change:
        task = change.tree.find(id_)
        _check_leaf(task, change.tree, "blocked")
        if task.status == "completed":
            raise TransitionError(f"{task.id} is completed; {_reopening(task)} begins it again")
        changed = change.set_status(task, "blocked")
    return change.moved(task.id, changed=changed)


def annotate(project: Records, wanted: Session, id_: str, *, title: str = "", summary: str = "") -> Moved:
    """Give a task a new title or a summary; its status stays as it is."""
    with changing(project, wanted, why=f"note on {id_}") as change:
        task = change.tree.find(id_)
        changed = bool(title) and change.edit(task, lambda data: data.update(title=title))
        if summary.strip():
            change.summarize(task, summary)
            changed = True
    return change.moved(task.id, changed=changed)


def _check_new(new: NewTask, tasks: Tree) -> None:
    if not new.title.strip():
        raise HoldfastError("a task needs a title: `holdfast wfs task add TITLE`")
    unknown = [each for each in new.depends_on if tasks.get(each) is None]
    if unknown:
        raise HoldfastError(f"there is no task {', '.join(unknown)} to depend on; `holdfast wfs task show` lists them")


def _check_parent(above: Task, tasks: Tree) -> None:
    if above.key and above.key.parent:
        raise TransitionError(f"{above.id} can't have subtasks: an id has two levels at most; add a task of its own")
    numbered = [each for each in tasks.tasks if each.key and each.key.parent == above.key]
    if between := [each.id for each in numbered if not tasks.parent_id(each)]:
        raise TransitionError(
            f"{above.id} can't have subtasks, or {', '.join(between)} would be one too; add a task of its own"
        )
    if not tasks.is_container(above) and above.status == "completed":
        raise TransitionError(f"{above.id} is completed; add a task of its own, or reopen it with {_reopening(above)}")


def _check_leaf(task: Task, tasks: Tree, what: str) -> None:
    if tasks.is_container(task):
        children = ", ".join(each.id for each in tasks.children(task)) or "none yet"
        raise TransitionError(
            f"{task.id} is a container and can't be {what} itself; its status follows from its subtasks ({children})"
        )


def _reopening(task: Task) -> str:
    return f"`{command_line('reopen', task.id)}`"
