"""One call of the Agent tool: the recorded events that the client sends about it and the subagent's run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast.testkit import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Agent(Generic[Answer]):
    """A call and the subagent it runs; each method sends one recorded event, as the real client does.

    Attributes:
        fire: sends an event of the main conversation, from a recorded payload's name and fields to set.
        fire_aside: the same for an event of the subagent, whose replies reach the subagent.
        arguments: the call's `description`, `prompt`, `subagent_type` and `run_in_background`.
        run: the subagent's id.
        use: the call's id.
        tool: the tool's name; `Task` before client 2.1.63.
    """

    fire: Callable[..., Answer]
    fire_aside: Callable[..., Answer]
    arguments: Mapping[str, Any]
    run: str
    use: str
    tool: str = "Agent"

    @property
    def call(self) -> dict[str, Any]:
        """The call's fields in PreToolUse and PostToolUse."""
        return {"tool_name": self.tool, "tool_input": dict(self.arguments), "tool_use_id": self.use}

    @property
    def output(self) -> str:
        """The file to which the client writes its output when it runs in the background."""
        return f"/tmp/{self.run}.output"

    def about_to(self, **changes: Any) -> Answer:
        """Send PreToolUse: the model is about to launch it."""
        return self.fire(f"PreToolUse-Agent{self._variant}", **self.call | changes)

    def launched(self, **changes: Any) -> Answer:
        """Send PostToolUse for a launch in the background, which returns at once."""
        name = "PostToolUse-Agent-background"
        response = recorded.load(name)["tool_response"] | {"agentId": self.run, "outputFile": self.output}
        response |= {key: self.arguments[key] for key in ("description", "prompt")}
        return self.fire(name, **self.call | {"tool_response": response} | changes)

    def returned(self, words: str = "Done.", tokens: int = 1220, **changes: Any) -> Answer:
        """Send PostToolUse for a call in the foreground, with the subagent's report and the tokens it used."""
        name = "PostToolUse-Agent"
        response = recorded.load(name)["tool_response"] | {"agentId": self.run, "prompt": self.arguments["prompt"]}
        response |= {"agentType": self.arguments["subagent_type"], "totalTokens": tokens}
        response |= {"content": [{"type": "text", "text": words}]}
        return self.fire(name, **self.call | {"tool_response": response} | changes)

    def failed(self, error: str = "API Error: 529 Overloaded.") -> Answer:
        """Send PostToolUseFailure: the call itself failed, as on client 2.1.329."""
        return self.fire("PostToolUseFailure-Bash", **self.call, error=error)

    def started(self) -> Answer:
        """Send SubagentStart: it runs."""
        return self.fire_aside("SubagentStart", **self._whole)

    def stopped(self, words: str = "Done.") -> Answer:
        """Send SubagentStop with its last message; the event doesn't say whether it succeeded."""
        return self.fire_aside(f"SubagentStop{self._variant}", **self._whole, last_assistant_message=words)

    def died(self, words: str = "API Error: 529 Overloaded.") -> Answer:
        """Send StopFailure with the subagent's id: its model couldn't be reached."""
        return self.fire_aside("StopFailure", **self._whole, last_assistant_message=words)

    def notified(self, status: str = "completed", words: str = "Done.") -> Answer:
        """Send UserPromptSubmit with the `<task-notification>` that the client makes when a background agent ends."""
        name = "UserPromptSubmit-task-notification"
        tags = {
            "task-id": self.run,
            "tool-use-id": self.use,
            "output-file": self.output,
            "status": status,
            "summary": f'Agent "{self.arguments["description"]}" {"finished" if status == "completed" else status}',
            "result": words,
        }
        return self.fire(name, prompt=notification(recorded.load(name)["prompt"], tags))

    @property
    def _variant(self) -> str:
        return "-background" if self.arguments.get("run_in_background") else ""

    @property
    def _whole(self) -> dict[str, str]:
        return {"agent_id": self.run, "agent_type": self.arguments["subagent_type"]}


def notification(text: str, tags: Mapping[str, str]) -> str:
    """Return a client's `<task-notification>` with other texts between its tags.

    Args:
        text: the client's notification.
        tags: tag -> new text.
    """
    for name, value in tags.items():
        start, end = text.index(f"<{name}>") + len(name) + 2, text.index(f"</{name}>")
        text = text[:start] + value + text[end:]
    return text
