"""The files of a `wfs` session as pydantic models: one schema to read them and to check them.

`read` is lenient (`workflow.lenient`). `faults` is strict and names each value that the document doesn't allow
(R002-08, R002-19 to R002-28). Unknown keys are allowed everywhere. Files are changed as plain JSON objects, so such
keys stay in them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)

from holdfast.formats.wfs import choice, ids
from holdfast.workflow import lenient, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

STATUSES = ("pending", "active", "completed", "blocked", "container")
"""The statuses a task can have (R002-16)."""
ON_ERROR = ("skip_optional", "fail", "retry_once", "manual_intervention")
"""What may happen when a step fails (R002-26); `fail` by default (I002-6)."""
ARTIFACTS = {
    "synthesis_specification": ("brainstorm_synthesis", "highest"),
    "topic_framework": ("brainstorm_framework", "medium"),
    "individual_role_analysis": ("brainstorm_roles", "low"),
}
"""The types of artifacts, each with its usual source and priority (R002-24)."""
PRIORITIES = ("highest", "high", "medium", "low")
PHASES = ("PLAN", "IMPLEMENT", "REVIEW")
"""The phases a session goes through, in their order (R002-46)."""

_TARGET = re.compile(r"[^:\s][^:]*(?::[^:\s]+(?::\d+(?:-\d+)?)?)?")
_RULES = {
    "context.parent": 3,
    "context.focus_paths": 6,
    "flow_control.pre_analysis": 7,
    "context.depends_on": 8,
    "context.artifacts": 9,
}
"""The rules of R002-33 about one field each; the core fields have rule 5."""
_CORE = ("id", "title", "status", "meta", "context", "flow_control")

Model = TypeVar("Model", bound="Part")


class Fault(NamedTuple):
    """A value that the document doesn't allow.

    Attributes:
        rule: the rule of R002-33 that it breaks; 0 for a remark about what no rule demands.
        field: the field, as in `context.focus_paths[0]`.
        value: the field's value; None if it is missing.
        problem: what is wrong with it.
        remedy: what to write instead.
    """

    rule: int
    field: str
    value: Any
    problem: str
    remedy: str


class _Wrong(ValueError):
    """What is wrong with a value, what to write instead, and the rule that it breaks if that isn't its field's."""

    def __init__(self, problem: str, remedy: str, rule: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.rule = problem, remedy, rule


class Strict(NamedTuple):
    """What a strict validation knows besides the file.

    Attributes:
        exists: returns whether a path, relative to the project, exists.
        session: the name of the session's folder.
    """

    exists: Callable[[str], bool]
    session: str = ""


def _reading(understand: Callable[[Any], Any]) -> BeforeValidator:
    """Return a validator that understands other forms of a value, when a file is read and not checked."""
    return BeforeValidator(lambda value, info: value if info.context else understand(value))


def _rule(check: Callable[[Any, ValidationInfo], object]) -> AfterValidator:
    """Return a validator that a strict validation runs; `check` raises _Wrong."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        if info.context:
            check(value, info)
        return value

    return AfterValidator(validate)


def _one_of(known: tuple[str, ...], remedy: str = "write one of them") -> AfterValidator:
    def check(value: Any, info: ValidationInfo) -> None:
        if value not in known:
            raise _Wrong(f"it is not one of {', '.join(known)}", remedy)

    return _rule(check)


def _not_empty(value: Any, info: ValidationInfo) -> None:
    if not isinstance(value, str):
        raise _Wrong("it is not a text", "write a text")
    if not value.strip():
        raise _Wrong("it is empty", f"say what the {info.field_name} is")


def _id(value: str, info: ValidationInfo) -> None:
    _not_empty(value, info)
    if ids.key(value) is None:
        raise _Wrong("it is not IMPL-N or IMPL-N.M, two levels at most", "write it as IMPL-1 or IMPL-1.2", 2)


def _status(value: str, info: ValidationInfo) -> None:
    _not_empty(value, info)
    if value not in STATUSES:
        raise _Wrong(f"it is not one of {', '.join(STATUSES)}", "write one of them", 4)


