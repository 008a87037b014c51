"""`StopFailure` fires instead of `Stop` when a turn died of an API error, inside subagents too.

Example::

    from holdfast import hookimpl, terminal

    @hookimpl(match="rate_limit|overloaded")
    def on_stop_failure(event):
        return terminal("\\x1b]9;Claude is waiting for the API\\x07")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class StopFailure(Event):
    """A turn died of an API error; fired instead of Stop, inside subagents too.

    Attributes:
        error: the kind of error, such as `rate_limit`, `overloaded`, `server_error`, `max_output_tokens`.
        error_details: more about it.
        last_assistant_message: the turn's last words, often the error as the user sees it.
    """

    matcher_field: ClassVar[str | None] = "error"
    accepts = frozenset({"terminal"})

    error: str = ""
    error_details: str | None = None
    last_assistant_message: str | None = None
