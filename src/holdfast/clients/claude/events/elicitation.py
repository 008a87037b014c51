"""The fields that the events about an MCP server's question to the user share."""

from typing import Any

from holdfast.clients.claude.events.event import Event


class ElicitationEvent(Event):
    """An event about one question.

    Attributes:
        mcp_server_name: the server that asks.
        mode: `form` or `url`.
        elicitation_id: the question's id.
        action: the answer of the user or of an earlier handler: `accept`, `decline` or `cancel`; empty before there
            is one.
        content: the form's values, with `accept`.
    """

    mcp_server_name: str = ""
    mode: str | None = None
    elicitation_id: str | None = None
    action: str = ""
    content: dict[str, Any] | None = None
