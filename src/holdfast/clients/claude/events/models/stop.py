"""`Stop` fires when the model has finished a turn, unless the user interrupted it.

`force_turn` and `block` make the model take another turn, so never return them without a condition that ends.

Example::

    from holdfast import force_turn, hookimpl

    @hookimpl
    def on_stop(event, context):
        if not event.stop_hook_active and (context.root / "FAILING").exists():
            return force_turn("The file FAILING is still there: the tests have not passed yet.")
"""

from holdfast.clients.claude.events.background import BackgroundTask, SessionCron
from holdfast.clients.claude.events.event import Event


class Stop(Event):
    """The model finished a turn; not fired when the user interrupts. Advice here forces another turn.

    Attributes:
        stop_hook_active: whether this turn was itself forced by a handler.
        last_assistant_message: the turn's last message.
        background_tasks: what still runs; also empty if the client didn't send it (see `model_fields_set`).
        session_crons: the session's schedule; also empty if the client didn't send it.
    """

    accepts = frozenset({"force_turn", "block", "stop", "tell_user", "terminal"})

    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()
