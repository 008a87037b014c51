"""Reads: which content of which file a conversation's model has seen, since which compaction, and what it is now.

What a model was shown comes from a Read's result, and from results and attachments in a transcript. The text is
compared with the file on disk, so that content that changed since never counts as read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.memory.rows import Read
from holdfast.sessions import conversations, deliveries
from holdfast.workflow import outside_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from holdfast.clients.client import Noted
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event, Returned

_ARRIVED = ("delivered", "confirmed", "unconfirmed")  # states of guidance whose reply was written
FILE_LIMIT_BYTES = 4 << 20  # bytes of the largest file that is compared; nobody reads a larger one whole
EVENT_LIMIT_BYTES = 32 << 20  # bytes that one event may compare
_PATTERN = frozenset("*?[")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_TEXT = "text"


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
    trail = project.transcripts.trail(conversations.get(project, conversation).transcript)
    prompts = project.ledger.rows(
        "SELECT prompt FROM agents WHERE conversation = ? AND prompt <> '' ORDER BY launched_at DESC", conversation
    )
    edited = (each.path for each in trail.edits)
    return [*edited, *trail.reads, *reversed(trail.requests), *(str(row["prompt"]) for row in prompts)]


def forget_reading(event: Event, context: Context) -> None:
    """Record that the model has lost what it had read.

    `event` is a `SessionStart` after the main conversation's compaction.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    size = project.transcripts.size(conversations.get(project, conversation).transcript)
    with project.ledger.transaction():
        conversations.lose_reading(project, conversation)
        conversations.change(project, conversation, size=size, boundary=None)


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
    if last is None or last.state not in _ARRIVED or row.reminded:
        return ""
    return "in this session" if row.boundary == "" else "since the compaction"


def reminded(event: Event, context: Context) -> None:
    """Record that the model was reminded, or that there is nothing to remind it of until the next compaction.

    `event` is a `UserPromptSubmit`.
    """
    conversations.change(context.project, conversations.of(context.project, event.session_id), reminded=True)


def note(project: OpenProject, conversation: str, path: str, content_hash: str) -> None:
    """Record that the model has the whole content of a file, with this SHA-256, in its context now.

    `path` is the file's name in the ledger (`reads.name`).
    """
    put(project, conversation, path, content=content_hash, in_context=True, parts="")


def put(project: OpenProject, conversation: str, path: str, **values: Any) -> None:
    """Set columns of a file's read; the row is added if it is new."""
    project.ledger.table(Read).amend(Read(conversation, path), **values, read_at=clock.stamp())


def rows(project: OpenProject, conversation: str) -> dict[str, Read]:
    """Return all reads of a conversation by the file's name."""
    return {row.path: row for row in project.ledger.table(Read).where(conversation=conversation)}


class _Shown(NamedTuple):
    """A text that the model was shown: `lines` lines of a file's `total`, beginning with line `first`."""

    text: str
    first: int
    lines: int
    total: int
    cut: bool

    @property
    def whole(self) -> bool:
        return not self.cut and self.first <= 1 and self.lines >= self.total > 0


