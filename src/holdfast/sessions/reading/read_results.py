"""Find out what a model was shown of files, from a Read's result and from results and attachments in a transcript.

The text that was shown is compared with the file on disk, so that content that changed since never counts as read.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.sessions.ownership import sessions
from holdfast.sessions.reading import file_contents, reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from holdfast.clients.client import Noted
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Returned
    from holdfast.sessions.reading.file_contents import Look
    from holdfast.sessions.reading.reads import How

_TEXT = "text"
_OVERLAP_BYTES = 1 << 16  # bytes at the end of a search that the next one repeats: a Read's failure follows its call


class _Shown(NamedTuple):
    """A text that the model was shown: `lines` lines of a file's `total`, beginning with line `first`."""

    text: str
    first: int
    lines: int
    total: int
    cut: bool
    how: How = "read"

    @property
    def whole(self) -> bool:
        return not self.cut and self.first <= 1 and self.lines >= self.total > 0


def note_read(event: Returned, context: Context) -> None:
    """Note what the model read with a Read.

    Args:
        event: the `PostToolUse` of a Read in the main conversation. The main model doesn't see what a subagent reads.
        context: its context.
    """
    heard(context.project, event.session_id, event.tool_input, event.tool_response)


def heard(project: OpenProject, session: str, tool_input: Mapping[str, Any], response: Any) -> None:
    """Note what a successful Read brought (PostToolUse), whatever its form.

    A part of a file counts once it completes the file together with other parts read since the last compaction.
    """
    place = tool_input.get("file_path")
    look = file_contents.look(project, place) if isinstance(place, str) else None
    if look is None or look.data is None:
        return
    kind, shown = _shown(response)
    if shown:
        _note(project, session, look, shown)
    elif kind == "parts" or not (tool_input.get("offset") or tool_input.get("limit")):
        # Images, notebooks, a PDF or some of its pages (a long one can't be read at once), "unchanged since last read",
        # and whatever a newer client may return: the whole file was asked for, and the Read was not refused.
        reads.note(project, session, look.path, look.digest)


def settle(project: OpenProject, session: str, looks: Iterable[Look]) -> bool:
    """Note what the transcript shows of some files and no PostToolUse reported.

    The client writes a compaction's boundary, and the files that it attaches again, only after SessionStart(compact)
    was answered. Until then the transcript ends with the old context. By the next prompt they are there (observed with
    both clients).

    Returns:
        Whether the transcript shows the present context already, or there is none to wait for.
    """
    path = sessions.transcript(project, session)
    size = project.transcripts.size(path)
    if not size:
        return True
    wanted = {look.path: look for look in looks if look.data is not None}
    reader = reads.reader(project, session)
    if not wanted:
        if reader.boundary is None:  # the only question is whether the boundary is there
            _divided(project, session, path, max(reader.size - 1, 0), files=False)
        return reads.reader(project, session).boundary is not None
    sought = _sought(path, wanted.values())
    known = reader.searched if sought == reader.sought and reader.searched <= size else 0
    gone, present, end = _divided(project, session, path, max(known - _OVERLAP_BYTES, 0))
    _take_over_gone(project, session, wanted, gone)
    _take_over(project, session, wanted, present)
    if (end, sought) != (reader.searched, reader.sought):
        reads.searched(project, session, end, sought)
    return reads.reader(project, session).boundary is not None


def _sought(path: str, wanted: Iterable[Look]) -> str:
    """Return a digest of what a transcript is searched for: a new question must search it from the beginning."""
    told = json.dumps([path, *sorted([look.path, look.digest] for look in wanted)])
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()


def _take_over_gone(project: OpenProject, session: str, wanted: Mapping[str, Look], noted: Iterable[Noted]) -> None:
    """Note what was read in earlier contexts, for files of which nothing is known yet."""
    known = {path for path, row in reads.rows(project, session).items() if row["content"]}
    for path, shown in _texts(project, noted):
        if path in wanted and path not in known and (content := _content(wanted[path], shown)):
            reads.put(project, session, path, content=content, how=shown.how, compaction=reads.GONE)


def _take_over(project: OpenProject, session: str, wanted: Mapping[str, Look], noted: Sequence[Noted]) -> None:
    """Note what the present context holds. A content that an event reported beats a different one found here."""
    now = reads.reader(project, session).compactions
    rows = reads.rows(project, session).items()
    known = {path for path, row in rows if row["content"] and row["compaction"] == now}
    for path, shown in _texts(project, noted):
        look = wanted.get(path)
        if look and (path not in known or shown.text == look.text):
            _note(project, session, look, shown)
    for path in {*_refused(project, noted)} & set(wanted):
        reads.put(project, session, path, refused=now)


