"""Copy Holdfast's skill into Claude Code's skills folder, update it and remove it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast import paths
from holdfast.errors import MissingError, StateError
from holdfast.files import atomic, document, trust

if TYPE_CHECKING:
    from pathlib import Path


class Copied(NamedTuple):
    """Whether the copy is Holdfast's, its SHA-256, and a sentence that says what was done."""

    ours: bool
    digest: str
    line: str


def shipped() -> bytes:
    """Return the bytes of the shipped skill. Raises StateError."""
    return document.read(paths.shipped("skills") / "holdfast" / "SKILL.md")[0]


def protocol() -> str:
    """Return the protocol for the model: the shipped skill without its front matter (R000-40). Raises StateError."""
    text = shipped().decode()
    return text.split("\n---\n", 1)[-1].lstrip("\n")


def copy(source: bytes, place: Path, known_digest: str) -> Copied:
    """Write `source` to `place`, unless a file is there whose SHA-256 isn't `known_digest`. Raises StateError."""
    wanted = trust.digest(source)
    present = digest(place)
    if present == wanted:
        return Copied(known_digest == wanted, wanted, f"Skill: {place} is already there")
    if place.is_symlink() or (present is not None and present != known_digest):
        return Copied(False, "", f"Skill: {place} stays, because it is not Holdfast's")
    atomic.write(place, source)
    return Copied(True, wanted, f"Skill: {place}")


def recognised(place: Path) -> str:
    """Return the SHA-256 of the file at `place` if it is the shipped skill, else an empty string. Raises StateError."""
    present = digest(place)
    return present if present and present == trust.digest(shipped()) else ""


def remove(place: Path, known_digest: str) -> str:
    """Remove the copy at `place` unless it was changed; return a sentence that says what was done."""
    present = digest(place)
    if present is None:
        return f"Skill: {place} was already gone"
    if present != known_digest:
        return f"Skill: {place} stays, because it was changed since"
    atomic.remove(place)
    with suppress(OSError):  # the folder stays if it holds other files
        place.parent.rmdir()
    return f"Skill: {place} removed"


def digest(place: Path) -> str | None:
    """Return the SHA-256 of a file, None if there is no file, or an empty string if it can't be read."""
    try:
        return trust.digest(document.read(place)[0])
    except MissingError:
        return None
    except StateError:
        return ""
