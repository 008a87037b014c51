"""The state machine of a skill (R004-02): phases, checkpoints and transitions, as data that executes nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence  # pydantic reads the annotations
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from holdfast.errors import HoldfastError, TransitionError
from holdfast.formats.skills import record
from holdfast.workflow import definitions
from holdfast.workflow.wording import missing

TEST_COMMANDS = (
    *("pytest *", "python* -m pytest *", "uv run pytest *", "tox *", "cargo test *", "go test *", "make test"),
    *("npm test *", "npm run test *", "npx jest *", "npx vitest *", "pnpm test *", "yarn test *"),
)
"""The commands that run tests, unless a machine names its own: a glob for each argument, a last * for any more."""
_SHIPPED = Path(__file__).parent / "machines"
_SKILL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Stage(BaseModel):
    """A phase of a machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """Its name in state files."""
    label: str = ""
    """Its name for people."""
    detail: str = ""
    """What the resume display shows in brackets; may hold `{tasks}` and `{branch}`."""
    hint: str = ""
    """What to do in it."""
    steps: tuple[str, ...] = ()
    """The steps of the phase, as a new state file lists them."""
    requires: tuple[str, ...] = ()
    """The checkpoints without which the phase can't be completed; by default those that are steps."""
    fields: tuple[str, ...] = ()
    """Further fields that the phase may have."""
    next: tuple[str, ...] = ()
    """The phases that may follow; by default the one below."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The checkpoints without which the phase can't be completed."""
        return self.requires or self.steps


class Tasks(BaseModel):
    """Where a machine works on tasks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phase: str = "task_execution"
    """The phase in which tasks are worked on."""
    cycle: tuple[str, ...] = ("red", "green", "refactor")
    """The parts of a task."""


class Machine(BaseModel):
    """The state machine of a skill. In `context`, `fields` and `checkpoints`, an empty text stands for null."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """The skill, which is the file's name."""
    phases: tuple[Stage, ...] = Field(min_length=1)
    """Its phases, in order."""
    key: str = "task_description"
    """The context field that holds what a workflow is about."""
    title: str = ""
    """The context field that holds its title; by default the key."""
    cycle: str = ""
    """The field that counts its rounds; empty if the last phase is the end."""
    context: Mapping[str, Any] = {}
    """The context of a new workflow."""
    fields: Mapping[str, Any] = {}
    """Further fields of a new workflow."""
    checkpoints: Mapping[str, Mapping[str, Any]] = {}
    """The fields of each checkpoint, besides its status."""
    names: Mapping[str, str] = {}
    """Words for phases, checkpoints and parts of a task."""
    hints: Mapping[str, str] = {}
    """What to do in each part of a task."""
    tasks: Tasks = Tasks()
    tests: tuple[str, ...] = TEST_COMMANDS
    """The commands that run tests."""

    @model_validator(mode="after")
    def _consistent(self) -> Machine:
        order = self.order
        for stage in self.phases:
            if not stage.name.strip():
                raise ValueError("a phase has no name")
            if order.count(stage.name) > 1:
                raise ValueError(f"two phases have the name {stage.name!r}")
            for each in stage.next:
                if each not in order:
                    raise ValueError(f"{stage.name!r} can't lead to {each!r}: {missing('such phase', order)}")
        return self

    @property
    def order(self) -> list[str]:
        """The names of its phases, in order."""
        return [each.name for each in self.phases]

    @property
    def has_tasks(self) -> bool:
        """Whether one of its phases is the phase of tasks."""
        return self.tasks.phase in self.order

    def stage(self, name: str) -> Stage:
        """Return the phase of this name; a plain one if the machine doesn't know it."""
        return next((each for each in self.phases if each.name == name), Stage(name=name))

    def word(self, name: str) -> str:
        """Return the word for a phase, a part of a task or a checkpoint."""
        return self.names.get(name, name)

    def allowed(self, name: str) -> tuple[str, ...]:
        """Return the phases that may follow a phase; the first one if the workflow is in none of its phases."""
        order = self.order
        if name not in order:
            return tuple(order[:1])
        return self.stage(name).next or tuple(order[order.index(name) + 1 : order.index(name) + 2])


def is_skill(name: str) -> bool:
    """Return whether a text can be the name of a skill."""
    return bool(_SKILL.fullmatch(name))


def of_phases(skill: str, names: Sequence[str] = ()) -> Machine:
    """Return the machine of a skill that has none: its phases follow one another."""
    return Machine.model_construct(name=skill, phases=tuple(Stage(name=each) for each in names))


def fitted(known: Machine | None, skill: str, steps: Mapping[str, Sequence[str]]) -> Machine:
    """Return the machine of a state file: the skill's, with the phases that the file has, in the file's order.

    A phase that the skill's machine doesn't know is followed by the next one, and can be completed once those of its
    steps that are checkpoints are.

    Args:
        known: the skill's machine; None for a skill that has none.
        skill: the skill's name.
        steps: the steps of each of the file's phases, by the phase's name.
    """
    base = known or of_phases(skill)
    stages = []
    for name, listed in steps.items():
        stage = base.stage(name)
        following = tuple(each for each in stage.next if each in steps)
        stages.append(stage.model_copy(update={"steps": tuple(listed) or stage.steps, "next": following}))
    return base.model_copy(update={"phases": tuple(stages)})


def parse(name: str, data: Mapping[str, Any], source: str) -> Machine:
    """Return the machine that a TOML file describes. Raises ConfigError, which names the file and the key."""
    return definitions.checked(Machine, {**data, "name": name}, source, "machine")


def initial(value: Any) -> Any:
    """Return a field's first value as JSON has it: TOML has no null, so an empty text stands for it."""
    if isinstance(value, Mapping):
        return {key: initial(each) for key, each in value.items()}
    return None if value == "" else list(value) if isinstance(value, list) else value


MACHINES = definitions.Library(
    record.DEFINITIONS,
    parse,
    is_name=is_skill,
    shipped=_SHIPPED,
)


def get(root: Path, skill: str) -> Machine:
    """Return the machine of a skill.

    A user's file comes first, so a project's never replaces it. A project's counts once trusted, before a shipped one.

    Raises:
        ConfigError: its file describes no machine.
        StateError: its file can't be read.
        TransitionError: there is none, or the project's isn't trusted. The message names those there are.
    """
    found = MACHINES.first(root, skill)
    if found is not None:
        return found
    files = MACHINES.listed(root)
    if waiting := next((each for each in files if each.name == skill and not each.trusted), None):
        raise TransitionError(waiting.reason)
    known = sorted({each.name for each in files if each.value})
    raise TransitionError(
        f"{missing(f'machine {skill!r}', known)}. Describe one in "
        f"{definitions.user_folder(MACHINES.kind) / 'NAME.toml'}, or name its phases with --phase"
    )


def known(root: Path, skill: str) -> tuple[Machine | None, str]:
    """Return the machine of a skill, None without a usable one, and what is wrong with its file; empty for nothing."""
    try:
        return MACHINES.first(root, skill), ""
    except HoldfastError as error:
        return None, str(error)
