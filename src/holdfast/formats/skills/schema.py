"""The state file of a skill's workflow: its schema, what it says, and a new one's content.

Its keys are those of R004-09, R004-10, R004-11, R004-12 and R004-13; for /dev R004-14, R004-15, R004-16, R004-17 and
R004-18; for /tdd R004-19, R004-20, R004-21, R004-22 and R004-23. The document's comments are no keys (I004-2). What it
has only later may be missing: a step (I004-23), a task's commit (I004-18).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError, TransitionError
from holdfast.files import document
from holdfast.formats.skills import feature_file, machine, paths
from holdfast.workflow import names, statuses, values
from holdfast.workflow.wording import count, missing, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine

VERSION = "1.0"
INIT = "init"
"""The state of a workflow none of whose phases has begun (R004-03)."""
FEATURE, TASK = "feature_file", "task_description"
TASK_ID = "task-"
"""The beginning of a task's id; its number follows."""
FINAL = ("completed", "abandoned")
_STATUSES = ("in_progress", "completed", "blocked", "abandoned")
_MEANT = {"active": "in_progress", "running": "in_progress", "not_started": "pending"}
"""The schema's words for what `workflow.statuses` calls otherwise."""


def stamp(moment: datetime | None = None) -> str:
    """Return a moment, by default the present, as state files have it: UTC, in whole seconds, with a Z (I004-13)."""
    return (moment or clock.now()).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(entry: Mapping[str, Any]) -> str:
    """Return the status of a workflow, phase or task as the schema has it, from other spellings too."""
    return status_word(entry.get("status"))


def status_word(value: Any) -> str:
    """Return a status as the schema has it, from other spellings too."""
    word = values.text(value).strip().lower()
    meant = statuses.pure(word) or word
    return word if meant == "dropped" else _MEANT.get(meant, meant)


def task_number(id_: str) -> int | None:
    """Return the number of the task with this id, None for a phase's."""
    return values.number(id_.removeprefix(TASK_ID)) if id_.startswith(TASK_ID) else None


