"""The fields of `PreModelSwitch`."""

from holdfast.clients.claude.events.model_switch import ModelSwitchEvent


class PreModelSwitch(ModelSwitchEvent):
    """What the client sends with `PreModelSwitch`."""
