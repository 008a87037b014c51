"""The nine rules for the task files of a `wfs` session (R002-33).

All violations are reported at once, each with file, field, value and remedy. Remarks are about what the document says
but no rule demands, such as an unknown task type.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.formats.wfs import brief as briefs
from holdfast.formats.wfs import choice, flow, ids, places
from holdfast.formats.wfs.board import in_order
from holdfast.formats.wfs.cycles import Waiting
from holdfast.formats.wfs.finding import Finding
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief

    Say = Callable[[int, str, Any, str, str], Finding]

CORE = {"id": str, "title": str, "status": str, "meta": dict, "context": dict, "flow_control": dict}
"""The core fields and their types (R002-19, I002-1)."""
ARTIFACTS = {
    "synthesis_specification": ("brainstorm_synthesis", "highest"),
    "topic_framework": ("brainstorm_framework", "medium"),
    "individual_role_analysis": ("brainstorm_roles", "low"),
}
"""The types of artifacts, each with its usual source and priority (R002-24)."""
CONTEXT = ("requirements", "focus_paths", "acceptance", "parent", "depends_on", "inherited", "shared_context")
"""The fields of a task's context (R002-22)."""
PRIORITIES = ("highest", "high", "medium", "low")

_TARGET = re.compile(r"[^:\s][^:]*(?::[^:\s]+(?::\d+(?:-\d+)?)?)?")
_NAMES = {str: "a text", dict: "an object", list: "a list"}


def check(board: Board, files: Mapping[str, Mapping[str, Any]], exists: Callable[[str], bool]) -> list[Finding]:
    """Return all that is wrong with the task files of a session, however much (I002-27), in the order of their ids.

    Args:
        board: the session's tasks.
        files: the tasks' JSON objects, by file name without `.json`.
        exists: returns whether a path, relative to the project, exists.
    """
    twins, waiting = _twins(board), Waiting(board)
    return [found for task in board.tasks for found in _of(task, files[task.name], board, twins, waiting, exists)]


def check_one(name: str, data: Mapping[str, Any], board: Board, exists: Callable[[str], bool]) -> list[Finding]:
    """Return all that would be wrong with a task's file if it had this content.

    Args:
        name: the name of its file without `.json`.
        data: the JSON object.
        board: the session's tasks, with this one or without it.
        exists: returns whether a path, relative to the project, exists.
    """
    task = briefs.of(name, data)
    among = replace(board, tasks=in_order([*(each for each in board.tasks if each.name != name), task]))
    return list(_of(task, data, among, _twins(among), Waiting(among), exists))


def _of(
    task: Brief,
    data: Mapping[str, Any],
    board: Board,
    twins: Mapping[ids.Key, Sequence[str]],
    waiting: Waiting,
    exists: Callable[[str], bool],
) -> Iterator[Finding]:
    def say(rule: int, field: str, value: Any, problem: str, remedy: str) -> Finding:
        return Finding(rule, f"{places.TASKS}/{task.name}.json", field, value, problem, remedy)

    context = values.members(data.get("context"))
    yield from _unique(task, twins, say)
    yield from _format(task, data, say)
    yield from _parent(task, context, board, say)
    yield from _status(task, data, board, say)
    yield from _core(data, say)
    yield from _paths(context, exists, say)
    yield from _steps(data, say)
    yield from _dependencies(task, context, board, waiting, say)
    yield from _artifacts(context, say)
    yield from _remarks(data, say)


def _twins(board: Board) -> dict[ids.Key, list[str]]:
    found: dict[ids.Key, list[str]] = {}
    for each in board.tasks:
        if each.key:
            found.setdefault(each.key, []).append(each.name)
    return {key: names for key, names in found.items() if len(names) > 1}


def _unique(task: Brief, twins: Mapping[ids.Key, Sequence[str]], say: Say) -> Iterator[Finding]:
    others = [f"{name}.json" for name in twins.get(task.key, ()) if name != task.name] if task.key else []
    if others:
        yield say(
            *(1, "id", task.id, f"{' and '.join(others)} has the same id, for leading zeros count for nothing"),
            "give one of them another number",
        )


def _format(task: Brief, data: Mapping[str, Any], say: Say) -> Iterator[Finding]:
    given = data.get("id")
    if not isinstance(given, str) or not given.strip():
        return  # rule 5 reports it
    if ids.key(given) is None:
        yield say(
            *(2, "id", given, "it is not IMPL-N or IMPL-N.M, two levels at most"),
            f"write it as {task.name if ids.key(task.name) else 'IMPL-1 or IMPL-1.2'}",
        )
    elif given != task.name:
        yield say(2, "id", given, f"the file is called {task.name}.json", f"rename the file to {given}.json, or the id")


