"""Change the tasks of a `wfs` session: add, decompose, begin, complete, block (R002-45).

Each change holds the lock of the session's folder. The session's state and its list follow from the tasks.
"""

from __future__ import annotations

import copy
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


def content(id_: str, new: NewTask, above: Task | None = None) -> dict[str, Any]:
    """Return the content of a new task's file, with exactly the schema's keys (R002-19, R002-22).

    Args:
        id_: its id.
        new: its values.
        above: the parent task, whose context it inherits (R002-31); None for none.
    """
    kind = new.kind or choice.type_of(new.title)
    context = above.context if above else None
    inherited = list(dict.fromkeys(context.passed_on)) if context else []
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
            "inherited": {"from": above.id if above else None, "context": inherited},
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

    Raises StateError if its folder is gone or can't be written.
    """
    statefile.guard(project.root, paths.state(wanted.folder))
    if not wanted.folder.is_dir():
        raise StateError(wanted.folder, "has been moved or removed, so nothing is written there")
    with locked(wanted.folder):
        change = Change(project, session.load(project, wanted.folder, marked=wanted.marked), why)
        try:
            yield change
        finally:
            if change.written or sys.exc_info()[0] is None:  # also after half a change
                change.close()


class Change:
    """A change of a session's tasks, while its folder is locked.

    Attributes:
        session: the session; as it is after the change once that is closed.
        written: whether a file was written.
        notes: notes for the user.
        why: what the versions are called.
    """

    def __init__(self, project: Records, session: Session, why: str) -> None:
        self.project = project
        self.session = session
        self.written = False
        self.notes: list[str] = []
        self.why = why
        self._tree: Tree | None = None
        self._list_before = todo_list.generate(session, self.tree)

    @property
    def tree(self) -> Tree:
        """The session's tasks as they are now."""
        if self._tree is None:
            self._tree = tree.read(self.project, self.session.folder)
        return self._tree

    def edit(self, task: Task, edit: Callable[[dict[str, Any]], None]) -> bool:
        """Change a task's file and return whether it was written. All else in it stays. Raises StateError."""

        def apply(file: StateFile) -> dict[str, Any]:
            data = copy.deepcopy(file.data)
            edit(data)
            return data

        path = paths.task(self.session.folder, task.name)
        _, written = statefile.rewrite(self.project, path, apply, why=self.why)
        if written:
            self._wrote()
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
        exists = schema.Strict(lambda path: (self.project.root / path).exists())
        wrong = [each for each in schema.faults(schema.TaskFile, data, exists) if each.rule]
        if wrong:
            raise HoldfastError("; ".join(f"{each.field}: {each.problem}; {each.remedy}" for each in wrong))
        path = paths.task(self.session.folder, name)
        if os.path.lexists(path):
            raise StateError(path, "is there already")
        statefile.write(self.project, path, data, None, why=self.why)
        self._wrote()

    def summarize(self, task: Task, text: str) -> None:
        """Write a task's summary; an earlier one is saved as a version. Raises StateError."""
        path, body = paths.summary(self.session.folder, task.id), text.strip()
        with suppress(MissingError):
            self.project.keep(path, document.read(path, within=self.project.root)[0], why=f"before {self.why}")
        whole = f"{body}\n" if body.startswith("#") else f"# {task.id}: {task.title}\n\n{body}\n"
        atomic.write(path, whole.encode("utf-8", "replace"))
        self._wrote()

    def close(self) -> None:
        """Update the session's state (R002-46, I002-24) and its list (R002-45, I002-3) from the tasks.

        In a completed session nothing is written any more.
        """
        self._tree = None
        if self.session.standing == "completed":
            return
        self.session = follow(self.project, self.session, self.tree, why=self.why)
        if news := todo_list.write_or_log(self.project, self.session, self.tree, self._list_before):
            self.notes.append(news)
        self._tree = None  # the list's ticks are other ones now

    def _wrote(self) -> None:
        self.written, self._tree = True, None


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


