"""Have a settings.json register what the handlers want: once by `holdfast install`, and again when that changes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.clients.claude import claude, versions
from holdfast.clients.claude.events import EVENTS, OLDEST_CLIENT_EVENTS
from holdfast.dispatch import background
from holdfast.errors import StateError
from holdfast.files import document, status_file, trust
from holdfast.install import installs, launcher, native, plugin, register, registrations, settings, skill
from holdfast.install.installs import Install
from holdfast.install.settings import Settings
from holdfast.plugins import discovery
from holdfast.project import Project
from holdfast.server import control

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from holdfast.clients.claude.scopes import Target
    from holdfast.install.register import Entry, Matchers
    from holdfast.install.settings import SettingsFile
    from holdfast.plugins.discovery import HandlerFile

MODEL_COMMANDS = ("start", "next", "done", "update", "status", "claim", "agents")
"""The commands with which Claude keeps a workflow; trusting, installing, deleting and reopening are for people."""

ALLOW_RULES = tuple(f"Bash(holdfast {name}:*)" for name in MODEL_COMMANDS)
"""The permission rules that let Claude run these commands without asking, on every supported client.

A format's own commands are in the skill's `allowed-tools`, which count while Claude follows the skill.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What to install besides the events that every client knows.

    Attributes:
        allow_cli: whether Claude may run `MODEL_COMMANDS` without asking: True adds the permission rules, False removes
            those that an earlier install added, None changes nothing.
        status_line: whether to make the client's status line Holdfast's, if there is none.
        all_events: whether to register events although a client that reads the settings may not know them.
    """

    allow_cli: bool | None = None
    status_line: bool = False
    all_events: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """A settings file as it is, and as it would be once it registers what the handlers want.

    Attributes:
        target: the settings file.
        file: its present content.
        settings: its edited content.
        entries: event -> the entry that it then has.
        left_out: the events that handlers want, but that may stop a client that doesn't know them.
        record: the record to keep.
        had_entries: whether it registers Holdfast now, or lets the model call it.
    """

    target: Target
    file: SettingsFile
    settings: Settings
    entries: Mapping[str, Entry]
    left_out: Collection[str]
    record: Install
    had_entries: bool

    @property
    def changes(self) -> bool:
        """Whether the file would change."""
        return self.settings.text != self.file.text


def install(target: Target, options: Options = Options()) -> list[str]:
    """Install into one settings file and write this machine's launcher; return lines that say what was done.

    Raises StateError, ConfigError: the settings are then unchanged.
    """
    with installs.held():
        files = _files(target)
        edit = edit_of(target, files, options)
        _check_accepted(edit)
        by_plugin = plugin.registered(target)
        with_skill = options.allow_cli or target.scope == "user"  # a repository gets the skill only on request
        source = skill.shipped() if with_skill and not by_plugin else b""
        if edit.changes:
            settings.check_writable(edit.file)
        if launcher.write():
            control.stop_of(paths.launcher(), paths.entrypoint())
        write(edit)
        discovery.files_changed(target.root, files)
        lines = [*_registered(edit, by_plugin), *_left_out(edit)]
        if source:
            lines.append(_copy_skill(target, source, edit.record))
        if options.status_line:
            lines += _show_status_line(edit)
    lines += [f"Program: {path}" for path in launcher.programs()]
    kind, why = native.running()
    if why != native.CURRENT:
        relay = f"native, {why}" if kind == "native" else f"none, so each event starts cold: {why}"
        lines.append(f"Relay: {relay}")
    return [*lines, f"To undo: {target.undo}"]


def preview(target: Target, options: Options = Options()) -> str:
    """Return the changes that `install` would make to the settings file as a unified diff, or an empty string."""
    edit = edit_of(target, _files(target), options)
    _check_accepted(edit)
    return settings.difference(str(target.settings), edit.file.text, edit.settings.text)


def refresh(target: Target, files: Sequence[HandlerFile]) -> list[str]:
    """Bring Holdfast's entries in one settings file up to date with the present handler files.

    A file without such an entry is left alone, because somebody removed them. Returns a line for each change. Raises
    StateError.
    """
    raw = settings.read(target.real).raw or b""
    if b"holdfast" not in raw or not _is_due(edit_of(target, files)):
        return []
    with installs.held():
        edit = edit_of(target, files)
        if _is_due(edit):
            write(edit)
    return [f"{target.settings}: {change}" for change in edit.settings.changes]


def edit_of(target: Target, files: Sequence[HandlerFile], options: Options = Options()) -> Edit:
    """Return a settings file as an install would leave it; writes nothing.

    Args:
        target: the settings file.
        files: the project's handler files, as `discovery.find` returns them.
        options: what to install.

    Raises:
        StateError: the file can't be read, or isn't JSON in the shape of settings.
    """
    file = settings.read(target.real)
    with settings.explained(target.settings):
        edited, record = Settings(file.text), _record_for(target, files)
        allowed = [rule for rule in record.allowed if edited.allows(rule)]
        had_entries = bool(edited.registered or allowed)
        edited.restore_later(record.containers, allowed)
        entries = _wanted(target, files, record, edited.matchers)
        left_out = [] if options.all_events else _unknown(target, entries.keys() - edited.matchers.keys())
        for event in left_out:
            del entries[event]
        edited.register(entries)
        if options.allow_cli:
            allowed += [rule for rule in ALLOW_RULES if edited.allow(rule)]
        elif options.allow_cli is False:
            while allowed:
                edited.disallow(allowed.pop())
        if options.status_line:
            edited.show_status_line()
    record = dataclasses.replace(
        record,
        containers=edited.containers,
        allowed=tuple(allowed),
        status_line=options.status_line or record.status_line,
    )
    return Edit(target, file, edited, entries, left_out, record, had_entries)


def write(edit: Edit) -> None:
    """Save an edit's record, then its settings if they differ. Call this while holding `installs.held()`.

    Raises StateError if something can't be read or written.
    """
    installs.keep(edit.record)
    if edit.changes:
        settings.write(edit.file, edit.settings.text)


def recorded(target: Target) -> Install:
    """Return the record of an earlier install into `target`, an empty one if there was none. Raises StateError.

    If there is no record but the settings hold Holdfast's entries, then permission rules and a skill that are exactly
    as an install writes them count as Holdfast's too; otherwise no uninstall would remove them.
    """
    known = installs.get(target.real)
    fresh = Install(target.real, target.scope, target.root)
    if known is not None or not any(entry.ours for entry in registrations.entries(target)):
        return known or fresh
    digest = skill.recognised(target.skill)
    place = target.skill if digest else None
    return dataclasses.replace(fresh, allowed=ALLOW_RULES, skill=place, skill_digest=digest)


def _record_for(target: Target, files: Sequence[HandlerFile]) -> Install:
    """Return the record to install with: the earlier one, updated for this project."""
    known = recorded(target)
    there = {root: wishes for root, wishes in known.projects.items() if Path(root).is_dir()}
    known = dataclasses.replace(known, scope=target.scope, root=target.root, projects=there)
    return known.with_project(target.root, register.project_wishes(files))


def _is_due(edit: Edit) -> bool:
    """Return whether there is anything to write: settings, or changed wishes of this project to keep in the record."""
    if not edit.had_entries:
        return False
    known = installs.get(edit.target.real)
    return edit.changes or (known is not None and known.projects != edit.record.projects)


def _wanted(target: Target, files: Sequence[HandlerFile], record: Install, present: Matchers) -> dict[str, Entry]:
    """Return event -> the entry that the handlers want in `target`, which registers `present` now."""
    if target.scope == "project":
        wishes, keep = register.team_wishes(target.root), register.team_lacks(target.root)
    else:
        wishes, keep = register.personal_wishes(files, record.others(target.root)), False
    return register.entries(wishes, EVENTS, plugin=plugin.registered(target), present=present, keep=keep)


def _unknown(target: Target, added: Collection[str]) -> list[str]:
    """Return which events, not registered yet, a client may not know: this one, for a team the oldest supported one."""
    newer = sorted(event for event in added if background.event(event) not in OLDEST_CLIENT_EVENTS)
    client = None if target.scope == "project" or not newer else versions.version()
    return [event for event in newer if background.event(event) not in versions.known_events(client)]


def _check_accepted(edit: Edit) -> None:
    """Raise StateError if the client would ignore the hooks in the settings file that an install writes."""
    from holdfast.clients.claude import settings_schema  # builds pydantic models, which no event needs

    reasons = [str(fault) for fault in settings_schema.faults(edit.settings.text or "") if fault.fatal]
    if reasons:
        reason = f"{'; '.join(reasons)}. Nothing was written; correct the file, then run again"
        raise StateError(edit.target.settings, reason)


def _files(target: Target) -> list[HandlerFile]:
    return discovery.find(claude, Project.open(target.root, trusted=trust.config_trusted(target.root)))


def _copy_skill(target: Target, source: bytes, record: Install) -> str:
    if target.scope != "user" and document.leads_out(target.skill, target.root):
        return f"Skill: {target.skill} leads out of the project through a symbolic link, so nothing was written there"
    copied = skill.copy(source, target.skill, record.skill_digest)
    if copied.ours:
        installs.keep(dataclasses.replace(record, skill=target.skill, skill_digest=copied.digest))
    return copied.line


# --- messages to the user ------------------------------------------------------------------------------------------


def _registered(edit: Edit, by_plugin: Matchers) -> list[str]:
    name = edit.target.settings
    enabled = [f"The plugin is enabled and registers {', '.join(by_plugin)}."] if by_plugin else []
    if not edit.entries:
        what = "an event that the plugin does not register" if by_plugin else "an event"
        return [f"No handler wants {what}, so nothing is registered in {name}.", *enabled]
    if twice := [event for event in edit.entries if event in by_plugin]:
        enabled = [f"{enabled[0]} For {', '.join(twice)}, the plugin leaves to these settings what they select."]
    head = f"Registered in {name}:" if edit.changes else f"Already registered in {name}, nothing changed:"
    width = max(map(len, edit.entries))
    events = [f"  {event:<{width}}  {entry.matcher or '*'}" for event, entry in edit.entries.items()]
    changes = [f"  {change}" for change in edit.settings.changes] if edit.had_entries else []
    silenced = ['Note: "disableAllHooks" is true there, so Claude Code runs no hook.'] if edit.settings.silenced else []
    return [head, *events, *(["Changed:", *changes] if changes else []), *enabled, *silenced]


def _left_out(edit: Edit) -> list[str]:
    """Return a line for each event that handlers want but that isn't registered, because not every client knows it."""
    team = edit.target.scope == "project"
    reasons = {
        event: _NOT_FOR_TEAMS if team else str(register.why_left_out(background.event(event)))
        for event in edit.left_out
    }
    return [f"{event} is not registered: {why}" for event, why in reasons.items()]


_NOT_FOR_TEAMS = (
    "older clients don't know it. If nobody in the team has one: holdfast install --scope project --all-events."
    " For yourself: holdfast install"
)


def _show_status_line(edit: Edit) -> list[str]:
    """Have events keep what the status line shows; return lines that say whose the settings' status line is."""
    name = edit.target.settings
    paths.ensure_private(status_file.folder())
    if edit.settings.status_line == "ours":
        return [f"Status line: Holdfast's, in {name}. It shows a session's workflow from its next event on."]
    return [f"Status line: {name} has one already, which stays.", _SHARED_STATUS_LINE]


_SHARED_STATUS_LINE = (
    f'To show Holdfast\'s line in it, have your script pass on what it reads: printf %s "$input" | '
    f'"{register.LAUNCHER}" {status_file.ARGUMENT}'
)
