"""Read the workflow from a plan's text if the plan is in progress (R001-22, I001-15)."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from holdfast.formats.compaction.detection import phaselist, planstatus
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.workflow import markdown, scanner, statuses
from holdfast.workflow.model import UNKNOWN
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.markdown import Line

# The words themselves, not a file or a variable with them in its name.
_FORMAL = re.compile(r"(?<![\w/.@])(?:phase|workflow)(?:s|[_-]?\d{1,3})?(?!\w)(?!\.\w)(?!/\S)", re.IGNORECASE)
_TITLE = re.compile(r"\W*plan(?:[\s_#-]*(?P<number>\d{1,9}))?\s*(?:[:.–—-]+\s*|(?<=\d)\s+|$)", re.IGNORECASE)
_FOLDER = re.compile(r"(?:plan[-_ ]?)?(?P<number>\d{1,9})(?!\d)", re.IGNORECASE)
_IN_STATUS = re.compile(
    r"\W*in[\s_-]*progress\W+(?P<phase>phase [\w.]+(?:\s*(?:/|of)\s*\d+)?)\W*"
    r"|\W*(?P<first>phase \S+) (?:is )?in[\s_-]*progress\b.*",
    re.IGNORECASE,
)  # "In Progress (phase 2 of 5)"
_MENTIONED = re.compile(r"\bphases?\s+([\w.]*\w)", re.IGNORECASE)
_DOCUMENT = re.compile(r"(?<![\w/.@-])@?(CLAUDE/(?:[\w.-]+/)*[\w-][\w.-]*\.\w{1,8})(?![\w/])")


class Reading(NamedTuple):
    """What a plan says: its extract if it is an active workflow, and why it is one or not."""

    extract: Extract | None
    reason: str
    notable: bool = False
    kind: str = ""


class _Place(NamedTuple):
    """The current phase's number from 1 and the number of phases, None if unknown, the phase's name, and the source."""

    current: int | None
    total: int | None
    name: str
    why: str


def parse(text: str, path: Path, root: Path, mtime: float) -> Reading:
    """Return what the text of the plan at `path` in the project `root` says (I001-14, I001-15)."""
    lines = scanner.lines(text)
    standing = planstatus.standing(lines)
    if not standing.going:
        return Reading(None, standing.why, kind=standing.kind)
    if not _FORMAL.search(text):
        why = 'is in progress, but neither the word "phase" nor "workflow" is in it, so it isn\'t a formal workflow'
        return Reading(None, why, notable=True, kind="in progress, but no formal workflow")
    place = _place(lines, standing.status)
    extract = _extract(lines, place, path, root, mtime)
    return Reading(
        extract, f"is in progress ({standing.why}) and names the workflow {quoted(extract.name)}; {place.why}"
    )


def may_be_active(text: str) -> bool:
    """Return quickly whether a text could be a plan in progress at all."""
    return "progress" in text.lower() or any(mark in text for mark in ("🔄", "←", "<-"))


def _extract(lines: list[Line], place: _Place, path: Path, root: Path, mtime: float) -> Extract:
    name, number = _name(lines, path)
    own = path.relative_to(root).as_posix()
    documents = [match for line in lines if "CLAUDE/" in line.raw for match in _DOCUMENT.findall(line.raw)]
    return Extract(
        name=_printable(name),
        current=place.current,
        total=place.total,
        phase=place.name,
        reading=tuple(dict.fromkeys(f"@{_printable(entry)}" for entry in [own, *documents])),
        context={} if number is None else {"plan_number": number},
        origin="plan",
        source=path,
        mtime=mtime,
    )


def _name(lines: list[Line], path: Path) -> tuple[str, int | None]:
    """Return the plan's name without `Plan NNN:` and status mark, and its number, from the title or else the folder."""
    folder = path.parent.name
    title = next((line.text for line in lines if line.kind == "heading" and line.depth == 1), "")
    title = statuses.split_mark(markdown.plain(title))[0]
    prefix = _TITLE.match(title)
    name = markdown.plain(title[prefix.end() :] if prefix else title)
    numbered = prefix if prefix and prefix["number"] else _FOLDER.match(folder)
    return name or folder, int(numbered["number"]) if numbered else None


def _printable(text: str) -> str:
    """Return text that can be encoded as UTF-8, whatever bytes a folder's name has."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _place(lines: list[Line], status: str) -> _Place:
    """Return the current phase of a plan.

    It is the one that the plan's list of phases marks as in progress, else the one that the line `Current phase:` or
    the plan's `status` names, unless it is done, else the first that isn't done. It is unknown if the plan names none,
    or if what it says of its phases is contradictory.
    """
    found = phaselist.find(lines)
    chosen = phaselist.choose(found)
    label, total, title = _named(lines, status)
    if chosen is None:
        if label is None:
            return _Place(None, None, UNKNOWN, "it has no list of phases")
        number = max(int("".join(takewhile(str.isdecimal, label)) or 0), 1)
        return _Place(number, total, phaselist.named(label, number, title), "a line names its phase")
    others = [each for each in found if each is not chosen]
    why = " and ".join([f"its phases are {chosen.kind}", *(f"not {each.kind}" for each in others)])
    at = chosen.current
    is_mentioned = any(chosen.at(each) is not None for each in _MENTIONED.findall(status))
    if label is not None and chosen.phases[at].state != "in_progress":
        there = chosen.at(label)
        if total not in (None, len(chosen.phases)):
            return _Place(None, None, UNKNOWN, f"{why}; a line says that there are {total} of them")
        if there is not None and not chosen.phases[there].done:
            at, others = there, []
    elif label is None and not chosen.evidence and is_mentioned:
        return _Place(None, None, UNKNOWN, f"{why}; only its status, {quoted(status)}, says how far they are")
    elif chosen.is_contradictory:
        return _Place(None, None, UNKNOWN, f"{why}; their boxes and marks contradict each other")
    phase = chosen.phases[at]
    if other := next((each for each in others if chosen.contradicts(each)), None):
        return _Place(None, None, UNKNOWN, f"{chosen.kind} and {other.kind} contradict each other")
    return _Place(at + 1, len(chosen.phases), phaselist.named(phase.label, at + 1, phase.title), why)


def _named(lines: list[Line], status: str) -> tuple[str | None, int | None, str]:
    """Return label, total and title of the phase that a line `Current phase:` or else a status names.

    The label is None for none, and for an impossible one (I001-17).
    """
    fields = (markdown.field(line.raw[:500]) for line in lines if "phase" in line.raw.lower())
    text = next((field.value for field in fields if field and field.value and phaselist.is_current(field)), "")
    if not text and (match := _IN_STATUS.fullmatch(status)):
        text = match["phase"] or match["first"]
    label, total, title = phaselist.counted(text.strip("\"'"))
    if label and label.isdecimal() and total is not None and not 0 < int(label) <= total:
        label = None
    return label, total, statuses.split_mark(title or "")[0]
