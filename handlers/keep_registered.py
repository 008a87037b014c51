"""Registers the events of new handlers in the user's own settings, and names handlers that can't run."""

from holdfast import Context, Outcome, hookimpl, tell_user, upkeep
from holdfast.events import SessionStart


@hookimpl(match="startup|resume|clear|fork")
def on_session_start(event: SessionStart, context: Context) -> Outcome | None:
    """Update Holdfast's entries in the user's settings; about a project's settings, which are its team's, only tell."""
    lines = upkeep(context.project, event.session_id)
    return tell_user("Holdfast: " + "\n".join(lines)) if lines else None
