"""Read the workflow from a plan's text if the plan is in progress (R001-22, I001-15)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as attribute
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast.formats.compaction.detection import memoryphases, planstatus
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.frozen import NamedTuple
from holdfast.patterns import regex
from holdfast.workflow import markdown, scanner, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.workflow.markdown import Line

# The words themselves, not a file or a variable with them in its name.
_FORMAL = regex(r"(?<![\w/.@])(?:phase|workflow)(?:e?s|d|['’]s|[_-]?\d{1,3})?(?!\w)(?!\.\w)(?!/\S)", re.IGNORECASE)
_TITLE = regex(r"\W*plan(?:[\s_#-]*(?P<number>\d{1,9}))?\s*(?:[:.–—-]+\s*|(?<=\d)\s+|$)", re.IGNORECASE)
_DOCUMENT = regex(r"(?<![\w/.@-])@?(CLAUDE/(?:[\w.-]+/)*[\w-][\w.-]*\.\w{1,8})(?![\w/])")
_NUMBER = r"(?P<number>\d{1,4}(?:\.\d{1,3})?|[A-Z](?=\s*[:.)–—-]|\s*$)|[IVX]{1,5}(?=\s*[:.)–—-]|\s*$))"
_PHASE = regex(rf"\W*phase\s+#?{_NUMBER}(?![\w.]\d|\w)\W*(?P<title>.*)", re.IGNORECASE)
_TICKS = "xX✓✔✅"
_DONE_SIGNS, _OPEN_SIGNS = ("✅", "❌"), ("⬜", "🔄", "⏳", "🚫", "⏸")
_DONE = ("completed", "dropped")


class Reading(NamedTuple):
    """What a plan says: its extract if it is an active workflow, and why it is one or not."""

    extract: Extract | None
    reason: str
    notable: bool = False
    kind: str = ""


def parse(text: str, path: Path, root: Path, mtime: float) -> Reading:
    """Return what the text of the plan at `path` in the project `root` says (I001-14, I001-15)."""
    lines = scanner.lines(text)
    standing = planstatus.standing(lines, scanner.metadata(text))
    if not standing.going:
        return Reading(None, standing.why, standing.notable, standing.kind)
    if not _FORMAL.search(text):
        why = 'is in progress, but neither the word "phase" nor "workflow" is in it, so it isn\'t a formal workflow'
        return Reading(None, why, notable=True, kind="in progress, but no formal workflow")
    extract = _extract(lines, standing.status, path, root, mtime)
    return Reading(extract, f"is in progress ({standing.why}) and names the workflow {quoted(extract.name)}")


def may_be_active(text: str) -> bool:
    """Return quickly whether a text could be a plan in progress at all."""
    return "progress" in text.lower() or "\U0001f504" in text


def _extract(lines: list[Line], status: str, path: Path, root: Path, mtime: float) -> Extract:
    name, number = _name(lines, path)
    own = path.relative_to(root).as_posix()
    documents = [match for line in lines if "CLAUDE/" in line.raw for match in _DOCUMENT.findall(line.raw)]
    place = _place(lines, status)
    return Extract(
        name=_printable(name),
        current=place.current,
        total=place.total,
        phase=place.title,
        reading=tuple(dict.fromkeys(f"@{_printable(entry)}" for entry in [own, *documents])),
        context={} if number is None else {"plan_number": number},
        origin="plan",
        source=path,
        mtime=mtime,
    )


def _name(lines: list[Line], path: Path) -> tuple[str, int | None]:
    """Return the plan's name without `Plan NNN:` and status mark, and its number, from the title or else the folder."""
    titles = [line for line in lines if line.kind == "heading"]
    title = next((line.text for line in titles if line.depth == 1), "")
    title = title or next((line.text for line in titles[:1] if _TITLE.match(line.text)), "") or _front_matter(lines)
    title = statuses.split_mark(markdown.plain(title))[0]
    prefix = _TITLE.match(title)
    name = markdown.plain(title[prefix.end() :] if prefix else title)
    number = (prefix["number"] if prefix else None) or _leading_number(path.parent.name)
    return name or path.parent.name, int(number) if number else None


def _leading_number(folder: str) -> str:
    """Return the number that a folder's name begins with, as in `007-harbour` or `plan-7`; empty for none."""
    is_plan = folder[:4].lower() == "plan"
    name = folder[5:] if is_plan and folder[4:5] in ("-", "_", " ") else folder[4:] if is_plan else folder
    digits = "".join(takewhile(str.isdecimal, name))
    return digits if len(digits) < 10 else ""


def _front_matter(lines: list[Line]) -> str:
    if not lines or lines[0].raw.strip() != "---":
        return ""
    fields = (markdown.field(line.raw[:500]) for line in lines[1:40])
    return next((field.value for field in fields if field and field.words == "title" and field.value), "").strip("\"'")


def _printable(text: str) -> str:
    """Return text that can be encoded as UTF-8, whatever bytes a folder's name has."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _Place(NamedTuple):
    """The current phase's number from 1, the number of phases if known, and its title."""

    current: int
    total: int | None
    title: str


