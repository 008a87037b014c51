"""Finding the handler files of the three places, with what is to be said of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from holdfast import paths, scan, scanned, strictness, trust
from holdfast.errors import StateError
from holdfast.state import document

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.project import Project
    from holdfast.scan import Conditions, Route
    from holdfast.scanned import Found

Place = Literal["shipped", "user", "project"]


@dataclass(frozen=True, slots=True)
class HandlerFile:
    """A Python file in a handlers folder, as its text stands now.

    One that did not change since an earlier event is not read again before it is called.

    Attributes:
        place: which of the three folders it lies in.
        name: its file name without `.py`; a nearer file of the same name replaces a farther one.
        path: where it lies.
        held: its bytes if they were read; `source` reads them where they were not.
        digest: SHA-256 of the source.
        trusted: shipped and user files always; project files when trusted with exactly this content.
        off: switched off by configuration, or by itself (`OFF_BY_DEFAULT`, `RUNS_WHEN`) and not switched on.
        routes: the functions it offers.
        faults: what is wrong with it, in sentences.
        replaced_by: the nearer file that runs instead, if any.
        notice: why a nearer file does *not* replace another, or is not used, for the user to know.
        runs_when: what the configuration must say for it to run (`scan.Scan`).
        again: reads it anew; None where it has been read.
    """

    place: Place
    name: str
    path: Path
    held: bytes | None
    digest: str
    trusted: bool
    off: bool
    routes: tuple[Route, ...] = ()
    faults: tuple[str, ...] = ()
    replaced_by: Path | None = None
    notice: str = ""
    runs_when: Conditions = ()
    again: Callable[[], HandlerFile] | None = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> bytes:
        """Its bytes, the very ones that are hashed, scanned and compiled.

        Raises StateError where they were not read yet and are others by now, or cannot be read.
        """
        if self.held is not None:
            return self.held
        source, _ = document.read(self.path, scanned.SIZE_LIMIT, within=_within(self.place, self.path))
        if trust.digest(source) != self.digest:
            raise StateError(self.path, "was changed while it was looked at")
        return source

    @property
    def active(self) -> bool:
        """Whether its functions run."""
        return self.trusted and not self.off and self.replaced_by is None

    @property
    def strict(self) -> bool:
        """Whether any of its functions is strict."""
        return any(route.strict for route in self.routes)


@dataclass(frozen=True)
class _Look:
    """What all files are judged by: the project, what was strict earlier, and whether everything of them is asked."""

    project: Project
    strict: Collection[str]
    everything: bool

    @cached_property
    def grants(self) -> Mapping[str, str]:
        """What of the project is trusted; read when a first file asks."""
        return trust.granted(self.project.root)

    def rules(self, place: Place, folder: Path) -> scanned.Rules:
        """Return how the files of a folder are read; an event parses of a project's files only those that may run."""
        if place == "shipped":
            return scanned.Rules(apart=False)
        if place == "user":
            return scanned.Rules(first=lambda: _names_in(folder, self.strict))

        def name(file: str) -> str:
            return trust.relative_name(self.project.root, folder / file)

        return scanned.Rules(
            within=self.project.root,
            parsed=lambda file, digest: self.everything or self.grants.get(name(file)) == digest,
            first=lambda: _names_in(folder, [f"{self.project.root}/{relative}" for relative in self.grants]),
        )


def _names_in(folder: Path, files: Iterable[str]) -> frozenset[str]:
    return frozenset(file.rpartition("/")[2] for file in files if file.rpartition("/")[0] == str(folder))


def _within(place: Place, path: Path) -> Path | None:
    """Return the folder that a handler file's links must not lead out of: the root of `ROOT/.claude/handlers/x.py`."""
    return path.parents[2] if place == "project" else None


def find(project: Project, event: str | None = None, value: str | None = None) -> list[HandlerFile]:
    """Find the handler files, in running order: shipped, user, project; each by file name.

    Args:
        project: whose `.claude/handlers` and whose configuration count.
        event: an event's name, to be told only of the files that want it and of those that count on every event:
            the new and changed ones, those at fault, the strict ones, and all that have the name of such a file.
        value: what the event's matcher field holds, to leave out also those whose matchers do not select it.

    Returns:
        The files, also those that will not run, marked with the reason.
    """
    look = _Look(project, strictness.known(), everything=event is None)
    places: dict[Place, Path] = {
        "shipped": paths.shipped("handlers"),
        "user": paths.user_handlers(),
        "project": paths.project_handlers(project.root),
    }
    folders = {place: scanned.look(path, look.rules(place, path)) for place, path in places.items()}
    wanted: set[str] | None = None
    if event is not None:
        wanted = {name for folder in folders.values() for name in folder.concerned(event, value, look.strict)}
    files = []
    for place, folder in folders.items():
        names = folder.names() if wanted is None else wanted.intersection(folder.names())
        files += [_file(place, folder, name, look) for name in sorted(names)]
        if folder.fault:
            files.append(_whole_folder(place, folder))
    return _replace_farther(files)


