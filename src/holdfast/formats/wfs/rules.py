"""The nine rules for the task files of a `wfs` session (R002-33).

All violations are reported at once, each with file, field, value and remedy. Remarks are about what the document says
but no rule demands, such as an unknown task type. `schema` has the rules about a value by itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.formats.wfs import ids, paths, schema
from holdfast.formats.wfs.schema import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.formats.wfs.tree import Task, Tree

RULES = {
    1: "ids are unique",
    2: "ids are IMPL-N or IMPL-N.M",
    3: "parents exist",
    4: "statuses are known and fit the hierarchy",
    5: "the six core fields are there",
    6: "focus paths are concrete",
    7: "steps have what a step needs",
    8: "dependencies exist",
    9: "artifacts are valid",
}
_SHOWN_CHARS = 80  # characters of a value that are shown


def described(file: str, fault: Fault) -> str:
    """Return a fault of a file in a sentence: its field and value, what is wrong, and the rule that it breaks."""
    value = json.dumps(fault.value, ensure_ascii=False) if fault.value is not None else "missing"
    shown = value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}…"
    rule = f"rule {fault.rule}: {RULES[fault.rule]}" if fault.rule else "remark"
    return f"{file}: {fault.field} is {shown}: {fault.problem} ({rule})"


def check(tree: Tree, exists: Callable[[str], bool]) -> Iterator[tuple[Task, Fault]]:
    """Yield all that is wrong with the task files of a session (I002-27), each with its task, in their order.

    Args:
        tree: the session's tasks.
        exists: returns whether a path, relative to the project, exists.
    """
    for task in tree.tasks:
        alone = list(schema.faults(schema.TaskFile, task.data, schema.Strict(exists)))
        wrong = [each.field for each in alone]
        for fault in (*alone, *(each for each in _among_others(task, tree) if each.field not in wrong)):
            yield task, fault


def _among_others(task: Task, tree: Tree) -> Iterator[Fault]:
    """Yield faults in a task's ids and status as one of the session's tasks."""
    if twins := tree.twins(task):
        files = " and ".join(f"{name}.json" for name in twins)
        yield Fault(
            1, "id", task.id, f"same id as {files}; leading zeros don't matter", "give one of them another number"
        )
    if task.key and task.id != task.name:
        remedy = f"rename the file to {task.id}.json, or the id"
        yield Fault(2, "id", task.id, f"the file is called {task.name}.json", remedy)
    yield from _parent(task, tree)
    yield from _status(task, tree)
    for number, id_ in enumerate(task.depends_on):
        field = f"context.depends_on[{number}]"
        if tree.get(id_) is None:
            problem = f"there is no {paths.TASKS}/{id_}.json"
            yield Fault(8, field, id_, problem, "create the task, or take it off the list")
        elif circle := tree.circle(task, id_):
            problem = f"it depends on this task in turn ({' → '.join(circle)})"
            yield Fault(8, field, id_, problem, "break the circle")


def _parent(task: Task, tree: Tree) -> Iterator[Fault]:
    written, own, field = task.parent, tree.parent_id(task), "context.parent"
    differs = ids.key(written) != ids.key(own)
    if own and not written:
        yield Fault(0, field, None, f"the id says {own}", f"write {own}")
    elif written and differs and tree.get(written) is None:
        remedy = f"write {own}" if own else "write null: a task of its own has no parent"
        yield Fault(3, field, written, f"there is no {paths.TASKS}/{written}.json", remedy)
    elif own and differs:
        yield Fault(3, field, written, f"the id says it is a subtask of {own}", f"write {own}, or renumber the task")
    elif written and not own and task.key:
        remedy = f"leave it out, or number it {written}.M"
        yield Fault(3, field, written, "the id is that of a task of its own", remedy)
    if own and tree.get(own) is None:
        yield Fault(3, "id", task.id, f"its parent {own} has no file", "create it, or renumber the task")


def _status(task: Task, tree: Tree) -> Iterator[Fault]:
    children = tree.children(task)
    if children and not task.marked_container and task.raw_status in schema.STATUSES:
        named = ", ".join(each.id for each in children[:3]) + (", …" if len(children) > 3 else "")
        problem = f"it has subtasks ({named}), so it is a container"
        yield Fault(4, "status", task.raw_status, problem, "write container")
    if task.marked_container and not children:
        remedy = f"add some with `holdfast wfs task decompose {task.id}`, or write pending"
        yield Fault(4, "status", task.raw_status, "it has no subtasks, so nobody can work on it", remedy)
