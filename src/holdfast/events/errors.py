"""The one error a payload can cause."""

from holdfast.errors import HoldfastError


class EventError(HoldfastError):
    """A payload that cannot be read as an event; the message names the event and the field."""
