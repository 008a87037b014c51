"""The fields of `FileChanged`."""

from holdfast.clients.claude.events.event import Event


class FileChanged(Event):
    """What the client sends with `FileChanged`.

    Attributes:
        file_path: the file.
        event: `change`, `add` or `unlink`.
    """

    file_path: str = ""
    event: str = ""
