"""Taking back what an install did to one settings file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import installs, launcher, settingsfile, skillcopy
from holdfast.errors import StateError
from holdfast.install import ALLOW_RULES
from holdfast.settingstext import SettingsText
from holdfast.state import atomic, document

if TYPE_CHECKING:
    from holdfast.installs import Install
    from holdfast.scopes import Target
    from holdfast.settingsfile import SettingsFile


def uninstall(target: Target) -> list[str]:
    """Take Holdfast out of one settings file and, after the last one, off this machine; return lines that say what.

    A file nobody changed since our install becomes byte for byte what it was before; otherwise only our own entries
    go. Raises StateError; the file is then as it was.
    """
    with installs.held():
        record = installs.get(target.real)
        lines = [_take_back(target, record)]
        if record is not None and record.skill is not None:
            lines.append(skillcopy.remove(record.skill, record.skill_digest))
        if installs.forget(target.real):
            return [*lines, "the launcher stays, other settings still name it"]
        return [*lines, *(f"removed {path}" for path in launcher.remove())]


def _take_back(target: Target, record: Install | None) -> str:
    file = settingsfile.read(target.real)
    if file.raw is None:
        return f"{target.settings}: there is no such file"
    if record is not None and record.written == file.digest:
        if record.created:
            settingsfile.check_writable(file)
            atomic.remove(file.path)
            return f"{target.settings}: removed, there was none before the install"
        before = _before(record)
        if before is not None:
            settingsfile.check_writable(file)
            atomic.write(file.path, before)
            return f"{target.settings}: restored from {record.backup}"
    return _remove_ours(target, file, record)


def _before(record: Install) -> bytes | None:
    """Return the file as it was before the install, None where its backup is missing or no longer the same."""
    if record.backup is None:
        return None
    try:
        raw = document.read(record.backup)[0]
    except StateError:
        return None
    return raw if settingsfile.sha256(raw) == record.before else None


def _remove_ours(target: Target, file: SettingsFile, record: Install | None) -> str:
    with settingsfile.explained(target.settings):
        text = SettingsText(file.text, record.added if record else ())
        rules = record.allowed if record else ALLOW_RULES
        if record is None:
            text.adopt(rules)
        text.unregister()
        for rule in rules:
            text.disallow(rule)
    if not text.changes:
        return f"{target.settings}: nothing of ours is in it"
    backup = settingsfile.replace(file, text.text)
    return f"{target.settings}: our entries removed, the rest left as it is (the file before: {backup})"
