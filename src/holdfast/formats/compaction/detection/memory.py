"""Detection method 1: the workflow that CLAUDE.local.md names (R001-21)."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from holdfast.formats.compaction.detection import memoryblocks, memoryphases
from holdfast.formats.compaction.detection.extract import NEXT_STEP, Candidate, Extract
from holdfast.formats.compaction.detection.memoryphases import position
from holdfast.workflow import markdown, prose, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from holdfast.formats.compaction.detection.memoryblocks import Block
    from holdfast.formats.compaction.detection.memoryphases import Note, Place

__all__ = ["FILE", "look", "position", "state"]

FILE = "CLAUDE.local.md"

_IN_QUOTES = re.compile(r"@?([\"'])(?P<path>[^\"'@]*[./][^\"'@]*)\1")
_REMARK = re.compile(r"\s+(?:[(–—]|-\s).*")
_WORDS = 8  # the most words of a path with spaces
_PAIR = re.compile(r"[*_`]{0,3}(\w[\w .-]{0,80}?)[*_`]{0,3}\s*[:=][*_`]{0,3}\s*(.+)")


def look(path: Path) -> tuple[Candidate, Extract | None]:
    """Return what the memory file at `path` says, and why that counts or not.

    It needs a `Workflow:` line with a value, and either a heading "Workflow State" above it or a `Phase:` line beside
    it, with only fields and lists between the two (I001-2).
    """
    try:
        found = prose.read(path, path.parent)
    except OSError as error:
        return _candidate(path, f"cannot be read: {error.strerror or error}", notable=True), None
    if found is None:
        return _candidate(path, "does not exist"), None
    block, others = memoryblocks.find(found.text)
    extract = block if isinstance(block, str) else _extract(block, path, found.mtime)
    unused = () if isinstance(block, str) else tuple(_unused(other, block) for other in others)
    if isinstance(block, str) or isinstance(extract, str):
        cut = "" if found.whole else f" (its first {prose.LIMIT_BYTES // 1024} KB were read)"
        return _candidate(path, f"{extract}{cut}", found.mtime, warnings=unused), None
    marks = ['a heading "Workflow State"'] if block.marked else []
    marks += ['a "Phase:" line'] if memoryphases.is_said(block.notes) else []
    reason = f"names the workflow {quoted(extract.name)} and has {' and '.join(marks)}"
    unread = _unread(block, whole=found.whole)
    warnings = (*_beyond(extract), *filter(None, (unread,)), *unused)
    return _candidate(path, reason, found.mtime, accepted=True, warnings=warnings), replace(extract, unread=unread)


def state(text: str) -> str | None:
    """Return the word of R001-07 that a status line means, or None."""
    return "in_progress" if statuses.in_progress(text) else memoryphases.WORDS.get(statuses.word(text) or "")


def _extract(block: Block, path: Path, mtime: float) -> Extract | str:
    if statuses.opening(block.status) == "dropped":
        return f"names the workflow {quoted(block.name)}, but its status is {quoted(block.status)}"
    place = memoryphases.place(block.notes, block.status)
    name, over = memoryphases.unmarked(block.name)
    word = state(block.status) or over or place.word
    whole = over or memoryphases.first(block.notes, "whole status")
    return Extract(
        name=name,
        # If the whole workflow is completed, its last phase counts, whatever phase was noted last.
        current=(place.total or place.number) if whole and word == "completed" else place.number,
        total=place.total,
        phase=place.title,
        status=word,
        kind=memoryphases.first(block.notes, "kind") or None,
        reading=_readings(block.notes),
        reminders=tuple(dict.fromkeys(_items(block.notes, "reminders"))),
        context=dict(pair for text in _items(block.notes, "context") if (pair := _pair(text)))
        | _next_step(block, place),
        source=path,
        mtime=mtime,
    )


def _next_step(block: Block, place: Place) -> dict[str, Any]:
    """Return the context with the next step of the current phase, by its number, so that it ends with that phase."""
    text = memoryphases.first(block.notes, "next")
    return {NEXT_STEP: {str(max(place.number or 1, 1)): text}} if text else {}


def _beyond(extract: Extract) -> Iterator[str]:
    """Yield what is wrong with the phase numbers (I001-17)."""
    current, total = extract.current, extract.total
    if current is not None and total is not None and current > total:
        taken = max(total, 1)
        yield f'phase {current} is beyond the total of {total}; {taken} is taken instead. Correct its "Phase:" line'
    elif current == 0:
        yield 'phase 0 is before the first; 1 is taken instead. Correct its "Phase:" line'


def _unread(block: Block, *, whole: bool) -> str:
    """Say which part of the notes was not read, so that no required reading is dropped silently; else empty."""
    if block.cut:
        return f"only {len(block.notes):,} lines of its notes were read. Shorten them"
    return "" if whole else f"only its first {prose.LIMIT_BYTES // 1024} KB were read. Shorten it"


def _unused(other: Block, used: Block) -> str:
    """Say why another block of the file is not the workflow (I001-2)."""
    if not other.name:
        return 'another heading "Workflow State" names no workflow; what stands below it is not used'
    words = (
        f"{'again' if other.name == used.name else 'also'} names the workflow {quoted(other.name)}, which is not used"
    )
    if memoryblocks.is_over(other):
        return f"{words}: it is over by what stands there"
    if other.at < used.at:
        return f'{words}: one under a heading "Workflow State" comes first'
    return f"{words}: the first that is not over counts"


def _items(notes: Iterable[Note], topic: str) -> list[str]:
    """Return the list items of a topic, and the value on the line that names it."""
    of = [note for note in notes if note.topic == topic]
    texts = [note.value if note.meaning == "topic" else _item(note) for note in of]
    return [markdown.plain(text) for text in texts if text]


def _item(note: Note) -> str:
    return note.line.text if note.line.kind == "item" else ""


def _readings(notes: Iterable[Note]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for note in notes:
        is_list = note.topic == "reading"
        bare = markdown.plain(_item(note)) if is_list else ""
        named = markdown.entries(note.line.raw) or ([f"@{bare}"] if _is_path(bare) else [])
        whole = _spaced(markdown.plain(_item(note) or note.line.raw)[:500], unmarked=is_list)
        found.update(dict.fromkeys([whole] if whole else named))
    return tuple(found)


def _is_path(text: str) -> bool:
    """Return whether a text is a path of letters, digits and a few signs, with a dot or a slash in it."""
    signs = {sign for sign in text[:500] if not sign.isalnum()}
    return bool(signs & {".", "/"}) and signs <= set("./~-_") and (text[-1].isalnum() or text[-1] == "_")


def _spaced(text: str, *, unmarked: bool) -> str | None:
    """Return the reading entry that a whole line is, if its path has spaces in it; else None.

    With `unmarked` it may lack its `@`. The path may be in quotes, have backslashes before its spaces, and be followed
    by a remark.
    """
    if match := _IN_QUOTES.fullmatch(text):
        return f"@{match['path'].strip()}" if unmarked or text[0] == "@" else None
    path = _REMARK.sub("", text).replace("\\ ", " ")
    first, *others = path.removeprefix("@").split(" ")
    if not others or len(others) >= _WORDS or not (path[0] == "@" or (unmarked and "/" in first)):
        return None
    if first[-1:] in ("", "/") or any(sign in path[1:] for sign in "@,;:()[]`") or not all(others):
        return None
    ended = [_is_ended(word) for word in (first, *others)]
    return f"@{path.removeprefix('@')}" if ended[-1] and not any(ended[:-1]) else None


def _is_ended(word: str) -> bool:
    """Return whether a word ends like a file name."""
    dotted = any(dot == "." and sign.isascii() and sign.isalpha() for dot, sign in pairwise(word[-9:]))
    return dotted and not word.endswith("/")


def _pair(text: str) -> tuple[str, Any] | None:
    match = _PAIR.fullmatch(text)
    return (match[1].strip(), _scalar(markdown.plain(match[2]))) if match else None


def _scalar(text: str) -> Any:
    """Return a number (up to 15 digits on either side of the point), true, false or null as such, and else the text."""
    is_number = set(text) <= set("-.0123456789") and all(len(part) < 16 for part in text.lstrip("-").split("."))
    with suppress(ValueError):
        return json.loads(text) if is_number or text in ("true", "false", "null") else text
    return text


def _candidate(
    path: Path,
    reason: str,
    mtime: float = 0.0,
    *,
    accepted: bool = False,
    notable: bool = False,
    warnings: tuple[str, ...] = (),
) -> Candidate:
    return Candidate(path, "CLAUDE.local.md", accepted, (reason,), mtime, notable, warnings=warnings)
