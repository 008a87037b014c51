"""What the client reports about subagents: the result of a call, and the end of one in the background."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.clients.client import AgentResult, AgentStatus, TaskNotification

_ERROR_MARKS = ("is_error", "isError", "error", "errorStatus", "error_status")
_NO_ERROR: tuple[object, ...] = (None, False, 0, "", "false", "none", [], {})
_ERROR_STATUSES = frozenset({"error", "errored", "failed", "failure", "timeout", "timed_out"})
NOTIFICATION = "<task-notification>"
"""How a notification begins."""


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


def task_notification(prompt: str) -> TaskNotification | None:
    """Read a prompt that is a `<task-notification>` block; missing parts are empty.

    Return None for any other prompt, such as one that quotes such a block further down, or that begins with the tag but
    names neither a task nor a call.
    """
    block = prompt.strip()
    if not block.startswith(NOTIFICATION):
        return None
    # The result is a model's free text and may hold any tag: nothing else is read from inside it.
    before, _, rest = block.removeprefix(NOTIFICATION).partition("<result>")
    result, closing, after = rest.rpartition("</result>")
    outside = before + after if closing else before
    notification = TaskNotification(
        task_id=_between(outside, "task-id"),
        tool_use_id=_between(outside, "tool-use-id"),
        status=_between(outside, "status"),
        summary=_between(outside, "summary"),
        result=(result if closing else rest.removesuffix("</task-notification>")).strip(),
        output_file=_between(outside, "output-file"),
    )
    return notification if notification.task_id or notification.tool_use_id else None


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
