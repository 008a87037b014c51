"""Reads: which content of which file a conversation's model has seen, since which compaction, and what it is now."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast import clock
from holdfast.errors import LedgerError, StateError
from holdfast.files import document
from holdfast.memory.rows import Read
from holdfast.sessions import conversations, deliveries
from holdfast.workflow import outside_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

_ARRIVED = ("delivered", "confirmed", "unconfirmed")  # states of guidance whose reply was written
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
    return project.place(real)


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


def mentions(project: OpenProject, conversation: str) -> list[str]:
    """Return the files that a session edited and read, its requests and its agents' prompts, the latest of each first.

    These are what its transcript's end and the ledger have; without either, there are fewer.
    """
    if not conversation:
        return []
    with suppress(LedgerError):
        trail = project.transcripts.trail(conversations.get(project, conversation).transcript)
        prompts = project.ledger.rows(
            "SELECT prompt FROM agents WHERE conversation = ? AND prompt <> '' ORDER BY launched_at DESC", conversation
        )
        edited = (each.path for each in trail.edits)
        return [*edited, *trail.reads, *reversed(trail.requests), *(str(row["prompt"]) for row in prompts)]
    return []


def forget_reading(event: Event, context: Context) -> None:
    """Note that the model has lost what it had read.

    `event` is a `SessionStart` after the main conversation's compaction.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    with project.ledger.transaction():
        row = conversations.get(project, conversation)
        size = project.transcripts.size(row.transcript)
        conversations.change(project, conversation, compactions=row.compactions + 1, size=size, boundary=None)


def reminder_due(event: Event, context: Context) -> str:
    """Return whether the model may be reminded of its reading: it got guidance, had a turn, and wasn't reminded since.

    `event` is a `UserPromptSubmit`.

    Returns:
        The period for which reading counts, in words; empty if no reminder is due.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    row = conversations.get(project, conversation)
    if not row.idle:  # the guidance and this prompt reach the model in one request
        return ""
    last = next(iter(deliveries.recent(project, 1, conversation)), None)
    if last is None or last.state not in _ARRIVED or row.reminded >= row.compactions:
        return ""
    return "since the compaction" if row.compactions else "in this session"


def reminded(event: Event, context: Context) -> None:
    """Note that the model was reminded, or that there is nothing to remind it of until the next compaction.

    `event` is a `UserPromptSubmit`.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    conversations.change(project, conversation, reminded=conversations.get(project, conversation).compactions)


def note(project: OpenProject, conversation: str, path: str, content_hash: str) -> None:
    """Note that the model has the whole content of a file, with this SHA-256, in its context now.

    `path` is the file's name in the ledger (`reads.name`).
    """
    compaction = conversations.get(project, conversation).compactions
    put(project, conversation, path, content=content_hash, compaction=compaction, parts="")


def put(project: OpenProject, conversation: str, path: str, **values: Any) -> None:
    """Set columns of a file's read; the row is added if it is new."""
    project.ledger.table(Read).amend(Read(conversation, path), **values, read_at=clock.stamp())


def rows(project: OpenProject, conversation: str) -> dict[str, Read]:
    """Return all reads of a conversation by the file's name."""
    return {row.path: row for row in project.ledger.table(Read).where(conversation=conversation)}
