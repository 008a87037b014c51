"""Find the handler files of all places, and decide which of them run and which refuse."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

from holdfast import config, paths
from holdfast.config import Config
from holdfast.errors import command_line
from holdfast.files import cache, trust
from holdfast.plugins import index, kinds, packages, strict_memory
from holdfast.plugins.index import NO_CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.index import Content, Folder
    from holdfast.plugins.scan import Conditions, Route, Scan
    from holdfast.project import Project

Place = Literal["shipped", "package", "user", "project"]


@dataclass(frozen=True, slots=True)
class HandlerFile:
    """A Python file in a handlers folder, with its present content.

    Attributes:
        place: which of the three folders it is in.
        name: its file name without `.py`; a nearer file of the same name replaces a farther one.
        path: its path.
        source: its bytes: the same that are hashed, scanned and compiled.
        digest: SHA-256 of its bytes.
        trusted: always true of shipped and user files; of project files if trusted with exactly this content.
        changed: it is a project's file and was trusted with other content, or was trusted and is gone.
        helpers: the files in its folder that it imports, and those that these import: path → bytes.
        untrusted_helper: the name of a helper because of which it isn't trusted; empty if there is none.
        off: it is switched off by configuration, or by itself (`OFF_BY_DEFAULT`, `RUNS_WHEN`) and not switched on.
        routes: the functions it offers.
        faults: what is wrong with it, in sentences.
        replaced_by: the file of the same name that runs instead, if any.
        notice: why it isn't switched off, or doesn't replace another file, although it would normally; for the user.
        runs_when: what the configuration must say for it to run (`scan.Scan`).
        doubts: probable mistakes of its author, in sentences (`scan.Scan`).
    """

    place: Place
    name: str
    path: Path
    source: bytes
    digest: str
    trusted: bool = True
    off: bool = False
    routes: tuple[Route, ...] = ()
    faults: tuple[str, ...] = ()
    replaced_by: Path | None = None
    notice: str = ""
    runs_when: Conditions = ()
    doubts: tuple[str, ...] = ()
    changed: bool = False
    helpers: Mapping[Path, bytes] = field(default_factory=dict)
    untrusted_helper: str = ""

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
        if self.untrusted_helper:
            return f"imports {self.untrusted_helper}, which you haven't trusted as it is now, so it does not run"
        if not self.changed:
            return "of this project is not trusted, so it does not run"
        how = "was changed since you trusted it" if self.path.exists() else "was trusted and is gone"
        return f"{how}, so what it guarded is refused" if self.active else f"{how}, so it does not run"


def find(hooks: Hooks, project: Project, *, for_event: bool = False) -> list[HandlerFile]:
    """Find the handler files, in calling order: shipped, packages', user's, project's; by name within each place.

    Args:
        hooks: the client's hooks; a handler of any other event has a fault.
        project: the project whose `.claude/handlers` and configuration count.
        for_event: leave a project's file unparsed unless it is trusted: it won't run, and may be anybody's.

    Returns:
        The files, including those that won't run (marked with the reason) and strict ones that are gone.
    """
    memory, granted = strict_memory.remembered_routes(), trust.granted(project.root)
    theirs = paths.project_handlers(project.root)

    def digest_of(name: str) -> str | None:
        return granted.get(trust.relative_name(project.root, theirs / name))

    brought = [Path(package.folder) for package in packages.installed()]
    folders: list[tuple[Place, Folder]] = [
        ("shipped", index.read_folder(paths.shipped("handlers"), hooks)),
        *(("package", index.read_folder(path, hooks)) for path in brought),
        ("user", index.read_folder(paths.user_handlers(), hooks)),
        (
            "project",
            index.read_folder(
                theirs,
                hooks,
                within=project.root,
                parsed=lambda name, digest: not for_event or digest_of(name) == digest,
            ),
        ),
    ]
    remembered_elsewhere = {path: routes for path, routes in memory.items() if Path(path).parent not in brought}
    files = []
    for place, folder in folders:
        missing = folder.unreadable | _missing(place, folder, memory if place == "package" else remembered_elsewhere)
        for name in sorted({*folder.files, *missing}):
            path, content = folder.path / name, folder.files.get(name, NO_CONTENT)
            granted_digest = digest_of(name) if place == "project" else content.digest
            remembered = memory.get(str(path), ()) if place != "shipped" else ()
            helpers = imported(folder, content.scan)
            untrusted = [each for each, its in helpers.items() if place == "project" and digest_of(each) != its.digest]
            file = of_content(place, path, content, helpers)
            if granted_digest != content.digest or untrusted:
                file = replace(file, trusted=False, changed=granted_digest is not None)
                if granted_digest == content.digest:
                    file = replace(file, untrusted_helper=untrusted[0])
            files.append(_decide(_Case(project, file, content.scan, missing.get(name, ""), remembered)))
        if folder.fault:  # no file has such a name, so this one stands for the folder
            name, faults = str(folder.path), (folder.fault,)
            files.append(HandlerFile(place, name, folder.path, b"", "", faults=faults))
    return _replace_farther(files)


def offered(hooks: Hooks, place: Place, folder: Path) -> list[HandlerFile]:
    """Return the files of one folder, independently of what is trusted or configured on this machine.

    A file that can't be read has faults and no routes. A file is off only if it says so itself.
    """
    found = index.read_folder(folder, hooks, within=folder.parents[1] if place == "project" else None)
    files = [of_content(place, folder / name, content) for name, content in found.files.items()]
    files = [replace(each, off=_off(each.name, found.files[each.path.name].scan, Config())) for each in files]
    for name, why in found.unreadable.items():
        path = folder / name
        files.append(HandlerFile(place, path.stem, path, b"", "", faults=(f"{path}: {why}",)))
    return sorted(files, key=lambda each: each.path.name)


def of_content(place: Place, path: Path, content: Content, helpers: Mapping[str, Content] | None = None) -> HandlerFile:
    """Return a handler file with this content as if it were trusted and switched on.

    Args:
        place: its place.
        path: its path.
        content: its content.
        helpers: the helpers that it imports, by name.
    """
    return HandlerFile(
        place,
        path.stem,
        path,
        content.source,
        content.digest,
        routes=content.scan.routes,
        faults=tuple(content.scan.faults.values()),
        runs_when=content.scan.runs_when,
        doubts=content.scan.doubts,
        helpers={path.with_name(name): each.source for name, each in (helpers or {}).items()},
    )


def files_changed(root: Path, files: Iterable[HandlerFile]) -> bool:
    """Record a project's handler files; return whether an earlier record differs.

    So an event notices that handlers were added, edited or removed, and what is registered may have to change.

    Args:
        root: the project's root; each project has its own record.
        files: what `find` found.
    """
    file = cache.folder() / f"{trust.digest(os.fsencode(root))[:32]}.handlers"
    lines = sorted(f"{each.path} {each.digest}" for each in files)
    before, now = cache.read(file), trust.digest(os.fsencode("\n".join(lines))).encode()
    if before != now:
        cache.write(file, now)
    return before not in (None, now)


def trusted_routes(hooks: Hooks, file: HandlerFile) -> tuple[Route, ...]:
    """Return the functions that a project's file offered when it was trusted; its present ones if that is unknown."""
    root = file.path.parents[2]
    content = trust.content(root, trust.relative_name(root, file.path))
    return file.routes if content is None else kinds.declares(file.path.name, content, hooks).routes


