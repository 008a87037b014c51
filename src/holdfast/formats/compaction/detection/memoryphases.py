"""Find the phase of the workflow in a memory file: the lines that name it (R001-21)."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast.frozen import NamedTuple
from holdfast.patterns import regex
from holdfast.workflow import markdown, statuses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.workflow.markdown import Field, Line

_FIELDS = {
    "workflow": "workflow, current workflow, active workflow"
    ", workflow name, current workflow name, active workflow name",
    "status": "status, current status, phase status",
    "whole status": "workflow status",
    "kind": "type, workflow type, workflow_type, workflowtype",
    "phase": "phase, current phase, active phase",
    "total": "phases, total phases, phases total, phases in total",
    "title": "phase name, phase title, current phase name, current phase title",
}
_MEANINGS = {words: meaning for meaning, several in _FIELDS.items() for words in several.split(", ")}
_OF = ("", "required", "key", "workflow")  # words that may come before a topic
_TOPICS = {"reading": "reading", "reminder": "reminders", "reminders": "reminders", "context": "context"}
LISTED = regex(
    r"\s*(?:>\s*)*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(?:#{1,6}\s+)?(?:\[(?P<box>[ xX✓✔])\]\s+)?"
    r"(?P<sign>[^\x00-\x7f\w]{0,4})\s*[*_`]{0,3}phase\s+#?(?P<number>\d{1,4})(?!\s*(?:/|of\b)|[.,]\d)[*_`]{0,3}\s*[:：.)–—-]*(?P<title>.*)",
    re.IGNORECASE,
)
_COUNT = regex(r"(?:phase\s+)?#?(\d{1,9})(?:\s*(?:/|of)\s*(\d{1,9}))?(?:\s*[-–—:.)]+\s*|\s+|$)(.*)", re.IGNORECASE)
_COUNT_BEHIND = regex(r"(.*\S)\s*[(\[](?:phase\s+)?(\d{1,9})\s*(?:/|of)\s*(\d{1,9})[)\]]", re.IGNORECASE)
_NOTHING = regex(
    r"[\s!-/:-@\[-`{-~–—…]*"
    r"|\W*(?:none|nothing|nil|null|n/?a|no|not applicable|unknown|tbd|todo|idle)\b\W*"
    r"(?:\b(?:an?|the|formal|active|current(?:ly)?|at|moment|right|now|yet|running|workflows?|is|are|in|progress|set"
    r"|started|selected|present)\b\W*){0,8}"
    r"|see\s+(?:also\s+)?(?:above|below|the\b.*|[@`\[]?[\w./-]+\.md.*)",
    re.IGNORECASE,
)
_PLACEHOLDER = regex(
    r"[*_`\"'\s]*(?:<[^<>]*>|\{+[^{}]*\}+|\$\{?\w+\}?|\.{3}|…|[xX]{3}|NAME"
    r"|\[(?:[^\[\]]*\b(?i:name|title|your|insert|fill|workflow|phase|tbd|todo|none)\b[^\[\]]*|[\s.…]*)\])[*_`\"'\s]*"
)
_HOLE = regex(r"\W{0,4}(?:\{[\w .-]+\}|<[\w .-]+>|\[[A-Za-z][\w .-]*\]|[XN])\s*(?:/|of\b)")
_POINTERS = ("←", "⬅", "👈", "<-")
_POINTED = frozenset(
    f"{who}{where}" for who in ("", "we are ", "you are ") for where in ("", "current", "here", "now", "in progress")
)  # words that may follow such an arrow
_MARK = regex(
    r"\s*(?:[✅✔🔄]\ufe0f?\s*(?P<sign>[A-Za-z _-]{0,20})"
    r"|[(\[]\s*[✅✔🔄]?\ufe0f?\s*(?P<word>in[\s_-]*progress|completed?|done|finished)\s*[)\]])$",
    re.IGNORECASE,
)
_OWN = ("not_started", "in_progress", "blocked", "completed")  # the document's own words
WORDS = {
    "not_started": "not_started",
    "in_progress": "in_progress",
    "active": "in_progress",
    "blocked": "blocked",
    "completed": "completed",
}  # words of `statuses` -> words of R001-07


class Note(NamedTuple):
    """A line of a memory file with its label and value.

    Attributes:
        line: the line.
        meaning: what its label stands for: a key of `_FIELDS`, "topic", or empty.
        value: the text after the label; in `Phase 2/3: Print` it includes the number.
        topic: `reading`, `reminders` or `context`, if the label announces such a list or the line is in it; else empty.
        is_field: whether the line has any label of a few words.
        listed: the match if the line is one of a list of phases, like `Phase 2: Print`.
    """

    line: Line
    meaning: str = ""
    value: str = ""
    topic: str = ""
    is_field: bool = False
    listed: re.Match[str] | None = None

    @property
    def is_label(self) -> bool:
        """Whether the line has a label of a workflow's notes, or is one of a list of phases."""
        return bool(self.meaning) or self.listed is not None


