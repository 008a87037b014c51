"""Writes transcripts of sessions as long as a test needs, each entry in a shape that a client really wrote."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = ROOT / "tests" / "survival" / "transcripts"
CLIENTS = ("2.1.329", "2.1.197")
HOME = "/home/user/project"
TASKS = "/home/user/home/tmp/claude/-home-user-project/5f80ac27-825a-4796-9275-db0f3edb624f/tasks"

Entry = dict[str, Any]


@cache
def written(client: str) -> tuple[Entry, ...]:
    """Return all entries of what a client wrote: with TodoWrite, then with the Task tools."""
    files = [WRITTEN / f"worked-{client}-{tool}.jsonl" for tool in ("todo", "tasks")]
    return tuple(json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines())


class Transcript:
    """A session's transcript in the making; every method adds the entries the client would write."""

    def __init__(self, client: str = CLIENTS[0], branch: str = "HEAD") -> None:
        self.client, self.branch = client, branch
        self.entries: list[Entry] = []
        self._calls = 0

    def add(self, entry: Entry) -> None:
        """Add a copy of an entry under an id of its own."""
        made = copy.deepcopy(entry)
        made["uuid"] = f"00000000-0000-4000-8000-{len(self.entries):012}"
        if "gitBranch" in made:
            made["gitBranch"] = self.branch
        self.entries.append(made)

    def say(self, text: str) -> None:
        """Let the person ask something."""
        shape = self._shape(lambda entry: "promptSource" in entry and isinstance(entry["message"]["content"], list))
        self.add({**shape, "message": {"role": "user", "content": [{"type": "text", "text": text}]}})

    def queue(self, text: str, mode: str = "prompt") -> None:
        """Let something reach the model while it is at work."""
        shape = self._shape(lambda entry: entry["type"] == "attachment")
        attachment = {"type": "queued_command", "prompt": text, "commandMode": mode}
        self.add({**{key: value for key, value in shape.items() if key != "rendered"}, "attachment": attachment})

    def answer(self, text: str) -> None:
        """Let the model say something."""
        self._said({"type": "text", "text": text})

    def call(self, name: str, given: Entry, data: Any, content: Any = "ok", *, failed: bool = False) -> None:
        """Let the model call a tool, and the tool return."""
        id = self.launch(name, given)
        shape = self._shape(lambda entry: "toolUseResult" in entry)
        block = {"tool_use_id": id, "type": "tool_result", "content": content, **({"is_error": True} if failed else {})}
        self.add({**shape, "toolUseResult": data, "message": {"role": "user", "content": [block]}})

    def launch(self, name: str, given: Entry) -> str:
        """Let the model call a tool that has not returned yet."""
        self._calls += 1
        id = f"toolu_{self._calls:06}"
        self._said({"type": "tool_use", "id": id, "name": name, "input": given})
        return id

    def edit(self, path: str, *, create: bool = False, content: str = "x") -> None:
        name = "Write" if create else "Edit"
        data = {"type": "create"} if create else {"oldString": "a", "newString": "b"}
        self.call(
            name, {"file_path": path, "content": content}, {"filePath": path, "structuredPatch": [], **data}, "updated"
        )

    def read(self, path: str, content: str = "a = 1\n") -> None:
        file = {"filePath": path, "content": content, "numLines": 2, "startLine": 1, "totalLines": 2}
        self.call("Read", {"file_path": path}, {"type": "text", "file": file}, content)

    def run(self, command: str, output: str = "", *, failed: bool = False) -> None:
        given = {"command": command, "description": "Run it"}
        if failed:
            output = f"Exit code 1\n{output}"
            self.call("Bash", given, f"Error: {output}", output, failed=True)
        else:
            self.call("Bash", given, {"stdout": output, "stderr": "", "interrupted": False}, output)

    def background(self, command: str, id: str) -> None:
        output = f"Command running in background with ID: {id}. Output is being written to: {TASKS}/{id}.output. You"
        data = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": id}
        self.call("Bash", {"command": command, "run_in_background": True}, data, output)

    def agent(self, description: str, id: str, kind: str = "general-purpose") -> None:
        data = {"isAsync": True, "status": "async_launched", "agentId": id, "description": description}
        given = {"description": description, "prompt": "PROMPT", "subagent_type": kind}
        self.call(
            "Agent", given, {**data, "outputFile": f"{TASKS}/{id}.output"}, [{"type": "text", "text": "launched"}]
        )

    def notify(self, id: str, summary: str, status: str = "completed", result: str = "") -> None:
        """Let the client tell of the end of an agent or a command."""
        shape = self._shape(lambda entry: "<task-notification>" in str(entry.get("message")))
        self.add({**shape, "message": {"role": "user", "content": notification(id, summary, status, result)}})

    def todos(self, *items: tuple[str, str]) -> None:
        listed = [{"content": text, "status": status, "activeForm": text} for text, status in items]
        self.call("TodoWrite", {"todos": listed}, {"oldTodos": [], "newTodos": listed}, "modified")

    def task(self, id: str, subject: str, status: str = "pending") -> None:
        task = {"id": id, "subject": subject, "description": subject}
        self.call("TaskCreate", {"subject": subject, "description": subject}, {"task": task}, "created")
        if status != "pending":
            change = {"from": "pending", "to": status}
            data = {"success": True, "taskId": id, "updatedFields": ["status"], "statusChange": change}
            self.call("TaskUpdate", {"taskId": id, "status": status}, data, "updated")

    def attach(self, **attachment: Any) -> None:
        shape = self._shape(lambda entry: entry["type"] == "attachment")
        self.add({**{key: value for key, value in shape.items() if key != "rendered"}, "attachment": attachment})

    def compact(self) -> None:
        """Add what the client itself wrote around its compaction, all of it: boundary, summary, command, files."""
        entries = [entry for entry in written(self.client) if entry["type"] in ("user", "system", "attachment")]
        start = next(number for number, entry in enumerate(entries) if entry.get("subtype") == "compact_boundary")
        for entry in entries[start:]:
            if "promptSource" in entry:
                return
            if entry.get("attachment", {}).get("type") != "task_status":  # of jobs this session never started
                self.add(entry)

    def file(self, path: Path) -> Path:
        """Write the transcript as the client does, an entry a line."""
        with path.open("w", encoding="utf-8", errors="surrogatepass") as out:
            for entry in self.entries:
                out.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        return path

    def _said(self, block: Entry) -> None:
        shape = self._shape(lambda entry: entry["type"] == "assistant")
        self.add({**shape, "message": {**shape["message"], "content": [block]}})

    def _shape(self, wanted: Any) -> Entry:
        return next(entry for entry in written(self.client) if wanted(entry))


def notification(id: str, summary: str, status: str, result: str = "") -> str:
    """Return a notification as both clients write it."""
    shape = next(entry for entry in written(CLIENTS[0]) if "AGENT REPORT" in str(entry.get("message")))
    text = str(shape["message"]["content"])
    for name, value in {"task-id": id, "status": status, "summary": summary, "result": result}.items():
        start, end = text.index(f"<{name}>") + len(name) + 2, text.index(f"</{name}>")
        text = text[:start] + value + text[end:]
    return text