def was_run(point: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint was run, whatever came of it."""
    return values.text(point.get("status")).lower() in ("completed", "passed", "failed", "done")


def has_failed(point: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint was run and failed (I004-8); some files have that as a status or as a text."""
    return values.text(point.get("status")).lower() == "failed" or values.text(point.get("passed")).lower() == "false"


class State:
    """A state file's JSON, as everything reads and changes it.

    Attributes:
        data: the JSON. The moves change it in place.
        path: the file.
        rules: the machine of its skill, with the phases that the file has.
        at: when it is changed, a UTC stamp.
        is_outdated: whether `completed/` has a later copy, which counts: the document's commands leave the active one.
        notes: what is wrong with the machine's file, and what was filled in.
    """

    def __init__(self, data: dict[str, Any], path: Path, rules: Machine) -> None:
        self.data, self.path, self.rules = data, path, rules
        self.at = stamp()
        self.is_outdated = False
        self.notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, root: Path, path: Path, data: Mapping[str, Any]) -> State:
        """Return the state in a file: whole, with its machine, and with statuses that agree with its current phase."""
        state = cls(copy.deepcopy(dict(data)), path, machine.of_phases(paths.skill(data, path)))
        if over := _completion(state):
            state.is_outdated, state.data["workflow"] = True, over
        known, problem = machine.known(root, state.rules.name)
        filled = state._fill(root, known)
        steps = {id_: values.texts(each.get("steps"), "steps", []) for id_, each in state.phases.items()}
        state.rules = machine.fitted(known, state.rules.name, steps)
        state.notes = tuple(filter(None, (problem, filled)))
        state.settle()
        return state

    @property
    def workflow(self) -> dict[str, Any]:
        """The object `workflow`."""
        found: dict[str, Any] = self.data["workflow"]
        return found

    @property
    def machine_state(self) -> dict[str, Any]:
        """The object `state_machine`."""
        found: dict[str, Any] = self.data["state_machine"]
        return found

    @property
    def context(self) -> dict[str, Any]:
        """The object `context`."""
        return values.members(self.data.get("context"))

    @property
    def test_state(self) -> dict[str, Any]:
        """The object `test_state`: the last test run."""
        return values.members(self.data.get("test_state"))

    @property
    def status(self) -> str:
        """The status of the workflow; one that isn't known counts as in progress."""
        word = status_of(self.workflow)
        return word if word in _STATUSES else "in_progress"

    @property
    def is_over(self) -> bool:
        """Whether the workflow is completed or abandoned."""
        return self.status in FINAL

    @property
    def branch(self) -> str:
        """The branch that the workflow was started on; empty if the state names none."""
        return values.text(self.workflow.get("branch"))

    @property
    def key(self) -> str:
        """What the workflow is about: the feature file, else the task (R004-06); empty if the state doesn't say.

        A machine's own key comes first, and the original's one last.
        """
        own = [] if self.rules.key in (FEATURE, TASK) else [self.rules.key]
        named = (values.text(self.context.get(each)) for each in (*own, FEATURE, TASK, "source"))
        return next((each for each in named if each.strip()), "")

    @property
    def current(self) -> str:
        """The name of the current phase."""
        return values.text(self.machine_state.get("current_phase"))

    @property
    def phases(self) -> dict[str, dict[str, Any]]:
        """The phases by id, in order, without what is no object.

        A phase's id is its name. One without a name, with that of an earlier one, with a task's id for a name, or with
        a secret in its name is identified by its place: ids are remembered as they are.
        """
        found: dict[str, dict[str, Any]] = {}
        for number, each in enumerate(values.objects(self.machine_state.get("phases")), 1):
            name = values.text(each.get("name"))
            known = "" if task_number(name) is not None or names.holds_secret(name) else name.strip()
            found[name if known and name not in found else f"{known or 'phase'}-{number}"] = each
        return found

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The tasks, without what is no object."""
        return values.objects(self.data.get("tasks"))

    @property
    def completed_tasks(self) -> int:
        """How many tasks are completed."""
        return sum(status_of(each) == "completed" for each in self.tasks)

    @property
    def current_task(self) -> int | None:
        """The number of the task that is worked on; else of the one that is next; None if there is none (I004-6)."""
        words = [status_of(each) for each in self.tasks]
        return next((words.index(word) + 1 for word in ("in_progress", "blocked", "pending") if word in words), None)

    @property
    def checkpoints(self) -> dict[str, dict[str, Any]]:
        """The checkpoints, in the file's order."""
        found = values.members(self.data.get("checkpoints"))
        return {name: each for name, each in found.items() if isinstance(each, dict)}

    @property
    def history(self) -> list[dict[str, Any]]:
        """The events of the history, without what is no object."""
        return values.objects(self.data.get("history"))

    @property
    def units(self) -> dict[str, dict[str, Any]]:
        """The units' own objects by id, in order: the phases, with the tasks in place of the phase of tasks."""
        found: dict[str, dict[str, Any]] = {}
        for name, each in self.phases.items():
            tasks = self.tasks if name == self.rules.tasks.phase else []
            found |= {f"{TASK_ID}{number}": task for number, task in enumerate(tasks, 1)} or {name: each}
        return found

    def phase(self, name: str) -> dict[str, Any]:
        """Return the phase of this name. Raises TransitionError that names those there are."""
        found = self.phases
        if name not in found:
            raise TransitionError(missing(f"phase {name!r}", list(found), "no phases are recorded"))
        return found[name]

    def task(self, number: int) -> dict[str, Any]:
        """Return the task with this number from 1 (I004-12). Raises TransitionError if there is none."""
        found = self.tasks
        if not 1 <= number <= len(found):
            known = f"tasks are numbered 1 to {len(found)}" if found else "the workflow has no tasks"
            raise TransitionError(f"there is no task {number}; {known}")
        return found[number - 1]

    def unit(self, id_: str) -> dict[str, Any]:
        """Return a unit's own object. Raises TransitionError if there is none."""
        number = task_number(id_)
        return self.phase(id_) if number is None else self.task(number)

    def open_checkpoints(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return which of some checkpoints `failed`, and which are `pending`, in order; nothing if all passed."""
        points = {name: self.checkpoints[name] for name in names if name in self.checkpoints}
        groups = {
            "failed": [name for name, point in points.items() if has_failed(point)],
            "pending": [name for name, point in points.items() if not was_run(point)],
        }
        return {word: found for word, found in groups.items() if found}

    def part(self, task: Mapping[str, Any]) -> str:
        """Return the part of a task that is in progress, else the next one (red, green, refactor); empty if none is."""
        parts = values.members(task.get("tdd_phases"))
        words = {name: status_word(parts[name]) for name in self.rules.tasks.cycle if name in parts}
        begun = next((name for name, word in words.items() if word in ("in_progress", "blocked")), "")
        return begun or next((name for name, word in words.items() if word == "pending"), "")

    def note(self, event: str, **more: Any) -> None:
        """Append an event to the history, and move `updated_at`. What the history holds already stays (I004-20)."""
        history = self.data.get("history")
        entry = {"at": self.at, "event": event, **more}
        self.data["history"] = [*(history if isinstance(history, list) else []), entry]
        self.workflow["updated_at"] = self.at

    def settle(self) -> None:
        """Make the statuses of the phases agree with the current phase, which decides: the document moves that alone.

        Phases before it are completed, later ones are pending, and it is in progress unless it is blocked or completed.
        While it isn't the phase of tasks, no task is in progress. If no phase is current, the statuses stay.
        """
        phases, name = self.phases, self.current
        listed = self.tasks if self.rules.tasks.phase in phases else []
        begun = [each for each in listed if status_of(each) == "in_progress"]
        if name not in phases and begun:
            name = self.machine_state["current_phase"] = self.rules.tasks.phase
        if name not in phases and status_word(name) != "completed":
            return
        order = list(phases)
        at = order.index(name) if name in phases else len(order)
        for each in begun if name != self.rules.tasks.phase else ():
            each["status"] = "pending"
        for id_ in order[:at]:
            set_status(phases[id_], "completed")
        if name in phases and status_of(phases[name]) != "blocked" and not self._is_left(list(phases.items())[at:]):
            set_status(phases[name], "in_progress")
        for id_ in order[at + 1 :]:
            set_status(phases[id_], "pending")

    def _is_left(self, phases: list[tuple[str, dict[str, Any]]]) -> bool:
        """Return whether the first of these phases is completed, and the document didn't begin it again."""
        first, *later = (status_of(each) for _, each in phases)
        if first != "completed" or any(each != "pending" for each in later):
            return False
        about = [each.get("event") for each in self.history if each.get("phase") == phases[0][0]]
        return about[-1:] != ["phase_started"]

    def _fill(self, root: Path, known: Machine | None) -> str:
        """Fill in the phases and tasks that the file doesn't list; return a sentence about them, empty for none.

        The phases are those of the skill's machine, the tasks the boxes of the feature file.
        """
        listed, current = self.phases, self.current
        if known is None:
            return "" if listed else "no phases recorded"
        if listed and (current in listed or current not in known.order):
            return ""
        lacks = f"doesn't list the phase {quoted(current)}" if listed else "lists no phases"
        text = f"the state file {lacks}; they are those of the machine {known.name}"
        own = [listed.pop(each["name"], each) for each in _phases(known)]
        self.machine_state["phases"] = [*own, *listed.values()]
        self.rules = known
        if known.has_tasks and not self.tasks and (feature := feature_file.read(root, self.key)):
            self.data["tasks"] = _tasks(feature.boxes)
            text += f", with {count(len(feature.boxes), 'task')} from the feature file"
        return text


def set_status(entry: dict[str, Any], status: str) -> None:
    """Give a phase another status, without times that contradict it."""
    if status_of(entry) == status:
        return
    entry["status"] = status
    for name in {"pending": ("started_at", "completed_at"), "in_progress": ("completed_at",)}.get(status, ()):
        entry.pop(name, None)


def fresh(
    rules: Machine,
    path: Path,
    at: str,
    *,
    context: Mapping[str, Any],
    branch: str,
    tasks: Iterable[tuple[str, bool]],
) -> State:
    """Return the state of a new workflow: exactly the schema's keys, nothing begun.

    Args:
        rules: the machine.
        path: its file.
        at: when it starts.
        context: what is known of it, for the machine's fields; others are added.
        branch: the branch that is checked out; empty for none.
        tasks: descriptions of its tasks, each with whether it is completed.
    """
    listed = _tasks(tasks)
    machine_state: dict[str, Any] = {"current_phase": INIT}
    if rules.cycle:
        machine_state[rules.cycle] = 1
    machine_state["phases"] = _phases(rules)
    points = {name: {"status": "pending", **machine.initial(each)} for name, each in rules.checkpoints.items()}
    data = {
        "_schema": {"version": VERSION, "skill": rules.name},
        "workflow": {
            "id": path.stem,
            "status": "in_progress",
            "created_at": at,
            "updated_at": at,
            "branch": branch or None,
        },
        "context": {**machine.initial(rules.context), **context},
        "state_machine": machine_state,
        **({"tasks": listed} if listed or rules.has_tasks else {}),
        **machine.initial(rules.fields),
        **({"checkpoints": points} if points else {}),
        "history": [],
    }
    state = State(data, path, rules)
    state.at = at
    state.note("workflow_started", **({"task": state.key} if rules.cycle and rules.key == TASK else {}))
    state.settle()  # a first phase can have the name of the state before the first phase
    return state


def _completion(state: State) -> dict[str, Any] | None:
    """Return the `workflow` of a completed copy of the same workflow, unless the file was saved later; else None."""
    try:
        data = document.load(paths.completed_copy(state.path)).data
    except StateError:
        return None
    if not isinstance(over := data.get("workflow"), dict) or status_of(over) != "completed":
        return None
    ended = clock.parse(values.text(over.get("completed_at")))
    saved = clock.parse(values.text(state.workflow.get("updated_at")))
    is_same = paths.identity(data, state.path) == paths.identity(state.data, state.path)
    return dict(over) if is_same and ended is not None and (saved is None or ended >= saved) else None


def _phases(rules: Machine) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "status": "pending", **({"steps": list(each.steps)} if each.steps else {})}
        for each in rules.phases
    ]


def _tasks(described: Iterable[tuple[str, bool]]) -> list[dict[str, Any]]:
    return [
        {"index": number, "description": text, "status": "completed" if is_done else "pending"}
        for number, (text, is_done) in enumerate(described, 1)
    ]
