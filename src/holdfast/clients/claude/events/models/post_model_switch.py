"""`PostModelSwitch` fires after the session's model changed; advice reaches the new model with its first request.

Example::

    from holdfast import advise, hookimpl

    @hookimpl(match=".*haiku.*")
    def on_post_model_switch(event):
        return advise("Larger changes of this project are planned before they are made.")
"""

from holdfast.clients.claude.events.model_switch import ModelSwitchEvent


class PostModelSwitch(ModelSwitchEvent):
    """The session's model has changed. Advice reaches the new model with its first request."""

    accepts = frozenset({"advise", "tell_user", "terminal"})
