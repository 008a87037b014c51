"""Find the handler files of the three places, with everything that is wrong with each."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING, Literal

from holdfast import config, paths
from holdfast.config import Config
from holdfast.errors import StateError, command_line
from holdfast.files import cache, document, trust
from holdfast.plugins import route_cache, scan, strictness

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.route_cache import Found
    from holdfast.plugins.scan import Conditions, Route
    from holdfast.project import Project

Place = Literal["shipped", "user", "project"]


@dataclass(frozen=True, slots=True)
class HandlerFile:
    """A Python file in a handlers folder, with its present content.

    If the file didn't change since an earlier event, it isn't read again until it is called.

    Attributes:
        place: which of the three folders it is in.
        name: its file name without `.py`; a nearer file of the same name replaces a farther one.
        path: its path.
        held: its bytes, or None if they weren't read yet (see `source`).
        digest: SHA-256 of its bytes.
        trusted: always true of shipped and user files; of project files if trusted with exactly this content.
        changed: it is a project's file and was trusted with other content, or was trusted and is gone.
        off: it is switched off by configuration, or by itself (`OFF_BY_DEFAULT`, `RUNS_WHEN`) and not switched on.
        routes: the functions it offers.
        faults: what is wrong with it, in sentences.
        replaced_by: the file of the same name that runs instead, if any.
        notice: why it isn't switched off, or doesn't replace another file, although it would normally; for the user.
        runs_when: what the configuration must say for it to run (`scan.Scan`).
        doubts: what its author probably didn't mean, in sentences (`scan.Scan`).
        again: reads the file again; None if `held` has its bytes.
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
    doubts: tuple[str, ...] = ()
    changed: bool = False
    again: Callable[[], HandlerFile] | None = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> bytes:
        """Its bytes: the same that are hashed, scanned and compiled.

        Raises StateError if they must be read now, and can't be or have changed.
        """
        if self.held is not None:
            return self.held
        source, _ = document.read(self.path, route_cache.SIZE_LIMIT_BYTES, within=_within(self.place, self.path))
        if trust.digest(source) != self.digest:
            raise StateError(self.path, "was changed while it was looked at")
        return source

    @property
    def active(self) -> bool:
        """Whether its functions run, or refuse events because its strict functions can't be called."""
        return (self.trusted or self.refuses) and not self.off and self.replaced_by is None

    @property
    def refuses(self) -> bool:
        """Whether strict functions of it can't be called: broken, gone, or changed since they were trusted."""
        return any(route.broken for route in self.routes)

    @property
    def strict(self) -> bool:
        """Whether any of its functions is strict."""
        return any(route.strict for route in self.routes)

    @property
    def distrust(self) -> str:
        """Why a project's file isn't trusted, and what follows; words to go after its name."""
        if not self.changed:
            return "of this project is not trusted, so it does not run"
        how = "was changed since you trusted it" if self.path.exists() else "was trusted and is gone"
        return f"{how}, so what it guarded is refused" if self.active else f"{how}, so it does not run"


@dataclass
class _Look:
    """What is needed to judge a file.

    Attributes:
        hooks: the client's hooks.
        project: the project whose handlers and configuration count.
        strict: the remembered strict routes by the path of their handler file.
        everything: whether all files are asked for, and not only those for one event.
    """

    hooks: Hooks
    project: Project
    strict: Mapping[str, tuple[Route, ...]]
    everything: bool

    @cached_property
    def grants(self) -> Mapping[str, str]:
        """The project's trusted files: relative path → SHA-256; read at first use."""
        return trust.granted(self.project.root)

    @cached_property
    def _top(self) -> str:
        return f"{self.project.root}/"

    def granted(self, path: Path | str) -> str | None:
        """Return the digest with which a project's file is trusted, or None."""
        return self.grants.get(str(path).removeprefix(self._top))  # as text, because an event asks about all files

    def rules(self, place: Place, folder: Path) -> route_cache.Rules:
        """Return how to read the files of a folder; for an event, a project's file is parsed only if it may run."""
        if place == "shipped":
            return route_cache.Rules(self.hooks, apart=False)
        if place == "user":
            first, own = (lambda: _names_in(folder, self.strict)), route_cache.OWN_PARSE_TIMEOUT_S
            return route_cache.Rules(self.hooks, first=first, timeout_s=own)
        return route_cache.Rules(
            self.hooks,
            within=self.project.root,
            parsed=lambda file, digest: self.everything or self.granted(f"{folder}/{file}") == digest,
            first=lambda: _names_in(folder, [f"{self.project.root}/{relative}" for relative in self.grants]),
        )


