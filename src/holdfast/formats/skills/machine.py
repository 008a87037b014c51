"""The state machine of a skill (R004-02): phases, checkpoints and transitions, as data that executes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from holdfast.workflow import definitions
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TASK_PHASE = "task_execution"
"""The phase in which tasks are worked on, unless the machine names another."""
TASK_CYCLE = ("red", "green", "refactor")
_MOST = 200  # entries of a list or table in a machine's file
_PATTERN_LIMIT_CHARS = 300  # the time to compile a glob grows with the square of its length
_TABLES = {
    "context": "the fields of a new workflow's context",
    "fields": "further fields of a new workflow",
    "checkpoints": "the fields of each checkpoint",
    "names": "words for phases and checkpoints",
    "hints": "what to do in each part of a task",
    "tasks": "`phase` and `cycle`",
    "commands": "patterns of the commands that run each checkpoint",
}
_TEXTS = ("key", "title", "cycle")


@dataclass(frozen=True, slots=True)
class Stage:
    """A phase of a machine.

    Attributes:
        name: its name in state files.
        label: its name for people.
        detail: what the resume display shows in brackets; may hold `{tasks}` and `{branch}`.
        hint: what to do in it.
        steps: the steps of the phase, as a new state file lists them.
        requires: the checkpoints without which the phase can't be completed.
        fields: further fields that the phase may have.
        next: the phases that may follow.
    """

    name: str
    label: str = ""
    detail: str = ""
    hint: str = ""
    steps: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """The state machine of a skill.

    Attributes:
        name: the skill.
        stages: its phases, in order.
        key: the context field that holds what a workflow is about.
        title: the context field that holds its title.
        cycle: the field that counts its rounds; empty if the last phase is the end.
        context: the context of a new workflow.
        fields: further fields of a new workflow.
        checkpoints: the fields of each checkpoint, besides its status.
        names: words for phases and checkpoints.
        hints: what to do in each part of a task.
        task_phase: the phase in which tasks are worked on.
        task_cycle: the parts of a task.
        commands: patterns of the commands that run each checkpoint, and `test` for tests: globs for their arguments.
    """

    name: str
    stages: tuple[Stage, ...]
    key: str = "task_description"
    title: str = "task_description"
    cycle: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    checkpoints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    task_phase: str = TASK_PHASE
    task_cycle: tuple[str, ...] = TASK_CYCLE
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _by_name: dict[str, Stage] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the phases by name, because a state file can list ten thousands."""
        object.__setattr__(self, "_by_name", {each.name: each for each in reversed(self.stages)})

    @property
    def has_tasks(self) -> bool:
        """Whether one of its phases is the phase of tasks."""
        return self.task_phase in self._by_name

    def stage(self, name: str) -> Stage:
        """Return the phase of this name; a plain one if the machine doesn't know it."""
        return self._by_name.get(name) or Stage(name)

    def called(self, name: str) -> str:
        """Return the word for a phase, a part of a task or a checkpoint."""
        return self.names.get(name, name)

    def allowed(self, name: str) -> tuple[str, ...]:
        """Return the phases that may follow a phase; the first one if the workflow is in none of its phases."""
        order = [each.name for each in self.stages]
        if name not in order:
            return tuple(order[:1])
        return self.stage(name).next or tuple(order[order.index(name) + 1 : order.index(name) + 2])


def fitted(known: Machine | None, skill: str, steps: Mapping[str, Sequence[str]]) -> Machine:
    """Return the machine of a state file: the skill's, with the phases that the file has, in the file's order.

    A phase that the skill's machine doesn't know is followed by the next one, and can be completed once those of its
    steps that are checkpoints are.

    Args:
        known: the skill's machine; None for a skill that has none.
        skill: the skill's name.
        steps: the steps of each of the file's phases, by the phase's name.
    """
    base = known or Machine(skill, ())
    stages = []
    for name, listed in steps.items():
        stage = base.stage(name)
        own = tuple(listed) or stage.steps
        following = tuple(each for each in stage.next if each in steps)
        stages.append(replace(stage, steps=own, requires=stage.requires or own, next=following))
    return replace(base, stages=tuple(stages))


