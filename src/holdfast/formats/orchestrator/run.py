"""A run: the state with the notes beside it, as one thing that transitions change."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.files.jsonvalue import copied
from holdfast.formats.orchestrator import schema
from holdfast.workflow import values
from holdfast.workflow.model import Phase
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.workflow.model import Status

ENDED_EARLY = "ended_early"  # the note of a run that somebody completed with tasks left
EXECUTOR = schema.AGENT_TYPES[0]
"""The agent type whose entry in `active_agents` says that its task is being worked on."""
_SHARED = "pending_tasks"
_STANDING: dict[str, Status] = {"completed_tasks": "completed", "pending_tasks": "pending"}


@dataclass
class Run:
    """The state and its notes while they are read or changed.

    Attributes:
        data: the state file's object.
        notes: what the schema has no key for (`workflow.extras`): `title`, `document`, `phases` and `tasks`.
        now: the moment of the change.
        said: what to tell whoever changes it.
        learned: learnings that the log has still to get.
        outgrown: learnings that left the state, because it holds the last ones only.
        checkpoint: the task at which a checkpoint is due; None for none.
        outdated: snapshots that are kept no longer, because there are newer ones.
    """

    data: dict[str, Any]
    notes: dict[str, Any]
    now: datetime = field(default_factory=clock.now)
    said: list[str] = field(default_factory=list)
    learned: list[dict[str, Any]] = field(default_factory=list)
    outgrown: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: str | None = None
    outdated: list[str] = field(default_factory=list)

    def copy(self) -> Run:
        """Return a copy to change. It shares the entries of pending tasks, of which a run can have hundreds.

        So nothing changes such an entry: another takes its place.
        """
        shared = self.data.get(_SHARED)
        data = {**self.data, _SHARED: None} if isinstance(shared, list) else self.data
        made = Run(copied(data), copied(self.notes))
        if isinstance(shared, list):
            made.data[_SHARED] = list(shared)
        return made

    @property
    def stamp(self) -> str:
        """The moment as the state's texts have it, to the second."""
        return stamp(self.now)

    @property
    def head(self) -> dict[str, Any]:
        """The object `orchestrator`."""
        found: dict[str, Any] = self.data["orchestrator"]
        return found

    @property
    def status(self) -> str:
        """The run's status."""
        return values.text(self.head.get("status"))

    @property
    def terminal(self) -> bool:
        """Whether the run is over, and nothing in it is moved any more (I003-13)."""
        return self.status in schema.TERMINAL

    def part(self, name: str) -> dict[str, Any]:
        """Return the object `supervisor` or `safety_bounds`, for changing; a missing one is added."""
        return _object(self.data, name)

    def listed(self, name: str) -> list[dict[str, Any]]:
        """Return one of the state's lists, for changing; a missing one is added."""
        if not isinstance(self.data.get(name), list):
            self.data[name] = []
        found: list[dict[str, Any]] = self.data[name]
        return found

    def note(self, task: str) -> dict[str, Any]:
        """Return the notes of a task, for changing; what is no object there gives way to one."""
        return _object(_object(self.notes, "tasks"), task)

    def noted(self, task: str) -> Mapping[str, Any]:
        """Return the notes of a task, for reading."""
        tasks = self.notes.get("tasks")
        found = tasks.get(task) if isinstance(tasks, dict) else None
        return found if isinstance(found, dict) else {}

    def all_noted(self) -> dict[str, Mapping[str, Any]]:
        """Return the notes of all tasks that have some, by id, for reading."""
        tasks = self.notes.get("tasks")
        return {id_: each for id_, each in tasks.items() if isinstance(each, dict)} if isinstance(tasks, dict) else {}

    def executor(self, task: str) -> dict[str, Any] | None:
        """Return the entry of the agent that works on a task, None for none."""
        entries = schema.objects(self.data.get("active_agents"))
        mine = [each for each in entries if schema.task_of(each) == task]
        return next((each for each in mine if each.get("type") == EXECUTOR), None)

    def tasks(self) -> list[Phase]:
        """Return all tasks but the skipped ones, in the order of their ids."""
        found, noted = self._listed(), self.all_noted()
        made = list[Phase]()
        for number, id_ in enumerate(sorted(found, key=schema.key), 1):
            status, entry = found[id_]
            name = entry.get("name")
            if status == "pending" and id_ not in noted and name and type(name) is str:  # as most of hundreds are
                made.append(Phase(id_, number, name, status))
            else:
                made.append(_phase(number, id_, found[id_], noted.get(id_)))
        return made

    def statuses(self) -> dict[str, Status]:
        """Return the status of each task but the skipped ones, by its id; cheaper than `tasks`."""
        return {id_: status for id_, (status, _) in self._listed().items()}

    def task(self, id_: str) -> Phase:
        """Return a task by its id, a skipped one too; its number is 0, which only `tasks` counts.

        Raises HoldfastError that names the known ones.
        """
        listed = self._listed()
        if id_ in listed:
            return _phase(0, id_, listed[id_], self.noted(id_))
        if self.noted(id_).get("skipped"):
            return _phase(0, id_, ("pending", {}), self.noted(id_))
        raise HoldfastError(missing(f"task {id_!r}", sorted(listed, key=schema.key)))

    def _listed(self) -> dict[str, tuple[Status, dict[str, Any]]]:
        """Return each task's status and entry by its id, from the first list that has it."""
        found: dict[str, tuple[Status, dict[str, Any]]] = {}
        for name in ("pending_tasks", "active_agents", "completed_tasks"):  # a later one replaces an earlier one's
            entries = schema.objects(self.data.get(name))[::-1]
            ids, standing = schema.tasks_of(entries), _STANDING.get(name)
            if standing:
                found.update(zip(ids, zip(repeat(standing), entries, strict=False), strict=True))
                continue
            for id_, each in zip(ids, entries, strict=True):
                if id_ and each.get("type") == EXECUTOR:
                    found[id_] = self._standing(id_, each), each
        return found

    def unfinished(self) -> list[Phase]:
        """Return the tasks that are neither completed nor skipped."""
        return [each for each in self.tasks() if each.status != "completed"]

    def at_work(self) -> str:
        """Return the id of the first active task, else of the one that was completed last; empty for neither."""
        return next(iter(self.active()), "") or self.last_completed()

    def active(self) -> list[str]:
        """Return the ids of the tasks that agents work on, in their order."""
        entries = [each for each in schema.objects(self.data.get("active_agents")) if each.get("type") == EXECUTOR]
        done = set(schema.tasks_of(schema.objects(self.data.get("completed_tasks")))) if entries else set[str]()
        first = {schema.task_of(each): each for each in reversed(entries)}  # as `_listed` has them
        ids = [id_ for id_, each in first.items() if id_ and id_ not in done and self._standing(id_, each) == "active"]
        return sorted(ids, key=schema.key)

    def last_completed(self) -> str:
        """Return the id of the task that was completed last; empty if none was."""
        done = schema.objects(self.data.get("completed_tasks"))
        return schema.task_of(done[-1]) if done else ""

    def queue(self, *new: dict[str, Any]) -> None:
        """Add entries to the pending tasks, each in place of one of the same task, and sort them (R003-21)."""
        self.unqueue(*map(schema.task_of, new))
        self.data["pending_tasks"] = sorted(
            [*self.listed("pending_tasks"), *new], key=lambda each: schema.key(schema.task_of(each))
        )

    def unqueue(self, *tasks: str) -> None:
        """Take tasks out of the pending ones (I003-3)."""
        pending = self.listed("pending_tasks")
        self.data["pending_tasks"] = [
            each for each, id_ in zip(pending, schema.tasks_of(pending), strict=True) if id_ not in tasks
        ]

    def skipped(self) -> list[str]:
        """Return the ids of the skipped tasks."""
        return sorted([id_ for id_, noted in self.all_noted().items() if noted.get("skipped")], key=schema.key)

    def phase_name(self, number: int) -> str:
        """Return the name of a phase, counted from 1: the document's, a milestone's, or `Phase N`."""
        named = values.members(self.notes.get("phases")).get(str(number))
        return values.text(named) or f"Phase {number}"

    def place(self, task: str) -> str:
        """Return where a task stands in its phase: `N/M` (R003-07)."""
        mine = self.in_phase(schema.key(task)[0])
        return f"{mine.index(task) + 1 if task in mine else 0}/{len(mine)}"

    def in_phase(self, number: int) -> list[str]:
        """Return the ids of a phase's tasks, skipped ones too, in their order; phases count from 1."""
        ids = {*self._listed(), *self.skipped()}
        return sorted([each for each in ids if schema.key(each)[0] == number], key=schema.key)

    def _standing(self, id_: str, entry: Mapping[str, Any]) -> Status:
        if entry.get("status") != "blocked":
            return "active"
        return "failed" if self.noted(id_).get("failed") else "blocked"


def _phase(number: int, id_: str, listed: tuple[Status, Mapping[str, Any]], noted: Mapping[str, Any] | None) -> Phase:
    """Return a task by its entry and its notes. It is `failed` with a failure in the notes, `blocked` without one.

    Its name is in the state or, while an agent works on it, in the notes, since that entry has none. Its deliverables
    are the files that it modified.
    """
    status, entry = listed
    name = entry.get("name") if status in ("completed", "pending") else None
    if not isinstance(name, str) or not name:
        name = values.text(name) or values.text(noted and noted.get("name")) or f"Task {id_}"
    if not noted and status != "completed":
        return Phase(id_, number, name, status)
    files = values.texts(entry.get("files_modified"), "", []) if status == "completed" else ()
    noted = noted or {}
    return Phase(id_, number, name, status, values.text(noted.get("agent")), files, values.text(noted.get("handover")))


def _object(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object's member that is an object itself, for changing; a missing one is added."""
    if not isinstance(data.get(name), dict):
        data[name] = {}
    found: dict[str, Any] = data[name]
    return found


def stamp(moment: datetime) -> str:
    """Return a moment as the state's texts have it: ISO 8601 in UTC, to the second."""
    return f"{clock.stamp(moment).partition('.')[0]}Z"
