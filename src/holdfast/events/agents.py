"""The events of a subagent, with the reading of what its launch returned."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

from holdfast.events.background import BackgroundTask, SessionCron
from holdfast.events.event import Event

_ERROR = "Error: "  # with which `toolUseResult` begins where a tool failed
AgentStatus = Literal["completed", "async_launched", "remote_launched", "other"]


class SubagentStart(Event):
    """A subagent starts. Advice reaches the subagent, not the main conversation.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type, such as `Explore` or `plugin:name`.
    """

    matcher_field: ClassVar[str | None] = "agent_type"
    accepts = frozenset({"advise", "tell_user", "terminal"})

    agent_id: str = ""


class SubagentStop(Event):
    """A subagent finished a run; says nothing about success, and may come several times for one agent.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type; empty for the agent that writes a compaction's summary.
        stop_hook_active: whether this run was itself forced by a handler.
        agent_transcript_path: the subagent's JSONL file; may be empty or not exist yet.
        last_assistant_message: its last words.
        background_tasks: what still runs, often including this very agent.
        session_crons: the session's schedule.
    """

    matcher_field: ClassVar[str | None] = "agent_type"
    accepts = frozenset({"force_turn", "block", "stop", "tell_user", "terminal"})

    agent_id: str = ""
    stop_hook_active: bool = False
    agent_transcript_path: str = ""
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()

    @property
    def is_compaction(self) -> bool:
        """Whether this is the compaction's own agent, whose last words are the summary and nobody's result."""
        return self.agent_type == ""


class AgentResult(NamedTuple):
    """What the call that launched a subagent returned.

    Attributes:
        status: `completed` (it ran to its end inside the call), `async_launched` (it runs in the background),
            `remote_launched` (it runs elsewhere), or `other` (nothing that can be read as one of these).
        agent_id: the subagent's id, a remote one's task id; empty if unknown.
        agent_type: its type; empty if unknown.
        text: its text blocks, joined by newlines.
        total_tokens: the tokens it used; `None` if unknown.
        output_file: where a background agent writes; empty if unknown.
    """

    status: AgentStatus
    agent_id: str = ""
    agent_type: str = ""
    text: str = ""
    total_tokens: int | None = None
    output_file: str = ""

    @property
    def is_api_error(self) -> bool:
        """Whether it died of an API error although the status says completed (client 2.1.197, seen by running it)."""
        return self.text.lstrip().startswith("API Error") and not self.total_tokens


def agent_result(tool_response: Any) -> AgentResult:
    """Read the `tool_response` of an `Agent` or `Task` call, of any client (client fact §3.4, §7).

    Args:
        tool_response: an object with a `status`; from older clients an object without one, a list of content
            blocks, or a string.

    Returns:
        The result; never raises.
    """
    if isinstance(tool_response, Mapping):
        tokens = tool_response.get("totalTokens")
        return AgentResult(
            status=_status(tool_response.get("status")),
            agent_id=_text(tool_response.get("agentId")) or _text(tool_response.get("taskId")),
            agent_type=_text(tool_response.get("agentType")),
            text=_text(tool_response.get("content")),
            total_tokens=tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None,
            output_file=_text(tool_response.get("outputFile")),
        )
    if isinstance(tool_response, str | list):
        return AgentResult("completed", text=_text(tool_response))
    return AgentResult("other")


class Returned(NamedTuple):
    """A call's result as the main conversation's transcript notes it.

    Attributes:
        call: the `tool_use_id`.
        result: what an agent's call returned; `status` is `other` for a call that failed.
        error: what went wrong, of a call that failed; else empty.
    """

    call: str
    result: AgentResult
    error: str = ""

    @classmethod
    def noted(cls, entry: Mapping[str, Any]) -> Self | None:
        """Read an entry of a transcript that notes one call's result, with the object that PostToolUse is given.

        A call that a person refused or interrupted has not failed, and is none.
        """
        message, response = entry.get("message"), entry.get("toolUseResult")
        content = message.get("content") if isinstance(message, Mapping) else None
        blocks = [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []
        found = [each for each in blocks if each.get("type") == "tool_result"]
        call = found[0].get("tool_use_id") if len(found) == 1 and not entry.get("isSidechain") else None
        if not isinstance(call, str) or not call:
            return None
        if found[0].get("is_error") is True:
            failed = isinstance(response, str) and response.startswith(_ERROR)
            return cls(call, AgentResult("other"), str(response).removeprefix(_ERROR)) if failed else None
        return cls(call, agent_result(response)) if isinstance(response, Mapping) else None


def _status(status: object) -> AgentStatus:
    match status:
        case None:  # clients before 2.1.30 (client fact §7)
            return "completed"
        case "completed" | "async_launched" | "remote_launched":
            return status
        case _:
            return "other"


def _text(content: object) -> str:
    """Return a string as it is, and the text blocks of a list joined by newlines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in content]
    return "\n".join(text for text in texts if isinstance(text, str))
