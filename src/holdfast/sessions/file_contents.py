"""The present content of the files that a workflow asks to read."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.errors import StateError
from holdfast.files import document
from holdfast.workflow import outside_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.project import OpenProject

FILE_LIMIT_BYTES = 4 << 20  # bytes of the largest file that is compared; nobody reads a larger one whole
EVENT_LIMIT_BYTES = 32 << 20  # bytes that one event may compare
_PATTERN = frozenset("*?[")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


Absence = Literal["missing", "not checked", "outside the project"]


class Look(NamedTuple):
    """A file as it is now: its name in the ledger, and its bytes or why there are none.

    Attributes:
        path: relative to the project's root, or absolute if it is outside; empty if the text is no path.
        data: its bytes.
        absence: why there are no bytes. `not checked` is a folder, a pattern, or a file that is too large or can't be
            read. A file outside the project is not opened.
    """

    path: str
    data: bytes | None
    absence: Absence = "not checked"

    @property
    def text(self) -> str:
        """The content as the client decodes it for the model (observed with both clients)."""
        data = self.data or b""
        text = data[2:].decode("utf-16-le", "replace") if data[:2] == b"\xff\xfe" else data.decode("utf-8", "replace")
        return as_shown(text)

    @property
    def digest(self) -> str:
        """The content's SHA-256 in hexadecimal."""
        return hashlib.sha256(self.data or b"").hexdigest()


def as_shown(text: str) -> str:
    """Return text without what the client removes: the byte order mark, and the CR of each CRLF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def name(project: OpenProject, place: str) -> str | None:
    """Return a file's name in the ledger: its path with links resolved, relative to the root or absolute.

    `place` is a path, with or without a leading `@`: relative to the root, in the home folder (`~`) or absolute.
    Returns None if it isn't a path.
    """
    try:
        real = Path(os.path.realpath(project.root / Path(place.removeprefix("@")).expanduser()))
    except (OSError, ValueError, RuntimeError):
        return None
    return real.relative_to(project.root).as_posix() if real.is_relative_to(project.root) else str(real)


def look(project: OpenProject, place: str, most: int = FILE_LIMIT_BYTES) -> Look:
    """Look at a file, whose bytes are read if there are at most `most`. Never raises."""
    path = name(project, place)
    if path is None:
        return Look("", None, "missing")
    if outside_reading.outside(project.root, place):
        return Look(path, None, "outside the project")
    try:
        return Look(path, document.read(project.root / path, min(most, FILE_LIMIT_BYTES))[0])
    except StateError as error:
        absent = getattr(error.__cause__, "errno", None) in _ABSENT and not _PATTERN & set(place)
        return Look(path, None, "missing" if absent else "not checked")


def looks(project: OpenProject, places: Iterable[str]) -> Iterator[tuple[str, Look]]:
    """Look at several files, together up to `EVENT_LIMIT_BYTES`, and yield each place with its look."""
    left = EVENT_LIMIT_BYTES
    for place in dict.fromkeys(places):
        found = look(project, place, left)
        left -= len(found.data or b"")
        yield place, found
