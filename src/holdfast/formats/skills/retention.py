"""Remove what is old: finished workflows after a day, unfinished ones after a week (R004-38, I004-4)."""

from __future__ import annotations

import heapq
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.errors import LedgerError, StateError
from holdfast.files import access
from holdfast.files.lock import locked
from holdfast.formats.skills import file as files
from holdfast.formats.skills import folder, index, places, view
from holdfast.workflow import places as kept_at
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

COMPLETED = timedelta(hours=24)
ACTIVE = timedelta(days=7)
_AT_ONCE = 100  # files that are removed before the list is written and others may have the lock


class Old(NamedTuple):
    """A state file that is due to be removed.

    Attributes:
        path: the file.
        age: how old its workflow is.
        limit: how old it may be.
    """

    path: Path
    age: timedelta
    limit: timedelta

    @property
    def place(self) -> str:
        """Where it lies, such as `active/dev-a1b2c3d4.json`."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def said(self) -> str:
        """Its age in words."""
        return (
            f"{self.age.days} days old" if self.age.days > 1 else f"{int(self.age.total_seconds() // 3600)} hours old"
        )


class Due(NamedTuple):
    """The state files that are due to be removed.

    Attributes:
        old: those that were found.
        left: how many files were not read, because there are very many.
        live: how many would be due, but stay because a live session owns their workflow.
    """

    old: list[Old]
    left: int
    live: int

    @property
    def said(self) -> str:
        """A sentence about those that were not read; empty if all were."""
        return f"{self.left} state files were not read; run `{folder.CLEANUP}` again" if self.left else ""


def due(project: Records, session: str = "", *, everything: bool = False) -> Due:
    """Return the state files that are older than they may be, or all with `everything`.

    Files that are no states are left out, and workflows that a live session owns, except the asking session's own if
    everything is asked for. A time that the file doesn't say is that of its last change. Of very many files in a folder
    those are read that were changed the longest ago, unless everything is asked for.

    Args:
        project: the project.
        session: the session that asks, empty for a person.
        everything: whether age counts for nothing.
    """
    now, found, left, live = clock.now(), list[Old](), 0, 0
    for top, limit in ((places.completed(project), COMPLETED), (places.active(project), ACTIVE)):
        statefile.guard(project.root, top)
        there = sorted(path.stem for path in top.glob("*.json"))
        names = there if everything else _oldest(top, there)
        left += len(there) - len(names)
        for name in names:
            path = top / f"{name}.json"
            try:
                file = files.load(project, path)
            except StateError:
                continue
            age = now - _moment(file.data, file.document.mtime)
            if not (everything or age > limit):
                continue
            if _is_live(project, file, session, own=everything):
                live += 1
            else:
                found.append(Old(path, age, limit))
    return Due(found, left, live)


def remove(project: Records, old: Sequence[Old]) -> list[Old]:
    """Remove state files that are due and delist their workflows; return those that were there still.

    Their contents are kept as generations, and unfinished workflows go into the archive. The list is written and the
    lock is free after each `_AT_ONCE` of them.
    """
    gone: list[Old] = []
    for begin in range(0, len(old), _AT_ONCE):
        with locked(places.top(project)):
            gone += _removed(project, old[begin : begin + _AT_ONCE])
    return gone


def summary(removed: Sequence[Old]) -> str:
    """Return files that were removed in a sentence, however many there are; empty for none."""
    more = f" and {len(removed) - 1} more" if len(removed) > 1 else ""
    return f"Removed {removed[0].place} ({removed[0].said}){more}." if removed else ""


def _removed(project: Records, old: Sequence[Old]) -> list[Old]:
    found: list[tuple[Old, StateFile]] = []
    for each in old:
        with suppress(StateError):
            found.append((each, files.load(project, each.path)))
    active = [(each, file) for each, file in found if each.path.parent == places.active(project)]
    for _, file in active:
        project.shelve(view.merged(project, view.seen(project, file))[0])
    if active:
        index.delist(project, frozenset().union(*(index.ids(each.path, file.data) for each, file in active)))
    for each, _ in active:
        extra = kept_at.extras(project.root, each.path)
        if access.is_there(extra):
            statefile.discard(project, extra, why="cleanup")
    for each, _ in found:
        statefile.discard(project, each.path, why="cleanup")
    return [each for each, _ in found]


def _oldest(top: Path, names: list[str]) -> list[str]:
    """Return the names of files, or of very many those of the files that were changed the longest ago."""
    if len(names) <= folder.MOST:
        return names
    return heapq.nsmallest(folder.MOST, names, key=lambda name: folder.changed(str(top), name))


def _moment(data: Mapping[str, Any], mtime: float) -> datetime:
    workflow = values.members(data.get("workflow"))
    over = files.status(data) in files.FINAL
    names = ("completed_at", "abandoned_at", "updated_at") if over else ("updated_at", "created_at")
    said = (clock.parse(values.text(workflow.get(name))) for name in names)
    return next((each for each in said if each is not None), clock.from_mtime(mtime))


def _is_live(project: Records, file: StateFile, session: str, *, own: bool) -> bool:
    """Return whether a live session owns an unfinished workflow."""
    if file.path.parent != places.active(project):
        return False
    with suppress(LedgerError):
        owner = project.owner(view.workflow(project, view.seen(project, file)))
        return owner is not None and (owner in project.live_others(session) or (owner == session and not own))
    return False