def _names_in(folder: Path, files: Iterable[str]) -> frozenset[str]:
    return frozenset(file.rpartition("/")[2] for file in files if file.rpartition("/")[0] == str(folder))


def _within(place: Place, path: Path) -> Path | None:
    """Return the folder that links must not lead out of: ROOT of a project's `ROOT/.claude/handlers/x.py`, or None."""
    return path.parents[2] if place == "project" else None


def find(hooks: Hooks, project: Project, event: str | None = None, value: str | None = None) -> list[HandlerFile]:
    """Find the handler files, in calling order: shipped, user, project, and by file name within each place.

    Args:
        hooks: the client's hooks; a handler of any other event has a fault.
        project: the project whose `.claude/handlers` and configuration count.
        event: an event's name, to get only the files that want it and those that matter for every event: new and
            changed files, files with a fault, strict ones, and all files with the same name as one of these.
        value: the value of the event's matcher field, to leave out files whose matchers don't select it.

    Returns:
        The files, including those that won't run (marked with the reason) and strict ones that are gone.
    """
    return look_around(hooks, project, everything=event is None).files(event, value)


def look_around(hooks: Hooks, project: Project, *, everything: bool = False) -> Sight:
    """Look at all handler files, before it is known which of them are wanted.

    Args:
        hooks: the client's hooks.
        project: the project whose `.claude/handlers` and configuration count.
        everything: whether all files will be asked for, and not only those for one event.
    """
    look = _Look(hooks, project, strictness.remembered_routes(), everything)
    places: dict[Place, Path] = {
        "shipped": paths.shipped("handlers"),
        "user": paths.user_handlers(),
        "project": paths.project_handlers(project.root),
    }
    global _latest
    _latest = Sight(look, {place: route_cache.look(path, look.rules(place, path)) for place, path in places.items()})
    return _latest


@dataclass
class Sight:
    """The handlers folders as `look_around` saw them."""

    _look: _Look
    _folders: Mapping[Place, route_cache.Folder]

    def state(self) -> bytes:
        """Return a digest of all handler files' paths and contents."""
        folders = self._folders.values()
        lines = [f"{folder.path}/{name} {digest}" for folder in folders for name, digest in folder.digests().items()]
        return trust.digest(os.fsencode("\n".join(sorted(lines)))).encode()

    def files(self, event: str | None, value: str | None) -> list[HandlerFile]:
        """Return the handler files as `find` does, which has the same arguments."""
        look, folders = self._look, self._folders
        gone: dict[Place, list[str]] = {
            "shipped": [],
            "user": _gone(folders["user"], look.strict),
            "project": _gone(folders["project"], look.strict),
        }
        wanted: set[str] | None = None
        if event is not None:
            concerned = [folder.concerned(event, value, look.strict, look.hooks) for folder in folders.values()]
            wanted = {name for each in concerned for name in each} | self._changed()
        files = []
        for place, folder in folders.items():
            names = folder.names() if wanted is None else wanted.intersection(folder.names())
            known = [*((name, _file) for name in names), *((name, _vanished) for name in gone[place])]
            if place == "user":
                known += [(path, _elsewhere) for path in _in_other_folders(folder, look.strict)]
            files += [make(place, folder, name, look) for name, make in sorted(known, key=lambda each: each[0])]
            if folder.fault:
                files.append(_whole_folder(place, folder))
        return _replace_farther(files)

    def _changed(self) -> set[str]:
        """Return the names of the project's files that were trusted with other content."""
        folder = self._folders["project"]
        digests = folder.digests()
        return {name for name in digests if self._look.granted(f"{folder.path}/{name}") not in (None, digests[name])}


