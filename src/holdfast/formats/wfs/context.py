"""What an agent gets for a `wfs` task: the whole task, with everything that it inherits."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import StateError
from holdfast.files import document
from holdfast.formats.wfs import flow, places, rules, variables
from holdfast.workflow import extras, statefile, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.variables import Resolved
    from holdfast.workflow.records import Records

_MAY_BE_EMPTY = (*rules.CONTEXT, *variables.ALIASES)
_APPROACH = "implementation_approach"
_LINE_CHARS = 200  # characters of a line of JSON, if a value can be divided
_READ_LIMIT_BYTES = 64 * 1024  # bytes of a summary that are read


class Given(NamedTuple):
    """A task as its agent gets it (R002-44).

    Attributes:
        task: the whole JSON object, with what is inherited and the variables filled in.
        session: the session's name.
        phase: the session's phase.
        held: the session's own reading, reminders and context.
        unresolved: what could not be filled in, each with its place and the reason.
    """

    task: dict[str, Any]
    session: str
    phase: str
    held: Mapping[str, Any]
    unresolved: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values in the document's form, with what is unresolved, if anything."""
        workflow = {"session": self.session, "phase": self.phase, **self.held}
        said: dict[str, Any] = {"task": self.task, "workflow": workflow}
        return said | ({"unresolved": list(self.unresolved)} if self.unresolved else {})

    def lines(self) -> tuple[str, ...]:
        """Return `as_json` as text for a model: few lines, and no indentation."""
        return tuple(_json_lines(self.as_json()))


def task_context(project: Records, session: Session, board: Board, task: Brief, outputs: Mapping[str, str]) -> Given:
    """Return a task with everything that it inherits.

    These come in this order (R002-31, R002-32): what its session holds; from its parent, what that inherited itself,
    its shared context, acceptance, artifacts and approach; the summaries of its dependencies; then the content of its
    own file, with variables filled in from outputs and properties.

    Args:
        project: the project.
        session: the task's session.
        board: the session's tasks.
        task: the task.
        outputs: the output of its steps, by variable name.

    Raises:
        StateError: its file can't be read.
    """
    data = copy.deepcopy(read(project, session, task.name))
    context = data.get("context")
    context = data["context"] = dict(context) if isinstance(context, dict) else {}
    above, above_id = board.parent(task), board.parent_id(task)
    parent = read(project, session, above.name) if above else {}
    missing = [] if above or not above_id else [f"context.parent: {above_id} has no file"]
    handed = list(dict.fromkeys([*_handed_down(parent), *_inherited(context), *_of_dependencies(session, board, task)]))
    before = context.get("inherited")
    inherited = {**(before if isinstance(before, dict) else {}), "from": above_id or None, "context": handed}
    inherited = {**_passed_on(parent), **inherited}
    context["inherited"] = inherited
    shared = values.members(values.members(parent.get("context")).get("shared_context")) | values.members(
        context.get("shared_context")
    )
    context["shared_context"] = shared
    unresolved = [
        *missing,
        *_missing_dependencies(session, board, task),
        *_fill(data, parent, session, board, task, outputs),
    ]
    held = extras.held(project, session.file.path, session.name)
    return Given(data, session.name, session.phase, held, tuple(unresolved))


def own(project: Records, session: Session, task: Brief) -> Mapping[str, Any]:
    """Return the context in a task's own file; empty if the file can't be read."""
    with suppress(StateError):
        return values.members(read(project, session, task.name).get("context"))
    return {}


def variable_values(
    session: Session, board: Board, task: Brief, context: Mapping[str, Any], outputs: Mapping[str, str]
) -> dict[str, str]:
    """Return the values of a task's variables (R002-30); a step's output beats a property."""
    return variables.properties(context, list(summaries(session, board, task).values())) | dict(outputs)


def summaries(session: Session, board: Board, task: Brief) -> dict[str, str]:
    """Return the paths of the summaries of a task's dependencies, relative to the project's root, by id."""
    found: dict[str, str] = {}
    for each in before(board, task):
        path = places.summary(session.folder, each.id)
        if path.is_file():
            found[each.id] = path.relative_to(session.folder.parent.parent).as_posix()
    return found


def before(board: Board, task: Brief) -> list[Brief]:
    """Return the leaves that a task depends on. A container counts as its subtasks, since it has no summary itself."""
    wanted = [each for id_ in task.depends_on if (each := board.get(id_))]
    return list(dict.fromkeys(leaf for each in wanted for leaf in (board.children(each) or (each,))))


def summary(session: Session, id_: str) -> str:
    """Return a task's summary without its heading; empty without one. Only the beginning of a huge one."""
    with suppress(StateError):
        raw, _ = document.head(
            places.summary(session.folder, id_), _READ_LIMIT_BYTES, within=session.folder.parent.parent
        )
        text = raw.decode("utf-8", "replace").lstrip()
        return (text.partition("\n")[2] if text.startswith("# ") else text).strip()
    return ""


