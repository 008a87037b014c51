"""The events of a git worktree the client makes for itself."""

from holdfast.events.event import Event


class WorktreeCreate(Event):
    """A worktree is wanted, and a handler makes it in the client's place. Registering this replaces `git worktree`.

    Attributes:
        name: the name the worktree shall have.
    """

    accepts = frozenset({"worktree"})

    name: str = ""


class WorktreeRemove(Event):
    """A worktree was removed.

    Attributes:
        worktree_path: its folder.
    """

    worktree_path: str = ""
