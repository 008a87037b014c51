"""Read a settings.json, and replace it with a backup."""

from __future__ import annotations

import difflib
import hashlib
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.clock import file_stamp
from holdfast.errors import HoldfastError, MissingError, StateError
from holdfast.files import atomic, document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_PROTECTED = "is write-protected; make it writable (chmod u+w), then run again"
_GENERATED = (
    "is read-only and not yours to change, as in a Nix store; change it where it is generated (`holdfast install "
    "--print` prints Holdfast's entries), or use the plugin, or in a project `holdfast install --scope local`"
)


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file's content; if the file is missing, `raw` is None and `text` is empty."""

    path: Path
    raw: bytes | None
    text: str

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 of the bytes; empty if there is no file."""
        return "" if self.raw is None else sha256(self.raw)


def sha256(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def read(path: Path) -> SettingsFile:
    """Read a settings file, given its real path; a missing file is no error.

    Raises StateError if it is no regular file, not readable or not UTF-8.
    """
    try:
        raw, _ = document.read(path)
    except MissingError:
        return SettingsFile(path, None, "")
    try:
        return SettingsFile(path, raw, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 at byte {error.start}; save it as UTF-8, then run again"
        raise StateError(path, reason) from error


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error about a settings text into one that names the file `path`."""
    try:
        yield
    except StateError:
        raise
    except HoldfastError as error:
        raise StateError(path, f"{error}; nothing was written, correct it and run again") from error


def check_writable(file: SettingsFile) -> None:
    """Raise StateError if the file can't be changed, or if somebody write-protected it."""
    if file.raw is not None and not file.path.stat().st_mode & 0o222:
        owned = file.path.stat().st_uid == os.geteuid() and file.path.parent.stat().st_mode & 0o222
        raise StateError(file.path, _PROTECTED if owned else _GENERATED)
    folder = next(place for place in (file.path.parent, *file.path.parents) if place.exists())
    if not folder.is_dir():
        raise StateError(file.path, f"cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK) or (file.raw is not None and not os.access(file.path, os.W_OK)):
        raise StateError(file.path, f"is not writable for you; check the permissions of it and of {folder}")


def replace(file: SettingsFile, text: str) -> Path | None:
    """Replace a settings file's content with `text` and return the path of the backup (None: there was no file).

    Raises StateError, and writes nothing, if it can't be written or was changed since it was read.
    """
    check_writable(file)
    backup = None if file.raw is None else _back_up(file.path, file.raw)
    if read(file.path).raw != file.raw:
        raise StateError(file.path, "was changed by somebody else just now; run again")
    atomic.write(file.path, text.encode("utf-8"))
    return backup


def difference(name: str, before: str | None, after: str | None) -> str:
    """Return a unified diff of a file's text; empty if nothing changes. A text of None means that there is no file."""
    old, new = ("/dev/null" if text is None else name for text in (before, after))
    lines = difflib.unified_diff(_lines(before or ""), _lines(after or ""), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Split only at newlines, because a JSON string may hold other characters that `splitlines` splits at."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in text.split("\n")[-1:] if last]


def backups(path: Path) -> list[Path]:
    """Return the existing backups of a settings file (its real path), oldest first."""
    try:
        listed = sorted((paths.state_dir() / "backups").iterdir())
    except OSError:
        return []
    return [each for each in listed if each.name.startswith(f"{path.name}.") and _mark(path) in each.name]


def _mark(path: Path) -> str:
    """Return the part of a backup's name that tells files of one name in different folders apart."""
    return f"-{sha256(os.fsencode(path))[:8]}"


def _back_up(path: Path, raw: bytes) -> Path:
    try:
        folder = paths.ensure_private(paths.state_dir() / "backups")
    except OSError as error:
        raise StateError(path, f"cannot be backed up: {error}; nothing was written") from error
    name = f"{path.name}.{file_stamp()}{_mark(path)}"
    place, number = folder / name, 1
    while os.path.lexists(place):
        number += 1
        place = folder / f"{name}-{number}"
    atomic.write(place, raw, mode=0o600)
    return place
