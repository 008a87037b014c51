"""Detection method 1: the workflow that CLAUDE.local.md names (R001-21)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from holdfast.workflow import memoryblocks, memoryphases, prose, statuses
from holdfast.workflow.extract import Candidate, Extract
from holdfast.workflow.memoryphases import position
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.workflow.memoryblocks import Block, Line

__all__ = ["FILE", "look", "parse", "position", "state"]

FILE = "CLAUDE.local.md"

_BARE_PATH = re.compile(r"[\w.~/-]*[./][\w./-]*\w")
_PAIR = re.compile(r"[*_`]{0,3}(\w[\w .-]{0,80}?)[*_`]{0,3}\s*[:=][*_`]{0,3}\s*(.+)")


def look(path: Path) -> tuple[Candidate, Extract | None]:
    """Return what the memory file at `path` says, and why that counts or not."""
    try:
        found = prose.read(path)
    except OSError as error:
        return _candidate(path, f"cannot be read: {error.strerror or error}", notable=True), None
    if found is None:
        return _candidate(path, "does not exist"), None
    block = memoryblocks.find(found.text)
    extract = block if isinstance(block, str) else _extract(block, path, found.mtime)
    if isinstance(block, str) or isinstance(extract, str):
        cut = "" if found.whole else f" (its first {prose.LIMIT // 1024} KB were read)"
        return _candidate(path, f"{extract}{cut}", found.mtime), None
    marks = ['a heading "Workflow State"'] if block.marked else []
    marks += ['a "Phase:" line'] if memoryphases.is_said(block.texts) else []
    reason = f"names the workflow {quoted(extract.name)} and has {' and '.join(marks)}"
    return _candidate(path, reason, found.mtime, accepted=True), extract


def parse(text: str, path: Path, mtime: float) -> Extract | str:
    """Return the extract of a memory file's text, or the reason why there is none.

    A `Workflow:` line with a value is required, and beside it a heading "Workflow State" above or a `Phase:` line in
    the same section (I001-2).
    """
    block = memoryblocks.find(text)
    return block if isinstance(block, str) else _extract(block, path, mtime)


def state(text: str) -> str | None:
    """Return the word of R001-07 that a status line means, or None."""
    return "in_progress" if statuses.in_progress(text) else memoryphases.WORDS.get(statuses.word(text) or "")


def _extract(block: Block, path: Path, mtime: float) -> Extract | str:
    if statuses.opening(block.status) == "dropped":
        return f"names the workflow {quoted(block.name)}, but its status is {quoted(block.status)}"
    place = memoryphases.place(block.texts)
    name, over = memoryphases.unmarked(block.name)
    word = state(block.status) or over or place.word
    whole = over or prose.first(memoryblocks.WHOLE_STATUS, block.texts)
    return Extract(
        name=name,
        # Where the workflow is over, it is, whatever phase was noted last.
        current=(place.total or place.number) if whole and word == "completed" else place.number,
        total=place.total,
        phase=place.title,
        status=word,
        kind=prose.first(memoryblocks.KIND, block.texts),
        reading=_readings(block.lines),
        reminders=tuple(dict.fromkeys(_items(block.lines, "reminders"))),
        context=dict(pair for text in _items(block.lines, "context") if (pair := _pair(text))),
        source=path,
        mtime=mtime,
    )


def _items(lines: Iterable[Line], topic: str) -> list[str]:
    """Return the list items of a topic, and what stands on the line that names it."""
    found = []
    for line in lines:
        if line.topic == topic:
            named = prose.value(memoryblocks.TOPIC, line.text)
            text = prose.item(line.text) if named is None else named
            if text:
                found.append(prose.plain(text))
    return found


def _readings(lines: Iterable[Line]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in lines:
        bare = prose.plain(prose.item(line.text) or "") if line.topic == "reading" else ""
        named = prose.entries(line.text) or ([f"@{bare}"] if _BARE_PATH.fullmatch(bare[:500]) else [])
        found.update(dict.fromkeys(named))
    return tuple(found)


def _pair(text: str) -> tuple[str, Any] | None:
    match = _PAIR.fullmatch(text)
    return (match[1].strip(), _scalar(prose.plain(match[2]))) if match else None


def _scalar(text: str) -> Any:
    """Return a number, true, false or null as such and anything else as text."""
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?|true|false|null", text):
        return json.loads(text)
    return text


def _candidate(
    path: Path, reason: str, mtime: float = 0.0, *, accepted: bool = False, notable: bool = False
) -> Candidate:
    return Candidate(path, "CLAUDE.local.md", accepted, (reason,), mtime, notable)
