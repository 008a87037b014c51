"""A session's to-dos and commands, as its transcript shows them: which are open, which run, which failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.entries import mapping, mappings, tag, text
from holdfast.files.transcript import Job, Run, Todo

if TYPE_CHECKING:
    from collections.abc import Sequence

TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskGet", "TaskList"})
SHELLS = frozenset({"Bash", "PowerShell"})
STOPPERS = frozenset({"TaskStop", "KillShell", "KillBash"})

_GOING_ON = frozenset({"", "running", "pending"})
_NOTIFICATIONS = re.compile(r"<task-notification>(.*?)(?:</task-notification>|\Z)", re.DOTALL)
_OUTPUT = re.compile(r"Output is being written to: (\S+?)\.?(?:\s|\Z)")
_SENT = re.compile(r" (?:\||&>|\d?>)")
_EXIT = ("Exit code ", "Error: Exit code ")


def ran(command: str, output: str, data: dict[str, Any], *, failed: bool) -> Run | None:
    """Return a command's run; None for one that was refused, which never ran, and for one in the background."""
    if text(data, "backgroundTaskId") or (failed and not output.startswith(_EXIT)):
        return None
    return Run(command, output, failed)


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


class Jobs:
    """What is known so far, the newest last: by id, failures by their command."""

    def __init__(self) -> None:
        self.commands: dict[str, Job] = {}
        self.runs: dict[str, Run] = {}

    def shell(self, command: str, output: str, data: dict[str, Any], *, failed: bool) -> None:
        """Note a command's result; one that was refused never ran, and is neither a failure nor a success."""
        if started := text(data, "backgroundTaskId"):
            place = _OUTPUT.search(output)
            self.commands[started] = Job(started, command, place[1] if place else "")
        elif run := ran(command, output, data, failed=failed):
            self._ran(run)

    def notified(self, message: str) -> None:
        """Note what the client's notifications in a message say of commands in the background."""
        for found in _NOTIFICATIONS.findall(message):
            self.ended(tag(found, "task-id"), tag(found, "status"), tag(found, "result") or tag(found, "summary"))

    def status(self, attachment: dict[str, Any]) -> None:
        """Take over what the client says of a command that was started before a compaction."""
        id, status = text(attachment, "taskId"), text(attachment, "status")
        if id and status == "running" and attachment.get("taskType") != "local_agent":
            known = self.commands.get(id) or Job(id, "")
            words = known.text or text(mapping(attachment, "shell"), "command") or text(attachment, "description")
            self.commands[id] = Job(id, words, known.output or text(attachment, "outputFilePath"))
        self.ended(id, status, text(attachment, "deltaSummary"))

    def ended(self, id: str, status: str, result: str = "") -> None:
        """Note the end of a command; a status that says it goes on is none."""
        if status in _GOING_ON:
            return
        if (command := self.commands.pop(id, None)) and status in ("failed", "completed"):
            self._ran(Run(command.text, result) if status == "failed" else Run(command.text, "", failed=False))

    def _ran(self, run: Run) -> None:
        """Note how a command's last run went; where its output was sent makes it no other command."""
        key = _SENT.split(" ".join(run.command.split()), maxsplit=1)[0]
        self.runs.pop(key, None)
        if key:
            self.runs[key] = run