def _note(project: OpenProject, session: str, look: Look, shown: _Shown) -> None:
    content = _content(look, shown)
    if content:
        reads.note(project, session, look.path, content, shown.how)
        return
    lines, first = look.text.split("\n"), max(shown.first, 1)
    part = lines[first - 1 : first - 1 + shown.lines]
    if part and part == shown.text.split("\n")[: len(part)]:
        _note_part(project, session, look, shown.how, (first, first + len(part) - 1), lines)


def _content(look: Look, shown: _Shown) -> str:
    """Return the SHA-256 of the whole content that was shown, the file's own if they are equal; empty for a part."""
    if shown.text == look.text:
        return look.digest
    return hashlib.sha256(shown.text.encode("utf-8", "replace")).hexdigest() if shown.whole else ""


def _note_part(
    project: OpenProject, session: str, look: Look, how: How, part: tuple[int, int], lines: Sequence[str]
) -> None:
    """Note that lines of a file were read. Once the parts together make up the file, it counts as read."""
    last = len(lines) - (lines[-1] == "")  # after the last line break there is nothing to read
    with project.ledger.transaction():
        now = reads.reader(project, session).compactions
        row = reads.rows(project, session).get(look.path)
        before = json.loads(row["parts"]) if row and row["parts"] else {}
        same = (before.get("content"), before.get("compaction")) == (look.digest, now)
        parts = _joined([*(before["lines"] if same else []), part])
        if parts[0][0] == 1 and parts[0][1] >= last:
            reads.note(project, session, look.path, look.digest, how)
        else:
            told = json.dumps({"content": look.digest, "compaction": now, "lines": parts})
            reads.put(project, session, look.path, parts=told)


def _joined(parts: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return ranges of lines in order, with adjacent and overlapping ones joined."""
    joined: list[list[int]] = []
    for first, last in sorted((each[0], each[1]) for each in parts):
        if joined and first <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    return joined


def _divided(
    project: OpenProject, session: str, path: str, since: int, *, files: bool = True
) -> tuple[Sequence[Noted], Sequence[Noted], int]:
    """Return what a transcript notes of earlier contexts, of the present one, and up to which byte it was read.

    Only what is noted from byte `since` on counts. A boundary that no event announced counts as a compaction too, since
    SessionStart(compact) need not fire ([ISS 28305]). If an announced boundary doesn't come within `TAIL_BYTES`, it is
    no longer awaited.
    """
    reader = reads.reader(project, session)
    # An unknown boundary is still to come, after the byte where the transcript ended at the compaction.
    at = 0 if reader.boundary is not None else reader.size
    before, after, end = project.transcripts.reading(path, at, since=since, files=files)
    noted, begun = [*before, *after], len(before)
    places = [place for place, each in enumerate(noted) if place >= begun and each.kind == "boundary"]
    if not places and reader.boundary is None:
        if end - reader.size <= project.transcripts.TAIL_BYTES:
            return noted, [], end
        reads.bounded(project, session, reader.compactions, "")
        return _divided(project, session, path, 0, files=files)
    if not places:
        return [], noted, end
    last = str(noted[places[-1]].value)
    if last != reader.boundary:
        unannounced = len(places) - 1 if reader.boundary is None else 1
        reads.bounded(project, session, reader.compactions + unannounced, last)
    return noted[: places[-1]], noted[places[-1] + 1 :], end


def _texts(project: OpenProject, noted: Iterable[Noted]) -> Iterator[tuple[str, _Shown]]:
    """Yield the file texts that a transcript shows, each with the file's name in the ledger."""
    for each in noted:
        _, shown = _shown(each.value) if each.kind == "shown" else ("", None)
        place = each.value["file"].get("filePath") if shown else None
        path = file_contents.name(project, place) if isinstance(place, str) else None
        if shown and path:
            yield path, shown._replace(how="attached" if each.attached else "read", cut=shown.cut or each.cut)


def _shown(response: Any) -> tuple[str, _Shown | None]:
    """Return the kind of a Read's result and, if it is text, what was shown."""
    response = response if isinstance(response, dict) else {}
    kind, file = str(response.get("type", "")), response.get("file")
    if kind != _TEXT or not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return kind, None
    first, count, total = (_number(file.get(each)) for each in ("startLine", "numLines", "totalLines"))
    cut = file.get("truncatedByTokenCap") is True
    return kind, _Shown(file_contents.as_shown(file["content"]), first, count, total, cut)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _refused(project: OpenProject, noted: Iterable[Noted]) -> Iterator[str]:
    """Yield the names of files whose Read failed or was not permitted, which no PostToolUse reports."""
    for each in noted:
        path = file_contents.name(project, each.value) if each.kind == "refused" else None
        if path:
            yield path