@dataclass(slots=True)
class _Section:
    """A phase of a plan: its number as written, its status mark, and whether each checkbox under it is ticked."""

    number: str
    title: str
    level: int
    mark: str | None = None
    boxes: list[bool] = attribute(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether its mark says so, or all its boxes are ticked."""
        return self.mark in _DONE or (bool(self.boxes) and all(self.boxes))


def _place(lines: list[Line], status: str = "") -> _Place:
    """Return the current phase of a plan.

    Phases are its headings `Phase N`, else the rows of a table of phases, else the items of a list. The current one is
    the one marked as in progress, else the one that the line `Current phase:` or the plan's `status` names, unless it
    is done, else the first that isn't done. A plan without phases is at the phase it names, or at 1/1.
    """
    phases = _headed(lines) or _tabled(lines) or _listed(lines)
    said = _said(lines) or _told(status)
    if not phases:
        return said or _Place(1, 1, "In Progress")
    going = next((number for number, phase in enumerate(phases) if phase.mark == "in_progress"), None)
    if going is None and said and (there := _there(phases, said)):
        return there
    open_ = (number for number, phase in enumerate(phases) if not phase.done)
    current = next(open_, len(phases) - 1) if going is None else going
    return _Place(current + 1, len(phases), phases[current].title)


def _said(lines: list[Line]) -> _Place | None:
    """Return the phase that the line `Current phase:` names, None if it names no possible one (I001-17)."""
    near = (markdown.field(line.raw[:500]) for line in lines if "hase" in line.raw or "HASE" in line.raw)
    text = next((field.value for field in near if field and field.value and memoryphases.is_current(field)), "")
    current, total, title = memoryphases.position(text)
    if current is None or current < 1 or (total is not None and total < current):
        return None
    return _Place(current, total, statuses.split_mark(title or "")[0] or f"Phase {current}")


def _told(status: str) -> _Place | None:
    current, total = statuses.phase(status) or (0, None)
    if current < 1 or (total is not None and total < current):
        return None
    return _Place(current, total, f"Phase {current}")


def _there(phases: list[_Section], said: _Place) -> _Place | None:
    """Return the named phase completed with what the list of phases has; None if that phase is done or impossible."""
    at = next((at for at, phase in enumerate(phases) if phase.number == str(said.current)), None)
    if at is not None and said.total in (None, len(phases)):
        return None if phases[at].done else _Place(at + 1, len(phases), phases[at].title)
    if said.total is None:
        return None
    return _Place(said.current, said.total, said.title if at is None else phases[at].title)


def _headed(lines: Iterable[Line]) -> list[_Section]:
    """Return the phases that have headings. The plan's title isn't one."""
    found: list[_Section] = []
    inside, first = False, True
    for line in lines:
        if line.kind == "heading":
            match = None if first and line.depth == 1 else _PHASE.fullmatch(markdown.plain(line.text))
            step = inside and line.depth > found[-1].level and (match is None or "." in match["number"])
            if match and not step:
                found.append(_section(match, line.text, line.depth))
            inside = step or match is not None
            first = False
        elif inside and line.kind != "break":
            _note(found[-1], line)
        else:
            inside = False
    return _distinct(found)


def _distinct(found: list[_Section]) -> list[_Section]:
    """Return the phases without steps such as 2.1, and each number only once."""
    distinct: dict[str, _Section] = {}
    for section in [section for section in found if "." not in section.number] or found:
        distinct.setdefault(section.number, section)
    return list(distinct.values())


def _section(match: re.Match[str], whole: str, level: int = 0) -> _Section:
    text, mark = statuses.split_mark(match["title"])
    _, before = statuses.split_mark(whole) if mark is None else ("", mark)
    number = match["number"].upper()
    return _Section(number, markdown.plain(text) or f"Phase {number}", level, before)


def _note(section: _Section, line: Line) -> None:
    if line.kind == "item" and line.box:
        section.boxes.append(line.box in _TICKS)
    elif line.kind == "item" and line.text.startswith(_DONE_SIGNS + _OPEN_SIGNS):
        section.boxes.append(line.text.startswith(_DONE_SIGNS))
    elif section.mark is None and "status" in line.raw.lower() and (field := markdown.field(line.raw[:500])):
        section.mark = _mark(field.value) if field.words in ("status", "phase status") and field.value else None


def _mark(status: str) -> str | None:
    if statuses.in_progress(status):
        return "in_progress"
    return None if statuses.choices(status) else statuses.opening(status)


def _tabled(lines: list[Line]) -> list[_Section]:
    """Return the phases of the first table that has a column for them, or `Phase N` in its first column."""
    for head, rows in scanner.tables(lines):
        column = next((at for at, cell in enumerate(head) if markdown.name(cell[:60]) == "phase"), None)
        named = [row for row in rows if _PHASE.fullmatch(markdown.plain(row[0][:300]))]
        if column is None and len(named) < 2:
            continue
        found = [_row(number, row, column or 0) for number, row in enumerate(rows, 1) if len(row) > (column or 0)]
        if len(found) > 1 and any(section.mark for section in found):
            return found
    return []


def _row(number: int, row: tuple[str, ...], column: int) -> _Section:
    text = markdown.plain(row[column])
    match = _PHASE.fullmatch(text)
    title = match["title"] if match else text.lstrip("0123456789.:) –—-") or ""
    others = [markdown.plain(cell) for at, cell in enumerate(row) if at != column]
    mark = next((state for cell in others if (state := _mark(cell))), None)
    title = title or next((cell for cell in others if cell and not statuses.opening(cell)), "")
    return _Section(str(number), statuses.split_mark(title)[0] or f"Phase {number}", 0, mark)


def _listed(lines: Iterable[Line]) -> list[_Section]:
    """Return the phases that are items of a list."""
    found: list[_Section] = []
    for line in lines:
        if line.kind == "item" and "phase" in line.raw.lower():
            text = line.text[:500]
            if match := _PHASE.fullmatch(markdown.plain(statuses.split_mark(text)[0])):
                section = _section(match, text)
                section.boxes = [] if line.box is None else [line.box in _TICKS]
                found.append(section)
    return _distinct(found)
