"""Edit a settings.json so that it registers exactly what the handlers want."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.clients import claude
from holdfast.clients.claude import versions
from holdfast.clients.claude.events import EVENTS, OLDEST_CLIENT_EVENTS
from holdfast.errors import StateError
from holdfast.files import document, trust
from holdfast.formats import OURS, RECORDS
from holdfast.install import (
    installs,
    launcher,
    native,
    plugin_copies,
    registration,
    registrations,
    seen_clients,
    settingsfile,
    skillcopy,
    status_lines,
    wanted_events,
)
from holdfast.install.installs import Install
from holdfast.install.settingstext import SettingsText
from holdfast.plugins import discovery, loader
from holdfast.project import Project
from holdfast.server import control

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.clients.claude.scopes import Target
    from holdfast.install.settingsfile import SettingsFile
    from holdfast.plugins.loader import HandlerFile

MODEL_VERBS = (
    *("start", "next", "done", "update", "resume", "list", "show", "explain", "status"),
    *(verb for name in OURS for verb in RECORDS[name].MODEL_VERBS),
)
"""The commands a model needs to keep a workflow; trusting, installing and reopening are for people."""

ALLOW_RULES = tuple(f"Bash(holdfast {verb}:*)" for verb in MODEL_VERBS)
"""The permission rules that let the model run these commands without asking, on every supported client."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an install would make of one settings file.

    Attributes:
        target: the settings file.
        file: its present content.
        wanted: event -> matcher (None: every value) that it is to register.
        text: the edited text.
        install: the record to keep of this install.
        had_ours: whether it has entries or permission rules of Holdfast's now.
        had_status_line: whether its status line is Holdfast's now.
        plugin: event -> matcher that an enabled plugin registers.
    """

    target: Target
    file: SettingsFile
    wanted: Mapping[str, str | None]
    text: SettingsText
    install: Install
    had_ours: bool
    had_status_line: bool
    plugin: Mapping[str, str | None]

    @property
    def changes(self) -> bool:
        """Whether the file would change."""
        return self.text.text != self.file.text


def plan(
    target: Target,
    files: Sequence[HandlerFile],
    record: Install,
    *,
    allow_cli: bool = False,
    status_line: bool = False,
    all_events: bool = False,
) -> Plan:
    """Return what an install would make of `target`; writes nothing.

    Args:
        target: the settings file.
        files: the project's handler files, as `loader.find` returns them.
        record: what is known of an earlier install, with `projects` up to date.
        allow_cli: whether to add the permission rules for the model.
        status_line: whether to make the client's status line Holdfast's, if there is none.
        all_events: whether to register events in a project's settings that older clients don't know.

    Raises:
        StateError: the file can't be read, or isn't JSON in the shape of settings.
    """
    file = settingsfile.read(target.real)
    plugin = plugin_copies.registered(target)
    with settingsfile.explained(target.settings):
        text = SettingsText(file.text)
        wanted = _wanted(target, files, record, text.matchers, all_events=all_events)
        allowed = [rule for rule in record.allowed if text.allows(rule)]
        had_ours, had_status_line = bool(text.registered or allowed), text.status_line == "ours"
        if had_ours and record.written:
            text.added.update(record.added)
        else:
            text.adopt(allowed)
        wanted = plugin_copies.remainder(wanted, plugin, text.matchers)
        text.register(wanted, _timeouts(target, files))
        allowed += [rule for rule in ALLOW_RULES if allow_cli and text.allow(rule)]
        if status_line:
            text.show_status_line()
    asked = status_line or record.status_line
    install = dataclasses.replace(record, added=tuple(sorted(text.added)), allowed=tuple(allowed), status_line=asked)
    return Plan(target, file, wanted, text, install, had_ours, had_status_line, plugin)


def install(
    target: Target, *, allow_cli: bool = False, status_line: bool = False, all_events: bool = False
) -> list[str]:
    """Install into one settings file and write this machine's launcher; return lines that say what was done.

    Args:
        target: the settings file.
        allow_cli: whether to add the permission rules for the model, and the skill.
        status_line: whether to make the client's status line Holdfast's, if there is none.
        all_events: whether to register events although an older client, in a project's settings a teammate's, may not
            know them; in your own settings only the installed client counts from now on.

    Raises:
        StateError, ConfigError: the settings are then unchanged.
    """
    seen_clients.note(versions.version(), alone=all_events and target.scope != "project")
    with installs.held():
        files = _files(target)
        record = _fresh_record(target, files)
        planned = plan(target, files, record, allow_cli=allow_cli, status_line=status_line, all_events=all_events)
        _check_accepted(planned)
        skill = skillcopy.shipped() if allow_cli and not planned.plugin else b""
        if planned.changes:
            settingsfile.check_writable(planned.file)
        if launcher.write():
            control.stop_of(paths.launcher(), paths.entrypoint())
        backup, record = carry_out(planned)
        discovery.newly_seen(target.root)
        lines = [*_registered(planned), *_left_out(planned, files), *_backed_up(planned, backup)]
        if skill:
            lines.append(_copy_skill(target, skill, record))
        if status_line:
            lines += status_lines.switch_on(planned.text, target)
    lines += [f"Program: {path}" for path in launcher.programs()]
    kind, why = native.running()
    return [*lines, f"Relay: {kind}, {why}", f"To undo: {target.undo}"]


def recorded(target: Target) -> Install:
    """Return the record of an earlier install into `target`, an empty one if there was none. Raises StateError.

    If the record was lost but the settings hold Holdfast's entries, then permission rules and a skill that are exactly
    as an install writes them count as Holdfast's too; otherwise no uninstall would remove them.
    """
    known = installs.get(target.real)
    fresh = Install(target.real, target.scope, target.root)
    if known is not None or not installs.unknown() or not any(entry.ours for entry in registrations.entries(target)):
        return known or fresh
    digest = skillcopy.recognised(target.skill)
    skill = target.skill if digest else None
    return dataclasses.replace(fresh, allowed=ALLOW_RULES, skill=skill, skill_digest=digest)


def preview(target: Target, *, allow_cli: bool = False, status_line: bool = False, all_events: bool = False) -> str:
    """Return what `install` would change in the settings file as a unified diff, or an empty string."""
    files = _files(target)
    record = _fresh_record(target, files)
    planned = plan(target, files, record, allow_cli=allow_cli, status_line=status_line, all_events=all_events)
    _check_accepted(planned)
    before = None if planned.file.raw is None else planned.file.text
    return settingsfile.difference(str(target.settings), before, planned.text.text) if planned.changes else ""


def carry_out(planned: Plan) -> tuple[Path | None, Install]:
    """Write a plan's settings if they differ, and save its record. Call this while holding `installs.held()`.

    Returns:
        The backup of the settings, if one was made, and the saved record.

    Raises:
        StateError: something can't be read or written. If the record can't be read, nothing was written.
    """
    installs.check()
    file, record = planned.file, planned.install
    backup = None
    if planned.changes:
        backup = settingsfile.replace(file, planned.text.text)
        if not (planned.had_ours or planned.had_status_line):
            record = dataclasses.replace(record, created=file.raw is None, backup=backup, before=file.digest)
        elif file.digest != record.written:  # changed by others since: the backup is no longer what to restore
            record = dataclasses.replace(record, created=False, backup=None, before="")
        record = dataclasses.replace(record, written=settingsfile.sha256(planned.text.text.encode("utf-8")))
    installs.keep(record)
    return backup, record


def _check_accepted(planned: Plan) -> None:
    """Raise StateError if the client would ignore the hooks in the settings file that an install writes."""
    from holdfast.clients.claude import settings_schema  # builds pydantic models, which no event needs

    reasons = [str(fault) for fault in settings_schema.faults(planned.text.text) if fault.fatal]
    if reasons:
        reason = f"{'; '.join(reasons)}. Nothing was written; correct the file, then run again"
        raise StateError(planned.target.settings, reason)


def _files(target: Target) -> list[HandlerFile]:
    return loader.find(claude, Project.open(target.root, trusted=trust.config_trusted(target.root)))


def _wanted(
    target: Target,
    files: Sequence[HandlerFile],
    record: Install,
    present: Mapping[str, object],
    *,
    all_events: bool = False,
) -> dict[str, str | None]:
    if target.scope != "project":
        # An older client that was used here again must not open a guard on the newer one.
        guarded = {route.event for file in files if file.active for route in file.routes if route.strict}
        known = seen_clients.known() | guarded.intersection(present)
        return wanted_events.personal(files, known, record.others(target.root))
    # Somebody asked for what is there already, and teammates have no record of that.
    known = frozenset(EVENTS) if all_events else OLDEST_CLIENT_EVENTS.union(present)
    return wanted_events.team(target.root, present, known)


def _left_out(planned: Plan, files: Sequence[HandlerFile]) -> list[str]:
    """Return a line for each event that handlers want but that isn't registered, because not every client knows it."""
    target = planned.target
    if target.scope == "project":
        every = wanted_events.team(target.root, known=frozenset(EVENTS))
    else:
        every = wanted_events.personal(files, frozenset(EVENTS), planned.install.others(target.root))
    lines = []
    for event in every.keys() - OLDEST_CLIENT_EVENTS - planned.wanted.keys():
        why = _NOT_FOR_TEAMS if target.scope == "project" else seen_clients.why_not_registered(event)
        lines.append(f"{event} is not registered: {why}")
    return sorted(lines)


