"""Remove what is old: finished workflows after a day, unfinished ones after a week (R004-38, I004-4)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.errors import LedgerError, StateError
from holdfast.files import access
from holdfast.files.lock import locked
from holdfast.formats.skills import file as files
from holdfast.formats.skills import index, places, view
from holdfast.workflow import places as kept_at
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

COMPLETED = timedelta(hours=24)
ACTIVE = timedelta(days=7)


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


def due(project: Records, session: str = "", *, everything: bool = False) -> list[Old]:
    """Return the state files that are older than they may be, or all with `everything`.

    Files that are no states are left out, and workflows that a live session owns, except the asking session's own if
    everything is asked for. A time that the file doesn't say is that of its last change.

    Args:
        project: the project.
        session: the session that asks, empty for a person.
        everything: whether age counts for nothing.
    """
    now, found = clock.now(), []
    for folder, limit in ((places.completed(project), COMPLETED), (places.active(project), ACTIVE)):
        for path in _files(project, folder):
            try:
                file = files.load(project, path)
            except StateError:
                continue
            age = now - _moment(file.data, file.document.mtime)
            if (everything or age > limit) and not _is_live(project, file, session, own=everything):
                found.append(Old(path, age, limit))
    return found


def remove(project: Records, old: Old) -> bool:
    """Remove a state file that is due and delist its workflow; return whether it was there still.

    Its content is kept as a generation, and an unfinished workflow goes into the archive.
    """
    with locked(places.top(project)):
        try:
            file = files.load(project, old.path)
        except StateError:
            return False
        if old.path.parent == places.active(project):
            project.shelve(view.merged(project, view.seen(project, file))[0])
            index.drop(project, old.path, file.data)
            extra = kept_at.extras(project.root, old.path)
            if access.is_there(extra):
                statefile.discard(project, extra, why="cleanup")
        statefile.discard(project, old.path, why="cleanup")
        return True


def _files(project: Records, folder: Path) -> Iterator[Path]:
    """Yield the `*.json` files directly in a folder; neither other files nor folders nor links."""
    statefile.guard(project.root, folder)
    for path in sorted(folder.glob("*.json")):
        if path.is_file() and not path.is_symlink():
            yield path


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
