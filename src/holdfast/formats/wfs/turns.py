"""Keep clients from interrupting each other: only one session in `.workflow/` is active at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import StateError, TransitionError
from holdfast.formats.wfs import places, store
from holdfast.formats.wfs import session as wfs_session
from holdfast.formats.wfs import view as views

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.workflow.records import Records


def leave(project: Records, names: Iterable[str], session: str | None, remedy: str) -> None:
    """Refuse a change that would interrupt other clients' live sessions. A person may do it.

    Args:
        project: the project.
        names: the sessions in `.workflow/` that would be paused, completed or taken.
        session: the client's session that asks; None for a person.
        remedy: how to do it all the same.

    Raises:
        TransitionError: one of them belongs to another client's session that is live.
    """
    if session is None:
        return
    live = project.live_others(session)
    for name in names if live else ():
        try:
            owner = project.owner(views.of_session(project, store.get(project, name)))
        except StateError:
            continue
        if owner in live:
            raise TransitionError(f"session {owner}, which is live, works on {name}; {remedy}")


def active(project: Records, *, but: str = "") -> list[str]:
    """Return the names of the active sessions that have a folder, except `but`."""
    return [each for each in wfs_session.active(project) if each != but and places.has(project, each)]