class Place(NamedTuple):
    """Number, total and name of the current phase, and its status as a word of R001-07; None for what isn't said."""

    number: int | None
    total: int | None
    title: str | None
    word: str | None


class _Phase(NamedTuple):
    """A phase of a list, with its status as a word of R001-07, if it has one."""

    number: int
    title: str
    word: str | None


def note(line: Line) -> Note:
    """Return a line with the meaning of its label."""
    listed = LISTED.fullmatch(line.raw[:1000]) if "phase" in line.raw.lower() else None
    field = markdown.field(line.raw)
    if field is None:
        return Note(line, listed=listed)
    meaning, value = _MEANINGS.get(field.words, ""), field.value
    of, _, number = field.words.partition("phase ")
    counted = _COUNT.fullmatch(number) if of in ("", "current ", "active ") else None
    if is_current(field):
        meaning = "phase"
    elif counted and not counted[3] and (of or counted[2]):
        meaning, value = "phase", f"{number.removeprefix('#')} {value}".strip()
    bare = field.words.removesuffix(" variables")
    of, _, word = bare.rpartition(" ")
    topic = _TOPICS.get(word, "") if of in _OF else ""
    is_field = len(field.words) < 42 and all(sign.isalnum() or sign in "_ /-" for sign in field.words)
    return Note(line, meaning or ("topic" if topic else ""), value, topic, is_field, listed)


def is_current(field: Field) -> bool:
    """Return whether a label is for the current phase; that includes `Current: Phase 2`."""
    if field.words == "current":
        word, behind = field.value[:5].lower(), field.value[5:]
        return word == "phase" and behind[:1].isspace() and behind.lstrip().removeprefix("#")[:1].isdigit()
    return _MEANINGS.get(field.words) == "phase"


def first(notes: Iterable[Note], meaning: str) -> str:
    """Return the first non-empty value with a label of this meaning, else an empty text."""
    return next((each.value for each in notes if each.meaning == meaning and each.value), "")


def position(text: str) -> tuple[int | None, int | None, str | None]:
    """Return number, total and name from `4/10 - SEO Generation`; None for what isn't said."""
    if behind := _COUNT_BEHIND.fullmatch(text[:1000]):
        return int(behind[2]), int(behind[3]), markdown.plain(behind[1].rstrip(" -–—:")) or None
    match = _COUNT.fullmatch(text)
    if not match:
        return None, None, text or None
    title = markdown.plain(match[3])
    title = title[1:-1].strip() if title[:1] == "(" and title.find(")") == len(title) - 1 else title
    return int(match[1]), int(match[2]) if match[2] else None, title or None