def parse(name: str, data: Mapping[str, Any], source: str) -> Machine:
    """Return the machine that a TOML file describes.

    Args:
        name: the skill, which is the file's name.
        data: the file's tables.
        source: the file, for messages.

    Raises:
        ConfigError: a key is unknown, missing or has another type, or a phase is named that there isn't.
    """
    read = _Reader(source)
    read.only(data, ("phases", *_TEXTS, *_TABLES), "")
    stages = tuple(_stage(read, each, number) for number, each in enumerate(read.rows(data, "phases"), 1))
    tables = {key: read.table(data, key) for key in _TABLES}
    texts = {key: read.text(data, key) for key in _TEXTS}
    tasks = tables["tasks"]
    read.only(tasks, ("phase", "cycle"), "tasks.")
    order = [each.name for each in stages]
    for each in order:
        if order.count(each) > 1:
            read.fail(f"two phases have the name {each!r}")
    for stage in stages:
        for one in stage.next:
            if one not in order:
                read.fail(f"{stage.name!r} can't lead to {one!r}: {missing('such phase', order)}")
    commands = {key: read.texts(tables["commands"], key, "commands.") for key in tables["commands"]}
    for key, patterns in commands.items():
        if any(len(each) > _PATTERN_LIMIT_CHARS for each in patterns):
            read.fail(f"a pattern in commands.{key} has more than {_PATTERN_LIMIT_CHARS} characters; shorten it")
    checkpoints = {key: read.table(tables["checkpoints"], key, "checkpoints.") for key in tables["checkpoints"]}
    return Machine(
        name,
        stages,
        key=texts["key"] or "task_description",
        title=texts["title"] or texts["key"] or "task_description",
        cycle=texts["cycle"],
        context=tables["context"],
        fields=tables["fields"],
        checkpoints=checkpoints,
        names={key: read.text(tables["names"], key, "names.") for key in tables["names"]},
        hints={key: read.text(tables["hints"], key, "hints.") for key in tables["hints"]},
        task_phase=read.text(tasks, "phase", "tasks.") or TASK_PHASE,
        task_cycle=read.texts(tasks, "cycle", "tasks.") or TASK_CYCLE,
        commands=commands,
    )


def initial(value: Any) -> Any:
    """Return a field's first value as JSON has it: TOML has no null, so an empty text stands for it."""
    if isinstance(value, dict):
        return {key: initial(each) for key, each in value.items()}
    return None if value == "" else list(value) if isinstance(value, list) else value


def _stage(read: _Reader, data: Mapping[str, Any], number: int) -> Stage:
    where = f"phases[{number}]."
    read.only(data, Stage.__dataclass_fields__, where)
    name = read.text(data, "name", where)
    if not name.strip():
        read.fail(f"{where}name is missing")
    steps = read.texts(data, "steps", where)
    return Stage(
        name,
        label=read.text(data, "label", where),
        detail=read.text(data, "detail", where),
        hint=read.text(data, "hint", where),
        steps=steps,
        requires=read.texts(data, "requires", where) or steps,
        fields=read.texts(data, "fields", where),
        next=read.texts(data, "next", where),
    )


class _Reader(definitions.Reader):
    """Reads values of the right type out of a machine's file."""

    KIND = "machine"

    def text(self, data: Mapping[str, Any], key: str, where: str = "") -> str:
        value = data.get(key, "")
        if not isinstance(value, str):
            self.fail(f"{where}{key} must be a text")
        return str(value)

    def texts(self, data: Mapping[str, Any], key: str, where: str = "") -> tuple[str, ...]:
        value = data.get(key, [])
        if not isinstance(value, list) or len(value) > _MOST or not all(isinstance(each, str) for each in value):
            self.fail(f"{where}{key} must be a list of at most {_MOST} texts")
        return tuple(value)

    def table(self, data: Mapping[str, Any], key: str, where: str = "") -> dict[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict) or len(value) > _MOST:
            self.fail(f"{where}{key} must be a table{f', {_TABLES[key]}' if key in _TABLES else ''}")
        return dict(value)

    def rows(self, data: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        value = data.get(key, [])
        rows = value if isinstance(value, list) else []
        if not rows or len(rows) > _MOST or not all(isinstance(each, dict) for each in rows):
            self.fail(f"a machine needs [[{key}]], at most {_MOST}, each with a name")
        return rows
