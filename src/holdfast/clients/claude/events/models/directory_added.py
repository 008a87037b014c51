"""`DirectoryAdded` fires when a folder was added to those the session may work in.

With source `slash_command`, the model sees the text of `tell_user` too.

Example::

    from holdfast import hookimpl, tell_user

    @hookimpl(match="slash_command")
    def on_directory_added(event):
        return tell_user(f"{event.directory} is now part of this session.")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class DirectoryAdded(Event):
    """A folder was added to those the session may work in.

    Attributes:
        directory: the folder.
        source: `slash_command`, `register_repo_root` or a newer one.
    """

    matcher_field: ClassVar[str | None] = "source"
    accepts = frozenset({"tell_user", "terminal"})

    directory: str = ""
    source: str = ""
