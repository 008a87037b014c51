"""Check that the settings files register Holdfast once, and exactly as the handlers want."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

from holdfast.checks import folders, notice, ok, problem
from holdfast.clients.claude import claude, settings_schema
from holdfast.errors import StateError
from holdfast.files import access
from holdfast.install import install, installs, plugin, register, registrations, settings, skill
from holdfast.plugins import discovery
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from holdfast.checks import Finding
    from holdfast.clients.claude.scopes import Target
    from holdfast.install.installs import Install
    from holdfast.install.plugin import Copy
    from holdfast.install.registrations import Entry
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.sessions.workspace import Workspace

_OURS_TO_DECIDE = ("user", "local")  # a project's settings belong to its team


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at every settings file that a session in the project reads."""
    files = discovery.find(claude, project)
    entries: dict[Target, list[Entry]] = {}
    unread: list[Target] = []
    for target in registrations.targets(project):
        try:
            entries[target] = registrations.entries(target)
            faults = settings_schema.faults(settings.read(target.real).text or "")
        except StateError as error:
            if target.scope == "user" or not folders.blocked(target.settings):
                unread.append(target)
                yield problem(f"{error}, so Claude Code may ignore the whole file", _remedy(target))
            continue
        for fault in faults:
            level = problem if fault.fatal else notice
            yield level(f"{target.settings}: {fault}", f"correct {target.settings}")
        if any(fault.fatal for fault in faults):
            unread.append(target)
    ours = [entry for listed in entries.values() for entry in listed if entry.ours]
    if not (ours or unread):
        yield from _absent(entries)
    for target, listed in entries.items():
        if target not in unread and any(entry.ours for entry in listed):
            yield from _drifted(project, target, files, len({entry.event for entry in listed if entry.ours}))
        yield from _by_hand(target, listed, {entry.event for entry in ours})
        record = installs.get(target.real)
        if record is not None and record.allowed:
            yield from _allowed(target)
        if record is not None:
            yield from _skill(target, record)
    for copy in plugin.copies(project.root):
        for target, listed in entries.items():
            yield from _beside(copy, target, {entry.name: entry.matcher for entry in listed if entry.ours})


def _remedy(target: Target) -> str:
    """Return the remedy for a settings file that can't be read: a command for its permissions, or to correct it."""
    return access.remedy(target.real) or f"correct {target.settings}"


def _absent(targets: Collection[Target]) -> Iterator[Finding]:
    for target in targets:
        if by_plugin := plugin.registered(target):
            yield ok(f"{target.settings} enables the plugin, which registers {count(len(by_plugin), 'event')}")
            return
    if plugin.running():  # with --plugin-dir no settings file names it
        yield ok(f"this is the plugin, which registers {count(len(plugin.own()), 'event')}")
        return
    names = ", ".join(str(target.settings) for target in targets)
    yield problem(f"Holdfast isn't registered here (looked in {names})", "holdfast install")


def _drifted(project: Workspace, target: Target, files: Sequence[HandlerFile], number: int) -> Iterator[Finding]:
    try:
        edit = install.edit_of(target, files)
    except StateError as error:
        yield problem(str(error), f"correct {target.settings}")
        return
    if not edit.changes:
        yield ok(f"{target.settings} registers {count(number, 'event')}, as the handlers want")
        return
    fix = partial(_refresh, project, target) if target.scope in _OURS_TO_DECIDE else None
    changes = "; ".join(edit.settings.changes)
    yield problem(
        f"{target.settings} doesn't match what the handlers want. `holdfast install` would change: {changes}",
        target.redo,
        fix,
    )


def _refresh(project: Workspace, target: Target) -> str:
    return "; ".join(install.refresh(target, discovery.find(claude, project)))


def _by_hand(target: Target, listed: Sequence[Entry], events: set[str]) -> Iterator[Finding]:
    """Yield a finding for each entry that was written by hand, and for keys added to Holdfast's entries."""
    for entry in listed:
        place = f'{target.settings}: "hooks.{entry.event}"'
        if entry.ours and entry.odd:
            names = ", ".join(f'"{name}"' for name in entry.odd)
            text = f"{place} adds {names} to Holdfast's entry, so its answer comes late or never"
            yield problem(text, f"{target.undo} && {target.redo}")
        if not entry.ours:
            again = ", so Holdfast answers the event twice" if entry.event in events else ""
            text = f"{place} runs Holdfast with a command that `holdfast install` didn't write{again}: {entry.command}"
            level = problem if again else notice
            yield level(text, f'remove that entry from "hooks.{entry.event}" in {target.settings}')


def _beside(copy: Copy, target: Target, own: Mapping[str, str | None]) -> Iterator[Finding]:
    """Yield a notice if a settings file and the plugin register the same events, with how to keep only one of them."""
    theirs = copy.registered()
    left = {event: register.beyond(event, matcher, theirs) for event, matcher in own.items()}
    twice = [event for event, matcher in own.items() if left[event] != register.Entry(matcher)]
    if not twice:
        return
    record = installs.get(target.real)
    rules = " --yes" if record is not None and record.allowed else ""
    without = f"{target.undo} && {target.redo}{rules}" if any(left.values()) or rules else target.undo
    text = (
        f"{target.settings} and {copy} both register {', '.join(twice)}. Holdfast answers each event only once, so "
        "nothing is delivered twice"
    )
    if target.scope == "project":  # a team's settings are not one person's to change
        yield notice(f"{text}. To remove it from the project's settings: {without}", copy.undo)
    else:
        yield notice(f"{text}. To remove the plugin: {copy.undo}", without)


def _allowed(target: Target) -> Iterator[Finding]:
    """Yield a notice for missing permission rules; none is restored unasked, because you may have removed it."""
    permissions = registrations.read(target.settings).get("permissions")
    rules = permissions.get("allow") if isinstance(permissions, dict) else None
    missing = [rule for rule in install.ALLOW_RULES if rule not in (rules if isinstance(rules, list) else [])]
    if missing:
        text = f'{target.settings}: "permissions.allow" lacks {", ".join(missing)}, so Claude asks before it runs them'
        yield notice(text, f"{target.redo} --yes")
    else:
        yield ok(f"{target.settings} lets Claude run holdfast without asking")


def _skill(target: Target, record: Install) -> Iterator[Finding]:
    if record.skill is None:
        return
    remedy = f"{target.redo} --yes" if record.allowed else target.redo
    present = skill.digest(record.skill)
    if skill.recognised(record.skill):
        yield ok(f"{record.skill} is up to date")
    elif present is None:
        yield notice(f"{record.skill}, the copy of the skill, is gone", remedy)
    elif present == record.skill_digest:
        yield notice(f"{record.skill} is from another version of Holdfast", remedy)
    else:
        name = shlex.quote(str(record.skill))
        text = f"{record.skill} was edited after it was copied, so `holdfast install` doesn't update it"
        yield notice(text, f"mv {name} {name}.mine && {remedy}")
