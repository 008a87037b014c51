"""Keeping what is registered in step with the handlers, between installs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from holdfast import client, demand, installs, loader, log, paths, plugins, scopes, settingsfile
from holdfast.errors import HoldfastError
from holdfast.install import Plan, carry_out, plan, recorded
from holdfast.installs import Install

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.loader import HandlerFile
    from holdfast.project import Project


def refresh(settings: Path, project: Project, files: Sequence[HandlerFile]) -> list[str]:
    """Bring our entries in one settings file up to date with the handler files as they are now.

    A file without an entry of ours is left alone: who took them out wanted that. Returns a line per change.
    Raises StateError.
    """
    if b"holdfast" not in (settingsfile.read(settings).raw or b"") or not _due(planned_for(settings, project, files)):
        return []
    with installs.held():
        planned = planned_for(settings, project, files)
        if _due(planned):
            carry_out(planned)
    return [f"{settings}: {change}" for change in planned.text.changes]


def planned_for(settings: Path, project: Project, files: Sequence[HandlerFile]) -> Plan:
    """Return what one settings file would become by the handler files as they are now, writing nothing.

    Raises StateError for a file that cannot be read or is not the JSON that settings are.
    """
    target = scopes.target_of(settings, project.root)
    record = recorded(target)
    target = dataclasses.replace(target, scope=record.scope)
    if record.scope != "project" and client.session_knows_all_events():
        record = dataclasses.replace(record, everything=True)
    return plan(target, files, record.with_project(project.root, demand.of_project(files)))


def keep_registered(project: Project) -> list[str]:
    """Refresh the user's and the project's local settings; return lines for the user.

    The project's own settings belong to its team: where they lack something that no other file registers, a line
    names the command. What goes wrong goes to the log, for a session must start without it.
    """
    try:
        files = loader.find(project)
        lines = []
        for scope in _PERSONAL:
            lines += refresh(scopes.target(scope, project.root).settings, project, files)
        if plugins.running():
            plugins.keep_launcher()
            lines += _plugin_notice(project, files)
        return lines + _team_notice(project)
    except HoldfastError as error:
        log.write("warning", f"the registered events could not be brought up to date: {error}")
        return []


_PERSONAL: tuple[scopes.Scope, ...] = ("user", "local")


def _due(planned: Plan) -> bool:
    """Tell whether there is anything to write: settings, or a wish of this project that others must not undo."""
    if not planned.had_ours:
        return False
    recorded = installs.get(planned.target.real)
    return planned.changes or (recorded is not None and recorded.projects != planned.install.projects)


def _plugin_notice(project: Project, files: Sequence[HandlerFile]) -> list[str]:
    """Where the plugin is all there is, name what handlers want that nobody's settings register."""
    here = [planned_for(scopes.target(scope, project.root).settings, project, files) for scope in _PERSONAL]
    if any(planned.had_ours for planned in here):
        return []
    known = client.known_events(client.session_knows_all_events())
    left = plugins.remainder(demand.personal(files, known), plugins.own(), {})
    if not left:
        return []
    program = paths.plugin_root() / "bin" / "holdfast"
    return [f"handlers want {', '.join(left)}, which the plugin does not register; run {program} install"]


def _team_notice(project: Project) -> list[str]:
    target = scopes.target("project", project.root)
    if not target.real.exists():
        return []
    planned = plan(target, (), installs.get(target.real) or Install(target.real, "project", project.root))
    if not (planned.had_ours and planned.changes):
        return []
    return [f"{target.settings} does not register what the handlers want now; run holdfast install --scope project"]
