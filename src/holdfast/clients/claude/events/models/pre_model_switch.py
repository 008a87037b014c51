"""`PreModelSwitch` fires before the session's model changes; the matcher tests the new model.

Example::

    from holdfast import ask, hookimpl

    @hookimpl
    def on_pre_model_switch(event):
        if (event.estimated_cache_write_usd or 0) > 1:
            return ask(f"this switch costs about {event.estimated_cache_write_usd:.2f} US dollars")
"""

from holdfast.clients.claude.events.model_switch import ModelSwitchEvent


class PreModelSwitch(ModelSwitchEvent):
    """The session's model is about to change. If the handlers take too long, the client blocks the switch."""

    accepts = frozenset({"allow", "deny", "ask", "tell_user", "terminal"})