_latest: Sight | None = None


def newly_seen(root: Path) -> bool:
    """Record the handler files as this process saw them last; return whether an earlier record differs.

    So an event notices that handlers were added, edited or removed, and what is registered may have to change.

    Args:
        root: the project's root; each project has its own record.
    """
    file = cache.folder() / f"{trust.digest(os.fsencode(root))[:32]}.handlers"
    before, now = cache.read(file), _latest.state() if _latest else None
    if now is not None and before != now:
        cache.write(file, now)
    return None not in (before, now) and before != now


def trusted_routes(hooks: Hooks, file: HandlerFile) -> tuple[Route, ...]:
    """Return the functions that a project's file offered when it was trusted; its present ones if that is unknown."""
    root = file.path.parents[2]
    content = trust.content(root, trust.relative_name(root, file.path))
    return file.routes if content is None else scan.scan(content, hooks).routes


def offered(hooks: Hooks, place: Place, folder: Path) -> list[HandlerFile]:
    """Return the files of one folder, independently of what is trusted or configured on this machine.

    A file that can't be read has faults and no routes. A file is off only if it says so itself.
    """
    within = folder.parents[1] if place == "project" else None
    found = route_cache.look(folder, route_cache.Rules(hooks, within=within, apart=place != "shipped"))
    return [_offered(place, found, name) for name in sorted(found.names())]


def _offered(place: Place, folder: route_cache.Folder, name: str) -> HandlerFile:
    path = folder.path / name
    try:
        found = folder.found(name)
    except StateError as error:
        return HandlerFile(place, path.stem, path, b"", "", trusted=True, off=False, faults=(str(error),))
    read, off = found.scan, _off(path.stem, found.scan, Config())
    faults = tuple(read.faults.values())
    return HandlerFile(place, path.stem, path, found.source, found.digest, True, off, read.routes, faults)


def lacks_strict(folder: Path, files: Iterable[HandlerFile]) -> bool:
    """Return whether a strict function that is remembered of a folder isn't in its `files` as it is remembered."""
    there = {(str(file.path), route.function, route.match) for file in files for route in file.routes if route.strict}
    known = strictness.remembered_routes().items()
    lines = [(path, route.function, route.match) for path, routes in known for route in routes]
    return any(line not in there for line in lines if line[0].rpartition("/")[0] == str(folder))


def _gone(folder: route_cache.Folder, strict: Collection[str]) -> list[str]:
    """Return the names of the folder's files that were strict and are gone."""
    if not strict:
        return []
    top, there = f"{folder.path}/", set(folder.names())
    names = [path[len(top) :] for path in strict if path.startswith(top)]
    return [name for name in names if "/" not in name and name not in there]


def _in_other_folders(folder: route_cache.Folder, strict: Collection[str]) -> list[str]:
    """Return the user's strict files of another handlers folder than the present one, unless they were moved here."""
    others = [path for path in strict if strictness.everywhere(path) and not path.startswith(f"{folder.path}/")]
    return [path for path in others if not _has_strict(folder, path.rpartition("/")[2])]


def _has_strict(folder: route_cache.Folder, name: str) -> bool:
    """Return whether a folder has a file of this name with a strict function."""
    if name not in folder.names() or name in folder.unreadable:
        return False
    return any(route.strict for route in folder.found(name).scan.routes)


def runs(conditions: Conditions, configuration: Config) -> bool:
    """Return whether a configuration fulfils a file's `RUNS_WHEN`; an unknown key is never fulfilled."""
    return all(getattr(configuration, key, None) in values for key, values in conditions)