def lacks_strict(folder: Path, files: Iterable[HandlerFile]) -> bool:
    """Return whether a strict function that is remembered of a folder isn't in its `files` as it is remembered."""
    there = {(str(file.path), route.function, route.match) for file in files for route in file.routes if route.strict}
    known = strict_memory.remembered_routes().items()
    lines = [(path, route.function, route.match) for path, routes in known for route in routes]
    return any(line not in there for line in lines if line[0].rpartition("/")[0] == str(folder))


def runs(conditions: Conditions, configuration: Config) -> bool:
    """Return whether a configuration fulfils a file's `RUNS_WHEN`; an unknown key is never fulfilled."""
    return all(getattr(configuration, key, None) in values for key, values in conditions)


def imported(folder: Folder, declared: Scan) -> dict[str, Content]:
    """Return the helpers that a file imports, directly or through others, by name."""
    found: dict[str, Content] = {}
    left = list(declared.helpers)
    while left:
        name = left.pop()
        if name in folder.helpers and name not in found:
            found[name] = folder.helpers[name]
            left += found[name].scan.helpers
    return found


def _missing(place: Place, folder: Folder, memory: Mapping[str, tuple[Route, ...]]) -> dict[str, str]:
    """Return the strict files that aren't in their folder any more: name or path → the reason to refuse."""
    missing = {}
    for path in memory if place != "shipped" else ():
        parent, _, name = path.rpartition("/")
        if parent == str(folder.path):
            if name not in folder.files and name not in folder.unreadable:
                missing[name] = _why_missing(folder.path / name)
        elif place == "user" and strict_memory.everywhere(path) and not _has_strict(folder, name):
            # Otherwise a changed XDG_CONFIG_HOME could switch the guard off.
            where = f"is not in {folder.path}, where yours are looked for"
            missing[path] = f"({path}) {where}; move it or correct XDG_CONFIG_HOME"
    return missing