def note_read(event: Returned, context: Context) -> None:
    """Note what the model read with a Read, whatever the form of its result.

    A part of a file counts once it completes the file together with other parts read since the last compaction.

    `event` is the `PostToolUse` of a Read in the main conversation. The main model doesn't see what a subagent reads.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    place = event.tool_input.get("file_path")
    seen = look(project, place) if isinstance(place, str) else None
    if seen is None or seen.data is None:
        return
    kind, shown = _shown(event.tool_response)
    if shown:
        _note(project, conversation, seen, shown)
    elif kind == "parts" or not (event.tool_input.get("offset") or event.tool_input.get("limit")):
        # Images, notebooks, a PDF or some of its pages (a long one can't be read at once), "unchanged since last read",
        # and whatever a newer client may return: the model requested the whole file, and the Read was not refused.
        note(project, conversation, seen.path, seen.digest)


def settle(project: OpenProject, conversation: str, looks: Iterable[Look]) -> bool:
    """Note what the transcript shows of some files and no PostToolUse reported.

    The client writes a compaction's boundary, and the files that it attaches again, only after SessionStart(compact)
    was answered. Until then the transcript ends with the old context. By the next prompt they are there (observed with
    both clients).

    Returns:
        Whether the transcript shows the present context already, or there is none to wait for.
    """
    row = conversations.get(project, conversation)
    boundary, wanted = row.boundary, {look.path: look for look in looks if look.data is not None}
    if not project.transcripts.size(row.transcript) or (not wanted and boundary is not None):
        return True
    since = 0 if wanted else max(row.size - 1, 0)  # else the only question is whether the boundary is there
    # A boundary that is awaited comes after the byte where the transcript ended at the compaction.
    read, files, awaited = project.transcripts, bool(wanted), row.size if boundary is None else None
    found = read.reading(row.transcript, awaited, since=since, files=files)
    if found.boundary not in (None, boundary):
        # A boundary that no event announced is a compaction too: SessionStart(compact) need not fire ([ISS 28305]).
        if boundary is not None or found.boundaries > 1:
            conversations.lose_reading(project, conversation)
        boundary = found.boundary
    if boundary != row.boundary:
        conversations.change(project, conversation, boundary=boundary)
    if wanted:
        _take_over(project, conversation, wanted, found.present)
    return boundary is not None


def _take_over(project: OpenProject, conversation: str, wanted: Mapping[str, Look], noted: Sequence[Noted]) -> None:
    """Note what the present context holds. A content that an event reported beats a different one found here."""
    before = rows(project, conversation)
    known = {path: row.content for path, row in before.items() if row.content and row.in_context}
    for path, shown in _texts(project, noted):
        look = wanted.get(path)
        if look and known.get(path) != look.digest and (path not in known or shown.text == look.text):
            _note(project, conversation, look, shown)
    for path in {*_refused(project, noted)} & set(wanted):
        if path not in before or not before[path].refused:
            put(project, conversation, path, refused=True)


def _note(project: OpenProject, conversation: str, look: Look, shown: _Shown) -> None:
    content = _content(look, shown)
    if content:
        note(project, conversation, look.path, content)
        return
    lines, first = look.text.split("\n"), max(shown.first, 1)
    part = lines[first - 1 : first - 1 + shown.lines]
    if part and part == shown.text.split("\n")[: len(part)]:
        _note_part(project, conversation, look, (first, first + len(part) - 1), lines)


def _content(look: Look, shown: _Shown) -> str:
    """Return the SHA-256 of the whole content that was shown, the file's own if they are equal; empty for a part."""
    if shown.text == look.text:
        return look.digest
    return hashlib.sha256(shown.text.encode("utf-8", "replace")).hexdigest() if shown.whole else ""


def _note_part(
    project: OpenProject, conversation: str, look: Look, part: tuple[int, int], lines: Sequence[str]
) -> None:
    """Record that lines of a file were read. Once the parts together make up the file, it counts as read."""
    last = len(lines) - (lines[-1] == "")  # after the last line break there is nothing to read
    with project.ledger.transaction():
        row = rows(project, conversation).get(look.path)
        before = json.loads(row.parts) if row and row.parts else {}
        parts = _joined([*(before["lines"] if before.get("content") == look.digest else []), part])
        if parts[0][0] == 1 and parts[0][1] >= last:
            note(project, conversation, look.path, look.digest)
        else:
            seen = json.dumps({"content": look.digest, "lines": parts})
            put(project, conversation, look.path, parts=seen)


def _joined(parts: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return ranges of lines in order, with adjacent and overlapping ones joined."""
    joined: list[list[int]] = []
    for first, last in sorted((each[0], each[1]) for each in parts):
        if joined and first <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    return joined


def _texts(project: OpenProject, noted: Iterable[Noted]) -> Iterator[tuple[str, _Shown]]:
    """Yield the file texts that a transcript shows, each with the file's name in the ledger."""
    for each in noted:
        _, shown = _shown(each.value) if each.kind == "shown" else ("", None)
        place = each.value["file"].get("filePath") if shown else None
        path = name(project, place) if isinstance(place, str) else None
        if shown and path:
            yield path, shown._replace(cut=shown.cut or each.cut)


def _shown(response: Any) -> tuple[str, _Shown | None]:
    """Return the kind of a Read's result and, if it is text, what was shown."""
    response = response if isinstance(response, dict) else {}
    kind, file = str(response.get("type", "")), response.get("file")
    if kind != _TEXT or not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return kind, None
    first, count, total = (_number(file.get(each)) for each in ("startLine", "numLines", "totalLines"))
    cut = file.get("truncatedByTokenCap") is True
    return kind, _Shown(as_shown(file["content"]), first, count, total, cut)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _refused(project: OpenProject, noted: Iterable[Noted]) -> Iterator[str]:
    """Yield the names of files whose Read failed or was not permitted, which no PostToolUse reports."""
    for each in noted:
        path = name(project, each.value) if each.kind == "refused" else None
        if path:
            yield path
