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
    """A worktree that a handler made is to be removed, and a handler removes it.

    Registering this replaces the client's own removal: it takes silence for done.

    Attributes:
        worktree_path: its folder.
    """

    accepts = frozenset({"terminal"})

    worktree_path: str = ""
