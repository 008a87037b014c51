"""What an agent gets for a `wfs` task: the whole task, with everything that it inherits, and its variables filled in.

`[name]` in a text of a task stands for a step's output or a property of the task (R002-30). Holdfast never runs the
commands of steps (R002-29): they come from whoever wrote the file, and whoever works on the task decides about them.
"""

from __future__ import annotations

import copy
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError, LedgerError, StateError, TransitionError
from holdfast.files import document
from holdfast.formats.wfs import paths
from holdfast.workflow import extras, values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from holdfast.formats.wfs.schema import Context, Step
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.tree import Task, Tree
    from holdfast.workflow.records import Outcome, Records, StepRun

# Brackets with "(" after them are a link.
_VARIABLE = re.compile(r"(?<!\\)\[([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?)\](?!\()")
_ALIASES = {"shared": "shared_context"}  # short names of properties (I002-10)
_PROPERTIES = ("requirements", "focus_paths", "acceptance", "parent", "depends_on", "inherited", "shared_context")
_APPROACH = "implementation_approach"
_LINE_LIMIT_CHARS = 200  # characters of a line of JSON, if a value can be divided
_READ_LIMIT_BYTES = 64 * 1024  # bytes of a summary that are read
_TRIES = {"retry_once": 2}
"""How often a step may fail before it stops the task, if that isn't once."""


class StepState(NamedTuple):
    """A step with its result.

    Attributes:
        name: its name; `step_2` for the second if it has none.
        step: the step in the task's file.
        run: the recorded result; None for none.
        state: `pending`, `completed`, `skipped`, `retry` (it failed and should be tried once more), `failed` (the task
            stops here), or `manual` (it failed, and a person must decide) (R002-26).
    """

    name: str
    step: Step
    run: StepRun | None
    state: str

    @property
    def is_over(self) -> bool:
        """Whether the following steps may be run."""
        return self.state in ("completed", "skipped")


def step_states(project: Records, workflow: str, task: Task) -> list[StepState]:
    """Return a task's steps in their order, each with its result; without results if the ledger can't be read.

    `workflow` is the key of the session's workflow.
    """
    runs: Mapping[str, StepRun] = {}
    with suppress(LedgerError):
        runs = project.steps(workflow, task.id)
    named = [(each.step or f"step_{number}", each) for number, each in enumerate(task.flow.pre_analysis, 1)]
    return [StepState(name, step, runs.get(name), _step_state(step, runs.get(name))) for name, step in named]


def step_outputs(steps: Sequence[StepState]) -> dict[str, str]:
    """Return the output of completed steps by variable name; of several, the last counts."""
    return {
        each.step.output_to: each.run.output
        for each in steps
        if each.step.output_to and each.run and each.run.outcome == "completed"
    }


def record_step(
    project: Records, workflow: str, task: Task, name: str, outcome: Outcome, output: str
) -> list[StepState]:
    """Record the result of a step, and return the task's steps as they are now.

    Args:
        project: the project.
        workflow: the workflow's key.
        task: the task.
        name: the step's name.
        outcome: how it ended.
        output: its output.

    Raises:
        HoldfastError: the task has no such step.
        TransitionError: an earlier step was not run; steps go in order.
        LedgerError: it can't be stored.
    """
    steps = step_states(project, workflow, task)
    position = next((number for number, each in enumerate(steps) if each.name == name), None)
    if position is None:
        known = ", ".join(each.name for each in steps) or "none"
        raise HoldfastError(f"{task.id} has no step {name!r}; its steps are: {known}")
    before = [each.name for each in steps[:position] if not each.is_over]
    if before:
        raise TransitionError(f"{before[0]} comes before {name}; record {before[0]} first, or skip it with --skipped")
    project.record_step(workflow, task.id, name, outcome, output)
    return step_states(project, workflow, task)


def _step_state(step: Step, run: StepRun | None) -> str:
    if run is None:
        return "pending"
    if run.outcome != "failed":
        return run.outcome
    if step.on_error == "skip_optional":
        return "skipped"
    if step.on_error == "manual_intervention":
        return "manual"
    return "retry" if run.failures < _TRIES.get(step.on_error, 1) else "failed"