def place(notes: list[Note], status: str = "") -> Place:
    """Return the current phase by the `Phase:` line, else the `status`, else a list of phases."""
    listed, said, told = _listed(notes), _said(notes), statuses.phase(status)
    number = total = title = word = None
    if said is not None:
        number, total, title = position(said)
        total = told[1] if told and total is None and number == told[0] else total
    elif told:
        number, total = told
    if number is not None:
        title = title or next((phase.title for phase in listed if phase.number == number), None)
    elif listed and said is None:
        number, title, word = _running(listed)
        whole = {phase.number for phase in listed} == set(range(1, len(listed) + 1))
        total = len(listed) if whole and len(listed) > 1 else None
    if total is None:
        digits = "".join(takewhile(str.isdecimal, first(notes, "total")[:9]))
        total = int(digits) if digits else None
    title, mark = unmarked(title or first(notes, "title"))
    return Place(number, total, title or None, mark or word or _own(title, counted=number is not None))


def unnamed(notes: list[Note]) -> str | None:
    """Return the value of a `Phase:` line, such as `n/a`, if none names a phase; None if one does or there is none."""
    if _said(notes) is not None:
        return None
    return next((each.value for each in notes if each.meaning == "phase"), None)


def is_said(notes: list[Note]) -> bool:
    """Return whether lines name a phase (I001-2)."""
    return _said(notes) is not None or any(each.listed for each in notes)


def unmarked(text: str) -> tuple[str, str | None]:
    """Return a name without the status mark at its end, such as `✅ Done` or `(in progress)`, and the mark's word."""
    for pointer in _POINTERS:
        before, _, behind = text.rpartition(pointer)
        if before.strip() and len(behind) < 60 and " ".join(markdown.words(behind.replace("_", " "))) in _POINTED:
            return before.rstrip(), "in_progress"
    match = _MARK.search(text[-60:])
    before = text[: len(text) - len(match[0])].rstrip(" -–—:") if match else ""
    if not match or not before:
        return text, None
    word = match["word"] if match["sign"] is None else match["sign"]
    mark = WORDS.get(statuses.pure(word) or "") if word.strip() else "in_progress" if "🔄" in match[0] else "completed"
    return (before, mark) if mark else (text, None)


def is_empty(value: str) -> bool:
    """Return whether a value says that there is nothing, refers elsewhere, or is a placeholder."""
    return len(value) < 300 and any(pattern.fullmatch(value) for pattern in (_NOTHING, _PLACEHOLDER))


def _said(notes: Iterable[Note]) -> str | None:
    """Return the value of the first line that names the current phase, or None."""
    values = (each.value for each in notes if each.meaning == "phase")
    return next((value for value in values if not is_empty(value) and not _HOLE.match(value)), None)


def _listed(notes: Iterable[Note]) -> list[_Phase]:
    """Return the phases listed as `Phase N: title` on lines of their own, each number once."""
    found: dict[int, _Phase] = {}
    for match in (each.listed for each in notes if each.listed):
        title, mark = unmarked(f"{markdown.plain(match['title'])} {match['sign']}".strip())
        own = "completed" if statuses.pure(title) == "completed" else _own(title, counted=True)
        word = "completed" if match["box"] not in (None, " ") else mark or own
        found.setdefault(int(match["number"]), _Phase(int(match["number"]), "" if own else title, word))
    return list(found.values())


def _own(title: str, *, counted: bool) -> str | None:
    """Return the word of R001-07 if a title is only a status, else None.

    After a number, only the document's own status words count: "1/3 - New" and "2/5 - Paused" are phases like any
    other.
    """
    if not counted:
        return WORDS.get(statuses.pure(title) or "")
    letters = "".join(each for each in title[:100].lower() if each.isalnum())
    return next((word for word in _OWN if word.replace("_", "") == letters), None)


def _running(listed: list[_Phase]) -> _Phase:
    """Return the phase that is in progress, else the first that is not completed, else the last."""
    running = [phase for phase in listed if phase.word == "in_progress"]
    return (running or [phase for phase in listed if phase.word != "completed"] or listed[-1:])[0]
