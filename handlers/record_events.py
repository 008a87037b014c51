"""Records every event, redacted, for replay and for tests; off until the key `handlers.on` names it.

WorktreeCreate and WorktreeRemove are left out: the client expects hooks on them to make and remove worktrees.
"""

from holdfast import Context, hookimpl, sessions
from holdfast.events import Event

OFF_BY_DEFAULT = True


@hookimpl
def on_event(event: Event, context: Context) -> None:
    """Record an event."""
    sessions.record(event, context, event.model_dump(by_alias=True, exclude_unset=True) | event.unreadable)
