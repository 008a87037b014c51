"""`ElicitationResult` fires after the user answered an MCP server, and may change the answer.

Example::

    from holdfast import answer, hookimpl

    @hookimpl(match="demo")
    def on_elicitation_result(event):
        if event.action == "accept" and not event.content:
            return answer("cancel")
"""

from holdfast.clients.claude.events.elicitation import ElicitationEvent


class ElicitationResult(ElicitationEvent):
    """The user answered an MCP server's question."""
