"""A run: the state and its notes, as one object that transitions change."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import schema
from holdfast.workflow import values
from holdfast.workflow.model import Phase
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from holdfast.workflow.model import Status

ENDED_EARLY = "ended_early"  # the note of a run that somebody completed with tasks left
CANCELLED = "cancelled"  # the note with the reason why a run was cancelled
EXECUTOR, SUPERVISOR, REVIEWER = "task-executor", "supervisor", "outer-ralph"
"""The agent types whose entries in `active_agents` say what goes on: a task, a check, the outer review."""


@dataclass
class Run:
    """The state and its notes while they are read or changed.

    Attributes:
        data: the state file's object.
        notes: what the schema has no key for (`workflow.extras`): `title`, `document`, `phases` and `tasks`.
        now: the moment of the change.
        messages: what to tell whoever changes it.
        new_learnings: learnings that the log has still to get.
        checkpoint: the task at which a checkpoint is due; None for none.
        expired_snapshots: snapshots that the state names no longer, because there are newer ones.
    """

    data: dict[str, Any]
    notes: dict[str, Any]
    now: datetime = field(default_factory=clock.now)
    messages: list[str] = field(default_factory=list)
    new_learnings: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: str | None = None
    expired_snapshots: list[str] = field(default_factory=list)

    def copy(self) -> Run:
        """Return a copy to change."""
        return Run(deepcopy(self.data), deepcopy(self.notes))

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

    def entries(self, name: str) -> list[dict[str, Any]]:
        """Return the entries of one of the state's lists, for reading."""
        return values.objects(self.data.get(name))

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
        return self.all_noted().get(task, {})

    def all_noted(self) -> dict[str, Mapping[str, Any]]:
        """Return the notes of all tasks that have some, by id, for reading."""
        tasks = self.notes.get("tasks")
        return {id_: each for id_, each in tasks.items() if isinstance(each, dict)} if isinstance(tasks, dict) else {}

    def completed(self, task: str) -> dict[str, Any] | None:
        """Return the entry of a completed task, None for another one."""
        return next((each for each in self.entries("completed_tasks") if schema.task_of(each) == task), None)

    def executor(self, task: str) -> dict[str, Any] | None:
        """Return the entry of the agent that works on a task, None for none."""
        return self._executors().get(task)

    def _executors(self) -> dict[str, dict[str, Any]]:
        """Return the entries of the agents that work on tasks, by the task's id; the first of several."""
        entries = reversed(self.entries("active_agents"))
        return {id_: each for each in entries if each.get("type") == EXECUTOR and (id_ := schema.task_of(each))}

    @property
    def under_review(self) -> bool:
        """Whether an agent does the outer review (R003-09)."""
        return any(each.get("type") == REVIEWER for each in self.entries("active_agents"))

    def remove_agents(self, gone: Callable[[dict[str, Any]], bool]) -> None:
        """Remove agents from the list. The outer review ends with its agent."""
        removed = [each for each in self.entries("active_agents") if gone(each)]
        if removed:
            self.data["active_agents"] = [each for each in self.entries("active_agents") if not gone(each)]
        if any(each.get("type") == REVIEWER for each in removed):
            self.head["outer_ralph"] = self.under_review

    def tasks(self) -> list[Phase]:
        """Return all tasks but the skipped ones, in the order of their ids.

        They delivered the files that they modified, and what their agents named besides.
        """
        listed, names, tasks = self._listed(), self.names(), list[Phase]()
        for number, id_ in enumerate(sorted(listed, key=schema.key), 1):
            (status, entry), noted = listed[id_], self.noted(id_)
            lists = (entry.get("files_modified"), noted.get("files"), noted.get("delivered"))
            delivered = dict.fromkeys(each for one in lists for each in values.texts(one, "", []))
            agent, handover = values.text(noted.get("agent")), values.text(noted.get("handover"))
            name = names.get(id_) or f"Task {id_}"
            tasks.append(Phase(id_, number, name, status, agent, tuple(delivered), handover))
        return tasks

    def skipped_tasks(self) -> list[Phase]:
        """Return the skipped tasks, in the order of their ids. Their number is 0, which only `tasks` counts."""
        names, listed = self.names(), self._listed()
        ids = [id_ for id_ in self.skipped() if id_ not in listed]
        return [Phase(id_, 0, names.get(id_) or f"Task {id_}", "pending") for id_ in ids]

    def names(self) -> dict[str, str]:
        """Return the tasks' names by id, without those that nobody knows.

        The entry of a completed or pending task has the name (R003-15, R003-16). While an agent works on the task, the
        notes have it: as the document names it, or as its entry did.
        """
        names = {id_: values.text(name) for id_, name in self.documented().items()}
        names |= {id_: name for id_, noted in self.all_noted().items() if (name := _name(noted))}
        for entries in (self.data.get("pending_tasks"), self.data.get("completed_tasks")):
            names.update((schema.task_of(each), name) for each in values.objects(entries) if (name := _name(each)))
        return names

    def statuses(self) -> dict[str, Status]:
        """Return the status of each task but the skipped ones, by its id."""
        return {id_: status for id_, (status, _) in self._listed().items()}

    def task(self, id_: str) -> Phase:
        """Return a task by its id, a skipped one too.

        Raises HoldfastError that names the known ones.
        """
        tasks = [*self.tasks(), *self.skipped_tasks()]
        for each in tasks:
            if each.id == id_:
                return each
        raise HoldfastError(missing(f"task {id_!r}", [each.id for each in tasks]))

    def _listed(self) -> dict[str, tuple[Status, dict[str, Any]]]:
        """Return each task's status and entry by its id.

        A task is completed if it is listed so, else active if it has an agent; any other task of the document, or with
        a name in the notes, is pending, also in no list: its agent's entry may have been removed by hand (R003-30).
        """
        known = [*self.documented(), *(id_ for id_, noted in self.all_noted().items() if noted.get("name"))]
        tasks: dict[str, tuple[Status, dict[str, Any]]] = {
            id_: ("pending", {}) for id_ in known if not self.noted(id_).get("skipped")
        }
        for each in reversed(self.entries("pending_tasks")):
            tasks[schema.task_of(each)] = "pending", each
        for id_, each in self._executors().items():
            tasks[id_] = self._standing(id_, each), each
        for each in reversed(self.entries("completed_tasks")):
            tasks[schema.task_of(each)] = "completed", each
        return tasks

    def unfinished(self) -> list[Phase]:
        """Return the tasks that are neither completed nor skipped."""
        return [each for each in self.tasks() if each.status != "completed"]

    def at_work(self) -> str:
        """Return the id of the current task, else of the one that was completed last; empty for neither."""
        return self.current() or self.last_completed()

    def current(self) -> str:
        """Return the id of the task at work: of several, the one that was started first; else one that failed."""
        stopped = (id_ for id_, status in self.statuses().items() if status in ("failed", "blocked"))
        return next(iter(self.active()), "") or min(stopped, key=schema.key, default="")

    def active(self) -> list[str]:
        """Return the ids of the tasks that agents work on, those first that were started first."""
        entries = self._executors()
        ids = [id_ for id_, status in self.statuses().items() if status == "active"]
        return sorted(ids, key=lambda id_: (values.text(entries[id_].get("started")), schema.key(id_)))

    def last_completed(self) -> str:
        """Return the id of the task that was completed last; empty if none was."""
        done = self.entries("completed_tasks")
        return schema.task_of(done[-1]) if done else ""

    def documented(self) -> dict[str, Any]:
        """Return the names of the tasks that the document named at the start, by their ids."""
        return values.members(values.members(self.notes.get("document")).get("tasks"))

    def unlisted(self) -> list[str]:
        """Return the ids of the known tasks that are in no list, though they weren't skipped."""
        return [id_ for id_, (status, entry) in self._listed().items() if status == "pending" and not entry]

    def requeue(self, *tasks: str) -> None:
        """Make tasks pending that no agent works on any more; the entry of one that is pending stays."""
        names, pending = self.names(), self.listed("pending_tasks")
        new = {each for each in tasks if not self.completed(each)} - {schema.task_of(each) for each in pending}
        if not new:
            return
        entries = [*pending, *(schema.pending(each, names.get(each) or f"Task {each}") for each in new)]
        for each in new & self.all_noted().keys():
            self.note(each).pop("name", None)
        self.data["pending_tasks"] = sorted(entries, key=lambda each: schema.key(schema.task_of(each)))

    def unqueue(self, *tasks: str) -> None:
        """Take tasks out of the pending ones (I003-3). Their names go into the notes: an agent's entry has none."""
        pending = self.listed("pending_tasks")
        for each in pending:
            if (id_ := schema.task_of(each)) in tasks and (name := _name(each)):
                self.note(id_)["name"] = name
        self.data["pending_tasks"] = [each for each in pending if schema.task_of(each) not in tasks]

    def skipped(self) -> list[str]:
        """Return the ids of the skipped tasks."""
        return sorted([id_ for id_, noted in self.all_noted().items() if noted.get("skipped")], key=schema.key)

    def phase_name(self, number: int) -> str:
        """Return the name of a phase, counted from 1: the document's, a milestone's, or `Phase N`."""
        named = values.members(self.notes.get("phases")).get(str(number))
        return values.text(named) or f"Phase {number}"

    def position(self) -> dict[str, Any]:
        """Return `current_phase`, `current_task` and `ralph_iteration` as the lists have them (R003-06 to R003-08).

        While no task is current, the next one's phase is, with the number of its tasks that are done.
        """
        current, left = self.current(), [id_ for id_, status in self.statuses().items() if status != "completed"]
        at = current or min(left, key=schema.key, default="") or self.last_completed()
        mine, number = self.in_phase(schema.key(at)[0]), schema.phase_of(at)
        done = [each for each in mine if each not in left]
        return {
            "current_phase": (values.number(self.head.get("current_phase")) or 0) if number is None else number - 1,
            "current_task": self.place(current) if current else f"{len(done)}/{len(mine)}",
            "ralph_iteration": values.number((self.executor(current) or {}).get("iteration")) or 0,
        }

    def place(self, task: str) -> str:
        """Return where a task stands in its phase: `N/M` (R003-07)."""
        mine = self.in_phase(schema.key(task)[0])
        return f"{mine.index(task) + 1 if task in mine else 0}/{len(mine)}"

    def in_phase(self, number: int) -> list[str]:
        """Return the ids of a phase's tasks, skipped ones too, in their order; phases count from 1."""
        ids = {*self._listed(), *self.skipped()}
        return sorted([each for each in ids if schema.key(each)[0] == number], key=schema.key)

    def _standing(self, id_: str, entry: Mapping[str, Any]) -> Status:
        """Return the status of a task with an agent: an attempt that ended is `failed` if the notes say why."""
        if entry.get("status") != "blocked":
            return "active"
        return "failed" if self.noted(id_).get("failed") else "blocked"


def _name(entry: Mapping[str, Any]) -> str:
    return values.text(entry.get("name"))


def _object(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object's member that is an object itself, for changing; a missing one is added."""
    if not isinstance(data.get(name), dict):
        data[name] = {}
    found: dict[str, Any] = data[name]
    return found


def stamp(moment: datetime) -> str:
    """Return a moment as the state's texts have it: ISO 8601 in UTC, to the second."""
    return f"{clock.stamp(moment).partition('.')[0]}Z"
