"""The fields of `ElicitationResult`."""

from holdfast.clients.claude.events.elicitation import ElicitationEvent


class ElicitationResult(ElicitationEvent):
    """What the client sends with `ElicitationResult`."""
