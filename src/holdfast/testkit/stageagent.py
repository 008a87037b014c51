"""A subagent on the stage: the recorded events that the client sends of its call and its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.testkit import recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.testkit.stage import Heard, Stage


@dataclass(frozen=True)
class Agent:
    """One call of the Agent tool and the subagent it runs; each method sends one recorded event, its own ids filled in.

    Attributes:
        stage: where.
        number: tells its ids apart from those of others.
        call: what the model asked for.
    """

    stage: Stage
    number: int
    call: Mapping[str, str]

    @property
    def run(self) -> str:
        """The client's id of the subagent."""
        return f"a{self.number:016x}"

    def launched(self) -> Heard:
        """PreToolUse: the model is about to launch it."""
        return self.stage.fire("PreToolUse-Agent", **self._asked("PreToolUse-Agent"))

    def started(self) -> Heard:
        """SubagentStart: it runs."""
        return self.stage.fire("SubagentStart", **self._whole)

    def stopped(self, words: str) -> Heard:
        """SubagentStop: it said its last words."""
        return self.stage.fire("SubagentStop", **self._whole, last_assistant_message=words)

    def returned(self, words: str) -> Heard:
        """PostToolUse: the call returned with its report."""
        name = "PostToolUse-Agent"
        response = recorded.load(name)["tool_response"]
        response |= {"agentId": self.run, "agentType": self.call["subagent_type"], "prompt": self.call["prompt"]}
        response |= {"content": [{"type": "text", "text": words}]}
        return self.stage.fire(name, **self._asked(name), tool_response=response)

    def died(self, error: str) -> Heard:
        """StopFailure, with the subagent's id: its model could not be reached any more (client-rig)."""
        return self.stage.fire("StopFailure", **self._whole, last_assistant_message=error)

    def failed(self, error: str) -> Heard:
        """PostToolUseFailure: the call itself failed."""
        return self.stage.fire(
            "PostToolUseFailure-Bash", tool_name="Agent", **self._asked("PreToolUse-Agent"), error=error
        )

    def sent_off(self) -> Heard:
        """PreToolUse and PostToolUse of a launch in the background, which returns at once."""
        self.stage.fire("PreToolUse-Agent-background", **self._asked("PreToolUse-Agent-background"))
        name = "PostToolUse-Agent-background"
        response = recorded.load(name)["tool_response"] | {"agentId": self.run}
        return self.stage.fire(name, **self._asked(name), tool_response=response)

    def reported_back(self, words: str) -> Heard:
        """SubagentStop of one in the background, and the prompt the client makes of its result."""
        self.stage.fire("SubagentStop-background", **self._whole, last_assistant_message=words)
        name = "UserPromptSubmit-task-notification"
        launch, prompt = recorded.load("PostToolUse-Agent-background"), recorded.load(name)["prompt"]
        for old, new in (
            (launch["tool_response"]["agentId"], self.run),
            (launch["tool_use_id"], self._use),
            (launch["tool_input"]["description"], self.call["description"]),
            (recorded.load("SubagentStop-background")["last_assistant_message"], words),
        ):
            prompt = prompt.replace(old, new)
        return self.stage.fire(name, prompt=prompt)

    @property
    def _use(self) -> str:
        return f"toolu_{self.number:024x}"

    @property
    def _whole(self) -> dict[str, str]:
        return {"agent_id": self.run, "agent_type": self.call["subagent_type"]}

    def _asked(self, name: str) -> dict[str, Any]:
        return {"tool_input": recorded.load(name)["tool_input"] | dict(self.call), "tool_use_id": self._use}
