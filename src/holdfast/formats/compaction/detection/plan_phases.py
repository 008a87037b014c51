"""Find the phases of a plan or memory file, and the current one: one list per file, chosen by rank (I001-15).

A phase has a label, exactly as written: `2`, `2.1`, `3A`, `0`, `IV`. Its number is its place in the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as attribute
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from holdfast.workflow import markdown, statuses
from holdfast.workflow.model import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.workflow.markdown import Field, Line

_PHASE = re.compile(
    rf"(?P<before>\W*)phase\s+(?P<label>{LABEL})(?!\.?\w|\s?[-–]\s?\d)"
    r"(?:\s*(?:/|\b(?:of|von)\b)\s*\d{1,4})?(?P<rest>.*)",
    re.IGNORECASE,
)
_POSITION = re.compile(
    rf"(?:phase\s+)?(?P<label>{LABEL})(?:\s*(?:/|of)\s*(?P<total>\d{{1,9}}))?(?P<gap>\s*[-–—:.)]+\s*|\s+|$)(?P<title>.*)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?P<label>\d{1,4}(?:\.\d{1,3})*[A-Za-z]?)[.):]?(?:\s+(?P<title>.*)|$)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_SEPARATORS = ":.)–—-"
_TICKS = "xX✓✔✅"
_DONE = ("completed", "dropped")
_MARKS = ("in_progress", "active", "blocked", *_DONE)
_SOME = frozenset({"completed", "future", "next", "remaining"})  # in headings of lists that lack phases
_CHARS = 500  # characters of a line that are looked at


@dataclass(slots=True)
class Phase:
    """A phase: its label as written, title, state by its own mark, and whether each checkbox under it is ticked."""

    label: str
    title: str
    state: str | None = None
    level: int = 0
    boxes: list[bool] = attribute(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether its mark says so, or all its boxes are ticked. A dropped one isn't completed while boxes are open."""
        if self.state == "completed":
            return True
        return all(self.boxes) if self.state == "dropped" else bool(self.boxes) and all(self.boxes)

    @property
    def is_begun(self) -> bool:
        """Whether a mark or a ticked box says that it was begun."""
        return self.state in _MARKS or any(self.boxes)


class PhaseList(NamedTuple):
    """The phases of a file in its order, and what kind of list they are, in words."""

    kind: str
    phases: list[Phase]

    @property
    def evidence(self) -> int:
        """How surely it tells the current phase: 2 by marks of phases, 1 by boxes of their tasks, 0 not at all."""
        if any(phase.state in _MARKS for phase in self.phases):
            return 2
        return int(any(any(phase.boxes) for phase in self.phases))

    @property
    def current(self) -> int:
        """The index of the phase in progress, else of the first that isn't done, else of the last.

        One without a mark doesn't count before others that were worked on.
        """
        going = next((at for at, phase in enumerate(self.phases) if phase.state == "in_progress"), None)
        if going is not None:
            return going
        last = max((at for at, phase in enumerate(self.phases) if phase.is_begun), default=-1)
        unfinished = (
            at for at, phase in enumerate(self.phases) if not phase.done and (at > last or phase.state or phase.boxes)
        )
        return next(unfinished, len(self.phases) - 1)

    @property
    def is_contradictory(self) -> bool:
        """Whether boxes contradict the marks of their phases, so that nothing tells which phase is the current one."""
        ticking = any(any(each.boxes) for each in self.phases)
        return ticking and any(each.state == "completed" and each.boxes and not any(each.boxes) for each in self.phases)

    def at(self, label: str) -> int | None:
        """Return the index of the phase with a label, None for none."""
        wanted = _key(label)
        return next((at for at, phase in enumerate(self.phases) if _key(phase.label) == wanted), None)

    def contradicts(self, other: PhaseList) -> bool:
        """Return whether one of two lists says that a phase is done which is the current one by the other."""
        return other.evidence > 1 and (self._ends(other) or other._ends(self))

    def _ends(self, other: PhaseList) -> bool:
        """Return whether another list's current phase is done by this one."""
        phase = other.phases[other.current]
        at = None if phase.done else self.at(phase.label)
        return at is not None and self.phases[at].done


