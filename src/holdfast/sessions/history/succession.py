"""Follow the current workflow of a project while it moves, completes and gives way to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.sessions.history import archive, overview
from holdfast.sessions.ownership import owners, selection
from holdfast.workflow import places, registry

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.history.overview import Overview
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Found, Problem, Workflow

_BUCKET_S = 30  # seconds after which everything is read again: sessions end silently, and other files change
_PAUSE_S = 60  # seconds before an unusable ledger is tried again


@dataclass(frozen=True, slots=True)
class Sight:
    """What a project shows at one moment.

    Attributes:
        root: the project's root.
        overview: the workflow that is followed, None while there is none.
        others: the other unfinished workflows; all workflows if none is followed.
        problems: files that could not be read.
        over: whether the followed workflow is finished and the next one is awaited.
        trouble: why this is out of date; empty if it isn't.
    """

    root: Path
    overview: Overview | None = None
    others: tuple[Workflow, ...] = ()
    problems: tuple[Problem, ...] = ()
    over: bool = False
    trouble: str = ""

    def at_rest(self) -> Sight:
        """Return it without running times (`Overview.at_rest`)."""
        return replace(self, overview=self.overview and self.overview.at_rest())


class Following:
    """Looks at a project again and again, cheaply while nothing changes. Never writes.

    A workflow that is named is followed to its end and beyond. Without a name, the current workflow is followed
    (`selection.select`), of several the newest (`owners.by_rank`), until it is finished and another begins or moves.
    """

    def __init__(self, project: Workspace, wanted: str | None = None, session: str | None = None) -> None:
        """Choose the workflow to follow.

        Args:
            project: the project.
            wanted: the id, title or path of the workflow to follow; None follows the current one.
            session: the session that asks, if a model does.

        Raises:
            HoldfastError: no workflow has this name, or several have it.
        """
        self._project = project
        self._session = session
        self._pinned = wanted is not None
        self._key = selection.select(project, wanted, session).key if wanted is not None else None
        self._states: frozenset[tuple[str, str]] = frozenset()  # which workflows could be followed, and when they moved
        self._sight = Sight(project.root)
        self._signs: object = None
        self._opened = clock.now()
        self._ledger = _identity(project)

    def look(self) -> Sight:
        """Return what the project shows now, the same object while nothing changes. Problems with files never raise."""
        try:
            self._renew()
            signs = self._look_for_signs()
            if signs != self._signs or self._reading_changed():
                self._sight, self._signs = self._gather(), signs
        except (HoldfastError, OSError) as error:
            self._sight, self._signs = replace(self._sight, trouble=str(error)), None
        return self._sight

    def close(self) -> None:
        """Close the ledger."""
        self._project.close()

    def _gather(self) -> Sight:
        project = self._project
        found = registry.all_found(project)
        before = self._followed(found)
        if before is None and (trouble := self._lost(found)):
            return replace(self._sight, others=_others(found, self._key), problems=found.problems, trouble=trouble)
        followed = self._choose(before, found)
        self._key = followed.key if followed else None
        shown = overview.gather(project, followed, found) if followed else None
        over = followed is not None and followed.finished and not self._pinned
        return Sight(project.root, shown, _others(found, self._key), found.problems, over)

    def _choose(self, followed: Workflow | None, found: Found) -> Workflow | None:
        """Return the workflow to follow: the same as before until it has ended and another has begun or moved."""
        own, free = selection.candidates(self._project, found.workflows, self._session)
        states = {(each.key, each.updated_at): each for each in owners.by_rank(own or free)}
        before, self._states = self._states, frozenset(states)
        if self._pinned or (followed and not followed.finished):
            return followed
        if followed is None:
            return next(iter(states.values()), None)
        return next((each for state, each in states.items() if state not in before), followed)

    def _followed(self, found: Found) -> Workflow | None:
        """Return the followed workflow as it is now, from the archive if its file is gone; None if it is nowhere."""
        if self._key is None:
            return None
        here = next((each for each in found.workflows if each.key == self._key), None)
        return here or next(
            (
                each.workflow
                for each in archive.entries(self._project)
                if each.workflow.key == self._key and each.worktree == self._project.worktree
            ),
            None,
        )

    def _lost(self, found: Found) -> str:
        """Say why the followed workflow is missing if it may come back: its file is broken, or the user named it."""
        shown = self._sight.overview
        broken = next((each for each in found.problems if shown and each.path == shown.workflow.path), None)
        if broken:
            return f"{broken.path.name}: {broken.reason}"
        return f"{shown.workflow.place} is gone" if shown and self._pinned else ""

    def _reading_changed(self) -> bool:
        """Return whether files of the required reading appeared or disappeared."""
        shown = self._sight.overview
        return shown is not None and overview.missing_reading(self._project, shown.workflow) != shown.missing

    def _look_for_signs(self) -> object:
        """Return a value that differs once anything has changed: marks of the files and of the ledger."""
        project = self._project
        files = [_mark(path) for place in places.states() for path in sorted(project.root.glob(place))]
        version = project.ledger.one("PRAGMA data_version")  # SQLite's own sign that another process wrote
        return files, version, int(clock.now().timestamp()) // _BUCKET_S

    def _renew(self) -> None:
        """Reopen the project's ledger if its file was replaced, or if it has been unusable for `_PAUSE_S` seconds."""
        unusable = self._project.ledger.problem is not None
        waited = (clock.now() - self._opened).total_seconds() >= _PAUSE_S
        if waited if unusable else _identity(self._project) != self._ledger:
            self._project.close()
            self._project = replace(self._project)
            self._signs, self._opened, self._ledger = None, clock.now(), _identity(self._project)


def _others(found: Found, key: str | None) -> tuple[Workflow, ...]:
    return tuple(each for each in found.workflows if each.key != key and not (key and each.finished))


def _mark(path: Path) -> tuple[str, int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_mtime_ns, status.st_size, status.st_ino


def _identity(project: Workspace) -> tuple[int, int] | None:
    """Return the device and inode of the ledger's file; None if there is none."""
    try:
        status = project.ledger.file.stat() if project.ledger.file else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None
