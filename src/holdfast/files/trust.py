"""Remember which files of a project the user has trusted, by content."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import HoldfastError, StateError, command_line
from holdfast.files import atomic, document, lock, tomlfile
from holdfast.files.file_memo import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_CONTENT_LIMIT_BYTES = 64 * 1024  # of a trusted file's copy, which shows later changes


def digest(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes, by which trust is recorded."""
    return hashlib.sha256(content).hexdigest()


def trusted(root: Path, relative: str, content_digest: str) -> bool:
    """Return whether exactly this content has been trusted at this path of this project.

    `relative` is the file's path inside the project (`relative_name`), `content_digest` the SHA-256 of the bytes that
    would run.
    """
    return granted(root).get(relative) == content_digest


def granted(root: Path) -> Mapping[str, str]:
    """Return a project's trusted files: relative path → SHA-256 of the content."""
    known = _memo.get(file())
    return known.get(_key(root), {}) if known else {}


def preload() -> None:
    """Read the trust file into memory, where it stays until the file changes."""
    _memo.get(file())


def config_trusted(root: Path) -> bool:
    """Return whether the project's `holdfast.toml` is trusted as it is now; one that can't be read is not."""
    path = paths.project_config(root)
    wanted = granted(root).get(relative_name(root, path))
    if wanted is None:  # nearly always; each event asks
        return False
    try:
        content, _ = document.read(path, tomlfile.LIMIT_BYTES, within=root)
    except StateError:
        return False
    return digest(content) == wanted


def config_command(root: Path) -> str:
    """Return the command that trusts the `holdfast.toml` of the project at `root`."""
    return command_line("handlers", "trust", "--project", str(root), str(paths.project_config(root)))


def relative_name(root: Path, path: Path) -> str:
    """Return a project file's path inside the project, as trust records it."""
    return path.relative_to(root).as_posix()


def grant(root: Path, entries: dict[str, str], contents: Iterable[bytes] = ()) -> None:
    """Trust files of a project: relative path → SHA-256 of the content that the user was shown.

    The `contents` themselves are stored so that a later change can be shown (`content`), except those over 64 KiB.
    Raises StateError if the trust file can't be read or written.
    """
    _change(root, lambda known: known | entries)
    with suppress(HoldfastError, OSError):  # without the copy a change is only named, not shown
        folder = paths.ensure_private(_folder())
        for each in contents:
            if len(each) <= _CONTENT_LIMIT_BYTES:
                atomic.write(folder / digest(each), each, mode=0o600)
    _sweep()


def content(root: Path, relative: str) -> bytes | None:
    """Return a file's trusted content, or None if the file isn't trusted or there is no copy."""
    name = granted(root).get(relative, "")
    try:
        with (_folder() / name).open("rb") as file:
            copy = file.read(_CONTENT_LIMIT_BYTES + 1)
    except (OSError, ValueError):
        return None
    return copy if digest(copy) == name else None


def revoke(root: Path, relatives: set[str] | None = None) -> int:
    """Revoke trust in files with these relative paths, or in all of a project, and return how many lost it."""
    before = len(granted(root))
    _change(root, lambda known: {} if relatives is None else {k: v for k, v in known.items() if k not in relatives})
    _sweep()
    return before - len(granted(root))


def _change(root: Path, edit: Callable[[dict[str, str]], dict[str, str]]) -> None:
    with lock.locked(paths.ensure_private(paths.config_dir())):
        everything = _load(file(), strict=True)
        everything[_key(root)] = edit(everything.get(_key(root), {}))
        remaining = {root: files for root, files in everything.items() if files}
        text = json.dumps(remaining, indent=2, sort_keys=True) + "\n"
        atomic.write(file(), text.encode(), mode=0o600)


def _load(file: Path, *, strict: bool = False) -> dict[str, dict[str, str]]:
    """Read the trust file: root → relative path → SHA-256. If it can't be read, nothing is trusted.

    With `strict`, raises StateError instead.
    """
    try:
        content = json.loads(file.read_bytes())
        if isinstance(content, dict) and all(isinstance(value, dict) for value in content.values()):
            return content
        reason = "is not a trust file"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = f"cannot be read ({error})"
    if strict:
        raise StateError(file, f"{reason}; move it away and run holdfast handlers trust again")
    return {}


def _sweep() -> None:
    """Delete the copies of contents that no project trusts any more."""
    wanted = {value for entries in _load(file()).values() for value in entries.values()}
    with suppress(OSError):
        for path in _folder().iterdir():
            if path.name not in wanted:
                path.unlink(missing_ok=True)


def _folder() -> Path:
    return paths.state_dir() / "trusted"


def file() -> Path:
    """Return the trust file's path; it may not exist."""
    return paths.config_dir() / "trust.json"


def _key(root: Path) -> str:
    return str(root.resolve())


_memo: Kept[dict[str, dict[str, str]]] = Kept(_load)