def chain(change: Change, new: Sequence[NewTask]) -> list[str]:
    """Add tasks, each of which depends on the one before; return their ids.

    Raises:
        HoldfastError: a value breaks a rule.
        TransitionError: the session is completed.
        StateError: it cannot be written.
    """
    change.session.ensure_open()
    _check_new(new, change.tree)
    known, added = change.tree.known_ids, list[str]()
    for each in new:
        id_ = ids.following([*known, *added])
        data = content(id_, each)
        data["context"]["depends_on"] += added[-1:]
        change.create(id_, data)
        added.append(id_)
    return added


def decompose(change: Change, parent: str, new: Sequence[NewTask]) -> list[str]:
    """Decompose a task into subtasks that inherit its context (R002-31, R002-47); it becomes a container.

    Returns their ids. Raises as `chain` does, and if there is no such parent, or it can't have subtasks.
    """
    change.session.ensure_open()
    above = change.tree.find(parent)
    _check_parent(above, change.tree)
    _check_new(new, change.tree)
    known, added = change.tree.known_ids, list[str]()
    for each in new:
        id_ = ids.following([*known, *added], above.id)
        change.create(id_, content(id_, each, above))
        added.append(id_)
    change.set_status(above, "container")
    return added


def begin(change: Change, id_: str, *, anyway: bool = False, reopen: bool = False) -> str:
    """Begin a task (R002-17). Several may be active at a time. An active task stays as it is.

    Args:
        change: the change of the task's session.
        id_: the task's id.
        anyway: whether to begin it even if it waits for others.
        reopen: whether to begin it even if it is completed; for people only, never for a hook.

    Returns:
        What is unusual about it, in a few words.

    Raises:
        TransitionError: it is a container, is completed, or waits for others.
    """
    task = _leaf(change, id_, "begin", "begun")
    waits = ", ".join(change.tree.waits_for(task))
    if waits and not anyway:
        raise TransitionError(
            f"{task.id} depends on {waits}, which is not completed; complete that first, or take it out of "
            f"depends_on in {paths.TASKS}/{task.name}.json"
        )
    if not reopen:
        _ensure_unfinished(task)
    change.set_status(task, "active")
    return (
        "it was blocked" if task.status == "blocked" else f"it depends on {waits}, not completed yet" if waits else ""
    )


def complete(change: Change, id_: str, summary: str = "") -> None:
    """Complete a task and write its summary (R002-14, R002-39); its container is completed with its last subtask.

    A task that is completed already only gets a missing summary.

    Raises:
        TransitionError: it is a container.
    """
    task = _leaf(change, id_, "complete", "completed")
    if summary.strip() and (task.status != "completed" or task.id not in change.tree.summarized):
        change.summarize(task, summary)  # first, because a completed task isn't redone
    change.set_status(task, "completed")


def block(change: Change, id_: str) -> None:
    """Block a task until it is begun again. Raises TransitionError if it is a container or completed."""
    task = _leaf(change, id_, "block", "blocked")
    _ensure_unfinished(task)
    change.set_status(task, "blocked")


def _check_new(new: Sequence[NewTask], tasks: Tree) -> None:
    if not all(each.title.strip() for each in new):
        raise HoldfastError("a task needs a title: `holdfast wfs task add TITLE`")
    unknown = [id_ for each in new for id_ in each.depends_on if tasks.get(id_) is None]
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


def _leaf(change: Change, id_: str, verb: str, done: str) -> Task:
    """Return a task that isn't a container, for a move, after which its versions are named. Raises TransitionError."""
    change.session.ensure_open()
    change.why = f"{verb} {id_}"
    task = change.tree.find(id_)
    if change.tree.is_container(task):
        children = ", ".join(each.id for each in change.tree.children(task)) or "none yet"
        raise TransitionError(
            f"{task.id} is a container and can't be {done} itself; its status follows from its subtasks ({children})"
        )
    return task


def _ensure_unfinished(task: Task) -> None:
    if task.status == "completed":
        raise TransitionError(f"{task.id} is completed; {_reopening(task)} begins it again")


def _reopening(task: Task) -> str:
    return f"`{command_line('reopen', task.id)}`"
