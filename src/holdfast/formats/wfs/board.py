"""The board of a `wfs` session: its tasks, their hierarchy and status, and which of them can be begun."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.formats.wfs import ids, places
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.ids import Key
    from holdfast.workflow.model import Problem, Status


@dataclass(frozen=True)
class Board:
    """The tasks of a session.

    Attributes:
        tasks: in the order of their numbers; those with an invalid id come last, by file name (`in_order`).
        problems: the files that could not be read.
        changed: when one of the files last changed, in seconds since 1970; 0 without files.
        ticked: the tasks that are ticked in the session's list. It decides nothing (R002-01).
        summarised: the ids of the tasks that have a summary.
    """

    tasks: tuple[Brief, ...] = ()
    problems: tuple[Problem, ...] = ()
    changed: float = 0.0
    ticked: frozenset[Key | None] = frozenset()
    summarised: frozenset[str] = frozenset()

    @cached_property
    def leaves(self) -> tuple[Brief, ...]:
        """The tasks that can be worked on: all but containers (R002-17)."""
        return tuple([each for each in self.tasks if not self.is_container(each)])

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the readable task files without `.json`, broken ones with a kept generation included."""
        return frozenset(each.name for each in self.tasks)

    @cached_property
    def finished(self) -> bool:
        """Whether there are tasks and all of them are completed."""
        return bool(self.leaves) and all(each.status == "completed" for each in self.leaves) and not self.problems

    def get(self, id_: str) -> Brief | None:
        """Return the task with an id, ignoring leading zeros; if two files have it, the first.

        If no task has the id, a file of that name counts, or an id written exactly so though it is invalid.
        """
        key = ids.key(id_)
        found = self._by_key.get(key) if key else None
        return found or next((each for each in self.tasks if id_ in (each.id, each.name)), None)

    def find(self, id_: str) -> Brief:
        """Return the task with an id, in any case.

        Raises HoldfastError if there is none, naming the known ones, or several.
        """
        found = self.get(id_) or self.get(id_.upper())
        if found is None:
            unread = next((each for each in self.problems if ids.key(each.path.stem) == ids.key(id_)), None)
            if unread and ids.key(id_):
                raise HoldfastError(f"{unread.path.name} can't be read: {unread.reason}")
            raise HoldfastError(missing(f"task {id_!r}", [each.id for each in self.tasks]))
        twins = [each.name for each in self.tasks if found.key and each.key == found.key]
        if len(twins) > 1:
            raise HoldfastError(
                f"{' and '.join(f'{name}.json' for name in twins)} are files of the same task; rename or remove one"
            )
        return found

    def parent_id(self, task: Brief) -> str:
        """Return the id of the task that a task is a subtask of, whether or not that has a file; empty for none.

        `IMPL-N.M` is a subtask of `IMPL-N`. But if one depends on the other, directly or through other tasks, and
        neither file says container or parent, it is a task of its own with a number in between (I002-31).
        """
        return self._parents.get(task.name, "")

    def parent(self, task: Brief) -> Brief | None:
        """Return the task that a task is a subtask of (`parent_id`); None if there is none, or it has no file."""
        return self._by_key.get(ids.key(self.parent_id(task)))

    def children(self, task: Brief) -> Sequence[Brief]:
        """Return a task's subtasks."""
        return self._children.get(task.key, ()) if task.key else ()

    def is_container(self, task: Brief) -> bool:
        """Return whether a task has subtasks or is marked as a container (R002-17)."""
        return task.is_container or bool(self.children(task))

    def status(self, task: Brief) -> Status:
        """Return a task's status; a container's follows from its subtasks (R002-18, I002-4)."""
        if not self.is_container(task):
            return task.status
        found = {each.status for each in self.children(task)}
        if found == {"completed"}:
            return "completed"
        ranked: tuple[Status, ...] = ("active", "blocked")
        return next((each for each in ranked if each in found), "pending")

    @cached_property
    def looks_finished(self) -> dict[str, str]:
        """The unfinished tasks that somebody seems to have done by hand, by id: what shows it.

        A tick does, and a summary if the task was never begun: one that was reopened has an old summary.
        """
        found = dict[str, str]()
        for each in self.leaves:
            if each.status == "pending" and each.id in self.summarised:
                found[each.id] = f"{places.SUMMARIES}/{each.id}-summary.md exists"
            elif each.status != "completed" and each.key in self.ticked:
                found[each.id] = f"it is ticked in {places.LIST}"
        return found

    @cached_property
    def ticked_early(self) -> bool:
        """Whether the list ticks a task that isn't completed."""
        return any(each.key in self.ticked and each.status != "completed" for each in self.leaves)

    def waits_for(self, task: Brief) -> list[str]:
        """Return the ids that a task or its container depends on and that are not completed, or unknown.

        A task and its own container don't wait for each other, or neither could begin; the rules report that.
        """
        above = self.parent(task)
        wanted = (*task.depends_on, *above.depends_on) if above else task.depends_on
        return [id_ for id_ in dict.fromkeys(wanted) if not self._is_done(id_) and not self._is_pair(id_, task, above)]

    @cached_property
    def executable(self) -> tuple[Brief, ...]:
        """The leaves that can be begun now, in order: pending ones that wait for nothing and don't look finished."""
        pending = [each for each in self.leaves if each.status == "pending" and each.id not in self.looks_finished]
        return tuple([each for each in pending if not self.waits_for(each)])

    @cached_property
    def active(self) -> tuple[Brief, ...]:
        """The leaves that are being worked on, in order."""
        return tuple([each for each in self.leaves if each.status == "active"])

    @property
    def current(self) -> tuple[Brief, ...]:
        """The leaves that are being worked on, else the next that can be begun (I002-24)."""
        return self.active or self.executable[:1]

    def _is_done(self, id_: str) -> bool:
        task = self.get(id_)
        return task is not None and self.status(task) == "completed"

    def _is_pair(self, id_: str, task: Brief, above: Brief | None) -> bool:
        """Return whether an id is that of a subtask or its container."""
        return above is not None and self.get(id_) in (task, above)

    def _reached(self, task: Brief) -> set[Key | None]:
        """Return the keys of the tasks that a task depends on, directly or through others."""
        found: set[Key | None] = set()
        ways = [task]
        for each in ways:  # the list grows meanwhile
            for id_ in each.depends_on:
                if (key := ids.key(id_)) not in found:
                    found.add(key)
                    ways += filter(None, [self.get(id_)])
        return found

    @cached_property
    def _parents(self) -> dict[str, str]:
        """The ids that `parent_id` returns, by the tasks' names."""
        found, reached = dict[str, str](), cache(self._reached)
        for each in self.tasks:
            if own := ids.parent(each.id):
                key = ids.key(own)
                above = self._by_key.get(key)
                said = ids.key(each.parent) == key or (above is not None and above.is_container)
                if said or not (key in reached(each) or (above and each.key in reached(above))):
                    found[each.name] = own
        return found

    @cached_property
    def _by_key(self) -> dict[Key | None, Brief]:
        return {each.key: each for each in reversed(self.tasks) if each.key}

    @cached_property
    def _children(self) -> dict[Key | None, list[Brief]]:
        found: dict[Key | None, list[Brief]] = {}
        for each in self.tasks:
            if own := self.parent_id(each):
                found.setdefault(ids.key(own), []).append(each)
        return found


def in_order(tasks: Iterable[Brief]) -> tuple[Brief, ...]:
    """Return tasks in the order of their numbers, not of their texts (I002-2)."""
    return tuple(sorted(tasks, key=lambda each: (*_rank(each), each.name)))


def _rank(task: Brief) -> tuple[bool, tuple[int, ...]]:
    key = task.key
    return key is None, key or ()
