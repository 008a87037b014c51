"""Find the phases of a plan or memory file, and the current one: one list per file, chosen by rank (I001-15).

A phase has a label, kept as it is written: `2`, `2.1`, `3A`, `0`, `IV`. Its number is its place in the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import TYPE_CHECKING, NamedTuple

from holdfast.workflow import markdown, scanner, statuses
from holdfast.workflow.model import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from holdfast.workflow.markdown import Line

_PHASE = re.compile(
    rf"(?P<before>\W*)(?:\d{{1,3}}[.)]\s+)?phase\s+#?(?P<label>{LABEL})(?!\.?\w|\s?[-–]\s?\d)"
    r"(?:\s*(?:/|\b(?:of|von)\b)\s*\d{1,4})?(?P<rest>.*)",
    re.IGNORECASE,
)
_MARKED = re.compile(r"(?<!\w)(\*\*|__|\*|_)(?=\S)([^*_]+)(?<=\S)\1(?!\w)")  # emphasis inside a title
_NUMBERED = re.compile(r"(?P<label>\d{1,4}(?:\.\d{1,3})*[A-Za-z]?)[.):]?(?:\s+(?P<title>.*)|$)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_ASIDE = re.compile(r"^\([^()]*\)(?=[*_]{0,2}\s?[:–—-])")  # "Phase 1 (week 2): Build"
_SEPARATORS = ":.)–—-"
_TICKS = "xX✓✔✅"
_HALVES = "~/>🔄⏳"  # in the box of an item that is in progress
_DONE = ("completed", "dropped")
_MARKS = ("in_progress", "active", "blocked", *_DONE)
_OVERVIEWS = frozenset({"overview", "list", "summary", "progress", "status", "checklist", "tracker"})
_CHARS = 500  # characters of a line that are looked at


@dataclass(slots=True)
class Phase:
    """A phase: its label as written, title, state by its own mark, and whether each checkbox under it is ticked."""

    label: str
    title: str
    state: str | None = None
    is_labelled: bool = True
    level: int = 0
    boxes: list[bool] = attribute(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether its mark says so, or all its boxes are ticked. One that was given up isn't while boxes are open."""
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

        One about which nothing is said doesn't count before others that were worked on.
        """
        going = next((at for at, phase in enumerate(self.phases) if phase.state == "in_progress"), None)
        if going is not None:
            return going
        last = max((at for at, phase in enumerate(self.phases) if phase.is_begun), default=-1)
        said = (
            at for at, phase in enumerate(self.phases) if not phase.done and (at > last or phase.state or phase.boxes)
        )
        return next(said, len(self.phases) - 1)

    @property
    def is_contradictory(self) -> bool:
        """Whether boxes contradict the marks of their phases, so that nothing tells which phase is the current one."""
        at = self.current
        phase = self.phases[at]
        if phase.state == "in_progress":
            return bool(phase.boxes) and all(phase.boxes) and any(each.is_begun for each in self.phases[at + 1 :])
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
    title = _MARKED.sub(r"\2", title)
    if label == str(number):
        return title or f"Phase {label}"
    return f"Phase {label}: {title}" if title else f"Phase {label}"


def find(lines: list[Line]) -> list[PhaseList]:
    """Return the lists of phases in a text by rank: headings, a list under "Phases", a table, other lists."""
    under, listed = _under(lines), _listed(lines)
    if sum(phase.is_labelled for phase in under) > 1:
        under, listed = listed, []
    found = (
        PhaseList('the headings "Phase N"', _headed(lines)),
        PhaseList('the list under "Phases"', under),
        PhaseList("the table of phases", _tabled(lines)),
        PhaseList('the items "Phase N"', listed),
    )
    return [each for each in found if len(each.phases) > (each is not found[0])]


def choose(found: Sequence[PhaseList]) -> PhaseList | None:
    """Return the list with the best evidence, of several the first one; None for none."""
    return max(found, key=lambda each: each.evidence, default=None)


def parse(text: str, *, separated: bool = False) -> Phase | None:
    """Return the phase that a text such as `Phase 2.1: Build ✅` names; None for any other text.

    `separated` asks for a colon, a dash or the like after the label, so that prose about a phase isn't one.
    """
    match = _PHASE.fullmatch(_LINK.sub(r"\1", text[:_CHARS]))
    if not match:
        return None
    label, rest = match["label"], match["rest"].lstrip("*_` ]")
    if rest[:1].isalnum() and (separated or not label[0].isdigit()):
        return None
    if rest.startswith(statuses.ARROWS):
        return None
    title, _, tail = _unbolded(_ASIDE.sub("", rest).lstrip(f"{_SEPARATORS}*_` "))
    title, state = statuses.split_mark(title)
    state = state or statuses.split_mark(f"x {tail}")[1] or statuses.sign(match["before"])
    if (own := statuses.pure(title)) in ("in_progress", "completed"):  # "Phase 2: Planning" is one like any other
        title, state = "", state or own
    if title[:1] == "(" and title.find(")") == len(title) - 1:
        title = title[1:-1]
    return Phase(label, markdown.plain(title).rstrip(" :"), state)


def item(line: Line, *, separated: bool = False) -> Phase | None:
    """Return the phase that an item of a list, or another line, names; its box counts too."""
    phase = parse(line.text or line.raw, separated=separated)
    return _boxed(phase, line) if phase else None


def _boxed(phase: Phase, line: Line) -> Phase:
    if line.box is not None and phase.state != "completed":
        half = "in_progress" if line.box in _HALVES else phase.state or "not_started"
        phase.state = "completed" if line.box in _TICKS else half
    return phase


def _unbolded(text: str) -> tuple[str, str, str]:
    """Return a title that ends with the bold text that it is in, and what follows."""
    mark = next((mark for mark in ("**", "__") if text.count(mark) % 2), "")
    return text.partition(mark) if mark else (text, "", "")


def _key(label: str) -> str:
    return ".".join(part.lstrip("0") or "0" for part in label.upper().split("."))


def _headed(lines: list[Line]) -> list[Phase]:
    """Return the phases that have headings. The plan's title isn't one, and neither is a step below its phase."""
    found: list[Phase] = []
    inside, first = False, True
    headings = [parse(line.text, separated=True) for line in lines if line.kind == "heading"]
    separated = any(headings)  # then "Phase 1 Summary" is no phase
    for line in lines:
        if line.kind == "heading":
            phase = None if first and line.depth == 1 else parse(line.text, separated=separated)
            deeper = inside and line.depth > found[-1].level
            if phase and deeper and _key(phase.label).startswith(_key(found[-1].label)):
                _step(found[-1], phase)
            elif phase:
                phase.level = line.depth
                found.append(phase)
            inside = deeper or phase is not None
            first = False
        elif inside and line.kind != "break":
            _note(found[-1], line)
        else:
            inside = False
    return distinct(found)


def _step(phase: Phase, step: Phase) -> None:
    """Note a step of a phase that has a heading of its own."""
    if step.state in _DONE:
        phase.boxes.append(True)
    elif step.state == "in_progress" and phase.state is None:
        phase.state = "in_progress"


def _note(phase: Phase, line: Line) -> None:
    """Note a task of a phase, or its status line."""
    if line.kind == "item" and (line.box or statuses.sign(line.text[:2])):
        phase.boxes.append(line.box in tuple(_TICKS) or statuses.sign(line.text[:2]) in _DONE)
    elif phase.state is None and "status" in line.raw.lower() and (field := markdown.field(line.raw[:_CHARS])):
        phase.state = mark(field.value) if field.words in ("status", "phase status") and field.value else None


def mark(status: str) -> str | None:
    """Return the state that a status of a phase says, None for none."""
    if statuses.in_progress(status):
        return "in_progress"
    return None if statuses.choices(status) else statuses.opening(status) or statuses.sign(status)


def _under(lines: list[Line]) -> list[Phase]:
    """Return the items of the first list right under "Phases", a heading or a label."""
    for at, line in enumerate(lines):
        title = (
            line.text if line.kind == "heading" else line.raw.strip("*_ ") if line.raw.rstrip("*_ ")[-1:] == ":" else ""
        )
        if _is_phases(title) and (found := list(_items(lines[at + 1 :]))):
            return found
    return []


def _is_phases(title: str) -> bool:
    words = markdown.words(title[:80])
    if statuses.word(title[:80]) or {"future", "next", "remaining"} & set(words):  # "Completed phases" are only some
        return False
    return ("phases" in words[-1:] and len(words) < 4) or (
        words[:1] in (["phases"], ["phase"]) and words[1:] != [] and _OVERVIEWS.issuperset(words[1:])
    )


def _items(below: list[Line]) -> Iterator[Phase]:
    """Yield the phases that the first items below a line are, numbered as they come if they have no label."""
    depth: int | None = None
    number = 0
    for line in below:
        if line.kind == "item" and (depth is None or line.depth <= depth):
            depth, number = line.depth, number + 1
            text, _, tail = _unbolded(_LINK.sub(r"\1", line.text.removeprefix("**")))
            title, state = statuses.split_mark(text)
            own = Phase(str(number), markdown.plain(title), state or statuses.split_mark(f"x {tail}")[1], False)
            yield item(line, separated=True) or _boxed(own, line)
        elif line.kind == "heading" or (depth is not None and line.kind not in ("blank", "item", "text")):
            return


def _tabled(lines: list[Line]) -> list[Phase]:
    """Return the phases of the first table with a column for them, or `Phase N` in its first one, and their states."""
    for head, rows in scanner.tables(lines):
        column = next((at for at, cell in enumerate(head) if markdown.name(cell[:60]) in ("phase", "phases")), None)
        labelled = [row for row in rows if parse(row[0])]
        if column is None and len(labelled) < 2:
            continue
        named = [row for row in rows if len(row) > (column or 0) and markdown.name(row[column or 0])]
        found = [_row(number, row, column or 0) for number, row in enumerate(named, 1)]
        if any(phase.state for phase in found):
            return found
    return []


def _row(number: int, row: tuple[str, ...], column: int) -> Phase:
    text = markdown.plain(_LINK.sub(r"\1", row[column][:_CHARS]))
    phase = parse(text)
    if phase is None and (match := _NUMBERED.fullmatch(text)):
        phase = Phase(match["label"], *statuses.split_mark(match["title"] or ""))
    phase = phase or Phase(str(number), *statuses.split_mark(text))
    others = [markdown.plain(_LINK.sub(r"\1", cell)) for at, cell in enumerate(row) if at != column]
    phase.state = next((state for cell in others if (state := mark(cell))), phase.state)
    phase.title = phase.title or next((cell for cell in others if len(cell) > 2 and not mark(cell)), "")
    return phase


def _listed(lines: list[Line]) -> list[Phase]:
    """Return the phases that are items of a list, or bold lines. Criteria, decisions and the like aren't phases."""
    found: list[Phase] = []
    aside = False
    for line in lines:
        if line.kind == "heading":
            aside = not statuses.ASIDES.isdisjoint(each.removesuffix("s") for each in markdown.words(line.text[:200]))
        elif not aside and (line.kind == "item" or (line.kind == "text" and not line.raw.lstrip()[:1].isalnum())):
            phase = item(line, separated=True)
            found += [phase] if phase else []
    return distinct(found)


def distinct(found: Iterable[Phase]) -> list[Phase]:
    """Return the phases with each label once."""
    distinct: dict[str, Phase] = {}
    for phase in found:
        distinct.setdefault(_key(phase.label), phase)
    return list(distinct.values())