def runs(conditions: Conditions, configuration: Config) -> bool:
    """Tell whether a configuration says what a file asks for in `RUNS_WHEN`; a key there is none of never does."""
    return all(getattr(configuration, key, None) in values for key, values in conditions)


def _whole_folder(place: Place, folder: scanned.Folder) -> HandlerFile:
    """Return what is wrong with a folder, as if that were a file in it."""
    name = str(folder.path)  # no file's
    return HandlerFile(place, name, folder.path, b"", "", trusted=True, off=False, faults=(folder.fault,))


def _file(place: Place, folder: scanned.Folder, name: str, look: _Look) -> HandlerFile:
    path = folder.path / name
    try:
        found = folder.found(name)
    except StateError as error:
        return _unreadable(place, path, error.reason, look)
    return _made(place, path, found, look)


def _anew(place: Place, path: Path, look: _Look) -> HandlerFile:
    try:
        return _made(place, path, scanned.read_anew(path, look.rules(place, path.parent)), look)
    except StateError as error:
        return _unreadable(place, path, error.reason, look)


def _unreadable(place: Place, path: Path, reason: str, look: _Look) -> HandlerFile:
    """Return a file whose content is not known: nothing of it runs, and the strict functions it had refuse."""
    known = _broken_strict(path, reason)
    off = _off(path.stem, scan.Scan(), look.project)
    # Trust that was not taken back holds for its refusals: what it says now runs as little as anything else of it.
    trusted = place != "project" or trust.relative_name(look.project.root, path) in look.grants
    file = HandlerFile(place, path.stem, path, b"", "", trusted, off, known, (reason,))
    return _keep_strict_on(file, look.project)


def _made(place: Place, path: Path, found: Found, look: _Look) -> HandlerFile:
    read, name, routes = found.scan, path.name[:-3], found.scan.routes
    trusted = place != "project" or look.grants.get(trust.relative_name(look.project.root, path)) == found.digest
    guards = any(route.strict for route in routes) or str(path) in look.strict
    if guards and trusted and place != "shipped":
        routes = _with_broken(path, read)
    return _keep_strict_on(
        HandlerFile(
            *(place, name, path, found.source, found.digest, trusted, _off(name, read, look.project), routes),
            faults=tuple(read.faults.values()),
            runs_when=read.runs_when,
            again=None if found.source is not None else lambda: _anew(place, path, look),
        ),
        look.project,
    )


def _with_broken(path: Path, found: scan.Scan) -> tuple[Route, ...]:
    """Add the strict functions that the file once had and that are now at fault; remember all that are strict."""
    if "" in found.faults:
        return _broken_strict(path, found.faults[""])
    lost = [route for route in strictness.recall(path) if route.function in found.faults]
    strictness.remember(path, (*found.routes, *lost))
    return (*found.routes, *(replace(route, broken=found.faults[route.function]) for route in lost))


def _broken_strict(path: Path, reason: str) -> tuple[Route, ...]:
    return tuple(replace(route, broken=reason) for route in strictness.recall(path))


def _off(name: str, found: scan.Scan, project: Project) -> bool:
    handlers = project.config.handlers
    if name in handlers.off or (found.off_by_default and name not in handlers.on):
        return True
    return not runs(found.runs_when, project.config)


def _keep_strict_on(file: HandlerFile, project: Project) -> HandlerFile:
    """A project's configuration never switches off a user's strict handler; the user's own may."""
    if not (file.place == "user" and file.off and file.strict):
        return file
    from holdfast import config

    own = config.load(None, trusted=False).config
    if file.name in own.handlers.off or not runs(file.runs_when, own):
        return file
    return replace(file, off=False, notice=f"strict: {paths.project_config(project.root)} may not switch it off")


def _replace_farther(files: Sequence[HandlerFile]) -> list[HandlerFile]:
    """Let a nearer file of the same name replace the farther ones, except a user's strict handler."""
    namesakes: dict[str, list[HandlerFile]] = {}
    for file in files:
        namesakes.setdefault(file.name, []).append(file)
    return [file if len(same := namesakes[file.name]) == 1 else _replaced(file, same) for file in files]


def _replaced(file: HandlerFile, namesakes: Sequence[HandlerFile]) -> HandlerFile:
    usable = [other for other in namesakes if other.trusted and not other.off]
    if file not in usable:
        return file
    guard = next((other for other in usable if other.place == "user" and other.strict), None)
    winner = guard or usable[-1]
    if file is winner:
        return file
    notice = "a user's strict handler is not replaced" if file.place == "project" else ""
    return replace(file, replaced_by=winner.path, notice=notice)
