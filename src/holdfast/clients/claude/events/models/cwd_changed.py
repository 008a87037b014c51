"""The fields of `CwdChanged`."""

from holdfast.clients.claude.events.event import Event


class CwdChanged(Event):
    """What the client sends with `CwdChanged`.

    Attributes:
        old_cwd: the folder before.
        new_cwd: the folder after.
    """

    old_cwd: str = ""
    new_cwd: str = ""
