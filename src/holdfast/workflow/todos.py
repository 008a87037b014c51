"""A workflow's to-do list. Sync goes one way: to-dos never move a workflow (R000-32)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from holdfast.workflow.wording import fenced, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.workflow.model import Workflow

__all__ = ["correct", "covers", "digest", "one_line", "request", "todo_list"]

_STATUS = {"completed": "completed", "active": "in_progress"}
_BOX = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
_MOST = 100  # to-dos in a request


def todo_list(workflow: Workflow, most: int | None = None) -> list[dict[str, str]]:
    """Return a to-do for each phase in order, or for the first ones, as TodoWrite takes them (R000-31).

    A failed or blocked phase is pending there (I000-12).
    """
    return [
        {
            "content": phase.title,
            "status": _STATUS.get(phase.status, "pending"),
            "activeForm": f"Working on {phase.title}",
        }
        for phase in workflow.phases[:most]
    ]


def digest(workflow: Workflow) -> str:
    """Return the SHA-256 of the list's contents and statuses in hexadecimal, to tell whether it changed."""
    listed = [(phase.title, _STATUS.get(phase.status, "pending")) for phase in workflow.phases]
    return hashlib.sha256(json.dumps(listed).encode("ascii")).hexdigest()


def correct(todos: Sequence[Any], workflow: Workflow) -> tuple[list[Any], list[str]]:
    """Return a TodoWrite list in which items for phases have their phase's status, and the contents of corrected items.

    An item is for a phase if its content is the phase's title; if several phases share a title, the n-th such item is
    for the n-th of them. Everything else, all other keys and the order stay as they are.
    """
    statuses: dict[str, list[str]] = defaultdict(list)
    for todo in todo_list(workflow):
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
    """Return whether a list has every phase of the workflow with its status; other items don't matter."""
    items = Counter(
        (item.get("content"), item.get("status"))
        for item in todos
        if isinstance(item, dict) and isinstance(item.get("content"), str) and isinstance(item.get("status"), str)
    )
    return Counter((todo["content"], todo["status"]) for todo in todo_list(workflow)) <= items


def request(workflow: Workflow, ids: Mapping[str, str]) -> str:
    """Return the text that asks the model for the list (I000-11); without a to-do tool it serves as a checklist.

    `ids` are the known ids of the Task tools by subject.
    """
    phases = workflow.phases
    lines = [f"Workflow: {one_line(workflow.title, 80)}"]
    lines += [_line(todo, ids) for todo in todo_list(workflow, _MOST)]
    if len(phases) > _MOST:
        lines.append(f"+{len(phases) - _MOST} more: `holdfast status` has all of them")
    known = [phase.title for phase in phases if phase.title in ids]
    listed = fenced("Put these items in your to-do list unchanged and keep the others.", lines)
    if not known:
        tasks = "TaskCreate adds an item, TaskUpdate sets its status"
    elif len(known) == len(phases):
        tasks = "TaskUpdate with the given number sets a status"
    else:
        tasks = "TaskUpdate with the given number sets a status, TaskCreate adds an item without one"
    ways = f'With TodoWrite, activeForm is "Working on " and the title. With task tools, {tasks}.'
    return f"{listed}\n{ways} Without either, use the list as a checklist."


def _content(item: Any) -> Any:
    return item.get("content") if isinstance(item, dict) else None


def _line(todo: Mapping[str, str], ids: Mapping[str, str]) -> str:
    known = f" (task #{one_line(ids[todo['content']], 40)})" if todo["content"] in ids else ""
    return f"- {_BOX[todo['status']]} {one_line(todo['content'])}: {todo['status']}{known}"