class AgentTask(NamedTuple):
    """A task as its agent gets it (R002-44).

    Attributes:
        task: the whole JSON object, with what is inherited and the variables filled in.
        session: the session's name.
        phase: the session's phase.
        extras: the session's own reading, reminders and context.
        unresolved: what could not be filled in, each with its place and the reason.
    """

    task: dict[str, Any]
    session: str
    phase: str
    extras: Mapping[str, Any]
    unresolved: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values in the document's form, with what is unresolved, if anything."""
        workflow = {"session": self.session, "phase": self.phase, **self.extras}
        whole: dict[str, Any] = {"task": self.task, "workflow": workflow}
        return whole | ({"unresolved": list(self.unresolved)} if self.unresolved else {})

    def lines(self) -> tuple[str, ...]:
        """Return `as_json` as text for a model: few lines, and no indentation."""
        return tuple(_json_lines(self.as_json()))


def for_agent(project: Records, session: Session, tree: Tree, task: Task, outputs: Mapping[str, str]) -> AgentTask:
    """Return a task with everything that it inherits.

    These come in this order (R002-31, R002-32): what its session holds; from its parent, what that inherited itself,
    its shared context, acceptance, artifacts and approach; the summaries of its dependencies; then the content of its
    own file, with variables filled in from outputs and properties.

    Args:
        project: the project.
        session: the task's session.
        tree: the session's tasks.
        task: the task.
        outputs: the output of its steps, by variable name.
    """
    above, above_id = tree.parent(task), tree.parent_id(task)
    data = copy.deepcopy(dict(task.data))
    context = data["context"] = values.members(data.get("context"))
    summaries = {each.id: summary(session, each.id) for each in tree.required(task)}
    completed = [f"{id_} is completed: {' '.join(text.split())}" for id_, text in summaries.items() if text]
    handed_down = [*(above.context.passed_on if above else ()), *task.context.handed_down, *completed]
    context["inherited"] = {
        **_passed_on(above),
        **values.members(context.get("inherited")),
        "from": above_id or None,
        "context": list(dict.fromkeys(handed_down)),
    }
    context["shared_context"] = (above.context.shared_context if above else {}) | task.context.shared_context
    whole = type(task).read(task.name, data)
    unresolved = [
        *([f"context.parent: {above_id} has no file"] if above_id and not above else []),
        *_missing_dependencies(session, tree, task),
        *_fill(data, session, tree, whole, above, outputs),
    ]
    held = extras.held(project, session.file.path, session.name)
    return AgentTask(data, session.name, session.phase, held, tuple(unresolved))


def summary(session: Session, id_: str) -> str:
    """Return a task's summary without its heading; empty without one. Only the beginning of a huge one."""
    with suppress(StateError):
        raw, _ = document.head(
            paths.summary(session.folder, id_), _READ_LIMIT_BYTES, within=session.folder.parent.parent
        )
        text = raw.decode("utf-8", "replace").lstrip()
        return (text.partition("\n")[2] if text.startswith("# ") else text).strip()
    return ""


def resolve(text: str, known: Mapping[str, str], declared: Collection[str] = ()) -> tuple[str, list[str]]:
    """Return a text with its variables filled in, and the names of the unknown ones, which stay as they are.

    Inserted values are data and not searched for variables.

    Args:
        text: the text.
        known: the variables' values by name.
        declared: the names that steps give their output; such a name may be any text.
    """
    unknown: dict[str, None] = {}

    def fill(match: re.Match[str]) -> str:
        name = match[match.lastindex or 1]
        head, dot, tail = name.partition(".")
        value = known.get(f"{_ALIASES.get(head, head)}{dot}{tail}")
        if value is None:
            unknown[name] = None
            return match[0]
        return value

    odd = [name for name in {*known, *declared} if not _VARIABLE.fullmatch(f"[{name}]")]
    pattern = _VARIABLE
    if odd:
        names = "|".join(map(re.escape, sorted(odd, key=len, reverse=True)))
        pattern = re.compile(rf"{_VARIABLE.pattern}|\[(?P<odd>{names})\]")
    return pattern.sub(fill, text), list(unknown)


def _variables(session: Session, tree: Tree, task: Task, outputs: Mapping[str, str]) -> dict[str, str]:
    """Return the values of a task's variables; a step's output beats a property.

    Paths are separated by spaces, as commands take them; sentences by `; `. `[depends_on]` stands for the paths of the
    dependencies' summaries (I002-10).
    """
    context: Context = task.context
    files = [paths.summary(session.folder, each.id) for each in tree.required(task)]
    shared = {name: values.text(value) for name, value in context.shared_context.items()}
    root = session.folder.parent.parent
    known = {name: values.text(value) for name, value in (context.model_extra or {}).items()} | {
        "requirements": "; ".join(context.requirements),
        "focus_paths": " ".join(context.focus_paths),
        "acceptance": "; ".join(context.acceptance),
        "parent": context.parent,
        "depends_on": " ".join(each.relative_to(root).as_posix() for each in files if each.is_file()),
        "inherited": "; ".join(context.handed_down),
        "shared_context": "; ".join(f"{name}: {value}" for name, value in shared.items()),
    }
    known |= {f"shared_context.{name}": value for name, value in shared.items()}
    return {name: text for name, text in known.items() if text} | dict(outputs)