def _parent(task: Brief, context: Mapping[str, Any], board: Board, say: Say) -> Iterator[Finding]:
    given = context.get("parent")
    own = board.parent_id(task)
    if given not in (None, "") and not isinstance(given, str):
        yield say(3, "context.parent", given, "it isn't an id", f"write the parent's id{f', {own}' if own else ''}")
        return
    if own and given in (None, ""):
        yield say(0, "context.parent", given, f"the id says {own}", "holdfast wfs repair writes it")
        given = None  # below it is checked whether the parent has a file
    if given and board.get(given) is None:
        yield say(
            *(3, "context.parent", given, f"there is no {places.TASKS}/{given}.json"),
            f"write {own}; holdfast wfs repair writes it, and makes a container that is missing"
            if own
            else "write null: a task of its own has no parent",
        )
    elif given and own and ids.key(given) != ids.key(own):
        yield say(
            3, "context.parent", given, f"the id says it is a subtask of {own}", f"write {own}, or renumber the task"
        )
    elif given and not own and task.key:
        yield say(
            3, "context.parent", given, "the id is that of a task of its own", f"leave it out, or number it {given}.M"
        )
    elif own and board.get(own) is None:
        yield say(
            *(3, "id", task.id, f"its parent {own} has no file"),
            "run holdfast wfs repair, which makes one, or renumber the task",
        )


def _status(task: Brief, data: Mapping[str, Any], board: Board, say: Say) -> Iterator[Finding]:
    given = data.get("status")
    if isinstance(given, str) and given.strip() and given not in briefs.STATUSES:  # else rule 5 reports it
        yield say(
            *(4, "status", given, f"it is not one of {', '.join(briefs.STATUSES)} (it is read as {task.status})"),
            f"holdfast wfs repair writes {task.status}",
        )
    children = board.children(task)
    if children and not task.is_container and given in briefs.STATUSES:
        named = ", ".join(each.id for each in children[:3])
        yield say(
            *(
                4,
                "status",
                given,
                f"it has subtasks ({named}{', …' if len(children) > 3 else ''}), so it is a container",
            ),
            "write container; holdfast wfs repair does",
        )
    if task.is_container and not children:
        yield say(
            *(4, "status", given, "it has no subtasks, so nobody can work on it"),
            f"add some with holdfast wfs task decompose {task.id}, or write pending",
        )


def _core(data: Mapping[str, Any], say: Say) -> Iterator[Finding]:
    for name, kind in CORE.items():
        value = data.get(name)
        if name not in data or value is None:
            yield say(5, name, None, "a task has to have it", f"add {_NAMES[kind]} called {name}")
        elif not isinstance(value, kind):
            yield say(5, name, value, f"it is not {_NAMES[kind]}", f"make it {_NAMES[kind]}")
        elif kind is str and not value.strip():
            yield say(5, name, value, "it is empty", f"say what the {name} is")


def _entries(rule: int, field: str, given: Any, what: str, say: Say) -> tuple[list[Finding], list[tuple[str, Any]]]:
    """Return what is wrong with a field that must be a list, and its entries, each with its field name."""
    if given is not None and not isinstance(given, list):
        return [say(rule, field, given, "it is not a list", f"write a list of {what}")], []
    return [], [(f"{field}[{number}]", each) for number, each in enumerate(given or ())]


def _paths(context: Mapping[str, Any], exists: Callable[[str], bool], say: Say) -> Iterator[Finding]:
    wrong, paths = _entries(6, "context.focus_paths", context.get("focus_paths"), "paths", say)
    yield from wrong
    for field, path in paths:
        if not isinstance(path, str) or not path.strip():
            yield say(6, field, path, "it isn't a path", "write a path relative to the project's root")
        elif why := inexact(path, exists):
            yield say(6, field, path, *why)