def _why_missing(path: Path) -> str:
    """Return why a strict file is no handler any more, and what to do."""
    if path.is_dir():
        return "is a folder now; put the file back"
    if path.is_file() and not os.access(path, os.X_OK):
        return f"can't be executed any more; run chmod +x {quote(str(path))}"
    return "is gone; put it back"


def _has_strict(folder: Folder, name: str) -> bool:
    """Return whether a folder has a file of this name with a strict function."""
    return name in folder.files and any(route.strict for route in folder.files[name].scan.routes)


@dataclass(frozen=True)
class _Case:
    """What is known of one handler file.

    Attributes:
        project: the project whose configuration counts.
        file: the file as it declares itself, and whether it is trusted.
        scan: what its present content declares.
        missing: why it has none; empty if it has.
        remembered: the strict functions that it had.
    """

    project: Project
    file: HandlerFile
    scan: Scan
    missing: str
    remembered: tuple[Route, ...]

    @property
    def of_project(self) -> bool:
        """Whether it is a project's file, which may be anybody's."""
        return self.file.place == "project"

    @property
    def off_by_name(self) -> bool:
        """Whether the configuration has it in `handlers.off`."""
        return self.file.name in self.project.config.handlers.off

    @property
    def strict(self) -> bool:
        """Whether it has a strict function or had one."""
        return bool(self.remembered) or self.file.strict


def _decide(case: _Case) -> HandlerFile:
    """Decide whether a file runs and which of its strict functions refuse, and remember these functions."""
    file, (off, notice) = case.file, _switched_off(case)
    why = {route.function: _why_broken(case, route.function) for route in case.remembered}
    broken = [replace(each, broken=_lifted(why[each.function], case)) for each in case.remembered if why[each.function]]
    closed = bool(broken) and (not file.trusted or _unsettled(case))  # nothing of such a file may run
    sound = [each for each in file.routes if not (closed or why.get(each.function))]
    if case.missing:
        faults = [broken[0].broken if broken else case.missing]
    else:
        unmarked = [each for each in broken if why[each.function] == _NO_LONGER_STRICT]
        faults = [*file.faults, *(f"{each.function}: {each.broken}" for each in unmarked)]
    if case.strict and file.place != "shipped":
        if off and case.off_by_name:
            strict_memory.remember(file.path, ())
        elif file.trusted and not off:  # those that it no longer has, too: no edit makes Holdfast forget a guard
            strict_memory.remember(file.path, (*sound, *broken))
    return replace(file, off=off, routes=(*sound, *broken), faults=tuple(faults), notice=notice)


