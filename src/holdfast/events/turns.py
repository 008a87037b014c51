"""The events of a turn's end."""

from typing import ClassVar

from holdfast.events.background import BackgroundTask, SessionCron
from holdfast.events.event import Event


class Stop(Event):
    """The model finished a turn; not fired when the user interrupts. Advice here forces another turn.

    Attributes:
        stop_hook_active: whether this turn was itself forced by a handler.
        last_assistant_message: the turn's last words.
        background_tasks: what still runs; empty also when the client does not say (`model_fields_set` tells).
        session_crons: the session's schedule; the same holds.
    """

    accepts = frozenset({"force_turn", "block", "stop", "tell_user", "terminal"})

    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


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