def _focus(path: str, info: ValidationInfo) -> None:
    """Check a focus path: concrete, and relative to the project's root (R002-23, I002-26)."""
    if not path.strip():
        raise _Wrong("it isn't a path", "write a path relative to the project's root")
    if path.startswith("./") and not any(sign in path for sign in "*?"):
        raise _Wrong("it begins with ./", f"write {path.removeprefix('./') or 'the folder'}")
    if _is_absolute(path):
        raise _Wrong("it is absolute", "write it relative to the project's root")
    if _leaves_a_folder(path):
        raise _Wrong("it leads out of a folder with ..", "write where it leads to, relative to the project's root")
    exists = cast("Strict", info.context).exists
    if any(sign in path for sign in "*?") or (any(sign in path for sign in "[{") and not exists(path)):
        raise _Wrong("it has wildcards", "name the files or folders themselves")


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~", "\\")) or path[1:2] == ":"


def _leaves_a_folder(path: str) -> bool:
    return ".." in path.replace("\\", "/").split("/")


def _inside(path: str, info: ValidationInfo) -> None:
    if not path.strip() or _is_absolute(path) or _leaves_a_folder(path):
        raise _Wrong("it isn't a path within the project", "write it relative to the root")


def _usual(position: int, known: tuple[str, ...]) -> AfterValidator:
    """Check a source or priority against the list, and against the default of the artifact's type (I002-9)."""

    def check(value: str, info: ValidationInfo) -> None:
        usual = ARTIFACTS.get(info.data.get("type", ""), ("", ""))[position]
        if value not in known:
            raise _Wrong(f"it is not one of {', '.join(filter(None, known))}", "write one of them")
        if value and usual and value != usual:
            raise _Wrong(f"with this type it is {usual} as a rule", f"write {usual}", 0)

    return _rule(check)


def _variable(name: str, info: ValidationInfo) -> None:
    if name and not name.strip():
        raise _Wrong("it isn't a variable name", "write a name, or leave it out")


def _steps_differ(steps: list[Step], info: ValidationInfo) -> None:
    names = [each.step for each in steps]
    if twice := [each for number, each in enumerate(names) if each in names[:number]]:
        raise _Wrong(f"several steps are called {twice[0]}", "give each step a name of its own")


def _target(value: str, info: ValidationInfo) -> None:
    if not _TARGET.fullmatch(value):
        raise _Wrong("it is not file, file:function or file:function:lines", "it is taken as it is")


def _session_name(value: str, info: ValidationInfo) -> None:
    if value != cast("Strict", info.context).session:
        raise _Wrong("its folder says another name", "correct it")


Words = Annotated[str, _rule(_not_empty)]
Texts = Annotated[
    list[str], AfterValidator(lambda texts, info: texts if info.context else [each for each in texts if each.strip()])
]


class Part(BaseModel):
    """A JSON object in a file of a session."""

    model_config = ConfigDict(extra="allow", validate_default=True)


class Meta(Part):
    """What kind of task it is, and who works on it (R002-20, R002-21)."""

    type: Annotated[str, _one_of(choice.TYPES, "it is taken as it is")] = ""
    agent: Annotated[str, _one_of(choice.AGENTS, "it is taken as it is")] = ""


class Artifact(Part):
    """A document that a task builds on (R002-24). It may have more keys (I002-8)."""

    type: Annotated[str, _one_of(tuple(ARTIFACTS))] = ""
    source: Annotated[str, _usual(0, ("", *(source for source, _ in ARTIFACTS.values())))] = ""
    path: Annotated[str, _rule(_inside)] = ""
    priority: Annotated[str, _usual(1, PRIORITIES)] = ""


class Step(Part):
    """A step before the work (R002-25).

    Attributes:
        step: its name.
        action: its purpose.
        command: its command; in real task files it may be several, under `commands`. Holdfast never runs them.
        output_to: the variable that gets its output; empty for none (I002-7).
        on_error: what happens when it fails.
    """

    step: Words = ""
    action: Words = ""
    command: Annotated[Any, _rule(_not_empty)] = Field(default="", validation_alias=AliasChoices("command", "commands"))
    output_to: Annotated[str, _rule(_variable)] = ""
    on_error: Annotated[str, _one_of(ON_ERROR)] = "fail"

    @property
    def commands(self) -> tuple[str, ...]:
        """Its commands, in order."""
        return values.texts([self.command] if isinstance(self.command, str) else self.command, "", [])


class Approach(Part):
    """How to do the work (R002-27)."""

    task_description: str = ""
    modification_points: Texts = []
    logic_flow: Texts = []


