"""What a session did, folded from the entries of its transcript.

Entries are taken in their order across compactions, and what is newer wins. An entry that a client wrote once more
after a compaction, under its old id, counts once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.clients.claude import entries as kinds
from holdfast.clients.claude.entries import Entry, Line, Result, mapping, mappings, text
from holdfast.clients.claude.tools import EDITORS
from holdfast.clients.client import Answer, Edit, Job, Todo, Trail, Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_T = TypeVar("_T")
_TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskGet", "TaskList"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_STOPPERS = frozenset({"TaskStop", "KillShell", "KillBash"})
_PLANS = frozenset({"plan_file_reference", "plan_mode", "plan_mode_reentry", "plan_mode_exit"})
_GOING_ON = frozenset({"", "running", "pending"})
_OUTPUT = re.compile(r"Output is being written to: (\S+?)\.?(?:\s|\Z)")
_SENT = re.compile(r" (?:\||&>|\d?>)")
_EXIT = ("Exit code ", "Error: Exit code ")


def trail(entries: Iterable[Entry]) -> Trail:
    """Return a session's trail."""
    session = _Session()
    for entry in _once(entries):
        session.take(entry)
    todos = [*session.listed, *session.tasks.values()]
    unfinished = [todo for todo in todos if todo.status != "completed"]
    return Trail(
        requests=tuple(session.requests),
        todos=tuple(sorted(unfinished, key=lambda todo: todo.status != "in_progress")),
        completed=len(todos) - len(unfinished),
        runs=_newest(session.runs),
        commands=_newest(session.jobs),
        edits=_newest(session.edits),
        plan=session.plan,
        plan_title=session.plan_title,
        branch=session.branch,
        statements=tuple(reversed(session.statements)),
        reads=tuple(path for path in reversed(session.reads) if path not in session.edits),
    )


def work(entries: Iterable[Entry]) -> list[Work]:
    """Return the commands that ran and the files that were edited, oldest first."""
    return [found for result in kinds.of(Result, _once(entries)) if (found := _work(result))]