def _whole_folder(place: Place, folder: route_cache.Folder) -> HandlerFile:
    """Return a handler file that stands for the folder itself and has the folder's fault."""
    name = str(folder.path)  # no file has such a name
    return HandlerFile(place, name, folder.path, b"", "", trusted=True, off=False, faults=(folder.fault,))


def _file(place: Place, folder: route_cache.Folder, name: str, look: _Look) -> HandlerFile:
    path = folder.path / name
    try:
        found = folder.found(name)
    except StateError as error:
        return _absent(place, path, error.reason, look)
    return _made(place, path, found, look)


def _anew(place: Place, path: Path, look: _Look) -> HandlerFile:
    try:
        return _made(place, path, route_cache.read_anew(path, look.rules(place, path.parent)), look)
    except StateError as error:
        return _absent(place, path, error.reason, look)


def _vanished(place: Place, folder: route_cache.Folder, name: str, look: _Look) -> HandlerFile:
    """Return a stand-in for a file that is gone; it refuses what the file guarded until it is back or given up."""
    return _absent(place, folder.path / name, "is gone; put it back", look)


def _elsewhere(place: Place, folder: route_cache.Folder, name: str, look: _Look) -> HandlerFile:
    """Return a stand-in for a user's strict file in another folder; it refuses what the file guards.

    Otherwise a changed XDG_CONFIG_HOME could switch the guard off.
    """
    fault = f"({name}) is not in {folder.path}, where yours are looked for; move it or correct XDG_CONFIG_HOME"
    return _absent(place, folder.path / name, fault, look)


def _absent(place: Place, path: Path, fault: str, look: _Look) -> HandlerFile:
    """Return a file whose content isn't known: its functions don't run, and the strict ones it had refuse."""
    project = look.project
    changed = place == "project" and look.granted(path) is not None
    remembered = look.strict.get(str(path), ()) if place == "user" or changed else ()
    said = _lifted(f"its file {fault}", path, place, project) if remembered else fault
    broken = tuple(replace(route, broken=said) for route in remembered)
    off = _off(path.stem, scan.Scan(), project.config)
    file = HandlerFile(place, path.stem, path, b"", "", place != "project", off, broken, (said,), changed=changed)
    file = _keep_strict_on(file, scan.Scan(), look)
    if broken and file.off:
        _remember(file, project)
    return file


def _made(place: Place, path: Path, found: Found, look: _Look) -> HandlerFile:
    read, project = found.scan, look.project
    granted = look.granted(path) if place == "project" else found.digest
    trusted, off = granted == found.digest, _off(path.stem, read, project.config)
    remembered = look.strict.get(str(path), ()) if place != "shipped" else ()
    doubted = ""  # why no function of the file may be called
    if remembered and not trusted:
        doubted = f"its file {_trust_again(path, project)}"
        off = path.stem in project.config.handlers.off  # a changed file can't switch itself off
    elif remembered and off and _unsettled(place, look):
        config = paths.project_config(project.root)
        doubted, off = f"{config} {_trust_again(config, project)}", False
    why = _uncallable(read, remembered, doubted)
    broken = [
        replace(route, broken=_lifted(why[route.function], path, place, project))
        for route in remembered
        if route.function in why
    ]
    sound = () if doubted else (route for route in read.routes if route.function not in why)
    lost = (f"{route.function}: {route.broken}" for route in broken if why[route.function] == _LOST)
    file = _keep_strict_on(
        HandlerFile(
            place=place,
            name=path.stem,
            path=path,
            held=found.source,
            digest=found.digest,
            trusted=trusted,
            off=off,
            routes=(*sound, *broken),
            faults=(*read.faults.values(), *lost),
            runs_when=read.runs_when,
            doubts=read.doubts,
            changed=granted is not None and not trusted,
            again=None if found.source is not None else lambda: _anew(place, path, look),
        ),
        read,
        look,
    )
    if trusted and place != "shipped" and (remembered or file.strict):
        _remember(file, project)
    return file


