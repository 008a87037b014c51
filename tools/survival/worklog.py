"""Write what a session did as transcript entries shaped like the client's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from holdfast.testkit.agent import notification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Entry = dict[str, Any]
_SHAPES: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "prompt": lambda entry: "promptSource" in entry and isinstance(entry["message"]["content"], list),
    "attachment": lambda entry: entry["type"] == "attachment",
    "answer": lambda entry: entry["type"] == "assistant",
    "result": lambda entry: "toolUseResult" in entry,
    "notification": lambda entry: "AGENT REPORT" in str(entry.get("message")),
}


def shape(kind: str, entries: Iterable[Entry]) -> Entry:
    """Return the first of a client's entries of a kind, one of the keys of `_SHAPES`."""
    return next(entry for entry in entries if _SHAPES[kind](entry))


class Worked(ABC):
    """A session at work: every method adds the entries that the client would write.

    Attributes:
        home: the project's folder.
        tasks: the client's folder for the output of background work.
    """

    home: str
    tasks: str
    _calls = 0

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """Add an entry to the session's transcript."""

    @abstractmethod
    def shape(self, kind: str) -> Entry:
        """Return a client's entry of a kind, to be adapted."""

    def say(self, text: str) -> None:
        """Let the user ask something."""
        self.add({**self.shape("prompt"), "message": {"role": "user", "content": [{"type": "text", "text": text}]}})

    def interrupt(self) -> None:
        """Let the user interrupt the model, which the client records as a message."""
        content = [{"type": "text", "text": "[Request interrupted by user]"}]
        self.add({**self.shape("prompt"), "message": {"role": "user", "content": content}})

    def aside(self, mark: str, text: str) -> None:
        """Add an entry that looks like a request but is a subagent's (`isSidechain`) or the client's (`isMeta`)."""
        self.add({**self.shape("prompt"), mark: True, "message": {"role": "user", "content": text}})

    def queue(self, text: str, mode: str = "prompt") -> None:
        """Queue a message that reaches the model while it is working."""
        self.attach(type="queued_command", prompt=text, commandMode=mode)

    def answer(self, text: str) -> None:
        """Let the model say something."""
        self._said({"type": "text", "text": text})

    def call(self, name: str, given: Entry, data: Any, content: Any = "ok", *, failed: bool = False) -> None:
        """Let the model call a tool that returns."""
        id = self.launch(name, given)
        block = {"tool_use_id": id, "type": "tool_result", "content": content, **({"is_error": True} if failed else {})}
        self.add({**self.shape("result"), "toolUseResult": data, "message": {"role": "user", "content": [block]}})

    def launch(self, name: str, given: Entry) -> str:
        """Let the model call a tool that has not returned yet."""
        self._calls += 1
        id = f"toolu_{self._calls:06}"
        self._said({"type": "tool_use", "id": id, "name": name, "input": given})
        return id

    def edit(self, path: str, *, create: bool = False, content: str = "x") -> None:
        """Let the model change a file, or write a new one."""
        name = "Write" if create else "Edit"
        data = {"type": "create"} if create else {"oldString": "a", "newString": "b"}
        self.call(
            name, {"file_path": path, "content": content}, {"filePath": path, "structuredPatch": [], **data}, "updated"
        )

    def read(self, path: str, content: str = "a = 1\n") -> None:
        """Let the model read a file."""
        file = {"filePath": path, "content": content, "numLines": 2, "startLine": 1, "totalLines": 2}
        self.call("Read", {"file_path": path}, {"type": "text", "file": file}, content)

    def run(self, command: str, output: str = "", *, failed: bool = False) -> None:
        """Let the model run a command."""
        given = {"command": command, "description": "Run it"}
        if failed:
            output = f"Exit code 1\n{output}"
            self.call("Bash", given, f"Error: {output}", output, failed=True)
        else:
            self.call("Bash", given, {"stdout": output, "stderr": "", "interrupted": False}, output)

    def background(self, command: str, id: str) -> None:
        """Let the model start a command in the background."""
        path = f"{self.tasks}/{id}.output"
        output = f"Command running in background with ID: {id}. Output is being written to: {path}. You"
        data = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": id}
        self.call("Bash", {"command": command, "run_in_background": True}, data, output)

    def agent(self, description: str, id: str, kind: str = "general-purpose") -> None:
        """Let the model start an agent in the background."""
        data = {"isAsync": True, "status": "async_launched", "agentId": id, "description": description}
        given = {"description": description, "prompt": "PROMPT", "subagent_type": kind}
        self.call(
            "Agent", given, {**data, "outputFile": f"{self.tasks}/{id}.output"}, [{"type": "text", "text": "launched"}]
        )

    def notify(self, id: str, summary: str, status: str = "completed", result: str = "") -> None:
        """Let the client report the end of an agent or a background command."""
        made = self.shape("notification")
        told = {"task-id": id, "status": status, "summary": summary, "result": result}
        content = notification(str(made["message"]["content"]), told)
        self.add({**made, "message": {"role": "user", "content": content}})

    def todos(self, *items: tuple[str, str]) -> None:
        """Let the model write its to-do list: (text, status) for each item."""
        listed = [{"content": text, "status": status, "activeForm": text} for text, status in items]
        self.call("TodoWrite", {"todos": listed}, {"oldTodos": [], "newTodos": listed}, "modified")

    def task(self, id: str, subject: str, status: str = "pending") -> None:
        """Let the model create a task and set its status."""
        task = {"id": id, "subject": subject, "description": subject}
        self.call("TaskCreate", {"subject": subject, "description": subject}, {"task": task}, "created")
        if status != "pending":
            change = {"from": "pending", "to": status}
            data = {"success": True, "taskId": id, "updatedFields": ["status"], "statusChange": change}
            self.call("TaskUpdate", {"taskId": id, "status": status}, data, "updated")

    def attach(self, **attachment: Any) -> None:
        """Add an attachment of the client's."""
        kept = {key: value for key, value in self.shape("attachment").items() if key != "rendered"}
        self.add({**kept, "attachment": attachment})

    def _said(self, block: Entry) -> None:
        made = self.shape("answer")
        self.add({**made, "message": {**made["message"], "content": [block]}})
