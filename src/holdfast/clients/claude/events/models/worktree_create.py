"""`WorktreeCreate` fires when a worktree is to be created, and replaces the client's own `git worktree`.

A handler creates the folder. If no handler names a folder, the client makes no worktree and shows why.
Don't handle this event only to observe it.

Example::

    from holdfast import hookimpl, worktree

    @hookimpl
    def on_worktree_create(event, context):
        folder = context.root.parent / f"{context.root.name}-{event.name}"
        folder.mkdir(exist_ok=True)
        return worktree(str(folder))
"""

from holdfast.clients.claude.events.event import Event


class WorktreeCreate(Event):
    """A worktree is to be created, and a handler creates it. Registering this event replaces `git worktree`.

    Attributes:
        name: the new worktree's name.
    """

    accepts = frozenset({"worktree"})

    name: str = ""
