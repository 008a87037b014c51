"""`WorktreeRemove` fires when a worktree that a handler made is to be removed; a handler for it must remove the folder.

Example::

    import shutil

    from holdfast import hookimpl

    @hookimpl
    def on_worktree_remove(event, context):
        if event.worktree_path.startswith(f"{context.root}-"):  # the example of on_worktree_create made it
            shutil.rmtree(event.worktree_path)
"""

from holdfast.clients.claude.events.event import Event


class WorktreeRemove(Event):
    """A worktree that a handler created is to be removed, and a handler removes it.

    Registering this event replaces the client's own removal: the client takes silence for success.

    Attributes:
        worktree_path: its folder.
    """

    accepts = frozenset({"terminal"})

    worktree_path: str = ""