def _fill(
    data: dict[str, Any],
    parent: Mapping[str, Any],
    session: Session,
    board: Board,
    task: Brief,
    outputs: Mapping[str, str],
) -> Iterator[str]:
    """Fill in the variables in a task's texts; yield those that could not be, each with its place and the reason."""
    values_of = variable_values(session, board, task, data["context"], outputs)
    control = data.get("flow_control")
    if isinstance(control, dict):
        told = _outputs_of_steps(control)
        for field, value in list(control.items()):
            if field == "target_files":
                continue  # paths: a bracket in one is no variable
            control[field] = yield from _filled(value, f"flow_control.{field}", values_of, told)
    inherited, above = data["context"]["inherited"], board.parent(task)
    if above and _APPROACH in inherited:
        own = variable_values(session, board, above, values.members(parent.get("context")), outputs)
        told = _outputs_of_steps(values.members(parent.get("flow_control")))
        inherited[_APPROACH] = yield from _filled(inherited[_APPROACH], f"context.inherited.{_APPROACH}", own, told)


def _filled(value: Any, field: str, known: Mapping[str, str], told: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        done: Resolved = variables.resolve(value, known, told)
        for name in done.unknown:
            why = "nothing here is called so"
            if name in told:
                why = f"the output of step {told[name]}, of which none is recorded"
            elif name in _MAY_BE_EMPTY:
                why = "there is nothing of that here yet"
            yield f"{field}: [{name}]: {why}"
        return done.text
    if isinstance(value, list):
        filled = []
        for number, each in enumerate(value):
            filled.append((yield from _filled(each, f"{field}[{number}]", known, told)))
        return filled
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for name, each in value.items():
            found[name] = each if name == "output_to" else (yield from _filled(each, f"{field}.{name}", known, told))
        return found
    return value


def _outputs_of_steps(control: Mapping[str, Any]) -> dict[str, str]:
    """Return the step that sets each variable, by variable name."""
    listed = control.get("pre_analysis")
    found: dict[str, str] = {}
    for number, each in enumerate(listed if isinstance(listed, list) else (), 1):
        if isinstance(each, dict) and isinstance(each.get("output_to"), str):
            found.setdefault(each["output_to"], values.text(each.get("step")) or str(number))
    return found


def _handed_down(parent: Mapping[str, Any]) -> list[str]:
    context = values.members(parent.get("context"))
    return [*_inherited(context), *values.texts(context.get("requirements"), "", [])]


def _passed_on(parent: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parent's acceptance, artifacts, approach and target files, which subtasks inherit whole (R002-31)."""
    context, control = values.members(parent.get("context")), values.members(parent.get("flow_control"))
    passed = {
        "acceptance": list(values.texts(context.get("acceptance"), "", [])),
        "artifacts": artifacts(context),
        _APPROACH: copy.deepcopy(control.get(_APPROACH)) if any(flow.approach(parent)) else None,
        "target_files": list(flow.target_files(parent)),
    }
    return {name: value for name, value in passed.items() if value}


def artifacts(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the artifacts in a task's context; invalid ones are left out (`rules` reports them)."""
    listed = context.get("artifacts")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _inherited(context: Mapping[str, Any]) -> list[str]:
    inherited = context.get("inherited")
    said = inherited.get("context") if isinstance(inherited, dict) else inherited
    return list(values.texts(said, "", []))


def _of_dependencies(session: Session, board: Board, task: Brief) -> Iterator[str]:
    for id_ in summaries(session, board, task):
        if text := summary(session, id_):
            yield f"{id_} is completed: {' '.join(text.split())}"


def _missing_dependencies(session: Session, board: Board, task: Brief) -> Iterator[str]:
    for id_ in task.depends_on:
        if board.get(id_) is None:
            yield f"context.depends_on: {id_} has no file"
    for each in before(board, task):
        if each.status == "completed" and not places.summary(session.folder, each.id).is_file():
            yield f"context.depends_on: {each.id} is completed without a summary"


def read(project: Records, session: Session, name: str) -> dict[str, Any]:
    """Return the content of a task's file, or its last generation if it is broken. Raises StateError."""
    return statefile.read(project, places.task(session.folder, name)).data


def _json_lines(value: Any, name: str = "") -> list[str]:
    """Return `name` and a JSON value on one line; a long object or list gets lines for each of its members."""
    line = name + json.dumps(value, ensure_ascii=False)
    if len(line) <= _LINE_CHARS or not value or not isinstance(value, (dict, list)):
        return [line]
    members = value.items() if isinstance(value, dict) else (("", each) for each in value)
    parts = [_json_lines(each, f"{json.dumps(key, ensure_ascii=False)}: " if key else "") for key, each in members]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    told = [[*lines[:-1], f"{lines[-1]},"] for lines in parts[:-1]] + parts[-1:]
    return [name + opening, *(line for lines in told for line in lines), closing]