def named(label: str, number: int | None, title: str) -> str:
    """Return a phase's name in a state file. It has the label where that isn't the phase's number."""
    if label == str(number):
        return title or f"Phase {label}"
    return f"Phase {label}: {title}" if title else f"Phase {label}"


def is_current(field: Field) -> bool:
    """Return whether a label is for the current phase."""
    return field.words.replace("_", " ") in ("phase", "current phase", "active phase")


def counted(text: str) -> tuple[str | None, int | None, str | None]:
    """Return label, total and title from `4/10 - SEO Generation` or `2.1 - Fixes`; None for a missing one."""
    match = _POSITION.fullmatch(text)
    plain = match and (match["label"].isdecimal() or match["total"] or match["gap"].strip())
    if not match or not (plain or not match["title"]):  # "3D models"
        return None, None, text or None
    title = _unbracketed(markdown.plain(match["title"]))
    return match["label"], int(match["total"]) if match["total"] else None, title or None


def position(text: str) -> tuple[int | None, int | None, str | None]:
    """Return number, total and name from `4/10 - SEO Generation`; None for each part that is missing.

    The name has a label that isn't a number.
    """
    label, total, title = counted(text)
    if label is None:
        return None, total, title
    digits = "".join(takewhile(str.isdecimal, label))
    number = int(digits) if digits else None
    if label in (str(number), f"0{number}") and number:
        return number, total, title
    return number, total, named(label, None, title or "")


def find(lines: list[Line]) -> list[PhaseList]:
    """Return the lists of phases in a text by rank: headings, a list under "Phases", a table, other lists."""
    under, listed = _under(lines), _listed(lines)
    lists = (
        PhaseList('the headings "Phase N"', _headed(lines)),
        PhaseList('the list under "Phases"', under),
        PhaseList("the table of phases", _tabled(lines)),
        PhaseList('the items "Phase N"', listed),
    )
    return [each for each in lists if len(each.phases) > (each is not lists[0])]


def item(line: Line, *, separated: bool = False) -> Phase | None:
    """Return the phase that a heading, an item of a list or another line names, with its box; None for any other.

    `separated` asks for a colon, a dash or the like after the label, so that prose about a phase isn't one.
    """
    match = _PHASE.fullmatch(_unlinked(line.text or line.raw))
    if not match:
        return None
    label, rest = match["label"], match["rest"].lstrip("*_` ]")
    if rest[:1].isalnum() and (separated or not label[0].isdigit()):
        return None
    return _marked(label, rest.lstrip(f"{_SEPARATORS}*_` "), statuses.sign(match["before"]), line.box)


def _marked(label: str, text: str, sign: str | None, box: str | None) -> Phase:
    """Return a phase by its title with marks, by a sign before it, and by its box."""
    title, _, tail = text.partition("**" if text.count("**") % 2 else "\n")  # what follows bold text is no title
    title, state = statuses.split_mark(title)
    state = state or statuses.sign(tail) or sign
    if box is not None and state != "completed":
        state = "completed" if box in _TICKS else state or "not_started"
    return Phase(label, markdown.plain(_unbracketed(title)).rstrip(" :"), state)


def _unbracketed(title: str) -> str:
    return title[1:-1].strip() if title[:1] == "(" and title.find(")") == len(title) - 1 else title


def _unlinked(text: str) -> str:
    return _LINK.sub(r"\1", text[:_CHARS])


def _key(label: str) -> str:
    return ".".join(part.lstrip("0") or "0" for part in label.upper().split("."))


