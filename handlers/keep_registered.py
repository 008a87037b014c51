"""Registers what newly dropped-in handlers want, in the user's own settings, and names those that cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import Context, Outcome, hookimpl, tell_user
from holdfast.install import upkeep

if TYPE_CHECKING:
    from holdfast.events import SessionStart


@hookimpl(match="startup|resume|clear|fork")
def on_session_start(event: SessionStart, context: Context) -> Outcome | None:
    """Bring our own entries up to date; a project's settings are its team's and only get a notice."""
    project = context.project
    lines = upkeep.keep_registered(project) + upkeep.distrusted(project)
    lines += upkeep.unguarded(project) + upkeep.faulty(project)
    return tell_user("Holdfast: " + "\n".join(lines)) if lines else None
