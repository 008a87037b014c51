"""Reading a trail: what a session did, from the entries of its own transcript.

The shapes are those both supported clients write (tests/sessions/transcripts); what has another shape is passed over.
Entries are taken in their order across compactions, and what is newer wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.clients.claude.entries import blocks, edited_path, mapping, plain, queued, request_text, text
from holdfast.clients.claude.tools import EDITORS
from holdfast.clients.claude.trail.tasks import SHELLS, STOPPERS, TASK_TOOLS, Jobs, Todos
from holdfast.files.transcript import Answer, Edit, Trail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_T = TypeVar("_T")
_PLANS = frozenset({"plan_file_reference", "plan_mode", "plan_mode_reentry", "plan_mode_exit"})


def read(entries: Sequence[dict[str, Any]]) -> Trail:
    """Return the trail of a session from its transcript's entries, oldest first; never raises for what they hold.

    Entries of subagents (`isSidechain`) are not the session's own, and an entry that a client wrote once more after a
    compaction, under its old id, counts once.
    """
    reader = _Reader()
    seen: set[str] = set()
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("isSidechain"):
            continue
        id = text(entry, "uuid")
        if not id or id not in seen:
            seen.add(id)
            reader.take(entry)
    return reader.trail()


class _Reader:
    """What is known so far; dictionaries keep the newest last."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self.requests: dict[str, None] = {}
        self.todos, self.jobs = Todos(), Jobs()
        self.edits: dict[str, Edit] = {}
        self.reads: dict[str, None] = {}
        self.plan = self.plan_title = self.branch = ""
        self.statements: list[str | Answer] = []

    def take(self, entry: dict[str, Any]) -> None:
        self.branch = text(entry, "gitBranch") or self.branch
        kind = entry.get("type")
        if kind == "user":
            self._user(entry)
        elif kind == "assistant" and not entry.get("isApiErrorMessage"):
            self._assistant(blocks(entry))
        elif kind == "attachment":
            self._attachment(mapping(entry, "attachment"))

    def trail(self) -> Trail:
        return Trail(
            requests=tuple(self.requests),
            todos=tuple(self.todos.unfinished()),
            completed=self.todos.completed(),
            runs=_newest(self.jobs.runs),
            commands=_newest(self.jobs.commands),
            edits=_newest(self.edits),
            plan=self.plan,
            plan_title=self.plan_title,
            branch=self.branch,
            statements=tuple(reversed(self.statements)),
            reads=tuple(path for path in reversed(self.reads) if path not in self.edits),
        )

    def _user(self, entry: dict[str, Any]) -> None:
        results = [block for block in blocks(entry) if block.get("type") == "tool_result"]
        for result in results:
            self._result(result, mapping(entry, "toolUseResult") if len(results) == 1 else {})
        if not results:
            self._prompt(mapping(entry, "message").get("content"), request_text(entry))

    def _prompt(self, content: object, asked: str) -> None:
        if asked:
            self.requests.pop(asked, None)
            self.requests[asked] = None
        elif (message := plain(content)).lstrip().startswith("<task-notification>"):
            self.jobs.notified(message)

    def _assistant(self, said: list[dict[str, Any]]) -> None:
        for block in said:
            if block.get("type") == "tool_use":
                self.calls[text(block, "id")] = (text(block, "name"), mapping(block, "input"))
            elif words := text(block, "text"):
                self.statements.append(words)

    def _result(self, result: dict[str, Any], data: dict[str, Any]) -> None:
        name, given = self.calls.pop(text(result, "tool_use_id"), ("", {}))
        failed = result.get("is_error") is True
        if name in SHELLS:
            self.jobs.shell(text(given, "command"), plain(result.get("content")), data, failed=failed)
        elif not failed:
            self._succeeded(name, given, data)

    def _succeeded(self, name: str, given: dict[str, Any], data: dict[str, Any]) -> None:
        if name in STOPPERS:
            self.jobs.ended(text(given, "task_id") or text(given, "shell_id") or text(data, "task_id"), "stopped")
        elif task := text(mapping(data, "task"), "task_id"):  # TaskOutput
            self.jobs.ended(task, text(mapping(data, "task"), "status"))
        elif name == "TodoWrite":
            self.todos.written(data.get("newTodos", given.get("todos")))
        elif name in TASK_TOOLS:
            self.todos.task(given, data)
        elif name == "AskUserQuestion":
            self.statements += [Answer(question, str(answer)) for question, answer in mapping(data, "answers").items()]
        elif name == "ExitPlanMode":
            self._planned(text(data, "filePath") or text(given, "planFilePath"), text(data, "plan"))
        else:
            self._file(name, given, data)

    def _file(self, name: str, given: dict[str, Any], data: dict[str, Any]) -> None:
        """Note a file that was written or read; where the call is not known any more, its result tells which."""
        path = edited_path(given, data)
        if path and (name in EDITORS or (not name and "structuredPatch" in data)):
            before = self.edits.pop(path, Edit(path, 0, created=False))
            self.edits[path] = Edit(path, before.count + 1, before.created or data.get("type") == "create")
            if "/plans/" in path and path.endswith(".md"):
                self._planned(path, text(given, "content"))
        elif path := (path if name == "Read" else text(mapping(data, "file"), "filePath")):
            self.reads.pop(path, None)
            self.reads[path] = None

    def _planned(self, path: str, plan: str) -> None:
        if path:
            title = next((line.strip(" #") for line in plan.splitlines() if line.strip(" #")), "")
            self.plan_title = title or (self.plan_title if path == self.plan else "")
            self.plan = path

    def _attachment(self, attachment: dict[str, Any]) -> None:
        kind, content = attachment.get("type"), attachment.get("content")
        if kind == "queued_command":
            self._prompt(attachment.get("prompt"), queued(attachment))
        elif kind == "todo_reminder":
            self.todos.written(content)
        elif kind == "task_reminder" and isinstance(content, list):
            self.todos.listed(content)
        elif kind == "task_status":
            self.jobs.status(attachment)
        elif text(attachment, "type") in _PLANS and attachment.get("planExists", True):
            path = "" if attachment.get("isSubAgent") else text(attachment, "planFilePath")
            self._planned(path, text(attachment, "planContent"))


def _newest(found: Mapping[str, _T]) -> tuple[_T, ...]:
    return tuple(reversed(list(found.values())))
