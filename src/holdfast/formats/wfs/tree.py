"""The tasks of a `wfs` session: their hierarchy and status, and which of them can be begun."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, MissingError, StateError
from holdfast.files import document
from holdfast.formats.wfs import ids, paths, schema
from holdfast.workflow import names, statefile, statuses
from holdfast.workflow.model import Problem, Status
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.formats.wfs.ids import Key
    from holdfast.formats.wfs.schema import Context, FlowControl
    from holdfast.workflow.records import Records

_FILE = re.compile(r"[A-Za-z]+-[0-9][^/]*\.json")  # any numbered name: a wrong one is reported, not ignored
_MARK = re.compile(r"\[([ xX✓✔✅])\]|([✅✔☑☐⬜▸])")
_TICKS = frozenset("xX✓✔✅☑")


@dataclass(frozen=True)
class Task:
    """A task as in its file.

    Attributes:
        name: the name of its file without `.json`.
        id: the id in the file; without one, the file's name.
        title: its title, on one line.
        status: the meaning of its status; `pending` for a container, whose own status says nothing.
        raw_status: its status as written.
        agent: `meta.agent`.
        parent: `context.parent`, empty for none. It is what the file says; `Tree.parent_id` decides.
        depends_on: the ids it depends on.
        file: all that its file says, read leniently.
        data: the JSON object in its file. Don't change it in place.
    """

    name: str
    id: str
    title: str
    status: Status
    raw_status: str
    agent: str
    parent: str
    depends_on: tuple[str, ...]
    file: schema.TaskFile = field(repr=False, compare=False)
    data: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def read(cls, name: str, data: Mapping[str, Any]) -> Task:
        """Return the task in a file, whatever the file holds."""
        file = schema.read(schema.TaskFile, data)
        id_, status = file.id.strip() or name, file.status.strip()
        return cls(
            name=name,
            id=id_,
            title=" ".join((file.title.strip() or id_).split()),
            status=meaning(status),
            raw_status=status,
            agent=file.meta.agent.strip(),
            parent=file.context.parent.strip(),
            depends_on=tuple(file.context.depends_on),
            file=file,
            data=data,
        )

    @cached_property
    def key(self) -> Key | None:
        """The key of its id; None for an invalid id."""
        return ids.key(self.id)

    @property
    def marked_container(self) -> bool:
        """Whether its file calls it a container; a task with subtasks is one anyway (`Tree.is_container`)."""
        return self.raw_status == "container"

    @property
    def context(self) -> Context:
        """What it needs to know."""
        return self.file.context

    @property
    def flow(self) -> FlowControl:
        """Its steps and its approach."""
        return self.file.flow_control


@dataclass(frozen=True)
class Tree:
    """The tasks of a session.

    Attributes:
        tasks: in the order of their numbers; those with an invalid id come last, by file name.
        problems: the files that could not be read.
        changed: when one of the files last changed, in seconds since 1970; 0 without files.
        ticked: the tasks that are ticked in the session's list. It decides nothing (R002-01).
        summarized: the ids of the tasks that have a summary.
    """

    tasks: tuple[Task, ...] = ()
    problems: tuple[Problem, ...] = ()
    changed: float = 0.0
    ticked: frozenset[Key | None] = frozenset()
    summarized: frozenset[str] = frozenset()

    @cached_property
    def leaves(self) -> tuple[Task, ...]:
        """The tasks that can be worked on: all but containers (R002-17)."""
        return tuple(each for each in self.tasks if not self.is_container(each))

    @cached_property
    def finished(self) -> bool:
        """Whether there are tasks and all of them are completed."""
        return bool(self.leaves) and all(each.status == "completed" for each in self.leaves) and not self.problems

    @property
    def known_ids(self) -> list[str]:
        """Every id in use, including those of unreadable files and those in file names only."""
        unread = [problem.path.stem for problem in self.problems]
        return [*unread, *(name for task in self.tasks for name in (task.id, task.name))]

    def get(self, id_: str) -> Task | None:
        """Return the task with an id, ignoring leading zeros; if two files have it, the first.

        If no task has the id, a file of that name counts, or an id written exactly so though it is invalid.
        """
        key = ids.key(id_)
        task = self._by_key.get(key) if key else None
        return task or next((each for each in self.tasks if id_ in (each.id, each.name)), None)

    def find(self, id_: str) -> Task:
        """Return the task with an id, in any case.

        Raises HoldfastError if there is none, naming the known ones, or several.
        """
        task = self.get(id_) or self.get(id_.upper())
        if task is None:
            unread = next((each for each in self.problems if ids.key(each.path.stem) == ids.key(id_)), None)
            if unread and ids.key(id_):
                raise HoldfastError(f"{unread.path.name} can't be read: {unread.reason}")
            raise HoldfastError(missing(f"task {id_!r}", [each.id for each in self.tasks]))
        if twins := self.twins(task):
            files = " and ".join(f"{name}.json" for name in sorted([task.name, *twins]))
            raise HoldfastError(f"{files} are files of the same task; rename or remove one")
        return task

    def twins(self, task: Task) -> list[str]:
        """Return the names of the other files with a task's id: IMPL-1 and IMPL-001 are the same (I002-2)."""
        return [each.name for each in self.tasks if task.key and each.key == task.key and each.name != task.name]

    def parent_id(self, task: Task) -> str:
        """Return the id of the task that a task is a subtask of, whether or not that has a file; empty for none.

        `IMPL-N.M` is a subtask of `IMPL-N`. But if one depends on the other, directly or through other tasks, and
        neither file says container or parent, it is a task of its own with a number in between (I002-31).
        """
        return self._parents.get(task.name, "")

    def parent(self, task: Task) -> Task | None:
        """Return the task that a task is a subtask of (`parent_id`); None if there is none, or it has no file."""
        return self._by_key.get(ids.key(self.parent_id(task)))

    def children(self, task: Task) -> Sequence[Task]:
        """Return a task's subtasks."""
        return self._children.get(task.key, ()) if task.key else ()

    def is_container(self, task: Task) -> bool:
        """Return whether a task has subtasks or is marked as a container (R002-17)."""
        return task.marked_container or bool(self.children(task))

    def status(self, task: Task) -> Status:
        """Return a task's status; a container's follows from its subtasks (R002-18, I002-4)."""
        if not self.is_container(task):
            return task.status
        below = {each.status for each in self.children(task)}
        if below == {"completed"}:
            return "completed"
        ranked: tuple[Status, ...] = ("active", "blocked")
        return next((each for each in ranked if each in below), "pending")

    @cached_property
    def looks_finished(self) -> dict[str, str]:
        """The unfinished tasks that somebody seems to have done by hand, by id: what shows it.

        A tick does, and a summary if the task was never begun: one that was reopened has an old summary.
        """
        evidence = dict[str, str]()
        for each in self.leaves:
            if each.status == "pending" and each.id in self.summarized:
                evidence[each.id] = f"{paths.SUMMARIES}/{each.id}-summary.md exists"
            elif each.status != "completed" and each.key in self.ticked:
                evidence[each.id] = f"it is ticked in {paths.LIST}"
        return evidence

    @cached_property
    def ticked_early(self) -> bool:
        """Whether the list ticks a task that isn't completed."""
        return any(each.key in self.ticked and each.status != "completed" for each in self.leaves)

    def waits_for(self, task: Task) -> list[str]:
        """Return the ids that a task or its container depends on and that are not completed, or unknown.

        A task and its own container don't wait for each other, or neither could begin; the rules report that.
        """
        above = self.parent(task)
        wanted = dict.fromkeys((*task.depends_on, *(above.depends_on if above else ())))
        pair = (task, above) if above else ()
        return [id_ for id_ in wanted if not self._is_completed(id_) and self.get(id_) not in pair]

    def required(self, task: Task) -> list[Task]:
        """Return the leaves that a task depends on. A container counts as its subtasks: it has no summary itself."""
        wanted = [each for id_ in task.depends_on if (each := self.get(id_))]
        return list({leaf.name: leaf for each in wanted for leaf in (self.children(each) or (each,))}.values())

    @cached_property
    def executable(self) -> tuple[Task, ...]:
        """The leaves that can be begun now, in order: pending ones that wait for nothing and don't look finished."""
        pending = [each for each in self.leaves if each.status == "pending" and each.id not in self.looks_finished]
        return tuple(each for each in pending if not self.waits_for(each))

    @cached_property
    def active(self) -> tuple[Task, ...]:
        """The leaves that are being worked on, in order."""
        return tuple(each for each in self.leaves if each.status == "active")

    @property
    def current(self) -> tuple[Task, ...]:
        """The leaves that are being worked on, else the next that can be begun (I002-24)."""
        return self.active or self.executable[:1]

    def circle(self, task: Task, id_: str) -> list[str]:
        """Return the ids on the shortest way from a task over a dependency back to itself; empty if there is none.

        None of the tasks on it can ever begin. A task waits for its own and its container's dependencies, a container
        for its subtasks.
        """
        first = self.get(id_)
        ways, seen = ([[task, first]], {first.name}) if first else ([], set[str]())
        for way in ways:  # breadth first, so the shortest way comes first; the list grows meanwhile
            last = way[-1]
            if last.name == task.name:
                return [each.id for each in way]
            above = self.parent(last)
            wanted = (*last.depends_on, *(above.depends_on if above else ()))
            for each in (*filter(None, map(self.get, wanted)), *self.children(last)):
                if each.name not in seen:
                    seen.add(each.name)
                    ways.append([*way, each])
        return []

    def _is_completed(self, id_: str) -> bool:
        task = self.get(id_)
        return task is not None and self.status(task) == "completed"

    def _reached(self, task: Task) -> set[Key | None]:
        """Return the keys of the tasks that a task depends on, directly or through others."""
        keys: set[Key | None] = set()
        ways = [task]
        for each in ways:  # the list grows meanwhile
            for id_ in each.depends_on:
                if (key := ids.key(id_)) not in keys:
                    keys.add(key)
                    ways += filter(None, [self.get(id_)])
        return keys

    @cached_property
    def _parents(self) -> dict[str, str]:
        """The ids that `parent_id` returns, by the tasks' names."""
        parents, reached = dict[str, str](), cache(lambda name: self._reached(by_name[name]))
        by_name = {each.name: each for each in self.tasks}
        for each in self.tasks:
            if own := ids.parent(each.id):
                key = ids.key(own)
                above = self._by_key.get(key)
                named = ids.key(each.parent) == key or (above is not None and above.marked_container)
                if named or not (key in reached(each.name) or (above and each.key in reached(above.name))):
                    parents[each.name] = own
        return parents

    @cached_property
    def _by_key(self) -> dict[Key | None, Task]:
        return {each.key: each for each in reversed(self.tasks) if each.key}

    @cached_property
    def _children(self) -> dict[Key | None, list[Task]]:
        children: dict[Key | None, list[Task]] = {}
        for each in self.tasks:
            if own := self.parent_id(each):
                children.setdefault(ids.key(own), []).append(each)
        return children


