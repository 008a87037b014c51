"""`SessionEnd` fires when a session ends.

All handlers together have 1.5 seconds, unless one asks for more with `timeout`.

Example::

    from holdfast import hookimpl

    @hookimpl
    def on_session_end(event, context):
        context.log(f"the session ended: {event.reason}")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class SessionEnd(Event):
    """A session ended; all handlers together have 1.5 seconds, unless one asks for more with `timeout`.

    Attributes:
        reason: `clear`, `resume`, `logout`, `prompt_input_exit`, `other`, one of older clients
            (`bypass_permissions_disabled`, `exit`) or a newer one.
    """

    matcher_field: ClassVar[str | None] = "reason"
    accepts = frozenset({"terminal"})
    deadline = 1.5

    reason: str = ""
