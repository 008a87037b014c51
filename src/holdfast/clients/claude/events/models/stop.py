"""The fields of `Stop`."""

from holdfast.clients.claude.events.background import BackgroundTask, SessionCron
from holdfast.clients.claude.events.event import Event


class Stop(Event):
    """What the client sends with `Stop`.

    Attributes:
        stop_hook_active: whether this turn was itself forced by a handler.
        last_assistant_message: the turn's last message.
        background_tasks: what still runs; also empty if the client didn't send it (see `model_fields_set`).
        session_crons: the session's schedule; also empty if the client didn't send it.
    """

    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()
