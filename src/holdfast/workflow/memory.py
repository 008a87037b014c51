"""Detection method 1: the workflow that CLAUDE.local.md names (R001-21)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.workflow import prose
from holdfast.workflow.extract import Candidate, Extract

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE = "CLAUDE.local.md"

_WORKFLOW = prose.label(r"(?:(?:current|active)\s+)?workflow(?:\s+name)?")
_PHASE = prose.label(r"(?:current\s+)?phase(?:\s+(?P<count>\d{1,9}(?:\s*/\s*\d{1,9})?))?")
_STATUS = prose.label(r"(?:(?:phase|workflow)\s+)?status")
_KIND = prose.label(r"(?:workflow[ _])?type")
_MARKER = re.compile(r"\bworkflow\s+state\b", re.IGNORECASE)
_BARE_MARKER = re.compile(r"(?:(?:current|active)\s+)?workflow\s+state\s*:?", re.IGNORECASE)
_COUNT = re.compile(r"(?:phase\s+)?(\d{1,9})(?:\s*(?:/|of)\s*(\d{1,9}))?(?:\s*[-–—:.)]+\s*|\s+|$)(.*)", re.IGNORECASE)
_READING = re.compile(r"(?:(?<=[\s,(\[`*])|^)@[^\s,;`()\[\]]*[\w/*]")
_BARE_PATH = re.compile(r"[\w.~/-]*[./][\w./-]*\w")
_PAIR = re.compile(r"[*_`]{0,3}(\w[\w .-]{0,80}?)[*_`]{0,3}\s*[:=][*_`]{0,3}\s*(.+)")
_TOPICS = (
    ("reading", re.compile(r"\bread(?:ing|s)?\b", re.IGNORECASE)),
    ("reminders", re.compile(r"\breminders?\b", re.IGNORECASE)),
    ("context", re.compile(r"\bcontext\b", re.IGNORECASE)),
)
_TOPIC = prose.label(r"(?:(?:required|key|workflow)\s+)?(?P<topic>reading|reminders?|context)(?:\s+variables)?")
_STATES = (
    ("not_started", re.compile(r"not[ _-]?started|\bpending\b", re.IGNORECASE)),
    ("blocked", re.compile(r"\bblocked\b", re.IGNORECASE)),
    ("in_progress", re.compile(r"in[ _-]?progress|\bactive\b", re.IGNORECASE)),
    ("completed", re.compile(r"\b(?:completed?|done|finished)\b", re.IGNORECASE)),
)


class _Line(NamedTuple):
    """A line with the topic of the list it stands in: reading, reminders, context or nothing."""

    text: str
    topic: str


def look(path: Path) -> tuple[Candidate, Extract | None]:
    """Return what the memory file at `path` says, and why that counts or not."""
    try:
        found = prose.read(path)
    except OSError as error:
        return _candidate(path, f"cannot be read: {error.strerror or error}"), None
    if found is None:
        return _candidate(path, "does not exist"), None
    text, mtime = found
    extract = parse(text, path, mtime)
    if isinstance(extract, str):
        return _candidate(path, extract, mtime), None
    return _candidate(path, _why(text, extract), mtime, accepted=True), extract


def parse(text: str, path: Path, mtime: float) -> Extract | str:
    """Return the extract of a memory file's text, or the reason why there is none.

    A `Workflow:` line with a value is required, and beside it a heading "Workflow State" or a `Phase:` line (I001-2).
    """
    everything = prose.lines(text)
    marked, section = _section(everything)
    name = _value(_WORKFLOW, section) or _value(_WORKFLOW, [_Line(line, "") for line in everything])
    if not name:
        return 'has no line "Workflow: NAME"'
    phase = _phase(section)
    if not marked and phase is None:
        return 'has a "Workflow:" line, but neither a heading "Workflow State" nor a "Phase:" line'
    current, total, title = position(phase or "")
    return Extract(
        name=name,
        current=current,
        total=total,
        phase=title,
        status=state(_value(_STATUS, section) or ""),
        kind=_value(_KIND, section),
        reading=_readings(section),
        reminders=tuple(dict.fromkeys(_items(section, "reminders"))),
        context=dict(pair for text in _items(section, "context") if (pair := _pair(text))),
        source=path,
        mtime=mtime,
    )


def position(text: str) -> tuple[int | None, int | None, str | None]:
    """Return number, total and name from `4/10 - SEO Generation`; what is not said is None."""
    match = _COUNT.fullmatch(text)
    if not match:
        return None, None, text or None
    return int(match[1]), int(match[2]) if match[2] else None, prose.plain(match[3]) or None


def state(text: str) -> str | None:
    """Return the word of R001-07 that a status line means, or None."""
    return next((word for word, pattern in _STATES if pattern.search(text)), None)


def entries(line: str) -> list[str]:
    """Return the `@path` entries of a line; a path has a dot or a slash in it, so that `@alice` is none."""
    return [entry for entry in _READING.findall(line) if "/" in entry or "." in entry]


def _section(lines: Iterable[str]) -> tuple[bool, list[_Line]]:
    """Return whether there is a "Workflow State" marker, and the lines under it (all lines without one)."""
    everything, marked = list(lines), False
    start, level = 0, 0
    for index, line in enumerate(everything):
        title = prose.heading(line)
        if (title and _MARKER.search(title[1])) or _BARE_MARKER.fullmatch(prose.plain(line)):
            marked, start, level = True, index + 1, title[0] if title else 6
            break
    return marked, list(_topical(everything[start:], level))


def _topical(lines: Iterable[str], level: int) -> Iterable[_Line]:
    """Yield the lines with their topics, without other sections of the marker's heading level or above."""
    topic, inside = "", True
    for line in lines:
        title = prose.heading(line)
        if title:
            topic = next((name for name, pattern in _TOPICS if pattern.search(title[1])), "")
            inside = not level or title[0] > level or bool(topic)
        elif match := _TOPIC.match(line):
            topic = {"reminder": "reminders"}.get(word := match["topic"].lower(), word)
        elif line.strip() and not prose.item(line) and not entries(line):
            topic = ""
        if inside:
            yield _Line(line, topic)


