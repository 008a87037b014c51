"""The copy of our skill in Claude Code's skills folder: made, brought up to date and removed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast import paths
from holdfast.errors import MissingError, StateError
from holdfast.files import atomic, document
from holdfast.install.settingsfile import sha256

if TYPE_CHECKING:
    from pathlib import Path


class Copied(NamedTuple):
    """Whether the copy is ours, its SHA-256, and a sentence that says what was done."""

    ours: bool
    digest: str
    line: str


def shipped() -> bytes:
    """Return the skill as it is shipped. Raises StateError."""
    return document.read(paths.shipped("skills") / "holdfast" / "SKILL.md")[0]


def protocol() -> str:
    """Return the protocol for a model: the shipped skill without its front matter (R000-40). Raises StateError."""
    text = shipped().decode()
    return text.split("\n---\n", 1)[-1].lstrip("\n")


def copy(source: bytes, place: Path, known_digest: str) -> Copied:
    """Have `source` at `place`, unless a file lies there that is not our copy (SHA-256 `known_digest`).

    Raises StateError.
    """
    digest = sha256(source)
    present = _digest(place)
    if present == digest:
        return Copied(known_digest == digest, digest, f"skill: {place} is already there")
    if place.is_symlink() or (present is not None and present != known_digest):
        return Copied(False, "", f"skill: {place} is not ours and was left as it is")
    atomic.write(place, source)
    return Copied(True, digest, f"skill: {place}")


def recognised(place: Path) -> str:
    """Return the SHA-256 of what lies at `place` if it is the skill as shipped, else nothing. Raises StateError."""
    present = _digest(place)
    return present if present and present == sha256(shipped()) else ""


def remove(place: Path, known_digest: str) -> str:
    """Remove our copy at `place` unless somebody changed it, and return a sentence that says what was done."""
    present = _digest(place)
    if present is None:
        return f"skill: {place} was already gone"
    if present != known_digest:
        return f"skill: {place} was changed since and was left as it is"
    atomic.remove(place)
    with suppress(OSError):  # somebody else's files keep the folder
        place.parent.rmdir()
    return f"skill: {place} removed"


def _digest(place: Path) -> str | None:
    """Return the SHA-256 of a file, None where there is none, empty for what cannot be read."""
    try:
        return sha256(document.read(place)[0])
    except MissingError:
        return None
    except StateError:
        return ""
