"""Keep the registration in step with the handlers between installs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.clients.claude import claude, scopes, versions
from holdfast.config import Config, load
from holdfast.dispatch import faults
from holdfast.errors import HoldfastError, command_line
from holdfast.files import trust
from holdfast.install import plugin, register
from holdfast.install.install import edit_of, refresh
from holdfast.plugins import discovery, packages, strict_memory
from holdfast.project import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.discovery import HandlerFile


def upkeep(project: Project, session: str) -> list[str]:
    """Bring Holdfast's entries in the user's own settings up to date.

    Args:
        project: the project.
        session: the id of the session whose user sees the lines; no event shows them again.

    Returns:
        Lines for the user: what changed there, what a project's settings lack, and which handlers can't run.
    """
    unmet = _packages(project)
    files = discovery.find(claude, project)
    lines = [*keep_registered(project, files), *distrusted(project, files), *unguarded(project), *faulty(files)]
    lines += unmet
    lines += load(project.root, trusted=trust.config_trusted(project.root)).problems
    named = {faults.key(file): "" for file in files if file.changed or file.faults}
    return [*lines, *filter(None, faults.unseen(session, named, now=True))]


def _packages(project: Project) -> list[str]:
    """Renew the index of packages that bring handlers; return what the project requires and isn't installed."""
    if not (project.config.requires or packages.installed()):
        return []
    from holdfast.install import handler_packages

    handler_packages.refresh()
    return list(handler_packages.unmet(project.config.requires))


def keep_registered(project: Project, files: Sequence[HandlerFile]) -> list[str]:
    """Refresh the user's and the project's local settings; return lines for the user.

    The project's own settings belong to its team: if they lack something that no other file registers, a line names the
    command. Errors go to the log, because a session must start anyway.
    """
    discovery.files_changed(project.root, files)
    if not strict_memory.is_readable():
        unread = f"{strict_memory.memory_file()}, which remembers strict handlers, can't be read"
        return [f"{unread}, so what is registered stays as it is. To see why: {command_line('doctor')}"]
    try:
        lines = []
        for scope in _PERSONAL:
            lines += refresh(scopes.target(scope, project.root), files)
        plugin.keep()
        if plugin.running():
            lines += _plugin_notice(project, files)
        return lines + _team_notice(project, files)
    except HoldfastError as error:
        log.write("warning", f"the registered events couldn't be updated: {error}")
        return []


def distrusted(project: Project, files: Sequence[HandlerFile]) -> list[str]:
    """Return lines that name the project's handlers that aren't trusted, or changed or vanished since, with commands.

    The project's configuration is included if it was trusted before. At most _NAMED files are named, to keep the
    message at a session's start short.
    """
    ours = [file for file in files if file.place == "project"]
    sentences = [f"{_named(file.path)} {file.distrust}" for file in ours if not file.trusted]
    known = {project.root / name for name in trust.granted(project.root)}
    folder, config = paths.project_handlers(project.root), paths.project_config(project.root)
    there = {file.path for file in ours}
    gone = sorted(path for path in known if path.parent == folder and path not in there)
    sentences += [f"{_named(path)} was trusted and is gone" for path in gone]
    if config in known and not trust.config_trusted(project.root):
        sentences.append(f"{_named(config)} was changed since you trusted it, so it does not count")
    if not sentences:
        return []
    lines = [f"{each}." for each in sentences[:_NAMED]]
    if len(sentences) > _NAMED:
        lines.append(f"{len(sentences) - _NAMED} more: holdfast handlers list.")
    trust_all = command_line("handlers", "trust", "--project", str(project.root))
    lines.append(f"To see what is new and trust it, run in a terminal: {trust_all}")
    if gone or any(file.changed for file in ours):
        untrust = command_line("handlers", "untrust", "--project", str(project.root), "NAME.py")
        lines.append(f"To do without what changed or is gone: {untrust}")
    return lines


def unguarded(project: Project) -> list[str]:
    """Return lines that name strict handlers of another worktree that this worktree's branch lacks.

    Trust holds for the files of one folder, so nothing is refused here in their place.
    """
    lines = []
    for path in (Path(each) for each in strict_memory.remembered_routes() if not strict_memory.everywhere(each)):
        root, here = path.parents[2], paths.project_handlers(project.root) / path.name
        if path.is_file() and not here.exists() and Project(root, Config()).location == project.location:
            where = log.written(str(root))
            lines.append(f"{_named(path)} guards {where}, but not this worktree: add it to the branch, then trust it.")
    return lines[:_NAMED]


def faulty(files: Sequence[HandlerFile]) -> list[str]:
    """Return lines that name the handlers that would run but have a fault in their text, and the command for more."""
    wrong = [file for file in files if file.active and file.trusted and file.faults]
    lines = [f"{_placed(file)}: {log.written(file.faults[0])}" for file in wrong]
    if len(lines) > _NAMED:
        lines[_NAMED:] = [f"{len(lines) - _NAMED} more are at fault"]
    return [*lines, "More: holdfast handlers check"] if lines else []


def _placed(file: HandlerFile) -> str:
    whole = file.name == str(file.path)  # it stands for its folder
    return log.written(file.name) if whole else f"{file.place}/{_named(file.path)}"


def _named(path: Path) -> str:
    return log.written(path.name)


_NAMED = 5  # handlers named at a session's start
_PERSONAL: tuple[scopes.Scope, ...] = ("user", "local")


def _plugin_notice(project: Project, files: Sequence[HandlerFile]) -> list[str]:
    """Return a line that names what handlers want beyond the plugin, if nothing but the plugin is registered."""
    if any(edit_of(scopes.target(scope, project.root), files).had_entries for scope in _PERSONAL):
        return []
    known = versions.known_events(versions.of_session())
    left = register.entries(register.personal_wishes(files), known, plugin=plugin.own())
    if not left:
        return []
    program = paths.plugin_root() / "bin" / "holdfast"
    return [f"handlers want {', '.join(left)}, which the plugin does not register; run {program} install"]


def _team_notice(project: Project, files: Sequence[HandlerFile]) -> list[str]:
    target = scopes.target("project", project.root)
    if not target.real.exists():
        return []
    edit = edit_of(target, files)
    if not (edit.had_entries and edit.changes):
        return []
    return [f"{target.settings} does not register what the handlers want now; run holdfast install --scope project"]