def _fill(
    data: dict[str, Any], session: Session, tree: Tree, task: Task, above: Task | None, outputs: Mapping[str, str]
) -> Iterator[str]:
    """Fill in the variables in a task's texts; yield those that could not be, each with its place and the reason.

    `task` is the task as `data` has it, with what it inherits. What comes from `above` has the parent's variables.
    """
    control = data.get("flow_control")
    if isinstance(control, dict):
        known, declared = _variables(session, tree, task, outputs), _declared(task)
        for field, value in list(control.items()):
            if field != "target_files":  # paths: a bracket in one is no variable
                control[field] = yield from _filled(value, f"flow_control.{field}", known, declared)
    inherited = data["context"]["inherited"]
    if above and _APPROACH in inherited:
        known, declared = _variables(session, tree, above, outputs), _declared(above)
        field = f"context.inherited.{_APPROACH}"
        inherited[_APPROACH] = yield from _filled(inherited[_APPROACH], field, known, declared)


def _filled(value: Any, field: str, known: Mapping[str, str], declared: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        text, unknown = resolve(value, known, declared)
        for name in unknown:
            why = "nothing here is called so"
            if name in declared:
                why = f"the output of step {declared[name]}, of which none is recorded"
            elif name in (*_PROPERTIES, *_ALIASES):
                why = "there is nothing of that here yet"
            yield f"{field}: [{name}]: {why}"
        return text
    if isinstance(value, list):
        items = []
        for number, each in enumerate(value):
            items.append((yield from _filled(each, f"{field}[{number}]", known, declared)))
        return items
    if isinstance(value, dict):
        members: dict[str, Any] = {}
        for name, each in value.items():
            fixed = name == "output_to"
            members[name] = each if fixed else (yield from _filled(each, f"{field}.{name}", known, declared))
        return members
    return value


def _declared(task: Task) -> dict[str, str]:
    """Return the step that sets each variable, by variable name."""
    steps = dict[str, str]()
    for number, each in enumerate(task.flow.pre_analysis, 1):
        if each.output_to:
            steps.setdefault(each.output_to, each.step or str(number))
    return steps


def _passed_on(above: Task | None) -> dict[str, Any]:
    """Return a parent's acceptance, artifacts, approach and target files, which subtasks inherit whole (R002-31)."""
    if above is None:
        return {}
    approach = above.flow.implementation_approach
    written = values.members(above.data.get("flow_control")).get(_APPROACH)
    passed = {
        "acceptance": above.context.acceptance,
        "artifacts": [each.model_dump(exclude_unset=True) for each in above.context.artifacts],
        _APPROACH: copy.deepcopy(written) if any(approach.model_dump().values()) else None,
        "target_files": above.flow.target_files,
    }
    return {name: value for name, value in passed.items() if value}


def _missing_dependencies(session: Session, tree: Tree, task: Task) -> Iterator[str]:
    for id_ in task.depends_on:
        if tree.get(id_) is None:
            yield f"context.depends_on: {id_} has no file"
    for each in tree.required(task):
        if each.status == "completed" and not paths.summary(session.folder, each.id).is_file():
            yield f"context.depends_on: {each.id} is completed without a summary"


def _json_lines(value: Any, name: str = "") -> list[str]:
    """Return `name` and a JSON value on one line; a long object or list gets lines for each of its members."""
    line = name + json.dumps(value, ensure_ascii=False)
    if len(line) <= _LINE_LIMIT_CHARS or not value or not isinstance(value, (dict, list)):
        return [line]
    members = value.items() if isinstance(value, dict) else (("", each) for each in value)
    parts = [_json_lines(each, f"{json.dumps(key, ensure_ascii=False)}: " if key else "") for key, each in members]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    rows = [[*lines[:-1], f"{lines[-1]},"] for lines in parts[:-1]] + parts[-1:]
    return [name + opening, *(line for lines in rows for line in lines), closing]
