"""The board of a `wfs` session: its tasks, their hierarchy and status, and which of them can be begun.

A session may have a thousand tasks, and nearly every event asks for its board. So what belongs together is worked out
once for as long as no task is added, removed or renamed (`Order`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.formats.wfs import ids
from holdfast.frozen import NamedTuple
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.ids import Key
    from holdfast.workflow.model import Problem, Status


class Order(NamedTuple):
    """How tasks belong together, whatever their statuses are: positions among them.

    Attributes:
        leaves: the tasks that can be worked on: all but containers (R002-17).
        above: for each task, the first one with the id of its container, by its own id; -1 for none.
        plain: how many tasks come first whose ids are valid and each means one task. An id that is written as in one of
            them is this task's: no key has to be made. If two tasks have the same id, none is plain.
    """

    leaves: tuple[int, ...]
    above: tuple[int, ...]
    plain: int


@dataclass(frozen=True)
class Board:
    """The tasks of a session.

    Attributes:
        tasks: in the order of their numbers; those with an invalid id come last, by file name (`in_order`).
        problems: the files that could not be read.
        changed: when one of the files last changed, in seconds since 1970; 0 without files.
    """

    tasks: tuple[Brief, ...] = ()
    problems: tuple[Problem, ...] = ()
    changed: float = 0.0

    def followed_by(
        self, tasks: Mapping[str, Brief], problems: tuple[Problem, ...] = (), changed: float = 0.0
    ) -> Board:
        """Return the board after this one. It keeps the order if the same tasks are there.

        Args:
            tasks: its tasks, by the names of their files without `.json`.
            problems: as in the class.
            changed: as in the class.
        """
        if len(tasks) == len(self.tasks) and all(each.name in tasks for each in self.tasks):
            now = tuple([tasks[each.name] for each in self.tasks])
            if all(new is old or _stays(new, old) for new, old in zip(now, self.tasks, strict=True)):
                made = Board(now, problems, changed)
                vars(made)["order"] = self.order
                return made
        return Board(tuple(in_order(tasks.values())), problems, changed)

    @cached_property
    def order(self) -> Order:
        """How its tasks belong together."""
        keys = [each.key for each in self.tasks]
        first: dict[Key | None, int] = {}
        for at, key in enumerate(keys):
            first.setdefault(key, at)
        divided = {key.parent for key in keys if key}
        leaves = [at for at, key in enumerate(keys) if key not in divided or key is None]
        valid = len(keys) - keys.count(None)
        return Order(
            tuple(at for at in leaves if not self.tasks[at].is_container),
            tuple([first.get(key.parent, -1) if key and key.is_sub else -1 for key in keys]),
            valid if len(first) - (None in first) == valid else 0,
        )

    @cached_property
    def leaves(self) -> tuple[Brief, ...]:
        """The tasks that can be worked on: all but containers (R002-17)."""
        tasks = self.tasks
        return tuple([tasks[at] for at in self.order.leaves])

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
        at = self._plain.get(id_)
        if at is not None:
            return self.tasks[at]
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
        unique = self.order.plain or not found.key
        twins = [] if unique else [each.name for each in self.tasks if each.key == found.key]
        if len(twins) > 1:
            raise HoldfastError(
                f"{' and '.join(f'{name}.json' for name in twins)} are files of the same task; rename or remove one"
            )
        return found

    def children(self, task: Brief) -> Sequence[Brief]:
        """Return a task's subtasks."""
        at = self._plain.get(task.id)
        if at is not None:
            return self._below.get(at, ())
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

    def waits_for(self, task: Brief) -> list[str]:
        """Return the ids that a task or its container depends on and that are not completed, or unknown."""
        above = self.get(task.parent) if task.parent else None
        wanted = (*task.depends_on, *(above.depends_on if above and above is not task else ()))
        return [id_ for id_ in dict.fromkeys(wanted) if not self._is_done(id_)]

    @cached_property
    def executable(self) -> tuple[Brief, ...]:
        """The leaves that can be begun now, in order: those that are pending and wait for nothing (`waits_for`)."""
        done, ready = self._is_done, []
        free = {"": True}  # whether the tasks below a container need not wait for what it depends on
        for each in self.leaves:
            if each.status != "pending" or not all(map(done, each.depends_on)):
                continue
            if each.parent not in free:
                above = self.get(each.parent)
                free[each.parent] = above is None or all(map(done, above.depends_on))
            if free[each.parent]:
                ready.append(each)
        return tuple(ready)

    @cached_property
    def active(self) -> tuple[Brief, ...]:
        """The leaves that are being worked on, in order."""
        return tuple([each for each in self.leaves if each.status == "active"])

    @property
    def current(self) -> tuple[Brief, ...]:
        """The leaves that are being worked on, else the next that can be begun (I002-24)."""
        return self.active or self.executable[:1]

    def _is_done(self, id_: str) -> bool:
        at = self._plain.get(id_)
        if at is not None:
            return self._done[at]
        task = self.get(id_)
        return task is not None and self.status(task) == "completed"

    @cached_property
    def _done(self) -> list[bool]:
        """Whether each task is completed, worked out for all at once: each of a thousand asks about those before it."""
        found = [each.status == "completed" for each in self.tasks]
        own = found.copy()
        for at in {*self.order.above} - {-1}:
            found[at] = True
        for at, done in zip(self.order.above, own, strict=True):
            if at >= 0 and not done:
                found[at] = False
        return found

    @cached_property
    def _plain(self) -> dict[str, int]:
        """The positions of the plain tasks (`Order`) by their ids as they are written."""
        return {each.id: at for at, each in enumerate(self.tasks[: self.order.plain])}

    @cached_property
    def _below(self) -> dict[int, list[Brief]]:
        """The subtasks of each task that has any, by its position."""
        found: dict[int, list[Brief]] = {}
        for at, each in zip(self.order.above, self.tasks, strict=True):
            if at >= 0:
                found.setdefault(at, []).append(each)
        return found

    @cached_property
    def _by_key(self) -> dict[Key, Brief]:
        return {each.key: each for each in reversed(self.tasks) if each.key}

    @cached_property
    def _children(self) -> dict[Key | None, list[Brief]]:
        found: dict[Key | None, list[Brief]] = {}
        for each in self.tasks:
            if (key := each.key) and (parent := key.parent):
                found.setdefault(parent, []).append(each)
        return found


def in_order(tasks: Iterable[Brief]) -> list[Brief]:
    """Return tasks in the order of their numbers, not of their texts (I002-2)."""
    return sorted(tasks, key=lambda each: (*_rank(each), each.name))


def _rank(task: Brief) -> tuple[bool, tuple[int, ...]]:
    key = task.key
    return key is None, key or ()


def _stays(new: Brief, old: Brief) -> bool:
    """Return whether a task that changed stays where it is."""
    return (new.name, new.id, new.is_container) == (old.name, old.id, old.is_container)
