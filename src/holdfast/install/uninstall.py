"""Undo what an install did to one settings file."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING, NamedTuple

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.errors import StateError
from holdfast.files import atomic, document
from holdfast.install import installs, launcher, registrations, settingsfile, skillcopy, status_lines
from holdfast.install.installer import ALLOW_RULES
from holdfast.install.settingstext import SettingsText
from holdfast.server import control

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.clients.claude.scopes import Target
    from holdfast.install.installs import Install
    from holdfast.install.settingsfile import SettingsFile


def uninstall(target: Target) -> list[str]:
    """Remove Holdfast from one settings file and, with the last one, its programs from this machine.

    A file that nobody changed since the install is restored byte for byte; from any other, only Holdfast's entries are
    removed. If the record of the install was lost, what is recognised as Holdfast's is removed, and the lines say what
    only the record knew.

    Returns:
        Lines that say what was done.

    Raises:
        StateError: the file can't be read or written; it is unchanged then.
    """
    with installs.held():
        record = installs.get(target.real)
        unknown = installs.unknown() if record is None else ""
        kept, had = settingsfile.backups(target.real), bool(unknown) and _has_ours(target)
        lines = [_take_back(target, record)]
        if record is not None and record.skill is not None:
            lines.append(skillcopy.remove(record.skill, record.skill_digest))
        if had:
            lines += [_unknown(target, unknown, kept), *_unrecorded_skill(target.skill)]
        installs.forget(target.real)
        status_lines.switch_off()
        if others := _named_elsewhere(target, unknown):
            lines.append(_stays(others))
        else:
            removed = [f"Ended: {address}" for address in control.stop_of(paths.launcher(), paths.entrypoint())]
            removed += [f"Removed: {path}" for path in launcher.remove()]
            doubt = "Other settings may still name the launcher. If so, install into them again."
            lines += [*removed, *([doubt] if removed and unknown else [])]
        return [*lines, *(_left() if had else [])]


def _named_elsewhere(target: Target, unknown: str) -> list[Target]:
    """Return the other settings that name the launcher; `unknown` says why the record can't tell, if it can't."""
    recorded = installs.others(target.real).values()
    others = [scopes.Target(each.scope, each.settings, each.root) for each in recorded]
    return others or (_others(target) if unknown else [])


def _stays(others: list[Target]) -> str:
    commands = "".join(f"\n  {each.undo}" for each in others)
    return f"The launcher stays, because other settings still name it. To remove Holdfast there too:{commands}"


def preview(target: Target) -> str:
    """Return what `uninstall` would change in the settings file as a unified diff, or an empty string.

    Raises StateError for a file that can't be read.
    """
    file = settingsfile.read(target.real)
    after = _after(target, file, installs.get(target.real)).content
    before = None if file.raw is None else file.text
    return settingsfile.difference(str(target.settings), before, None if after is None else after.decode("utf-8"))


def outlook(target: Target, *, purging: bool) -> list[str]:
    """Return a line for each file beside the settings file that `uninstall` would remove, with `purge` if `purging`.

    Raises StateError if the record of the installs can't be read by this user.
    """
    record = installs.get(target.real)
    lines = [] if record is None or record.skill is None else [f"Would be removed: {record.skill}"]
    if others := _named_elsewhere(target, installs.unknown() if record is None else ""):
        return [*lines, _stays(others)]
    lines += [f"Would be removed: {path}" for path in launcher.present()]
    return [*lines, *([f"Would be removed: {paths.state_dir()}"] if purging and paths.state_dir().exists() else [])]


def purge() -> list[str]:
    """Delete Holdfast's memory of the user's workflows in all projects, with log and caches; return lines that say so.

    Nothing is deleted while Holdfast is installed.
    """
    folder = paths.state_dir()
    if paths.launcher().exists():
        return [f"{folder} stays, because Holdfast is still installed. Uninstall it from the other settings first."]
    if not folder.exists():
        return []
    shutil.rmtree(folder)
    return [f"Removed: {folder}"]


def _unknown(target: Target, why: str, kept: Sequence[Path]) -> str:
    """Return a line on what only the lost record knew of a settings file, with the oldest backup that may help."""
    copy = f"Its oldest backup: {kept[0]}" if kept else "There is no backup of it."
    return f"The record of the install can't be read ({why}), so {target.settings} was not restored from it. {copy}"


def _unrecorded_skill(place: Path) -> list[str]:
    """Remove the skill if it is exactly the shipped one; return a line on what was done, if there is a skill."""
    if not os.path.lexists(place):
        return []
    try:
        digest = skillcopy.recognised(place)
    except StateError:
        digest = ""
    if digest:
        return [skillcopy.remove(place, digest)]
    return [f"Skill: {place} stays, because it is not this version's and may be yours."]


def _others(target: Target) -> list[Target]:
    """Return the other settings files that a session here reads and that register Holdfast's launcher."""
    names: tuple[scopes.Scope, ...] = ("user", "project", "local")
    others = [scopes.target(name, target.root) for name in names]
    return [other for other in others if other.real != target.real and _has_ours(other)]


