"""One call of the Agent tool: the recorded events that the client sends of it and of the subagent's run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast.testkit import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Agent(Generic[Answer]):
    """A call and the subagent that it runs; each method sends recorded events, this agent's ids filled in.

    Attributes:
        fire: sends an event of the main session: a recorded payload's name, and fields to set.
        fire_aside: sends one of the subagent's own, to which what is said reaches the subagent.
        call: what the model asked for: `description`, `prompt`, `subagent_type`.
        run: the client's id of the subagent.
        use: the client's id of the call.
    """

    fire: Callable[..., Answer]
    fire_aside: Callable[..., Answer]
    call: Mapping[str, Any]
    run: str
    use: str

    def launched(self) -> Answer:
        """PreToolUse: the model is about to launch it."""
        return self.fire("PreToolUse-Agent", **self._asked("PreToolUse-Agent"))

    def started(self) -> Answer:
        """SubagentStart: it runs."""
        return self.fire_aside("SubagentStart", **self._whole)

    def stopped(self, words: str) -> Answer:
        """SubagentStop: it said its last words."""
        return self.fire_aside("SubagentStop", **self._whole, last_assistant_message=words)

    def returned(self, words: str) -> Answer:
        """PostToolUse: the call returned with its report."""
        name = "PostToolUse-Agent"
        response = recorded.load(name)["tool_response"]
        response |= {"agentId": self.run, "agentType": self.call["subagent_type"], "prompt": self.call["prompt"]}
        response |= {"content": [{"type": "text", "text": words}]}
        return self.fire(name, **self._asked(name), tool_response=response)

    def died(self, error: str) -> Answer:
        """StopFailure, with the subagent's id: its model could not be reached any more (client-rig)."""
        return self.fire_aside("StopFailure", **self._whole, last_assistant_message=error)

    def failed(self, error: str) -> Answer:
        """PostToolUseFailure: the call itself failed."""
        return self.fire("PostToolUseFailure-Bash", tool_name="Agent", **self._asked("PreToolUse-Agent"), error=error)

    def sent_off(self) -> Answer:
        """PreToolUse and PostToolUse of a launch in the background, which returns at once."""
        self.fire("PreToolUse-Agent-background", **self._asked("PreToolUse-Agent-background"))
        name = "PostToolUse-Agent-background"
        response = recorded.load(name)["tool_response"]
        response |= {"agentId": self.run, "description": self.call["description"], "prompt": self.call["prompt"]}
        response |= {"outputFile": f"/tmp/{self.run}.output"}
        return self.fire(name, **self._asked(name), tool_response=response)

    def reported_back(self, words: str) -> Answer:
        """SubagentStop of one in the background, and the prompt the client makes of its result."""
        self.fire_aside("SubagentStop-background", **self._whole, last_assistant_message=words)
        name = "UserPromptSubmit-task-notification"
        launch, prompt = recorded.load("PostToolUse-Agent-background"), recorded.load(name)["prompt"]
        for old, new in (
            (launch["tool_response"]["agentId"], self.run),
            (launch["tool_use_id"], self.use),
            (launch["tool_input"]["description"], self.call["description"]),
            (recorded.load("SubagentStop-background")["last_assistant_message"], words),
        ):
            prompt = prompt.replace(old, new)
        return self.fire(name, prompt=prompt)

    @property
    def _whole(self) -> dict[str, str]:
        return {"agent_id": self.run, "agent_type": self.call["subagent_type"]}

    def _asked(self, name: str) -> dict[str, Any]:
        return {"tool_input": recorded.load(name)["tool_input"] | dict(self.call), "tool_use_id": self.use}
