"""Find out what a model was shown of files, from a Read's result and from results and attachments in a transcript.

The text that was shown is compared with the file on disk, so that content that changed since never counts as read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.sessions import conversations, reads
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from holdfast.clients.client import Noted
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Returned
    from holdfast.sessions.reads import Look

_TEXT = "text"
_OVERLAP_BYTES = 1 << 16  # bytes at the end of a search that the next one repeats: a Read's failure follows its call


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
    project, conversation = Workspace.at(event, context)
    place = event.tool_input.get("file_path")
    look = reads.look(project, place) if isinstance(place, str) else None
    if look is None or look.data is None:
        return
    kind, shown = _shown(event.tool_response)
    if shown:
        _note(project, conversation, look, shown)
    elif kind == "parts" or not (event.tool_input.get("offset") or event.tool_input.get("limit")):
        # Images, notebooks, a PDF or some of its pages (a long one can't be read at once), "unchanged since last read",
        # and whatever a newer client may return: the whole file was asked for, and the Read was not refused.
        reads.note(project, conversation, look.path, look.digest)


def settle(project: OpenProject, conversation: str, looks: Iterable[Look]) -> bool:
    """Note what the transcript shows of some files and no PostToolUse reported.

    The client writes a compaction's boundary, and the files that it attaches again, only after SessionStart(compact)
    was answered. Until then the transcript ends with the old context. By the next prompt they are there (observed with
    both clients).

    Returns:
        Whether the transcript shows the present context already, or there is none to wait for.
    """
    row = known = conversations.get(project, conversation)
    size = project.transcripts.size(row.transcript)
    wanted = {look.path: look for look in looks if look.data is not None}
    if not size or (not wanted and row.boundary is not None):
        return True
    # A new question must search the transcript from its beginning.
    question = json.dumps([row.transcript, *sorted([look.path, look.digest] for look in wanted.values())])
    sought = hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()
    if not wanted:  # the only question is whether the boundary is there
        since = max(row.size - 1, 0)
    else:
        searched = row.searched if sought == row.sought and row.searched <= size else 0
        since = max(searched - _OVERLAP_BYTES, 0)
    # A boundary that is awaited comes after the byte where the transcript ended at the compaction.
    read, files, awaited = project.transcripts, bool(wanted), row.size if row.boundary is None else None
    found = read.reading(row.transcript, awaited, since=since, files=files)
    if row.boundary is None and found.boundary is None and found.end - row.size > read.TAIL_BYTES:
        row = replace(row, boundary="")  # the announced boundary isn't awaited any longer
        found = read.reading(row.transcript, None, files=files)
    now = row
    if found.boundary not in (None, row.boundary):
        # A boundary that no event announced is a compaction too: SessionStart(compact) need not fire ([ISS 28305]).
        unannounced = found.boundaries - 1 if row.boundary is None else 1
        now = replace(row, compactions=row.compactions + unannounced, boundary=found.boundary)
    if wanted:
        now = replace(now, searched=found.end, sought=sought)
    if now != known:
        names = ("compactions", "boundary", "searched", "sought")
        conversations.change(project, conversation, **{name: getattr(now, name) for name in names})
    if wanted:
        _take_over(project, conversation, wanted, found.present)
    return now.boundary is not None


def _take_over(project: OpenProject, conversation: str, wanted: Mapping[str, Look], noted: Sequence[Noted]) -> None:
    """Note what the present context holds. A content that an event reported beats a different one found here."""
    now = conversations.get(project, conversation).compactions
    rows = reads.rows(project, conversation).items()
    known = {path for path, row in rows if row.content and row.compaction == now}
    for path, shown in _texts(project, noted):
        look = wanted.get(path)
        if look and (path not in known or shown.text == look.text):
            _note(project, conversation, look, shown)
    for path in {*_refused(project, noted)} & set(wanted):
        reads.put(project, conversation, path, refused=now)


def _note(project: OpenProject, conversation: str, look: Look, shown: _Shown) -> None:
    content = _content(look, shown)
    if content:
        reads.note(project, conversation, look.path, content)
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
    """Note that lines of a file were read. Once the parts together make up the file, it counts as read."""
    last = len(lines) - (lines[-1] == "")  # after the last line break there is nothing to read
    with project.ledger.transaction():
        now = conversations.get(project, conversation).compactions
        row = reads.rows(project, conversation).get(look.path)
        before = json.loads(row.parts) if row and row.parts else {}
        same = (before.get("content"), before.get("compaction")) == (look.digest, now)
        parts = _joined([*(before["lines"] if same else []), part])
        if parts[0][0] == 1 and parts[0][1] >= last:
            reads.note(project, conversation, look.path, look.digest)
        else:
            told = json.dumps({"content": look.digest, "compaction": now, "lines": parts})
            reads.put(project, conversation, look.path, parts=told)


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
        path = reads.name(project, place) if isinstance(place, str) else None
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
    return kind, _Shown(reads.as_shown(file["content"]), first, count, total, cut)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _refused(project: OpenProject, noted: Iterable[Noted]) -> Iterator[str]:
    """Yield the names of files whose Read failed or was not permitted, which no PostToolUse reports."""
    for each in noted:
        path = reads.name(project, each.value) if each.kind == "refused" else None
        if path:
            yield path
