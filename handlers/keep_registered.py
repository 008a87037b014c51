"""Registers what newly dropped-in handlers want, in the user's own settings, and names those that cannot run."""

from holdfast import Context, Outcome, hookimpl, tell_user, upkeep
from holdfast.events import SessionStart


@hookimpl(match="startup|resume|clear|fork")
def on_session_start(event: SessionStart, context: Context) -> Outcome | None:
    """Bring our own entries up to date; a project's settings are its team's and only get a notice."""
    lines = upkeep(context.project)
    return tell_user("Holdfast: " + "\n".join(lines)) if lines else None
