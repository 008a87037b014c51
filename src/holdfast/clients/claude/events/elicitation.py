"""An MCP server's question to the user as the events about it carry it."""

from typing import Any, ClassVar

from holdfast.clients.claude.events.event import Event


class ElicitationEvent(Event):
    """An event about one question.

    Attributes:
        mcp_server_name: the server that asks.
        mode: `form` or `url`.
        elicitation_id: the question's id.
        action: `accept`, `decline` or `cancel`: what the user, or a handler before this one, answered; empty before
            anybody did.
        content: the form's values, with `accept`.
    """

    matcher_field: ClassVar[str | None] = "mcp_server_name"
    accepts = frozenset({"answer", "terminal"})

    mcp_server_name: str = ""
    mode: str | None = None
    elicitation_id: str | None = None
    action: str = ""
    content: dict[str, Any] | None = None