def _has_ours(target: Target) -> bool:
    """Return whether a settings file has an entry of Holdfast's; False if it can't be read."""
    try:
        return any(entry.ours for entry in registrations.entries(target))
    except StateError:
        return False


def remainder() -> list[str]:
    """Return lines on what stays after the last uninstall: the memory of workflows, handlers and configuration."""
    if paths.launcher().exists():
        return []
    stays = {
        paths.state_dir(): "what Holdfast knows of your workflows; `holdfast uninstall --purge` deletes it",
        paths.config_dir(): "your handlers and configuration",
    }
    return [f"Stays: {folder} ({what})" for folder, what in stays.items() if folder.exists()]


def _left() -> list[str]:
    """Return a line for each record that couldn't be read, because those files stay."""
    left = [*([installs.file()] if installs.lost() else []), *installs.set_aside()]
    return [
        f"Stays: {each}. Once Holdfast is uninstalled everywhere, delete it: rm {shlex.quote(str(each))}"
        for each in left
    ]


class _After(NamedTuple):
    """What an uninstall makes of a settings file: its new content (None: it is removed), and a sentence about that."""

    content: bytes | None
    report: str
    backed_up: bool = False


def _take_back(target: Target, record: Install | None) -> str:
    file = settingsfile.read(target.real)
    after = _after(target, file, record)
    if after.content == file.raw:
        return after.report
    if after.backed_up and after.content is not None:
        backup = settingsfile.replace(file, after.content.decode("utf-8"))
        return f"{after.report} (backup: {backup})"
    settingsfile.check_writable(file)
    if after.content is None:
        atomic.remove(file.path)
    else:
        atomic.write(file.path, after.content)
    return after.report


def _after(target: Target, file: SettingsFile, record: Install | None) -> _After:
    """Return what a settings file becomes when Holdfast is removed from it; writes nothing."""
    if file.raw is None:
        return _After(None, f"{target.settings}: there is no such file, so nothing changed")
    if record is not None and record.written == file.digest:
        if record.created:
            return _After(None, f"{target.settings}: removed, because there was none before the install")
        before = _before(record)
        if before is not None:
            return _After(before, f"{target.settings}: restored from {record.backup}")
    return _without_ours(target, file, record)


def _before(record: Install) -> bytes | None:
    """Return the file's content before the install, or None if its backup is missing or was changed."""
    if record.backup is None:
        return None
    try:
        raw = document.read(record.backup)[0]
    except StateError:
        return None
    return raw if settingsfile.sha256(raw) == record.before else None


def _without_ours(target: Target, file: SettingsFile, record: Install | None) -> _After:
    with settingsfile.explained(target.settings):
        text = SettingsText(file.text, record.added if record else ())
        rules = record.allowed if record else ALLOW_RULES
        if record is None:
            text.adopt(rules)
        text.unregister()
        text.hide_status_line()
        for rule in rules:
            text.disallow(rule)
    if not text.changes:
        return _After(file.raw, f"{target.settings}: Holdfast isn't registered there, so nothing changed")
    said = f"{target.settings}: Holdfast's entries removed, the rest unchanged"
    return _After(text.text.encode("utf-8"), said, backed_up=True)
