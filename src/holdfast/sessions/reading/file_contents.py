"""Files that a workflow asks to read, as they are on disk now."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.workflow import outside_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.project import OpenProject

FILE_LIMIT_BYTES = 4 << 20  # bytes of a file that is still compared; nobody reads a larger one whole
EVENT_LIMIT_BYTES = 32 << 20  # bytes that are compared at one event
_PATTERN = frozenset("*?[")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


Absence = Literal["missing", "not checked", "outside the project"]


class Look(NamedTuple):
    """A file as it is now: what the ledger calls it, and its bytes or why there are none.

    Attributes:
        path: relative to the root, or absolute where it lies elsewhere; empty for what is no path.
        data: its bytes.
        absence: `not checked` is a folder, a pattern, a file that is too large or cannot be read; what is outside
            the project is not opened.
    """

    path: str
    data: bytes | None
    absence: Absence = "not checked"

    @property
    def text(self) -> str:
        """The content as the client decodes it before it shows it to the model (seen on both clients)."""
        data = self.data or b""
        text = data[2:].decode("utf-16-le", "replace") if data[:2] == b"\xff\xfe" else data.decode("utf-8", "replace")
        return as_shown(text)

    @property
    def digest(self) -> str:
        """The content's SHA-256 in hexadecimal."""
        return hashlib.sha256(self.data or b"").hexdigest()


def as_shown(text: str) -> str:
    """Return text without what the client takes off: the byte order mark, and the first half of CRLF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def name(project: OpenProject, place: str) -> str | None:
    """Return what the ledger calls a file: relative to the root, links resolved, or absolute; None for no path.

    `place` is a path, with or without `@` in front, from the root, from the home (`~`) or absolute.
    """
    try:
        real = Path(os.path.realpath(project.root / Path(place.removeprefix("@")).expanduser()))
    except (OSError, ValueError, RuntimeError):
        return None
    return real.relative_to(project.root).as_posix() if real.is_relative_to(project.root) else str(real)


def look(project: OpenProject, place: str, most: int = FILE_LIMIT_BYTES) -> Look:
    """Look at a file of at most so many bytes; never raises."""
    path = name(project, place)
    if path is None:
        return Look("", None, "missing")
    if outside_reading.outside(project.root, place):
        return Look(path, None, "outside the project")
    try:
        return Look(path, fetch(project.root / path, min(most, FILE_LIMIT_BYTES)))
    except OSError as error:
        absent = error.errno in _ABSENT and not _PATTERN & set(place)
        return Look(path, None, "missing" if absent else "not checked")


def looks(project: OpenProject, places: Iterable[str]) -> Iterator[tuple[str, Look]]:
    """Look at several files, as far as the bytes of one event go."""
    left = EVENT_LIMIT_BYTES
    for place in dict.fromkeys(places):
        found = look(project, place, left)
        left -= len(found.data or b"")
        yield place, found


def fetch(path: Path, most: int) -> bytes | None:
    """Return an ordinary file's bytes; None for a folder, a pipe, a device, and what is larger. Raises OSError.

    No link is followed at the path's end: whoever calls has resolved them.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
    finally:
        os.close(descriptor)
    return data if len(data) <= most else None
