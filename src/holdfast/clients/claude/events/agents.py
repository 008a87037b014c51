"""What the client reports about subagents: the result of a call, and the end of one in the background."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

_ERROR = "Error: "  # how `toolUseResult` begins if a tool failed
_ERROR_MARKS = ("is_error", "isError", "error", "errorStatus", "error_status")
_NO_ERROR: tuple[object, ...] = (None, False, 0, "", "false", "none", [], {})
_ERROR_STATUSES = frozenset({"error", "errored", "failed", "failure", "timeout", "timed_out"})
_OPENING = "<task-notification>"
_KIND = "task-notification"
AgentStatus = Literal["completed", "async_launched", "remote_launched", "other"]


class AgentResult(NamedTuple):
    """What the call that launched a subagent returned.

    Attributes:
        status: `completed` (it ran to its end inside the call), `async_launched` (it runs in the background),
            `remote_launched` (it runs elsewhere), or `other` (anything else, as from clients before 2.1.30, which give
            no status).
        agent_id: the subagent's id, a remote one's task id; empty if unknown.
        agent_type: its type; empty if unknown.
        text: its text blocks, joined by newlines.
        total_tokens: the tokens it used; `None` if unknown.
        output_file: where a background agent writes; empty if unknown.
        failed: whether anything in the response reports a failure; that overrides its status (I000-14).
    """

    status: AgentStatus
    agent_id: str = ""
    agent_type: str = ""
    text: str = ""
    total_tokens: int | None = None
    output_file: str = ""
    failed: bool = False


def agent_result(tool_response: Any) -> AgentResult:
    """Read the `tool_response` of an `Agent` or `Task` call, from any client version (client fact §3.4, §7).

    Args:
        tool_response: an object with a `status`; from older clients an object without one, a list of content
            blocks, or a string.

    Returns:
        The result; never raises.
    """
    if isinstance(tool_response, Mapping):
        given = tool_response.get("totalTokens")
        tokens = given if isinstance(given, int) and not isinstance(given, bool) else None
        text = _text(tool_response.get("content"))
        return AgentResult(
            status=_status(tool_response.get("status")),
            agent_id=_text(tool_response.get("agentId")) or _text(tool_response.get("taskId")),
            agent_type=_text(tool_response.get("agentType")),
            text=text or _text(tool_response.get("error")),
            total_tokens=tokens,
            output_file=_text(tool_response.get("outputFile")),
            failed=_says_failed(tool_response) or _is_api_error(text, tokens),
        )
    if isinstance(tool_response, str | list):
        return AgentResult("other", text=_text(tool_response), failed=_says_failed({"content": tool_response}))
    return AgentResult("other")


class Returned(NamedTuple):
    """A call's result as recorded in the main conversation's transcript.

    Attributes:
        call: the `tool_use_id`.
        result: the call's result; its `status` is `other` if the call failed.
        error: the error text if the call failed, else empty.
    """

    call: str
    result: AgentResult
    error: str = ""

    @classmethod
    def noted(cls, entry: Mapping[str, Any]) -> Self | None:
        """Read a transcript entry that records one call's result, with the object that PostToolUse gets.

        Returns:
            The result, or None for any other entry. A call that a person refused or interrupted hasn't failed; it
            gives None too.
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


class TaskNotification(NamedTuple):
    """What the client tells the model when a background task stops (client fact §3.4).

    Attributes:
        task_id: the task; a subagent's `agent_id`.
        tool_use_id: the tool call that launched it.
        status: `completed`, `failed` or another word of the client's.
        summary: one line about it.
        result: a subagent's last message; other tasks have none.
        output_file: the file with its complete output.
    """

    task_id: str = ""
    tool_use_id: str = ""
    status: str = ""
    summary: str = ""
    result: str = ""
    output_file: str = ""

    @property
    def words(self) -> str:
        """A subagent's last message or, if it has none and didn't complete, the summary, which says what went wrong."""
        return self.result or ("" if self.status == "completed" else self.summary)

    @classmethod
    def read(cls, prompt: str) -> Self | None:
        """Read a prompt that is a `<task-notification>` block.

        Args:
            prompt: the complete prompt.

        Returns:
            The notification, with empty strings for missing parts; `None` for any other prompt, such as one that quotes
            such a block further down, or that begins with the tag but names neither a task nor a call.
        """
        block = prompt.strip()
        if not block.startswith(_OPENING):
            return None
        # The result is a model's free text and may hold any tag: nothing else is read from inside it.
        before, _, rest = block.removeprefix(_OPENING).partition("<result>")
        result, closing, after = rest.rpartition("</result>")
        told = before + after if closing else before
        notification = cls(
            task_id=_between(told, "task-id"),
            tool_use_id=_between(told, "tool-use-id"),
            status=_between(told, "status"),
            summary=_between(told, "summary"),
            result=(result if closing else rest.removesuffix("</task-notification>")).strip(),
            output_file=_between(told, "output-file"),
        )
        return notification if notification.task_id or notification.tool_use_id else None

    @classmethod
    def noted(cls, entry: Mapping[str, Any]) -> Self | None:
        """Read a transcript entry with such a block that the client itself made and has given to the model.

        In the middle of a turn, client 2.1.197 gives the block without a UserPromptSubmit (seen by running it).

        Returns:
            The notification, or None for any other entry, also for a block that is only queued or that a person pasted.
        """
        attachment, message = entry.get("attachment"), entry.get("message")
        prompt: object = None
        if isinstance(attachment, Mapping):
            if attachment.get("type") == "queued_command" and attachment.get("commandMode") == _KIND:
                prompt = attachment.get("prompt")
        elif isinstance(message, Mapping) and entry.get("type") == "user":
            origin = entry.get("origin")
            if isinstance(origin, Mapping) and origin.get("kind") == _KIND:
                prompt = message.get("content")
        return cls.read(prompt) if isinstance(prompt, str) else None


def _says_failed(response: Mapping[str, Any]) -> bool:
    """Return whether a response, or a block of its content, has an error mark or an error status."""
    content = response.get("content")
    parts = [response, *(content if isinstance(content, list) else ())]
    return any(
        any(part.get(name) not in _NO_ERROR for name in _ERROR_MARKS)
        or any(_text(part.get(name)).strip().casefold() in _ERROR_STATUSES for name in ("status", "subtype"))
        for part in parts
        if isinstance(part, Mapping)
    )


def _is_api_error(text: str, tokens: int | None) -> bool:
    """Return whether an agent died of an API error although it is "completed" (client 2.1.197, seen by running it)."""
    return text.lstrip().startswith("API Error") and not tokens


def _status(status: object) -> AgentStatus:
    match status:
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


def _between(text: str, tag: str) -> str:
    """Return the first `<tag>…</tag>` of a text, stripped; empty when there is none or it is not closed."""
    inside, closing, _ = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return inside.strip() if closing else ""
