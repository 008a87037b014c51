"""The to-do list a workflow stands for; one way only, to-dos never move a workflow (R000-32)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from holdfast.workflow.wording import fenced, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.workflow.model import Workflow

__all__ = ["correct", "covers", "digest", "one_line", "request", "wanted"]

_STATUS = {"completed": "completed", "active": "in_progress"}
_BOX = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
_MOST = 100  # lines of a request


def wanted(workflow: Workflow) -> list[dict[str, str]]:
    """Return a to-do for each phase in order, as TodoWrite takes them (R000-31).

    A phase that failed or is blocked is pending there (I000-12).
    """
    return [
        {
            "content": phase.title,
            "status": _STATUS.get(phase.status, "pending"),
            "activeForm": f"Working on {phase.title}",
        }
        for phase in workflow.phases
    ]


def digest(todos: Sequence[Mapping[str, Any]]) -> str:
    """Return a SHA-256 over content and status of a list, to tell whether it changed."""
    import hashlib
    import json

    text = json.dumps([[todo.get("content"), todo.get("status")] for todo in todos])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def correct(todos: Sequence[Any], workflow: Workflow) -> tuple[list[Any], list[str]]:
    """Return a TodoWrite list in which items that stand for phases have their phase's status, and those corrected.

    An item stands for a phase when its content is the phase's title (the n-th of several with one title for the n-th
    such item). Everything else, all other keys and the order stay as they are.
    """
    statuses: dict[str, list[str]] = defaultdict(list)
    for todo in wanted(workflow):
        statuses[todo["content"]].append(todo["status"])
    result: list[Any] = []
    corrected: list[str] = []
    for item in todos:
        waiting = statuses.get(content) if isinstance(content := _content(item), str) else None
        status = waiting.pop(0) if waiting else None
        if status is not None and item.get("status") != status:
            corrected.append(str(content))
            item = {**item, "status": status}
        result.append(item)
    return result, corrected


def covers(todos: Sequence[Any], workflow: Workflow) -> bool:
    """Tell whether a list has every phase of the workflow with its status, among whatever else."""
    given = Counter(
        (item.get("content"), item.get("status"))
        for item in todos
        if isinstance(item, dict) and isinstance(item.get("content"), str) and isinstance(item.get("status"), str)
    )
    return Counter((todo["content"], todo["status"]) for todo in wanted(workflow)) <= given


def request(workflow: Workflow, ids: Mapping[str, str]) -> str:
    """Return the text that asks the model for the list (I000-11); where there is no to-do tool it is a checklist.

    `ids` are the known Task-tool ids by subject.
    """
    todos = wanted(workflow)
    lines = [f"Workflow: {one_line(workflow.title, 80)}"]
    lines += [_line(todo, ids) for todo in todos[:_MOST]]
    if len(todos) > _MOST:
        lines.append(f"+{len(todos) - _MOST} more: `holdfast show` has all of them")
    known = [todo for todo in todos if todo["content"] in ids]
    given = fenced(f"The {workflow.unit}s of a workflow as a to-do list.", lines)
    asked = (
        "Where there is a TodoWrite tool, it takes this list as it stands beside the other items, with the activeForm "
        '"Working on " and the title. '
        + (
            "Where there are task tools, TaskUpdate with the number given sets a status"
            + ("." if len(known) == len(todos) else " and TaskCreate adds what has no number.")
            if known
            else f"Where there are task tools, TaskCreate adds each {workflow.unit} and TaskUpdate sets its status."
        )
        + " Without such tools it serves as a checklist."
    )
    return f"{given}\n{asked}"


def _content(item: Any) -> Any:
    return item.get("content") if isinstance(item, dict) else None


def _line(todo: Mapping[str, str], ids: Mapping[str, str]) -> str:
    known = f" (task #{one_line(ids[todo['content']], 40)})" if todo["content"] in ids else ""
    return f"- {_BOX[todo['status']]} {one_line(todo['content'])}: {todo['status']}{known}"