def _once(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries, those of a line that was written again only once."""
    lines: dict[str, Line] = {}
    for entry in entries:
        if not entry.line.uuid or lines.setdefault(entry.line.uuid, entry.line) is entry.line:
            yield entry


def _work(result: Result) -> Work | None:
    """Return the command or the edit whose result this is; None for other results.

    A command that was refused never ran, and one in the background has no result here. An edit whose call isn't known
    is recognized by its patch.
    """
    tool, data = result.call.tool, result.data
    if tool in _SHELLS:
        ran = not text(data, "backgroundTaskId") and (not result.failed or result.text.startswith(_EXIT))
        return Work(result.line.at, text(result.call.input, "command"), result.text, result.failed) if ran else None
    edited = tool in EDITORS or (not tool and "structuredPatch" in data)
    path = _path(result) if edited and not result.failed else ""
    return Work(result.line.at, path=path) if path else None


def _path(result: Result) -> str:
    """Return the path of the file that a call is about, from its input or else its result."""
    asked = result.call.input
    return text(asked, "file_path") or text(asked, "notebook_path") or text(result.data, "filePath")


class _Session:
    """What is known so far; dictionaries keep the newest last. A session has either to-do tool (client fact §3.1)."""

    def __init__(self) -> None:
        self.requests: dict[str, None] = {}
        self.statements: list[str | Answer] = []
        self.runs: dict[str, Work] = {}
        self.jobs: dict[str, Job] = {}
        self.edits: dict[str, Edit] = {}
        self.reads: dict[str, None] = {}
        self.plan = self.plan_title = self.branch = ""
        self.listed: list[Todo] = []
        self.tasks: dict[str, Todo] = {}

    def take(self, entry: Entry) -> None:
        self.branch = entry.line.branch or self.branch
        if isinstance(entry, kinds.Prompt) and entry.request:
            _last(self.requests, entry.request, None)
        elif isinstance(entry, kinds.Notice):
            notice = entry.notification
            self._ended(notice.task_id, notice.status, notice.words)
        elif isinstance(entry, kinds.Statement):
            self.statements.append(entry.text)
        elif isinstance(entry, kinds.Attachment):
            self._attachment(entry.kind, entry.fields)
        elif isinstance(entry, Result):
            self._result(entry)

    def _result(self, result: Result) -> None:
        tool, asked, data = result.call.tool, result.call.input, result.data
        if found := _work(result):
            self._worked(found, asked, data)
        elif tool in _SHELLS:
            if id := text(data, "backgroundTaskId"):
                place = _OUTPUT.search(result.text)
                self.jobs[id] = Job(id, text(asked, "command"), place[1] if place else "")
        elif result.failed:
            return
        elif tool in _STOPPERS:
            self._ended(text(asked, "task_id") or text(asked, "shell_id"), "stopped")
        elif id := text(mapping(data, "task"), "task_id"):  # TaskOutput
            self._ended(id, text(mapping(data, "task"), "status"))
        elif tool == "TodoWrite":
            self._todo_list(data.get("newTodos", asked.get("todos")))
        elif tool in _TASK_TOOLS:
            self._task(asked, data)
        elif tool == "AskUserQuestion":
            self.statements += [Answer(question, str(answer)) for question, answer in mapping(data, "answers").items()]
        elif tool == "ExitPlanMode":
            self._planned(text(data, "filePath") or text(asked, "planFilePath"), text(data, "plan"))
        elif path := _path(result) if tool == "Read" else text(mapping(data, "file"), "filePath"):
            _last(self.reads, path, None)

    def _worked(self, found: Work, asked: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Note how a command's last run went, or an edit. Where output was sent makes it no other command."""
        if path := found.path:
            before = self.edits.get(path, Edit(path, 0, created=False))
            _last(self.edits, path, Edit(path, before.writes + 1, before.created or data.get("type") == "create"))
            if "/plans/" in path and path.endswith(".md"):
                self._planned(path, text(asked, "content"))
        elif command := _SENT.split(" ".join(found.command.split()), maxsplit=1)[0]:
            _last(self.runs, command, found)

    def _ended(self, id: str, status: str, words: str = "") -> None:
        """Note the end of a command in the background; a status that says it goes on is none."""
        job = self.jobs.pop(id, None) if status not in _GOING_ON else None
        if job and status in ("failed", "completed"):
            failed = status == "failed"
            self._worked(Work("", job.text, words if failed else "", failed), {}, {})

    def _attachment(self, kind: str, fields: Mapping[str, Any]) -> None:
        if kind == "todo_reminder":
            self._todo_list(fields.get("content"))
        elif kind == "task_reminder" and isinstance(fields.get("content"), list):
            self._all_tasks(fields["content"])
        elif kind == "task_status":
            self._job_status(fields)
        elif kind in _PLANS and fields.get("planExists", True) and not fields.get("isSubAgent"):
            self._planned(text(fields, "planFilePath"), text(fields, "planContent"))

    def _job_status(self, fields: Mapping[str, Any]) -> None:
        """Take over what the client says of a command that was started before a compaction."""
        id, status = text(fields, "taskId"), text(fields, "status")
        if id and status == "running" and fields.get("taskType") != "local_agent":
            known = self.jobs.get(id) or Job(id, "")
            words = known.text or text(mapping(fields, "shell"), "command") or text(fields, "description")
            self.jobs[id] = Job(id, words, known.output or text(fields, "outputFilePath"))
        self._ended(id, status, text(fields, "deltaSummary"))

    def _planned(self, path: str, plan: str) -> None:
        if path:
            title = next((line.strip(" #") for line in plan.splitlines() if line.strip(" #")), "")
            self.plan_title = title or (self.plan_title if path == self.plan else "")
            self.plan = path

    def _todo_list(self, items: object) -> None:
        """Take over a list as TodoWrite or a reminder of it has it: it replaces the one before."""
        if isinstance(items, list):
            found = [Todo(text(item, "content"), text(item, "status") or "pending") for item in mappings(items)]
            self.listed = [todo for todo in found if todo.text]

    def _task(self, asked: Mapping[str, Any], data: dict[str, Any]) -> None:
        """Take over what a Task tool answered; only its input has a new subject."""
        if isinstance(data.get("tasks"), list):
            self._all_tasks(data["tasks"])
        elif task := mapping(data, "task"):
            self._add_tasks([task])
        elif data.get("success") is True:
            id, status = text(data, "taskId"), text(mapping(data, "statusChange"), "to") or text(asked, "status")
            known = self.tasks.pop(id, Todo(f"task {id}", "pending"))
            changed = Todo(text(asked, "subject") or known.text, status or known.status)
            if changed.status != "deleted":
                self.tasks[id] = changed

    def _all_tasks(self, tasks: Sequence[Any]) -> None:
        """Take over the client's whole list: what it does not name is no longer open."""
        self.tasks = {id: task for id, task in self.tasks.items() if task.status == "completed"}
        self._add_tasks(tasks)

    def _add_tasks(self, tasks: Sequence[Any]) -> None:
        for task in mappings(tasks):
            if (id := text(task, "id")) and (subject := text(task, "subject")):
                self.tasks[id] = Todo(subject, text(task, "status") or "pending")


def _last(found: dict[str, _T], key: str, value: _T) -> None:
    """Put a value under a key, as the newest."""
    found.pop(key, None)
    found[key] = value


def _newest(found: Mapping[str, _T]) -> tuple[_T, ...]:
    return tuple(reversed(list(found.values())))