def _remember(file: HandlerFile, project: Project) -> None:
    """Remember a file's strict functions, or forget them if the configuration switches the file off by name.

    Those that it no longer has are remembered too, so no edit makes Holdfast forget a guard.
    """
    if not file.off:
        strictness.remember(file.path, [replace(route, broken="") for route in file.routes])
    elif file.name in project.config.handlers.off:
        strictness.remember(file.path, ())


def _unsettled(place: Place, look: _Look) -> bool:
    """Return whether a project's configuration, on which its handlers may depend, changed since it was trusted."""
    root = look.project.root
    return (
        place == "project" and look.granted(paths.project_config(root)) is not None and not trust.config_trusted(root)
    )


_LOST = "its file no longer defines it as a strict function; put it back"


def _uncallable(found: scan.Scan, remembered: Iterable[Route], doubted: str) -> dict[str, str]:
    """Return the remembered strict functions that can't be called now, each with the reason.

    Args:
        found: what the file declares now.
        remembered: the strict functions that it had.
        doubted: why none of its functions may be called; empty if they may.
    """
    present = {} if doubted else {route.function for route in found.routes if route.strict}
    why = {}
    for route in remembered:
        if route.function not in present:
            fault = found.faults.get("") or found.faults.get(route.function)
            why[route.function] = doubted or (f"{fault}; correct it" if fault else _LOST)
    return why


def _lifted(reason: str, path: Path, place: Place, project: Project) -> str:
    """Return the reason for a refusal with the command that lifts it."""
    verb = ["off", path.stem] if place == "user" else ["untrust", "--project", str(project.root), path.name]
    command = _command(*verb)
    if place == "user" and path.parent != paths.user_handlers():  # a terminal may have another XDG_CONFIG_HOME
        command = f"env {quote(f'XDG_CONFIG_HOME={paths.config_dir().parent}')} {command}"
    return f"{reason}, or do without it (in a terminal: {command})"


def _trust_again(path: Path, project: Project) -> str:
    command = _command("trust", "--project", str(project.root), path.name)
    return f"was changed since you trusted it; look at it and trust it again (in a terminal: {command})"


def _command(*words: str) -> str:
    return command_line("handlers", *words)


def _off(name: str, found: scan.Scan, config: Config) -> bool:
    if name in config.handlers.off or (found.off_by_default and name not in config.handlers.on):
        return True
    return not runs(found.runs_when, config)


def _keep_strict_on(file: HandlerFile, found: scan.Scan, look: _Look) -> HandlerFile:
    """Switch a user's strict handler on again unless the user's own configuration switches it off, not a project's.

    Once it is remembered, only its name in `handlers.off` does: an edit of its own conditions must not open it.
    """
    if not (file.place == "user" and file.off and file.strict):
        return file
    own, known = config.load(None, trusted=False).config, str(file.path) in look.strict
    off = _off(file.name, found, own)
    if off and (not known or file.name in own.handlers.off):
        return file
    what = "its OFF_BY_DEFAULT or RUNS_WHEN" if off else paths.project_config(look.project.root)
    return replace(file, off=False, notice=f"it is strict, so {what} can't switch it off")


def _replace_farther(files: Sequence[HandlerFile]) -> list[HandlerFile]:
    """Mark the files that a nearer file of the same name replaces; a user's strict handler is never replaced."""
    namesakes: dict[str, list[HandlerFile]] = {}
    for file in files:
        namesakes.setdefault(file.name, []).append(file)
    return [file if len(same := namesakes[file.name]) == 1 else _replaced(file, same) for file in files]


def _replaced(file: HandlerFile, namesakes: Sequence[HandlerFile]) -> HandlerFile:
    usable = [other for other in namesakes if (other.trusted or other.refuses) and not other.off]
    if file not in usable or file.strict:
        return file
    guard = next((other for other in usable if other.strict), None)
    winner = guard or usable[-1]
    if file is winner:
        return file
    notice = f"it can't replace {winner.path}, which is strict" if file.place == "project" else ""
    return replace(file, replaced_by=winner.path, notice=notice)