def read(project: Records, folder: Path) -> Tree:
    """Return the tasks of the session in a folder; their JSON files are the only source (R002-01).

    A file that can't be read is among the problems, and its last version counts, if there is one.
    """
    files, problems = _files(folder / paths.TASKS)
    tasks, changed = list[Task](), 0.0
    for path in files:
        try:
            file = statefile.read(project, path)
        except MissingError:
            continue  # it was removed meanwhile
        except StateError as error:
            problems.append(Problem(path, error.reason))
            continue
        tasks.append(Task.read(path.stem, file.data))
        changed = max(changed, file.document.mtime)
        if file.broken:
            problems.append(file.problem)
    ticked = frozenset(ids.key(id_) for id_, done in _ticks(folder) if done)
    return Tree(_in_order(tasks), tuple(sorted(problems)), changed, ticked, paths.summarized(folder))


def ticks(text: str) -> dict[ids.Key | None, tuple[str, bool | None]]:
    """Return the tasks that a list names, whatever its form, with their ids as written and whether they are ticked.

    A line is about the first id in it if it has a box, or a sign that stands for one. A task with several lines is
    ticked if all of them are. A container (`▸`) has no box: None.
    """
    found: dict[ids.Key | None, tuple[str, bool | None]] = {}
    for line in text.splitlines():
        marks = {box or sign for box, sign in _MARK.findall(line)}
        if marks and (named := ids.first_mentioned(line)):
            key = ids.key(named)
            id_, before = found.get(key, (named, None))
            ticked = not marks.isdisjoint(_TICKS)
            found[key] = id_, before if marks == {"▸"} else ticked and before is not False
    return found


def meaning(status: str) -> Status:
    """Return the meaning of a task's status as written; an unknown one means pending (R002-16)."""
    return statuses.MEANT.get(statuses.pure(status) or "", "pending")


def _files(folder: Path) -> tuple[list[Path], list[Problem]]:
    """Return the task files in a folder, and its problem if it is a link."""
    if folder.is_symlink():
        return [], [Problem(folder, "is a symbolic link, which is not followed")]
    try:
        found = [each for each in folder.iterdir() if _FILE.fullmatch(each.name) and not names.is_copy(each.name)]
    except OSError:
        return [], []
    return sorted(found), []


def _ticks(folder: Path) -> Iterator[tuple[str, bool]]:
    try:
        raw, _ = document.read(folder / paths.LIST, within=folder.parent.parent)
    except StateError:
        return
    for id_, ticked in ticks(raw.decode("utf-8", "replace")).values():
        yield id_, bool(ticked)


def _in_order(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return tasks in the order of their numbers, not of their texts (I002-2)."""
    return tuple(sorted(tasks, key=lambda each: (each.key is None, each.key or (), each.name)))