def _switched_off(case: _Case) -> tuple[bool, str]:
    """Return whether a file is off, and a notice if it is a guard of yours that would be.

    What switches a file off:

    - a guard of yours that is remembered: your own `handlers.off`
    - another strict file of yours: your own configuration, without the project's
    - a project's guard that is remembered, while it or what switches it off isn't what you trusted: `handlers.off`
    - any other file: the configuration
    """
    project, name, scan = case.project, case.file.name, case.scan
    if not _off(name, scan, project.config):
        return False, ""
    if case.strict and not case.of_project:
        own = config.load(None, trusted=False).config
        off = _off(name, scan, own)
        if off and (name in own.handlers.off or not case.remembered):
            return True, ""
        what = "its OFF_BY_DEFAULT or RUNS_WHEN" if off else paths.project_config(project.root)
        return False, f"it is strict, so {what} can't switch it off"
    changed = case.of_project and case.remembered and (not case.file.trusted or _unsettled(case))
    return case.off_by_name or not changed, ""


def _unsettled(case: _Case) -> bool:
    """Return whether a project's guard is off only by a configuration that changed since it was trusted."""
    project = case.project
    if not case.of_project or case.off_by_name or not _off(case.file.name, case.scan, project.config):
        return False
    known = trust.relative_name(project.root, paths.project_config(project.root)) in trust.granted(project.root)
    return known and not trust.config_trusted(project.root)


def _why_broken(case: _Case, function: str) -> str:
    """Return why a strict function that is remembered can't be called, or nothing. The first reason counts.

    The guide has these reasons in a table ("Strict guards" in `docs/guides/writing-handlers.md`).
    """
    scan, file = case.scan, case.file
    if case.missing:
        return f"its file {case.missing}"
    if file.untrusted_helper:
        return f"its helper {_trust_again(file.path.with_name(file.untrusted_helper), case.project)}"
    if not file.trusted:
        return f"its file {_trust_again(file.path, case.project)}"
    if _unsettled(case):
        config_file = paths.project_config(case.project.root)
        return f"{config_file} {_trust_again(config_file, case.project)}"
    if fault := scan.faults.get("") or scan.faults.get(function):
        return f"{fault}; correct it"
    if not any(route.strict and route.function == function for route in scan.routes):
        return _NO_LONGER_STRICT
    return ""


_NO_LONGER_STRICT = "its file no longer defines it as a strict function; put it back"


def _lifted(reason: str, case: _Case) -> str:
    """Return the reason for a refusal with the command that lifts it."""
    file = case.file
    if not case.of_project:
        command = command_line("handlers", "off", file.name)
        # A terminal may have another XDG_CONFIG_HOME.
        if file.place == "user" and file.path.parent != paths.user_handlers():
            command = f"env {quote(f'XDG_CONFIG_HOME={paths.config_dir().parent}')} {command}"
    else:
        command = command_line("handlers", "untrust", "--project", str(case.project.root), file.path.name)
    return f"{reason}, or do without it (in a terminal: {command})"


def _trust_again(path: Path, project: Project) -> str:
    command = command_line("handlers", "trust", "--project", str(project.root), path.name)
    return f"was changed since you trusted it; look at it and trust it again (in a terminal: {command})"


def _off(name: str, found: Scan, configuration: Config) -> bool:
    """Return whether a configuration switches off a file, by its name or by what the file says itself."""
    handlers = configuration.handlers
    if name in handlers.off or (found.off_by_default and name not in handlers.on):
        return True
    return not runs(found.runs_when, configuration)


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
    if file.path.parent == winner.path.parent:  # neither is nearer, and one of the two may be a guard
        doubt = f"has the name of {winner.path.name}, so they are switched on and off together, and share their options"
        return replace(file, doubts=(*file.doubts, doubt))
    notice = f"it can't replace {winner.path}, which is strict" if file.place == "project" else ""
    return replace(file, replaced_by=winner.path, notice=notice)