def _headed(lines: list[Line]) -> list[Phase]:
    """Return the phases that have headings. A step below its phase isn't one, and neither is "Phase 1 Summary"."""
    phases: list[Phase] = []
    inside, first = False, True
    separated = any(item(line, separated=True) for line in lines if line.kind == "heading")
    for line in lines:
        if line.kind == "heading":
            phase = None if first and line.depth == 1 else item(line, separated=separated)
            deeper = inside and line.depth > phases[-1].level
            is_step = phase and deeper and _key(phase.label).startswith(_key(phases[-1].label))
            if phase and not is_step:
                phase.level = line.depth
                phases.append(phase)
            inside = deeper or phase is not None
            first = False
        elif inside and line.kind != "break":
            _note_task(phases[-1], line)
        else:
            inside = False
    return distinct(phases)


def _note_task(phase: Phase, line: Line) -> None:
    """Note a task of a phase, or its status line."""
    sign = statuses.sign(line.text[:2])
    if line.kind == "item" and (line.box or sign):
        phase.boxes.append(line.box in tuple(_TICKS) or sign in _DONE)
    elif phase.state is None and "status" in line.raw.lower() and (field := markdown.field(line.raw[:_CHARS])):
        phase.state = mark(field.value) if field.words in ("status", "phase status") else None


def mark(status: str) -> str | None:
    """Return the state that a status of a phase says, None for none."""
    return "in_progress" if statuses.in_progress(status) else statuses.opening(status) or statuses.sign(status)


def _under(lines: list[Line]) -> list[Phase]:
    """Return the items of the first list right under a heading "Phases"; one of "Completed phases" has only some."""
    for at, line in enumerate(lines):
        words = markdown.words(line.text[:80]) if line.kind == "heading" else []
        is_list = words[-1:] == ["phases"] and len(words) < 4 and _SOME.isdisjoint(words)
        if is_list and (items := list(_items(lines[at + 1 :]))):
            return items
    return []


def _items(below: list[Line]) -> Iterator[Phase]:
    """Yield the phases that the first items below a line are, numbered as they come if they have no label."""
    depth: int | None = None
    number = 0
    for line in below:
        if line.kind == "item" and (depth is None or line.depth <= depth):
            depth, number = line.depth, number + 1
            text = _unlinked(line.text).removeprefix("**")
            yield item(line, separated=True) or _marked(str(number), text, None, line.box)
        elif line.kind == "heading" or (depth is not None and line.kind not in ("blank", "item", "text")):
            return


def _tabled(lines: list[Line]) -> list[Phase]:
    """Return the phases of the first table with a column "Phase" and their states."""
    for head, rows in markdown.tables(lines):
        column = next((at for at, cell in enumerate(head) if markdown.name(cell[:60]) in ("phase", "phases")), None)
        if column is None:
            continue
        filled = [row for row in rows if len(row) > column and markdown.name(row[column])]
        phases = [_row(number, row, column) for number, row in enumerate(filled, 1)]
        if any(phase.state for phase in phases):
            return phases
    return []


def _row(number: int, row: tuple[str, ...], column: int) -> Phase:
    text = markdown.plain(_unlinked(row[column]))
    phase = item(markdown.line(text))
    if phase is None:
        match = _NUMBERED.fullmatch(text)
        phase = _marked(match["label"] if match else str(number), (match["title"] or "") if match else text, None, None)
    others = [markdown.plain(_unlinked(cell)) for at, cell in enumerate(row) if at != column]
    phase.state = next((state for cell in others if (state := mark(cell))), phase.state)
    phase.title = phase.title or next((cell for cell in others if len(cell) > 2 and not mark(cell)), "")
    return phase


def _listed(lines: list[Line]) -> list[Phase]:
    """Return the phases that are items of a list, or bold lines."""
    marked = (each for each in lines if each.kind == "item" or (each.kind == "text" and not each.text[:1].isalnum()))
    return distinct(phase for line in marked if (phase := item(line, separated=True)))


def distinct(every: Iterable[Phase]) -> list[Phase]:
    """Return the phases with each label once."""
    phases: dict[str, Phase] = {}
    for phase in every:
        phases.setdefault(_key(phase.label), phase)
    return list(phases.values())