def _approach(value: Any) -> Any:
    """Return an approach, which may also be a text, or a list of steps as in later versions of the document."""
    if isinstance(value, list):
        return {"modification_points": list(values.texts(value, "", []))}
    return {"task_description": value} if isinstance(value, str) else value


class FlowControl(Part):
    """The steps before the work, how to do it, and the files that it changes (R002-28, I002-5)."""

    pre_analysis: Annotated[list[Step], _rule(_steps_differ)] = []
    implementation_approach: Annotated[Approach, _reading(_approach)] = Approach()
    target_files: list[Annotated[str, _rule(_target)]] = []


class Context(Part):
    """What a task needs to know, and the tasks that it belongs to and waits for (R002-22)."""

    parent: Annotated[str, BeforeValidator(lambda value: "" if value is None else value)] = ""
    depends_on: Texts = []
    requirements: Texts = []
    focus_paths: list[Annotated[str, _rule(_focus)]] = []
    acceptance: Texts = []
    inherited: Annotated[
        dict[str, Any], _reading(lambda value: value if isinstance(value, dict) else {"context": value})
    ] = {}
    shared_context: dict[str, Any] = {}
    artifacts: list[Artifact] = []

    @property
    def handed_down(self) -> tuple[str, ...]:
        """What the task itself inherits, as texts."""
        return values.texts(self.inherited.get("context"), "", [])

    @property
    def passed_on(self) -> list[str]:
        """What its subtasks inherit: what it inherits itself, and its requirements."""
        return [*self.handed_down, *self.requirements]


class TaskFile(Part):
    """A task file: the six core fields (R002-19, I002-1)."""

    id: Annotated[str, _rule(_id)] = ""
    title: Words = ""
    status: Annotated[str, _rule(_status)] = ""
    meta: Meta = Meta()
    context: Context = Context()
    flow_control: FlowControl = FlowControl()


class Progress(Part):
    """Which phases a session has passed, and which tasks are worked on or come next (I002-24)."""

    completed_phases: Texts = []
    current_tasks: Texts = []


class SessionFile(Part):
    """The state of a session (R002-08)."""

    session_id: Annotated[str, _rule(_session_name)] = ""
    project: str = ""
    type: Annotated[str, _one_of(choice.COMPLEXITIES, "correct it")] = ""
    current_phase: Annotated[str, _one_of(PHASES, "correct it")] = ""
    status: str = ""
    progress: Progress = Progress()


_REQUIRED: dict[type[Part], tuple[str, ...]] = {
    TaskFile: (*_CORE, "flow_control.pre_analysis"),
    SessionFile: ("progress.completed_phases", "progress.current_tasks"),
}
"""The fields whose absence the models don't report. An empty `flow_control` says that there are no steps."""


def read(model: type[Model], data: Mapping[str, Any]) -> Model:
    """Return the content of a file, whatever it holds: a value that doesn't fit is converted or left out."""
    return lenient.read(model, data, [])


def faults(model: type[Part], data: Mapping[str, Any], strict: Strict) -> Iterator[Fault]:
    """Yield everything in a file that the document doesn't allow, and remarks."""
    missing = [field for field in _REQUIRED[model] if _is_missing(data, field)]
    for field in missing:
        yield Fault(_rule_of(field), field, None, "a file has to have it", f"add {field.rpartition('.')[2]}")
    try:
        model.model_validate(data, context=strict)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            field, wrong = lenient.name(each["loc"]), each.get("ctx", {}).get("error")
            if field in missing:
                continue
            if isinstance(wrong, _Wrong):
                rule = _rule_of(field) if wrong.rule is None else wrong.rule
                yield Fault(rule, field, each["input"], wrong.problem, wrong.remedy)
            else:
                kind = lenient.FAULTS.get(each["type"], each["msg"]).removeprefix("is not ")
                yield Fault(_rule_of(field), field, each["input"], f"it is not {kind}", f"write {kind}")


def _is_missing(data: Mapping[str, Any], field: str) -> bool:
    """Return whether a required field, or the object that should have it, is missing."""
    outer, _, last = field.rpartition(".")
    holder = data.get(outer, {}) if outer else data
    if outer == "flow_control" and holder == {}:
        return False
    return isinstance(holder, dict) and holder.get(last) is None


def _rule_of(field: str) -> int:
    return 5 if field in _CORE else next((_RULES[name] for name in _RULES if field.startswith(name)), 0)
