"""`Elicitation` fires when an MCP server asks the user something; the matcher tests the server's name.

Example::

    from holdfast import answer, hookimpl

    @hookimpl(match="demo")
    def on_elicitation(event):
        if event.mode == "url":
            return answer("decline")
"""

from typing import Any

from holdfast.clients.claude.events.elicitation import ElicitationEvent


class Elicitation(ElicitationEvent):
    """An MCP server asks the user something.

    Attributes:
        message: the question.
        url: the page the user is asked to visit, in mode `url`.
        requested_schema: the JSON schema of the form, in mode `form`.
    """

    message: str = ""
    url: str | None = None
    requested_schema: dict[str, Any] | None = None