def inexact(path: str, exists: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return what is wrong with a focus path, with its remedy (R002-23, I002-26); None if nothing is."""
    if path.startswith("./") and not any(sign in path for sign in "*?"):
        return "it begins with ./", f"write {path.removeprefix('./') or 'the folder'}"
    if _is_absolute(path):
        return "it is absolute", "write it relative to the project's root"
    if _climbs(path):
        return "it leads out of a folder with ..", "write where it leads to, relative to the project's root"
    if any(sign in path for sign in "*?") or (any(sign in path for sign in "[{") and not exists(path)):
        return "it has wildcards", "name the files or folders themselves"
    return None


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~", "\\")) or path[1:2] == ":"


def _climbs(path: str) -> bool:
    """Return whether a path leads out of one of its folders."""
    return ".." in path.replace("\\", "/").split("/")


def _steps(data: Mapping[str, Any], say: Say) -> Iterator[Finding]:
    control = data.get("flow_control")
    if not isinstance(control, dict) or "pre_analysis" not in control:
        if isinstance(control, dict) and control:
            yield say(7, "flow_control.pre_analysis", None, "the list of steps is missing", "add it; it may be empty")
        return
    wrong, steps = _entries(7, "flow_control.pre_analysis", control["pre_analysis"], "steps", say)
    yield from wrong
    seen = set[str]()
    for field, step in steps:
        yield from _step(step, field, say)
        name = step.get("step") if isinstance(step, dict) else None
        if isinstance(name, str) and name in seen:
            yield say(7, f"{field}.step", name, "another step is called so", "give each step a name of its own")
        seen.add(name if isinstance(name, str) else "")


def _step(step: Any, field: str, say: Say) -> Iterator[Finding]:
    """Check a step (R002-25): `output_to` (I002-7) and `on_error` (I002-6) are optional."""
    if not isinstance(step, dict):
        yield say(7, field, step, "it isn't a step", "write an object with step, action and command")
        return
    for name in ("step", "action", "command"):
        value = step.get(name)
        if name == "command" and value is None and "commands" in step:
            yield say(
                *(7, f"{field}.commands", step["commands"], "the field is called command, and is one text"),
                "join them into one command, or make each a step of its own",
            )
        elif not isinstance(value, str) or not value.strip():
            problem = "a step has to have it" if value is None else "it's empty or isn't text"
            yield say(7, f"{field}.{name}", value, problem, f"say what the {name} is")
    output, on_error = step.get("output_to"), step.get("on_error")
    if output is not None and (not isinstance(output, str) or not output.strip()):
        yield say(7, f"{field}.output_to", output, "it isn't a variable name", "write a name, or leave it out")
    if on_error is not None and on_error not in flow.ON_ERROR:
        yield say(
            *(7, f"{field}.on_error", on_error, f"it is not one of {', '.join(flow.ON_ERROR)}"),
            "write one of them, or leave it out, which means fail",
        )


def _dependencies(
    task: Brief, context: Mapping[str, Any], board: Board, waiting: Waiting, say: Say
) -> Iterator[Finding]:
    wrong, listed = _entries(8, "context.depends_on", context.get("depends_on"), "ids", say)
    yield from wrong
    for field, id_ in listed:
        if not isinstance(id_, str) or board.get(id_) is None:
            name = f"{places.TASKS}/{id_}.json" if isinstance(id_, str) else "such a task"
            yield say(8, field, id_, f"there is no {name}", "create the task, or take it off the list")
        elif circle := waiting.circle(task, id_):
            yield say(8, field, id_, f"it depends on this task in turn ({' → '.join(circle)})", "break the circle")


def _artifacts(context: Mapping[str, Any], say: Say) -> Iterator[Finding]:
    """Check the artifacts against the document's lists (I002-9); they may have more keys (I002-8)."""
    wrong, items = _entries(9, "context.artifacts", context.get("artifacts"), "artifacts", say)
    yield from wrong
    sources = tuple(source for source, _ in ARTIFACTS.values())
    for field, item in items:
        if not isinstance(item, dict):
            yield say(9, field, item, "it isn't an artifact", "write an object with type, source, path and priority")
            continue
        for name, known in (("type", tuple(ARTIFACTS)), ("source", sources), ("priority", PRIORITIES)):
            if item.get(name) not in known and not (name == "source" and name not in item):
                yield say(
                    9, f"{field}.{name}", item.get(name), f"it is not one of {', '.join(known)}", "write one of them"
                )
        path = item.get("path")
        if not isinstance(path, str) or not path.strip() or _is_absolute(path) or _climbs(path):
            yield say(9, f"{field}.path", path, "it isn't a path within the project", "write it relative to the root")
        yield from _unusual(item, field, say)


def _unusual(item: Mapping[str, Any], field: str, say: Say) -> Iterator[Finding]:
    """Yield remarks on an artifact whose source or priority isn't the usual one of its type (I002-9)."""
    usual = ARTIFACTS.get(item.get("type", "")) if isinstance(item.get("type"), str) else None
    for name, wanted in zip(("source", "priority"), usual or (), strict=False):
        if item.get(name) != wanted and item.get(name) is not None:
            yield say(0, f"{field}.{name}", item[name], f"with this type it is {wanted} as a rule", f"write {wanted}")


def _remarks(data: Mapping[str, Any], say: Say) -> Iterator[Finding]:
    meta, control = (values.members(data.get(name)) for name in ("meta", "flow_control"))
    for name, known in (("type", choice.TYPES), ("agent", choice.AGENTS)):
        value = meta.get(name)
        if value is None:
            yield say(0, f"meta.{name}", None, f"known are {', '.join(known)}", "the task counts without one")
        elif value not in known:
            yield say(0, f"meta.{name}", value, f"it is not one of {', '.join(known)}", "it is taken as it is")
    for number, target in enumerate(flow.target_files(data)):
        if not _TARGET.fullmatch(target):
            field = f"flow_control.target_files[{number}]"
            yield say(0, field, target, "it is not file, file:function or file:function:lines", "it is taken as it is")
    approach = control.get("implementation_approach")
    if approach is not None and not isinstance(approach, dict):
        field = "flow_control.implementation_approach"
        problem = "it is not an object with task_description, modification_points and logic_flow"
        yield say(0, field, approach, problem, "it is taken as it is")
