"""The log file: what Holdfast did and what went wrong, one line each, never on the hook's stdout."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from holdfast.clock import stamp
from holdfast.files.redact import MASK, beginning, redact, secret_name
from holdfast.paths import ensure_private, log_file, real_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Level = Literal["debug", "info", "warning", "error"]

LIMIT_BYTES = 1024 * 1024  # bytes; then the file is rotated to `.1`
_LINE_LIMIT_CHARS = 8 * 1024  # characters of one line
_RANKS: dict[str, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}
_OF_PROJECT = re.compile(r""" project=(?:\S+|'.*'|".*")$""")
_lowest: Level = "info"
_root = ""


def set_level(level: Level) -> None:
    """Leave out lines below `level` from now on in this process; the default is `info`."""
    global _lowest
    _lowest = level


def set_project(root: Path | str | None) -> None:
    """Name the project at `root`, or none, in every line from now on in this process: all projects share the log."""
    global _root
    _root = str(root or "")


def write(level: Level, message: str, **fields: object) -> None:
    """Append one line: UTC time, level, message and `name=value` fields, secrets redacted, control characters escaped.

    The last field is the project, where one is known.
    Never raises and never prints: a log that cannot be written must not cost the event.
    """
    if _RANKS.get(level, 3) < _RANKS[_lowest]:
        return
    with suppress(Exception):
        about = f" {_about(_root)}" if _root else ""
        _append(log_file(), f"{stamp()} {level} {_line(message, fields)}{about}\n".encode())


def tail(count: int, *, project: Path | None = None) -> list[str]:
    """Return the last `count` lines, oldest first; fewer or none if there are no more.

    With `project`, a root, only those about it, and those that name no project.
    """
    file, lines = log_file(), list[str]()
    for place in (file, file.with_name(f"{file.name}.1")):
        if len(lines) < count:
            with suppress(OSError):
                lines = place.read_text("utf-8", "replace").splitlines() + lines
        if project is not None:
            about = f" {_about(str(project))}"
            lines = [line for line in lines if line.endswith(about) or not _OF_PROJECT.search(line)]
    return lines[-count:] if count > 0 else []


def forget(wanted: Callable[[str], bool], *, dry: bool = False) -> int:
    """Take lines out of the log, those rotated away too.

    Processes that write meanwhile go on in a new file. With `dry` nothing is written.

    Args:
        wanted: whether a line is to go.
        dry: only count.

    Returns:
        How many lines went, or would go.

    Raises:
        OSError: the log cannot be written.
    """
    file = log_file()
    rotated, taken = file.with_name(f"{file.name}.1"), file.with_name(f"{file.name}.forgetting")
    found = [line for place in (rotated, taken, file) for line in _lines(place) if wanted(line)]
    if dry or not found:
        return len(found)
    if not taken.exists():  # of a process that was killed in the middle of this
        with suppress(FileNotFoundError):
            file.rename(taken)
    rest = [line for place in (rotated, taken) for line in _lines(place) if not wanted(line)]
    fresh = file.with_name(f"{file.name}.rest")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.writelines(f"{line}\n" for line in rest)
    fresh.replace(rotated)
    taken.unlink(missing_ok=True)
    return len(found)


def concerns(line: str, root: Path) -> bool:
    """Return whether a line of the log is about the project at `root`."""
    return line.endswith(f" {_about(str(root))}")


def without_project(line: str) -> str:
    """Return a line of the log without the project that it names."""
    return _OF_PROJECT.sub("", line)


def written(text: str) -> str:
    """Return a text as it stands in the log: without secrets, control characters escaped."""
    return _escape(redact(text))


def _lines(place: Path) -> list[str]:
    with suppress(OSError):
        return place.read_text("utf-8", "surrogateescape").split("\n")[:-1]
    return []


def _about(root: str) -> str:
    return _escape(_field("project", redact(real_root(root))))


def _line(message: str, fields: dict[str, object]) -> str:
    parts = [beginning(_text(message), _LINE_LIMIT_CHARS + 1)]
    for name, value in fields.items():
        parts.append(_field(name, MASK if secret_name(name) else beginning(_text(value), _LINE_LIMIT_CHARS + 1)))
    line = " ".join(parts)
    return _escape(line if len(line) <= _LINE_LIMIT_CHARS else f"{line[:_LINE_LIMIT_CHARS]}…")


def _field(name: str, text: str) -> str:
    return f"{name}={text}" if text and " " not in text else f"{name}={text!r}"


def _text(value: object) -> str:
    with suppress(Exception):
        return str(value)
    return f"<{type(value).__name__}>"


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _append(file: Path, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags, 0o600)
    except FileNotFoundError:
        ensure_private(file.parent)
        descriptor = os.open(file, flags, 0o600)
    try:
        info = os.fstat(descriptor)
        if stat.S_ISREG(info.st_mode):
            os.write(descriptor, line)  # one write: lines of many processes never mix
            if info.st_size + len(line) > LIMIT_BYTES:
                _rotate(file, descriptor)
    finally:
        os.close(descriptor)


def _rotate(file: Path, descriptor: int) -> None:
    """Rename the full file to `.1`, once: whoever comes second finds another file at the path."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), file.stat()):
            file.replace(file.with_name(f"{file.name}.1"))