def _value(pattern: re.Pattern[str], section: Iterable[_Line]) -> str | None:
    return next((value for line in section if (value := prose.value(pattern, line.text))), None)


def _phase(section: Iterable[_Line]) -> str | None:
    for line in section:
        if match := _PHASE.match(line.text):
            text = f"{match['count'] or ''} {prose.plain(match['value'])}".strip()
            if text:
                return text
    return None


def _items(section: Iterable[_Line], topic: str) -> list[str]:
    """Return the list items of a topic, and what stands on the line that names it."""
    found = []
    for line in section:
        if line.topic == topic:
            text = prose.value(_TOPIC, line.text) if _TOPIC.match(line.text) else prose.item(line.text)
            if text:
                found.append(prose.plain(text))
    return found


def _readings(section: Iterable[_Line]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in section:
        bare = prose.plain(prose.item(line.text) or "") if line.topic == "reading" else ""
        named = entries(line.text) or ([f"@{bare}"] if _BARE_PATH.fullmatch(bare[:500]) else [])
        found.update(dict.fromkeys(named))
    return tuple(found)


def _pair(text: str) -> tuple[str, Any] | None:
    match = _PAIR.fullmatch(text)
    return (match[1].strip(), _scalar(prose.plain(match[2]))) if match else None


def _why(text: str, extract: Extract) -> str:
    marked, section = _section(prose.lines(text))
    marks = ['a heading "Workflow State"'] if marked else []
    marks += ['a "Phase:" line'] if _phase(section) is not None else []
    return f'names the workflow "{extract.name}" and has {" and ".join(marks)}'


def _scalar(text: str) -> Any:
    """Return a number, true, false or null as such and anything else as text."""
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?|true|false|null", text):
        return json.loads(text)
    return text


def _candidate(path: Path, reason: str, mtime: float = 0.0, *, accepted: bool = False) -> Candidate:
    return Candidate(path, "CLAUDE.local.md", accepted, (reason,), mtime)
