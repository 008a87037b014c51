"""Detection method 1: the workflow that CLAUDE.local.md names (R001-21)."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from holdfast.formats.compaction.detection import plan_phases
from holdfast.formats.compaction.detection.extract import NEXT_STEP, Candidate, Extract
from holdfast.workflow import markdown, statuses, text_file
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.workflow.markdown import Line

FILE = "CLAUDE.local.md"

_MARKERS = ("workflow state", "current workflow state", "active workflow state")
_TOPICS = {
    "required reading": "reading",
    "reading": "reading",
    "key reminders": "reminders",
    "reminders": "reminders",
    "context": "context",
    "context variables": "context",
}
WORDS = {
    "not_started": "not_started",
    "in_progress": "in_progress",
    "active": "in_progress",
    "blocked": "blocked",
    "completed": "completed",
}  # words of `statuses` -> words of R001-07
_OWN = ("not_started", "in_progress", "blocked", "completed")  # the document's own words
_EXAMPLES = frozenset({"example", "examples", "template", "templates"})
_OVER = ("completed", "dropped")
_NOTHING = re.compile(
    r"\W*(?:(?:null|n/?a|tbd|todo|idle|unknown)\W*|(?:none|nothing|no (?:\w+ )?workflow)\b(?!-).*)?"
    r"|see .*(?:above|below|\.md).*|[*_`\"']*[<\[{$].*[>\]}][*_`\"']*"
    r"|.*(?:~~|(?:[|*_·]|\s\s)\W*(?:phase|status)\b\W*:).*",
    re.IGNORECASE,
)  # also a reference elsewhere, a placeholder, what is struck through, and several fields on a line
_PATH = re.compile(r"[\w~.-]*[./][\w./~-]*\w")
_PAIR = re.compile(r"[*_`]{0,3}(\w[\w .-]{0,80}?)[*_`]{0,3}\s*[:=][*_`]{0,3}\s*(.+)")


@dataclass(frozen=True, slots=True)
class Block:
    """The section of a memory file that names a workflow.

    Attributes:
        name: the workflow's name.
        lines: the section's lines, with those of the sections for its reading, reminders and context.
        is_marked: whether it is under a heading "Workflow State".
        phase: the value of a `Phase:` line near the name, which only fields and lists separate from it; or empty.
        status: the status in the workflow's own words; empty for none.
        ending: what says that the workflow is over as a whole; empty for nothing.
        is_over: whether it is over as a whole or in its current phase.
    """

    name: str
    lines: list[Line]
    is_marked: bool
    phase: str
    status: str
    ending: str
    is_over: bool


def look(path: Path) -> Candidate:
    """Return the workflow that the memory file at `path` describes, and why it counts or not.

    It needs a `Workflow:` line with a value, and either a heading "Workflow State" above it or a `Phase:` line beside
    it, with only fields and lists between the two (I001-2). Of several workflows, the first that is not over counts,
    and one under such a heading before all others.
    """
    try:
        memory = text_file.read(path, path.parent)
    except OSError as error:
        return Candidate(path, f"cannot be read: {error.strerror or error}")
    if memory is None:
        return Candidate(path, "does not exist")
    named = sorted(blocks(memory.text), key=lambda block: not block.is_marked)
    block = next((block for block in named if not block.is_over), named[0] if named else None)
    if block is None:
        return Candidate(path, f"{_why_none(memory.text)}{memory.cut}")
    if block.ending:
        reason = f"names the workflow {quoted(block.name)}, but its status is {quoted(block.ending)}"
        return Candidate(path, reason)
    marks = ['a heading "Workflow State"'] if block.is_marked else []
    marks += ['a "Phase:" line'] if block.phase else []
    unread = "" if memory.whole else f"only its first {text_file.LIMIT_BYTES // 1024} KB were read. Shorten it"
    extract = replace(_extract(block, path, memory.mtime), unread=unread)
    warnings = [*_impossible(extract), *filter(None, (unread,))]
    for other in named:
        if other is not block:
            word = "again" if other.name == block.name else "also"
            why = "the first that is not over counts"
            if block.is_marked and not other.is_marked:
                why = 'one under a heading "Workflow State" comes first'
            warnings.append(f"{word} names the workflow {quoted(other.name)}, which is not used: {why}")
    reason = f"names the workflow {quoted(block.name)} and has {' and '.join(marks)}"
    return Candidate(path, reason, extract, tuple(warnings))


def blocks(text: str) -> Iterator[Block]:
    """Yield the sections of a memory file that name a workflow, in the file's order. Examples don't count."""
    lines = markdown.lines(text)
    heads = [at for at, line in enumerate(lines) if line.kind == "heading" and _topic(line) is None]
    example = 0  # the level of the heading of an example that the section is in
    for start, end in zip([-1, *heads], [*heads, len(lines)], strict=True):
        title, depth = (lines[start].text, lines[start].depth) if start >= 0 else ("", 0)
        section = lines[start + 1 : end]
        if not example or depth <= example:
            example = 0 if _EXAMPLES.isdisjoint(markdown.words(title)) else depth
        named = (at for at, line in enumerate(section) if not _is_why_none(_value(line, "workflow")))
        at = None if example else next(named, None)
        if at is None:
            continue
        is_marked = markdown.name(title) in _MARKERS
        phase = _phase(section) if is_marked else _phase(_beside(section, at))
        if is_marked or phase:
            status, whole = _first(section, "status"), _first(section, "workflow status")
            value = _value(section[at], "workflow")
            name, mark = statuses.split_mark(value)
            if mark not in _OVER or not value.startswith(name):
                name, mark = value, None
            ending = next((each for each in (mark or "", whole) if statuses.opening(each) in _OVER), "")
            if statuses.opening(status) == "dropped":
                ending = status
            is_over = bool(ending) or statuses.opening(status) == "completed"
            yield Block(name, section, is_marked, phase, status, ending, is_over)


def _extract(block: Block, path: Path, mtime: float) -> Extract:
    number, total, title = plan_phases.position(block.phase) if block.phase else (None, None, None)
    label = plan_phases.counted(block.phase)[0] if block.phase else None
    if total is None and label and not label.isdecimal():
        number = None  # nothing tells which number a phase 3A has
    unmarked, mark = statuses.split_mark(title or "")
    title, mark = (unmarked, mark) if mark in ("in_progress", "completed") else (title or "", None)
    own = _own(title, counted=number is not None)
    topics = list(_by_topic(block.lines))
    next_step = _first(block.lines, "next step", "next action")
    context = dict(pair for topic, line in topics if topic == "context" and (pair := _pair(line.text)))
    return Extract(
        name=block.name,
        current=number,
        total=total,
        phase=None if own else title or None,
        status=state(block.status) or WORDS.get(mark or "") or own,
        kind=_first(block.lines, "type", "workflow type", "workflow_type") or None,
        reading=tuple(dict.fromkeys(entry for topic, line in topics for entry in _entries(line, topic))),
        reminders=tuple(dict.fromkeys(markdown.plain(line.text) for topic, line in topics if topic == "reminders")),
        context=context | ({NEXT_STEP: {str(max(number or 1, 1)): next_step}} if next_step else {}),
        source=path,
        mtime=mtime,
    )


def state(status: str) -> str | None:
    """Return the word of R001-07 that a status line means, or None."""
    return "in_progress" if statuses.in_progress(status) else WORDS.get(statuses.opening(status) or "")


def _impossible(extract: Extract) -> Iterator[str]:
    """Yield faults in the phase numbers (I001-17)."""
    current, total = extract.current, extract.total
    if current is not None and total is not None and current > total:
        taken = max(total, 1)
        yield f'phase {current} is beyond the total of {total}; {taken} is taken instead. Correct its "Phase:" line'
    elif current == 0:
        yield 'phase 0 is before the first; 1 is taken instead. Correct its "Phase:" line'


def _why_none(text: str) -> str:
    """Say why a text names no workflow."""
    lines = markdown.lines(text)
    values = [field.value for line in lines if (field := markdown.field(line.raw)) and field.words == "workflow"]
    if name := next((value for value in values if not _is_why_none(value)), ""):
        return (
            f'has a line "Workflow: {name[:80]}", but neither a heading "Workflow State" above it nor a "Phase:" line '
            "beside it that names a phase"
        )
    if value := next(filter(None, values), ""):
        return f'has a line "Workflow: {value[:80]}", which names no workflow'
    return 'has no name in its line "Workflow:"' if values else 'has no line "Workflow: NAME"'


def _value(line: Line, *labels: str) -> str:
    """Return the value of a line with one of some labels; empty for any other line."""
    field = markdown.field(line.raw) if line.kind != "heading" else None
    return field.value if field and field.words in labels else ""


def _first(lines: list[Line], *labels: str) -> str:
    return next((value for line in lines if (value := _value(line, *labels))), "")


def _phase(lines: list[Line]) -> str:
    """Return the first value of a `Phase:` line that names a phase; empty for none."""
    fields = (markdown.field(line.raw) for line in lines if "phase" in line.raw.lower() and line.kind != "heading")
    values = (field.value for field in fields if field and plan_phases.is_current(field))
    return next((value for value in values if not _is_why_none(value)), "")


def _beside(lines: list[Line], at: int) -> list[Line]:
    """Return the lines around one, up to a heading or to text that is neither a field nor in a list."""
    above = takewhile(_is_field, reversed(lines[:at]))
    return [*reversed(list(above)), *takewhile(_is_field, lines[at:])]


def _is_field(line: Line) -> bool:
    if line.kind in ("blank", "item") or markdown.entries(line.raw):
        return True
    field = markdown.field(line.raw) if line.kind != "heading" else None
    return field is not None and len(field.words) < 42 and re.fullmatch(r"[\w /-]+", field.words) is not None


def _is_why_none(value: str) -> bool:
    """Return whether a value says that there is nothing, refers elsewhere, or is a placeholder."""
    return _NOTHING.fullmatch(value[:300]) is not None


def _topic(line: Line) -> str | None:
    """Return the topic that a heading or a label on a line of its own announces, or None."""
    if line.kind == "heading":
        return _TOPICS.get(markdown.name(line.text))
    field = markdown.field(line.raw)
    return _TOPICS.get(field.words) if field else None


def _by_topic(lines: list[Line]) -> Iterator[tuple[str, Line]]:
    """Yield each line with the topic of the list that it is in; empty for none."""
    topic = ""
    for line in lines:
        announced = _topic(line)
        if announced or line.kind not in ("blank", "item"):
            topic = announced or ""
        yield topic if line.kind == "item" and not announced else "", line


def _entries(line: Line, topic: str) -> list[str]:
    """Return the required reading on a line. In a list of reading, a path needs no `@`."""
    bare = markdown.plain(line.text)
    return markdown.entries(line.raw) or ([f"@{bare}"] if topic == "reading" and _PATH.fullmatch(bare) else [])


def _pair(text: str) -> tuple[str, Any] | None:
    """Return key and value of a context variable; a number, true, false or null as such."""
    match = _PAIR.fullmatch(text)
    if match is None:
        return None
    value: Any = markdown.plain(match[2])
    with suppress(ValueError):
        value = json.loads(value) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?|true|false|null", value) else value
    return match[1].strip(), value


def _own(title: str, *, counted: bool) -> str | None:
    """Return the word of R001-07 if a title is only a status, else None.

    After a number, only the document's own status words count: "1/3 - New" and "2/5 - Paused" are phases like any
    other.
    """
    if not counted:
        return WORDS.get(statuses.pure(title) or "")
    letters = "".join(each for each in title[:100].lower() if each.isalnum())
    return next((word for word in _OWN if word.replace("_", "") == letters), None)
