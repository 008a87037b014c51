"""The fields of `SessionEnd`."""

from holdfast.clients.claude.events.event import Event


class SessionEnd(Event):
    """What the client sends with `SessionEnd`.

    Attributes:
        reason: `clear`, `resume`, `logout`, `prompt_input_exit`, `other`, one of older clients
            (`bypass_permissions_disabled`, `exit`) or a newer one.
    """

    reason: str = ""
