"""The fields of `WorktreeCreate`."""

from holdfast.clients.claude.events.event import Event


class WorktreeCreate(Event):
    """What the client sends with `WorktreeCreate`.

    Attributes:
        name: the new worktree's name.
    """

    name: str = ""
