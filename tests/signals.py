"""The signals of one subagent, as the client sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.testkit import recorded

if TYPE_CHECKING:
    from holdfast.testing import Fired, HoldfastProject


@dataclass(frozen=True)
class Agent:
    """One launch of a subagent and the run it starts; each method fires one event (client facts §3.4, client-rig).

    Attributes:
        project: where.
        description: the call's short description.
        kind: `subagent_type`.
        prompt: the call's prompt.
        number: tells call and run apart from others'.
        tool: the tool's name; `Task` before client 2.1.63.
        session: the main session.
    """

    project: HoldfastProject
    description: str = ""
    kind: str = "builder"
    prompt: str = "Do it."
    number: int = 1
    tool: str = "Agent"
    session: str = ""

    @property
    def run(self) -> str:
        """The client's id of the run."""
        return f"a{self.number:016x}"

    @property
    def call(self) -> dict[str, Any]:
        """What PreToolUse and PostToolUse say of the call."""
        asked = {"description": self.description, "prompt": self.prompt, "subagent_type": self.kind}
        return self._who | {"tool_name": self.tool, "tool_input": asked, "tool_use_id": f"toolu_{self.number}"}

    def about_to(self, **changes: Any) -> Fired:
        """PreToolUse: the agent is about to be launched."""
        return self.project.fire("PreToolUse", "PreToolUse-Agent", **self.call | changes)

    def launched(self, **changes: Any) -> Fired:
        """PostToolUse of a background launch: it returns at once."""
        response = recorded.load("PostToolUse-Agent-background")["tool_response"] | {"agentId": self.run}
        return self.project.fire(
            "PostToolUse", "PostToolUse-Agent-background", **self.call | {"tool_response": response} | changes
        )

    def returned(self, words: str = "Done.", tokens: int = 1220, **changes: Any) -> Fired:
        """PostToolUse of a foreground call: the agent's result."""
        response = recorded.load("PostToolUse-Agent")["tool_response"]
        response |= {"agentId": self.run, "totalTokens": tokens, "content": [{"type": "text", "text": words}]}
        return self.project.fire(
            "PostToolUse", "PostToolUse-Agent", **self.call | {"tool_response": response} | changes
        )

    def returned_api_error(self) -> Fired:
        """PostToolUse of a failed foreground call on client 2.1.197: completed, with the error for a result."""
        return self.returned("API Error: 529 Overloaded.", tokens=0)

    def failed(self, error: str = "API Error: 529 Overloaded.") -> Fired:
        """PostToolUseFailure of a failed foreground call on client 2.1.329."""
        return self.project.fire("PostToolUseFailure", "PostToolUseFailure-Bash", **self.call, error=error)

    def started(self) -> Fired:
        """SubagentStart."""
        return self.project.fire("SubagentStart", **self._whole)

    def stopped(self, words: str = "Done.") -> Fired:
        """SubagentStop, which carries no verdict."""
        return self.project.fire("SubagentStop", "SubagentStop", **self._whole, last_assistant_message=words)

    def died(self, words: str = "API Error: 529 Overloaded.") -> Fired:
        """StopFailure inside the agent."""
        return self.project.fire("StopFailure", **self._whole, last_assistant_message=words)

    def notified(self, status: str = "completed", words: str = "Done.") -> Fired:
        """UserPromptSubmit of the `<task-notification>` that the client makes when a background agent ends."""
        prompt = (
            f"<task-notification>\n<task-id>{self.run}</task-id>\n<tool-use-id>toolu_{self.number}</tool-use-id>\n"
            f"<status>{status}</status>\n<summary>Agent ended</summary>\n<result>{words}</result>\n</task-notification>"
        )
        return self.project.fire("UserPromptSubmit", prompt=prompt, **self._who)

    @property
    def _who(self) -> dict[str, Any]:
        return {"session_id": self.session} if self.session else {}

    @property
    def _whole(self) -> dict[str, Any]:
        return self._who | {"agent_id": self.run, "agent_type": self.kind}
