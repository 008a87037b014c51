"""Edit a settings.json so that it registers exactly what the handlers want."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from holdfast.clients import claude
from holdfast.clients.claude import versions
from holdfast.clients.claude.events import EVENTS, OLDEST_CLIENT_EVENTS
from holdfast.files import document, trust
from holdfast.formats import OURS, RECORDS
from holdfast.frozen import frozen
from holdfast.install import (
    installs,
    launcher,
    native,
    plugin_copies,
    registration,
    registrations,
    settingsfile,
    skillcopy,
    status_lines,
    wanted_events,
)
from holdfast.install.installs import Install
from holdfast.install.settingstext import SettingsText
from holdfast.plugins import discovery, loader
from holdfast.project import Project

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


@frozen
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
    target: Target, files: Sequence[HandlerFile], record: Install, *, allow_cli: bool = False, status_line: bool = False
) -> Plan:
    """Return what an install would make of `target`; writes nothing.

    Args:
        target: the settings file.
        files: the project's handler files, as `loader.find` returns them.
        record: what is known of an earlier install, with `everything` and `projects` up to date.
        allow_cli: whether to add the permission rules for the model.
        status_line: whether to make the client's status line Holdfast's, if there is none.

    Raises:
        StateError: the file can't be read, or isn't JSON in the shape of settings.
    """
    file = settingsfile.read(target.real)
    plugin = plugin_copies.registered(target)
    with settingsfile.explained(target.settings):
        text = SettingsText(file.text)
        wanted = _wanted(target, files, record, text.matchers)
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


def install(target: Target, *, allow_cli: bool = False, status_line: bool = False) -> list[str]:
    """Install into one settings file and write this machine's launcher; return lines that say what was done.

    Raises StateError or ConfigError; the settings are then unchanged.
    """
    with installs.held():
        files = _files(target)
        record = _fresh_record(target, files)
        planned = plan(target, files, record, allow_cli=allow_cli, status_line=status_line)
        skill = skillcopy.shipped() if allow_cli and not planned.plugin else b""
        if planned.changes:
            settingsfile.check_writable(planned.file)
        launcher.write()
        backup, record = carry_out(planned)
        discovery.newly_seen(target.root)
        lines = [*_registered(planned), *_left_out(target, files, planned.install), *_backed_up(planned, backup)]
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


def preview(target: Target, *, allow_cli: bool = False, status_line: bool = False) -> str:
    """Return what `install` would change in the settings file as a unified diff, or an empty string."""
    files = _files(target)
    record = _fresh_record(target, files)
    planned = plan(target, files, record, allow_cli=allow_cli, status_line=status_line)
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


def _files(target: Target) -> list[HandlerFile]:
    return loader.find(claude, Project.open(target.root, trusted=trust.config_trusted(target.root)))


def _wanted(
    target: Target, files: Sequence[HandlerFile], record: Install, present: Mapping[str, object]
) -> dict[str, str | None]:
    if target.scope == "project":
        return wanted_events.team(target.root, present)
    return wanted_events.personal(files, versions.known_events(record.everything), record.others(target.root))


def _left_out(target: Target, files: Sequence[HandlerFile], record: Install) -> list[str]:
    """Return a line for each event that handlers want but that isn't registered, because not every client knows it."""
    if target.scope == "project":
        left = wanted_events.team(target.root, known=frozenset(EVENTS)).keys() - OLDEST_CLIENT_EVENTS
        why = "the oldest supported client lacks it. For yourself: holdfast install"
    else:
        every = wanted_events.personal(files, frozenset(EVENTS), record.others(target.root))
        left = every.keys() - versions.known_events(record.everything)
        why = versions.why_not_registered() if left else ""
    return [f"{event} is not registered: {why}" for event in EVENTS if event in left]


def _timeouts(target: Target, files: Sequence[HandlerFile]) -> dict[str, int]:
    return wanted_events.team_timeouts(target.root) if target.scope == "project" else registration.timeouts(files)


def _fresh_record(target: Target, files: Sequence[HandlerFile]) -> Install:
    """Return the record to install with: the earlier one, updated for the installed client and this project."""
    known = recorded(target)
    everything = target.scope != "project" and versions.knows_all_events()
    there = {root: wishes for root, wishes in known.projects.items() if installs.is_there(root)}
    known = dataclasses.replace(known, scope=target.scope, root=target.root, everything=everything, projects=there)
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
