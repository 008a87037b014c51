"""Find the phase of the workflow in a memory file: the lines that name it (R001-21)."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from holdfast.formats.compaction.detection import phaselist
from holdfast.formats.compaction.detection.phaselist import PhaseList
from holdfast.workflow import markdown, statuses
from holdfast.workflow.model import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.formats.compaction.detection.phaselist import Phase
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
    "next": "next step, next action, next task",
}
_MEANINGS = {words: meaning for meaning, several in _FIELDS.items() for words in several.split(", ")}
_OF = ("", "required", "key", "workflow")  # words that may come before a topic
_TOPICS = {"reading": "reading", "reminder": "reminders", "reminders": "reminders", "context": "context"}
_COUNT = re.compile(
    rf"(?:phase\s+)?#?(?P<label>{LABEL})(?:\s*(?:/|of)\s*(?P<total>\d{{1,9}}))?(?P<gap>\s*[-–—:.)]+\s*|\s+|$)(?P<title>.*)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"[\s!-/:-@\[-`{-~–—…]*"
    r"|\W*(?:none|nothing|nil|null|n/?a|no|not applicable|unknown|tbd|todo|idle)\b\W*"
    r"(?:\b(?:an?|the|formal|active|current(?:ly)?|at|moment|right|now|yet|running|workflows?|is|are|in|progress|set"
    r"|started|selected|present)\b\W*){0,8}"
    r"|see\s+(?:also\s+)?(?:above|below|the\b.*|[@`\[]?[\w./-]+\.md.*)",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[*_`\"'\s]*(?:<[^<>]*>|\{+[^{}]*\}+|\$\{?\w+\}?|\.{3}|…|[xX]{3}|NAME"
    r"|\[(?:[^\[\]]*\b(?i:name|title|your|insert|fill|workflow|phase|tbd|todo|none)\b[^\[\]]*|[\s.…]*)\])[*_`\"'\s]*"
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
        listed: the phase if the line is one of a list of phases, like `Phase 2: Print`.
    """

    line: Line
    meaning: str = ""
    value: str = ""
    topic: str = ""
    is_field: bool = False
    listed: Phase | None = None

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


def note(line: Line) -> Note:
    """Return a line with the meaning of its label."""
    listed = phaselist.item(line) if "phase" in line.raw.lower() else None
    field = markdown.field(line.raw)
    if field is None:
        return Note(line, listed=listed)
    meaning, value = _MEANINGS.get(field.words.replace("_", " "), ""), field.value
    of, _, number = field.words.partition("phase ")
    counted = _COUNT.fullmatch(number) if of in ("", "current ", "active ") else None
    if is_current(field):
        meaning = "phase"
    elif counted and not counted["title"] and (of or counted["total"]):
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
    return _MEANINGS.get(field.words.replace("_", " ")) == "phase"


def first(notes: Iterable[Note], meaning: str) -> str:
    """Return the first non-empty value with a label of this meaning, else an empty text."""
    return next((each.value for each in notes if each.meaning == meaning and each.value), "")


def counted(text: str) -> tuple[str | None, int | None, str | None]:
    """Return label, total and title from `4/10 - SEO Generation` or `2.1 - Fixes`; None for what isn't said."""
    match = _COUNT.fullmatch(text)
    plain = match and (match["label"].isdecimal() or match["total"] or match["gap"].strip())
    if not match or not (plain or not match["title"]):  # "3D models"
        return None, None, text or None
    title = markdown.plain(match["title"])
    title = title[1:-1].strip() if title[:1] == "(" and title.find(")") == len(title) - 1 else title
    return match["label"], int(match["total"]) if match["total"] else None, title or None


def position(text: str) -> tuple[int | None, int | None, str | None]:
    """Return number, total and name from `4/10 - SEO Generation`; None for what isn't said.

    The name has a label that isn't a number.
    """
    label, total, title = counted(text)
    if label is None:
        return None, total, title
    digits = "".join(takewhile(str.isdecimal, label))
    number = int(digits) if digits else None
    if label in (str(number), f"0{number}") and number:
        return number, total, title
    return number, total, phaselist.named(label, None, title or "")


def place(notes: list[Note], status: str = "") -> Place:
    """Return the current phase by the `Phase:` line, else the `status`, else a list of phases."""
    listed, said, told = _listed(notes), _said(notes), statuses.phase(status)
    label = number = total = title = word = None
    if said is not None:
        label, total, _ = counted(said)
        number, _, title = position(said)
        total = told[1] if told and total is None and label == told[0] else total
    elif told:
        label, total = told
        number, _, title = position(label)
    elif listed.phases:
        label, state = listed.phases[listed.current].label, listed.phases[listed.current].state
        word = None if state == "not_started" else WORDS.get(state or "")
    if label and (at := listed.at(label)) is not None:
        phase, count = listed.phases[at], len(listed.phases)
        number, total = (
            (at + 1, count) if count > 1 and total in (None, count) else (number or position(label)[0], total)
        )
        title = title or (phaselist.named(phase.label, number, phase.title) if phase.title else None)
    if total is None:
        digits = "".join(takewhile(str.isdecimal, first(notes, "total")[:9]))
        total = int(digits) if digits else None
    if total is None and label and not label.isdecimal():
        number = None  # nothing tells which number a phase 3A has
    title, mark = unmarked(title or first(notes, "title"))
    own = _own(title, counted=number is not None)
    return Place(number, total, None if own else title or None, mark or word or own)


def unnamed(notes: list[Note]) -> str | None:
    """Return the value of a `Phase:` line, such as `n/a`, if none names a phase; None if one does or there is none."""
    if _said(notes) is not None:
        return None
    return next((each.value for each in notes if each.meaning == "phase"), None)


def is_said(notes: list[Note]) -> bool:
    """Return whether lines name a phase (I001-2)."""
    return _said(notes) is not None or any(each.listed for each in notes)


def unmarked(text: str) -> tuple[str, str | None]:
    """Return a name without a mark at its end, such as `✅ Done` or `(in progress)`, and the mark's word of R001-07."""
    title, state = statuses.split_mark(text)
    word = WORDS.get(state or "")
    return (title, word) if word in ("in_progress", "completed") and text.startswith(title) else (text, None)


def is_empty(value: str) -> bool:
    """Return whether a value says that there is nothing, refers elsewhere, or is a placeholder."""
    return len(value) < 300 and any(pattern.fullmatch(value) for pattern in (_NOTHING, _PLACEHOLDER))


def _said(notes: Iterable[Note]) -> str | None:
    """Return the value of the first line that names the current phase, or None."""
    values = (each.value for each in notes if each.meaning == "phase")
    return next((value for value in values if not is_empty(value)), None)


def _listed(notes: Iterable[Note]) -> PhaseList:
    """Return the phases that are on lines of their own."""
    return PhaseList("", phaselist.distinct(each.listed for each in notes if each.listed))


def _own(title: str, *, counted: bool) -> str | None:
    """Return the word of R001-07 if a title is only a status, else None.

    After a number, only the document's own status words count: "1/3 - New" and "2/5 - Paused" are phases like any
    other.
    """
    if not counted:
        return WORDS.get(statuses.pure(title) or "")
    letters = "".join(each for each in title[:100].lower() if each.isalnum())
    return next((word for word in _OWN if word.replace("_", "") == letters), None)