_NOT_FOR_TEAMS = (
    "older clients don't know it. If nobody in the team has one: holdfast install --scope project --all-events."
    " For yourself: holdfast install"
)


def _timeouts(target: Target, files: Sequence[HandlerFile]) -> dict[str, int]:
    return wanted_events.team_timeouts(target.root) if target.scope == "project" else registration.timeouts(files)


def _fresh_record(target: Target, files: Sequence[HandlerFile]) -> Install:
    """Return the record to install with: the earlier one, updated for this project."""
    known = recorded(target)
    there = {root: wishes for root, wishes in known.projects.items() if installs.is_there(root)}
    known = dataclasses.replace(known, scope=target.scope, root=target.root, projects=there)
    return known.with_project(target.root, wanted_events.of_project(files))


def _copy_skill(target: Target, source: bytes, record: Install) -> str:
    if target.scope != "user" and document.leads_out(target.skill, target.root):
        return f"Skill: {target.skill} leads out of the project through a symbolic link, so nothing was written there"
    copied = skillcopy.copy(source, target.skill, record.skill_digest)
    if copied.ours:
        installs.keep(dataclasses.replace(record, skill=target.skill, skill_digest=copied.digest))
    return copied.line


def _registered(planned: Plan) -> list[str]:
    name = planned.target.settings
    if not planned.wanted:
        left = "an event that the plugin does not register" if planned.plugin else "an event"
        return [f"No handler wants {left}, so nothing is registered in {name}.", *_beside(planned)]
    head = f"Registered in {name}:" if planned.changes else f"Already registered in {name}, nothing changed:"
    width = max(map(len, planned.wanted))
    events = [f"  {event:<{width}}  {matcher or '*'}" for event, matcher in planned.wanted.items()]
    changes = [f"  {change}" for change in planned.text.changes] if planned.had_ours else []
    silenced = ['Note: "disableAllHooks" is true there, so the client runs no hook.'] if planned.text.silenced else []
    return [head, *events, *(["Changed:", *changes] if changes else []), *_beside(planned), *silenced]


def _beside(planned: Plan) -> list[str]:
    """Return a line on what the enabled plugin registers, and which events both register; empty without a plugin."""
    if not planned.plugin:
        return []
    twice = [event for event in planned.wanted if event in planned.text.registered and event in planned.plugin]
    both = f" Each firing of {', '.join(twice)} is answered once, by one of the two." if twice else ""
    return [f"The plugin is enabled and registers {', '.join(planned.plugin)}.{both}"]


def _backed_up(planned: Plan, backup: Path | None) -> list[str]:
    if not planned.changes:
        return []
    return [f"Backup: {backup}" if backup else "Backup: none, because there was no file"]
