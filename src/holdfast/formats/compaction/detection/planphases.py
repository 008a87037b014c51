"""Where a plan stands: which phases it has, and which of them is the current one (I001-15)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from holdfast.formats.compaction.detection import memoryphases
from holdfast.patterns import regex
from holdfast.workflow import prose, statuses

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBER = r"(?P<number>\d{1,4}(?:\.\d{1,3})?|[A-Z](?=\s*[:.)–—-]|\s*$)|[IVX]{1,5}(?=\s*[:.)–—-]|\s*$))"
_PHASE = regex(rf"\W*phase\s+#?{_NUMBER}(?![\w.]\d|\w)\W*(?P<title>.*)", re.IGNORECASE)
_LISTED = regex(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)(?:\[(?P<box>[^\[\]])\]\s+)?(?P<text>.*)")
_BOX = regex(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[(?P<box>[^\[\]])\]|(?P<sign>[✅❌⬜🔄⏳🚫⏸]))")
_STATUS = prose.label(r"(?:phase\s+)?status")
_CURRENT = prose.label(r"(?:(?:current|active)\s+)?phase|current(?=[*_`:\s]{1,5}phase\s+#?\d)")
_COLUMN = regex(r"\W*phase\W*", re.IGNORECASE)
_DONE = ("completed", "dropped")


class Place(NamedTuple):
    """The current phase's number from 1, how many there are if that is said, and its title."""

    current: int
    total: int | None
    title: str


@dataclass(slots=True)
class _Section:
    """A phase of a plan: its number as written, the state of each box under it, and what a status mark says."""

    number: str
    title: str
    level: int
    mark: str | None = None
    boxes: list[bool] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether its mark says so, or all its boxes are ticked."""
        return self.mark in _DONE or (bool(self.boxes) and all(self.boxes))


def place(lines: list[str], status: str = "") -> Place:
    """Return where a plan stands.

    Phases are its headings `Phase N`, else the rows of a table of phases, else the items of a list. The current one is
    marked as in progress, else what the line `Current phase:` or the plan's `status` says, unless that one is done,
    else the first that is not done. A plan without any phases is at what is said, or at 1/1.
    """
    phases = _headed(lines) or _tabled(lines) or _listed(lines)
    said = _said(lines) or _told(status)
    if not phases:
        return said or Place(1, 1, "In Progress")
    going = next((number for number, phase in enumerate(phases) if phase.mark == "in_progress"), None)
    if going is None and said and (there := _there(phases, said)):
        return there
    open_ = (number for number, phase in enumerate(phases) if not phase.done)
    current = next(open_, len(phases) - 1) if going is None else going
    return Place(current + 1, len(phases), phases[current].title)


def _said(lines: list[str]) -> Place | None:
    """Return what the line `Current phase:` says, None where it says nothing that can be (I001-17)."""
    near = (line[:500] for line in lines if "hase" in line or "HASE" in line)
    text = next((found for line in near if (found := prose.value(_CURRENT, line))), "")
    current, total, title = memoryphases.position(text)
    if current is None or current < 1 or (total is not None and total < current):
        return None
    return Place(current, total, statuses.marked(title or "")[0] or f"Phase {current}")


def _told(status: str) -> Place | None:
    current, total = statuses.phase(status) or (0, None)
    if current < 1 or (total is not None and total < current):
        return None
    return Place(current, total, f"Phase {current}")


def _there(phases: list[_Section], said: Place) -> Place | None:
    """Return the place that is said with what the phases tell of it; None where they tell that it is done."""
    at = next((at for at, phase in enumerate(phases) if phase.number == str(said.current)), None)
    if at is not None and said.total in (None, len(phases)):
        return None if phases[at].done else Place(at + 1, len(phases), phases[at].title)
    if said.total is None:
        return None
    return Place(said.current, said.total, said.title if at is None else phases[at].title)


def _headed(lines: Iterable[str]) -> list[_Section]:
    """Return the phases that have headings; the title is none, unless others of its level are phases too."""
    found: list[_Section] = []
    inside, first = False, True
    for line in lines:
        title = prose.heading(line)
        if title:
            match = None if first and title[0] == 1 else _PHASE.fullmatch(prose.plain(title[1]))
            step = inside and title[0] > found[-1].level and (match is None or "." in match["number"])
            if match and not step:
                found.append(_section(match, title))
            inside = step or match is not None
            first = False
        elif inside and not prose.is_break(line):
            _note(found[-1], line)
        else:
            inside = False
    return _distinct(found)


def _distinct(found: list[_Section]) -> list[_Section]:
    """Return the phases without steps such as 2.1 and without a second heading of the same phase."""
    distinct: dict[str, _Section] = {}
    for section in [section for section in found if "." not in section.number] or found:
        distinct.setdefault(section.number, section)
    return list(distinct.values())


def _section(match: re.Match[str], title: tuple[int, str]) -> _Section:
    text, mark = statuses.marked(match["title"])
    _, before = statuses.marked(title[1]) if mark is None else ("", mark)
    number = match["number"].upper()
    return _Section(number, prose.plain(text) or f"Phase {number}", title[0], before)


def _note(section: _Section, line: str) -> None:
    if box := _BOX.match(line):
        section.boxes.append(box["sign"] in "✅❌" if box["sign"] else box["box"] in "xX✓✔✅")
    elif section.mark is None and "status" in line.lower() and (status := prose.value(_STATUS, line[:500])):
        section.mark = _mark(status)


def _mark(status: str) -> str | None:
    if statuses.in_progress(status):
        return "in_progress"
    return None if statuses.choices(status) else statuses.opening(status)


def _tabled(lines: list[str]) -> list[_Section]:
    """Return the phases of the first table that has a column for them, or `Phase N` in its first column."""
    for head, rows in prose.tables(lines):
        column = next((at for at, cell in enumerate(head) if _COLUMN.fullmatch(cell[:60])), None)
        named = [row for row in rows if _PHASE.fullmatch(prose.plain(row[0][:300]))]
        if column is None and len(named) < 2:
            continue
        found = [_row(number, row, column or 0) for number, row in enumerate(rows, 1) if len(row) > (column or 0)]
        if len(found) > 1 and any(section.mark for section in found):
            return found
    return []


def _row(number: int, row: list[str], column: int) -> _Section:
    text = prose.plain(row[column])
    match = _PHASE.fullmatch(text)
    title = match["title"] if match else text.lstrip("0123456789.:) –—-") or ""
    others = [prose.plain(cell) for at, cell in enumerate(row) if at != column]
    mark = next((state for cell in others if (state := _mark(cell))), None)
    title = title or next((cell for cell in others if cell and not statuses.opening(cell)), "")
    return _Section(str(number), statuses.marked(title)[0] or f"Phase {number}", 0, mark)


def _listed(lines: Iterable[str]) -> list[_Section]:
    """Return the phases that are items of a list."""
    found: list[_Section] = []
    for line in lines:
        item = _LISTED.fullmatch(line[:500]) if "phase" in line.lower() else None
        match = _PHASE.fullmatch(prose.plain(statuses.marked(item["text"])[0])) if item else None
        if item and match:
            section = _section(match, (0, item["text"]))
            section.boxes = [] if item["box"] is None else [item["box"] in "xX✓✔✅"]
            found.append(section)
    return _distinct(found)
