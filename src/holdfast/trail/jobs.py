"""The agents and commands of a session, as its transcript shows them: which run, which ended, which failed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from holdfast.patterns import regex
from holdfast.trail import words as trailwords
from holdfast.trail.fields import mapping, plain, tag, text

SHELLS = frozenset({"Bash", "PowerShell"})
STOPPERS = frozenset({"TaskStop", "KillShell", "KillBash"})

_LAUNCHED = frozenset({"async_launched", "remote_launched"})
_GOING_ON = frozenset({"", "running", "pending"})
_NOTIFICATIONS = regex(r"<task-notification>(.*?)(?:</task-notification>|\Z)", re.DOTALL)
_OUTPUT = regex(r"Output is being written to: (\S+?)\.?(?:\s|\Z)")
_SENT = regex(r" (?:\||&>|\d?>)")
_EXIT = ("Exit code ", "Error: Exit code ")


@dataclass(frozen=True, slots=True)
class Failure:
    """A command whose last run failed, and what it put out."""

    command: str
    output: str


@dataclass(frozen=True, slots=True)
class Job:
    """An agent, or a command in the background.

    Attributes:
        id: what the client calls it.
        text: its description, or the command.
        kind: the agent's type; "" where it is not known, and for a command.
        output: the path of the file its output goes to; "" where it is not known.
        status: `running`, or how it ended.
        result: what an agent that ended said last.
    """

    id: str
    text: str
    kind: str = ""
    output: str = ""
    status: str = "running"
    result: str = ""


class Jobs:
    """What is known so far, the newest last: by id, failures by their command."""

    def __init__(self) -> None:
        self.agents: dict[str, Job] = {}
        self.commands: dict[str, Job] = {}
        self.finished: dict[str, Job] = {}
        self.failures: dict[str, Failure] = {}

    def shell(self, command: str, output: str, data: dict[str, Any], *, failed: bool) -> None:
        """Note a command's result; one that was refused never ran, and is neither a failure nor a success."""
        if started := text(data, "backgroundTaskId"):
            place = _OUTPUT.search(output)
            self.commands[started] = Job(started, command, output=place[1] if place else "")
        elif not failed:
            self._ran(command, output if trailwords.tests_failed(command, output) else None)
        elif output.startswith(_EXIT):
            self._ran(command, output)

    def agent(self, given: dict[str, Any], data: dict[str, Any]) -> None:
        """Note an agent that was launched, or one that was waited for and has ended."""
        id, status = text(data, "agentId") or text(data, "taskId"), text(data, "status")
        words = text(data, "description") or text(given, "description") or text(data, "workflowName")
        job = Job(id, words, text(given, "subagent_type") or text(data, "agentType"), text(data, "outputFile"))
        if id and status in _LAUNCHED:
            self.finished.pop(id, None)
            self.agents[id] = job
        elif id and status == "completed":
            self._finish(replace(job, status=status, result=plain(data.get("content"))))

    def notified(self, message: str) -> None:
        """Note what the client's notifications in a message say of agents and commands in the background."""
        for found in _NOTIFICATIONS.findall(message):
            id, status, summary = tag(found, "task-id"), tag(found, "status"), tag(found, "summary")
            if id and status not in _GOING_ON and summary.startswith("Agent ") and id not in self.agents:
                self.agents[id] = self.finished.get(id) or Job(id, summary)  # it went on, or began before what is read
            self.ended(id, status, tag(found, "result") or summary)

    def status(self, attachment: dict[str, Any]) -> None:
        """Take over what the client says of a job that was started before a compaction."""
        id, status = text(attachment, "taskId"), text(attachment, "status")
        jobs = self.agents if attachment.get("taskType") == "local_agent" else self.commands
        if id and status == "running":
            known = jobs.get(id) or self.finished.pop(id, None) or Job(id, "")
            words = known.text or text(mapping(attachment, "shell"), "command") or text(attachment, "description")
            output = known.output or text(attachment, "outputFilePath")
            jobs[id] = replace(known, text=words, output=output, status=status, result="")
        self.ended(id, status, text(attachment, "deltaSummary"))

    def ended(self, id: str, status: str, result: str = "") -> None:
        """Note the end of a job; a status that says it goes on is none."""
        if status in _GOING_ON:
            return
        if agent := self.agents.pop(id, None):
            self._finish(replace(agent, status=status, result=result))
        if (command := self.commands.pop(id, None)) and status in ("failed", "completed"):
            self._ran(command.text, result if status == "failed" else None)

    def _ran(self, command: str, failure: str | None) -> None:
        """Note how a command's last run went; where its output was sent makes it no other command."""
        key = _SENT.split(" ".join(command.split()), maxsplit=1)[0]
        self.failures.pop(key, None)
        if key and failure is not None:
            self.failures[key] = Failure(command, failure)

    def _finish(self, agent: Job) -> None:
        self.finished.pop(agent.id, None)
        self.finished[agent.id] = agent
