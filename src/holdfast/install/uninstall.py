"""Undo what an install did to one settings file."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.files import status_file
from holdfast.install import installs, launcher, settings, skill
from holdfast.install.install import recorded
from holdfast.install.settings import Settings
from holdfast.server import control

if TYPE_CHECKING:
    from holdfast.clients.claude.scopes import Target
    from holdfast.install.installs import Install
    from holdfast.install.settings import SettingsFile


def uninstall(target: Target) -> list[str]:
    """Remove Holdfast from one settings file and, with the last one, its programs from this machine.

    Only Holdfast's entries are removed. A file that nobody else changed since the install becomes what it was before,
    byte for byte. Without a record of the install, Holdfast's entries are recognised.

    Returns:
        Lines that say what was done.

    Raises:
        StateError: the file can't be read or written; it is unchanged then.
    """
    with installs.held():
        file = settings.read(target.real)
        edited, record = _without_ours(target, file)
        if edited.text != file.text:
            settings.write(file, edited.text)
        lines = [f"{target.settings}: {_done(file, edited)}"]
        if record.skill is not None:
            lines.append(skill.remove(record.skill, record.skill_digest))
        installs.forget(target.real)
        _switch_status_line_off()
        if others := _others(target):
            return [*lines, _stays(others)]
        lines += [f"Ended: {address}" for address in control.stop_of(paths.launcher(), paths.entrypoint())]
        return [*lines, *(f"Removed: {path}" for path in launcher.remove())]


def preview(target: Target) -> str:
    """Return the changes that `uninstall` would make to the settings file as a unified diff, or an empty string.

    Raises StateError for a file that can't be read.
    """
    file = settings.read(target.real)
    return settings.difference(str(target.settings), file.text, _without_ours(target, file)[0].text)


def outlook(target: Target, *, purging: bool) -> list[str]:
    """Return a line for each file next to the settings file that `uninstall` would remove, with `purge` if `purging`.

    Raises StateError if the record of the installs can't be read by this user.
    """
    record = recorded(target)
    lines = [] if record.skill is None else [f"Would be removed: {record.skill}"]
    if others := _others(target):
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
    shutil.rmtree(folder)
    return [f"Removed: {folder}"]


def remainder() -> list[str]:
    """Return lines on what stays after the last uninstall: the memory of workflows, handlers and configuration."""
    if paths.launcher().exists():
        return []
    stays = {
        paths.state_dir(): "what Holdfast knows of your workflows; `holdfast uninstall --purge` deletes it",
        paths.config_dir(): "your handlers and configuration",
    }
    return [f"Stays: {folder} ({what})" for folder, what in stays.items() if folder.exists()]


def _without_ours(target: Target, file: SettingsFile) -> tuple[Settings, Install]:
    """Return a settings file's content without what is Holdfast's, and the record that says what that is."""
    with settings.explained(target.settings):
        edited = Settings(file.text)
        record = recorded(target)
        edited.restore_later(record.containers, record.allowed)
        edited.register({})
        edited.hide_status_line()
        for rule in record.allowed:
            edited.disallow(rule)
    return edited, record


def _done(file: SettingsFile, edited: Settings) -> str:
    if file.text is None:
        return "there is no such file, so nothing changed"
    if not edited.changes:
        return "Holdfast isn't registered there, so nothing changed"
    if edited.text is None:
        return "removed, because there was none before the install"
    return "Holdfast's entries removed, the rest unchanged"


def _switch_status_line_off() -> None:
    """Unless another install shows the status line, remove its files, so that events write none."""
    if not any(each.status_line for each in installs.load().values()):
        with suppress(OSError):
            shutil.rmtree(status_file.folder())


def _others(target: Target) -> list[Target]:
    """Return the other settings that Holdfast was installed into."""
    return [scopes.Target(each.scope, each.settings, each.root) for each in installs.others(target.real).values()]


def _stays(others: list[Target]) -> str:
    commands = "".join(f"\n  {each.undo}" for each in others)
    return f"The launcher stays, because other settings still name it. To remove Holdfast there too:{commands}"
