"""The fields of `WorktreeRemove`."""

from holdfast.clients.claude.events.event import Event


class WorktreeRemove(Event):
    """What the client sends with `WorktreeRemove`.

    Attributes:
        worktree_path: its folder.
    """

    worktree_path: str = ""
