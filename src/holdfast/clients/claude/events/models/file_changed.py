"""`FileChanged` fires when a watched file changed; the matcher tests its name and also adds it to what is watched.

Example::

    from holdfast import hookimpl, tell_user

    @hookimpl(match="pyproject.toml")
    def on_file_changed(event):
        return tell_user(f"{event.file_path}: {event.event}")
"""

from pathlib import PurePath
from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class FileChanged(Event):
    """A watched file changed. A matcher tests the file's name and also adds it to what is watched.

    Attributes:
        file_path: the file.
        event: `change`, `add` or `unlink`.
    """

    matcher_field: ClassVar[str | None] = "file_path"
    accepts = frozenset({"watch", "tell_user", "environment", "terminal"})

    file_path: str = ""
    event: str = ""

    @property
    def matcher_value(self) -> str | None:
        """The name of the file, without its folders."""
        return PurePath(self.file_path).name
