"""The fields of `DirectoryAdded`."""

from holdfast.clients.claude.events.event import Event


class DirectoryAdded(Event):
    """What the client sends with `DirectoryAdded`.

    Attributes:
        directory: the folder.
        source: `slash_command`, `register_repo_root` or a newer one.
    """

    directory: str = ""
    source: str = ""
