"""The fields of `PostModelSwitch`."""

from holdfast.clients.claude.events.model_switch import ModelSwitchEvent


class PostModelSwitch(ModelSwitchEvent):
    """What the client sends with `PostModelSwitch`."""
