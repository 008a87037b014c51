"""A session's own to-do list, as its transcript shows it: of TodoWrite or of the Task tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.trail.fields import mapping, mappings, text

if TYPE_CHECKING:
    from collections.abc import Sequence

TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskGet", "TaskList"})


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of a to-do list: its words and `pending`, `in_progress`, `completed` or what else it says."""

    text: str
    status: str


class Todos:
    """What is known of the list so far. A session has either tool, never both (client fact §3.1)."""

    def __init__(self) -> None:
        self._written: list[Todo] = []
        self._tasks: dict[str, Todo] = {}

    def unfinished(self) -> list[Todo]:
        """Return what is still to be done, in progress first, else in its order."""
        found = [todo for todo in self._all() if todo.status != "completed"]
        return sorted(found, key=lambda todo: todo.status != "in_progress")

    def completed(self) -> int:
        """Return how many are completed."""
        return sum(todo.status == "completed" for todo in self._all())

    def written(self, items: object) -> None:
        """Take over a list as TodoWrite or a reminder of it has it: it replaces the one before."""
        if isinstance(items, list):
            found = [(text(item, "content"), text(item, "status")) for item in mappings(items)]
            self._written = [Todo(words, status or "pending") for words, status in found if words]

    def task(self, given: dict[str, Any], data: dict[str, Any]) -> None:
        """Take over what a Task tool answered; what was asked of it says a new subject."""
        if isinstance(data.get("tasks"), list):
            self.listed(data["tasks"])
        elif task := mapping(data, "task"):
            self._add([task])
        elif data.get("success") is True:
            self._change(text(data, "taskId"), given, text(mapping(data, "statusChange"), "to"))

    def listed(self, tasks: Sequence[Any]) -> None:
        """Take over the client's whole list: what it does not name is no longer open."""
        self._tasks = {id: task for id, task in self._tasks.items() if task.status == "completed"}
        self._add(tasks)

    def _add(self, tasks: Sequence[Any]) -> None:
        for task in mappings(tasks):
            if (id := text(task, "id")) and (subject := text(task, "subject")):
                self._tasks[id] = Todo(subject, text(task, "status") or "pending")

    def _change(self, id: str, given: dict[str, Any], status: str) -> None:
        known = self._tasks.pop(id, Todo(f"task {id}", "pending"))
        changed = Todo(text(given, "subject") or known.text, status or text(given, "status") or known.status)
        if changed.status != "deleted":
            self._tasks[id] = changed

    def _all(self) -> list[Todo]:
        return [*self._written, *self._tasks.values()]
