"""Finding the handler files of the three places and deciding which of their functions an event calls."""

from __future__ import annotations

import stat
import sys
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from holdfast import config, paths, scan, strictness, trust
from holdfast.matching import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.project import Project
    from holdfast.scan import Conditions, Route

Place = Literal["shipped", "user", "project"]
SIZE_LIMIT = 1_000_000  # bytes; a handler file larger than this is somebody's data


@dataclass(frozen=True, slots=True)
class HandlerFile:
    """A Python file in a handlers folder, as its text stands now.

    Attributes:
        place: which of the three folders it lies in.
        name: its file name without `.py`; a nearer file of the same name replaces a farther one.
        path: where it lies.
        source: its bytes, the very ones that are hashed, scanned and compiled.
        digest: SHA-256 of the source.
        trusted: shipped and user files always; project files when trusted with exactly this content.
        off: switched off by configuration, or by itself (`OFF_BY_DEFAULT`, `RUNS_WHEN`) and not switched on.
        routes: the functions it offers.
        faults: what is wrong with it, in sentences.
        replaced_by: the nearer file that runs instead, if any.
        notice: why a nearer file does *not* replace another, or is not used, for the user to know.
        runs_when: what the configuration must say for it to run (`scan.Scan`).
    """

    place: Place
    name: str
    path: Path
    source: bytes
    digest: str
    trusted: bool
    off: bool
    routes: tuple[Route, ...] = ()
    faults: tuple[str, ...] = ()
    replaced_by: Path | None = None
    notice: str = ""
    runs_when: Conditions = ()

    @property
    def active(self) -> bool:
        """Whether its functions run."""
        return self.trusted and not self.off and self.replaced_by is None

    @property
    def strict(self) -> bool:
        """Whether any of its functions is strict."""
        return any(route.strict for route in self.routes)


@dataclass(frozen=True, slots=True)
class Call:
    """One function that an event calls."""

    file: HandlerFile
    route: Route

    @property
    def label(self) -> str:
        """How messages name it: `user/guard.py: on_pre_tool_use`."""
        return f"{self.file.place}/{self.file.path.name}: {self.route.function}"


def find(project: Project) -> list[HandlerFile]:
    """Find all handler files, in running order: shipped, user, project; each by file name.

    Args:
        project: whose `.claude/handlers` and whose configuration count.

    Returns:
        All files, also those that will not run, marked with the reason.
    """
    shipped = [_file("shipped", path, project) for path in _listing(paths.shipped("handlers"))]
    user = [_file("user", path, project) for path in _listing(paths.user_handlers())]
    own = [_file("project", path, project) for path in _listing(paths.project_handlers(project.root))]
    return _replace_farther([*shipped, *user, *own])


def plan(files: Iterable[HandlerFile], event: str, value: str | None) -> list[Call]:
    """Select the functions an event calls, in calling order.

    Args:
        files: what `find` returned.
        event: the event's name.
        value: what its matcher field holds, or `None` when it has none.

    Returns:
        The calls: `tryfirst` ones first, `trylast` ones last, as pluggy orders them.
    """
    calls = [
        Call(file, route)
        for file in files
        if file.active
        for route in file.routes
        if route.event == event and matches(route.match, value, event)
    ]
    first = [call for call in calls if call.route.tryfirst]
    last = [call for call in calls if call.route.trylast]
    return [*first, *(call for call in calls if call not in first and call not in last), *reversed(last)]


def runs(conditions: Conditions, configuration: Config) -> bool:
    """Tell whether a configuration says what a file asks for in `RUNS_WHEN`; a key there is none of never does."""
    return all(getattr(configuration, key, None) in values for key, values in conditions)


def load(file: HandlerFile) -> ModuleType:
    """Run a handler file: compile the bytes that were hashed, never a cached file beside it.

    Args:
        file: an active handler file.

    Returns:
        The new module.

    Raises:
        BaseException: whatever the file raises, SyntaxError included.
    """
    module = ModuleType(f"holdfast_handlers.{file.place}.{file.name}")
    module.__file__ = str(file.path)
    code = compile(file.source, str(file.path), "exec", dont_inherit=True)
    sys.modules[module.__name__] = module  # dataclasses and pydantic look the module up while it runs
    exec(code, module.__dict__)
    return module


def _listing(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".py" and path.name[0] not in "_.")
    except OSError:
        return []


def _file(place: Place, path: Path, project: Project) -> HandlerFile:
    name = path.stem
    try:
        source = _read(path)
    except OSError as error:
        known = _broken_strict(path, f"cannot be read ({error.strerror or error})")
        off = _off(name, scan.Scan(), project)
        file = HandlerFile(place, name, path, b"", "", place != "project", off, known, (str(error),))
        return _keep_strict_on(file, project)
    digest = trust.digest(source)
    trusted = place != "project" or trust.trusted(project.root, trust.relative_name(project.root, path), digest)
    found = scan.scan(source)
    routes = _with_broken(path, found) if place != "shipped" and trusted else found.routes
    off = _off(name, found, project)
    faults = tuple(found.faults.values())
    file = HandlerFile(place, name, path, source, digest, trusted, off, routes, faults, runs_when=found.runs_when)
    return _keep_strict_on(file, project)


def _read(path: Path) -> bytes:
    """Read a regular file of reasonable size; a fifo or device in the folder must not hang the session."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path}: is not a regular file")
    if status.st_size > SIZE_LIMIT:
        raise OSError(f"{path}: is larger than {SIZE_LIMIT} bytes")
    return path.read_bytes()


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
    own = config.load(None, trusted=False).config
    if file.name in own.handlers.off or not runs(file.runs_when, own):
        return file
    return replace(file, off=False, notice=f"strict: {paths.project_config(project.root)} may not switch it off")


def _replace_farther(files: Sequence[HandlerFile]) -> list[HandlerFile]:
    """Let a nearer file of the same name replace the farther ones, except a user's strict handler."""
    return [_replaced(file, [other for other in files if other.name == file.name]) for file in files]


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
