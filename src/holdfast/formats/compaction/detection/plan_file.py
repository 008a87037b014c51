"""Detection method 2: the plans of a project that are in progress, and what they say (R001-22, I001-13 to I001-15)."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.errors import command_line
from holdfast.formats.compaction.detection import plan_phases, plan_status
from holdfast.formats.compaction.detection.extract import Candidate, Extract
from holdfast.workflow import markdown, statuses, text_file
from holdfast.workflow.model import UNKNOWN
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.markdown import Line

FOLDER = "CLAUDE/Plan"
FILE = "PLAN.md"
OLDER = 32  # older plans that an event reads if none that changed lately is in progress


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


class _Place(NamedTuple):
    """The current phase's number from 1 and the number of phases, None if unknown, the phase's name, and the source."""

    current: int | None
    total: int | None
    name: str
    why: str


def active(root: Path, since: float, written: Path | None = None) -> list[Extract]:
    """Return the extracts of the plans in progress that changed since a time, the last changed first (I001-13).

    If none did, only the last changed of some older ones is returned.

    Args:
        root: the project's root.
        since: the time, in seconds since 1970.
        written: a plan that somebody has just written, which is read first.
    """
    try:
        plans = sorted(_listed(root), key=lambda plan: plan[0] != written)
    except OSError:
        return []
    fresh = [plan for plan in plans if plan[1] >= since]
    older = [plan for plan in plans if plan[1] < since][:OLDER]
    extracts = [extract for plan in fresh if (extract := examine(root, *plan, quickly=True).extract)]
    if extracts:
        return sorted(extracts, key=lambda extract: -extract.mtime)
    last = next((extract for plan in older if (extract := examine(root, *plan, quickly=True).extract)), None)
    return [last] if last else []


def look(root: Path) -> list[Candidate]:
    """Return every plan `CLAUDE/Plan/*/PLAN.md`, the most recently changed first; those in progress have an extract."""
    try:
        plans = _listed(root)
    except OSError as error:
        return [_unreadable(root / FOLDER, error)]
    return [examine(root, path, mtime) for path, mtime in plans]


def examine(root: Path, path: Path, mtime: float, *, quickly: bool = False) -> Candidate:
    """Return the workflow in a plan's first 256 KB. `quickly` doesn't parse a plan that can't be in progress."""
    try:
        plan = text_file.read(path, root)
    except OSError as error:
        return _unreadable(path, error)
    if plan is None or (quickly and not may_be_active(plan.text)):
        return Candidate(path, "does not exist" if plan is None else "is not in progress")
    candidate = parse(plan.text, path, root, mtime)
    return candidate if candidate.extract else replace(candidate, reason=f"{candidate.reason}{plan.cut}")


def title(path: Path, root: Path) -> str:
    """Return the title of a plan anywhere, from its first heading or else its file's name. Raises OSError."""
    plan = text_file.read(path, root)
    headings = (line.text for line in markdown.lines(plan.text if plan else "") if line.kind == "heading")
    return one_line(statuses.split_mark(markdown.plain(next(headings, "").replace("`", "")))[0]) or path.stem


def names(text: str, plan: Extract) -> bool:
    """Return whether a path or another text names the folder of a plan."""
    return re.compile(rf"{re.escape(f'{FOLDER}/{plan.source.parent.name}')}(?![\w-])").search(text) is not None


def aged(plan: Extract) -> str:
    """Say that a plan is in progress, and when it was last changed."""
    return f"is in progress ({quoted(plan.name)}), last changed on {clock.stamp(clock.from_mtime(plan.mtime))[:10]}"


def way(plan: Extract) -> str:
    """Say which command makes a plan a session's workflow, however old the plan is."""
    command = command_line("start", one_line(plan.name), "--read", one_line(plan.reading[0][1:]))
    return f"To take it up: `{command}`"


def hint(root: Path, place: str) -> str:
    """Return the line about a plan that isn't loaded; empty if it is no longer in progress."""
    path = root / place
    with suppress(OSError):
        plan = examine(root, path, path.stat().st_mtime, quickly=True).extract
        return f"{place} {aged(plan)}" if plan else ""
    return ""


def _listed(root: Path) -> list[tuple[Path, float]]:
    """Return the plans with their times, the last changed first, then by path. Raises OSError."""
    times: dict[Path, float] = {}
    with suppress(FileNotFoundError, NotADirectoryError):
        for folder in (root / FOLDER).iterdir():
            path = folder / FILE
            try:
                times[path] = path.stat().st_mtime
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                times[path] = 0.0
    return sorted(times.items(), key=lambda plan: (-plan[1], str(plan[0])))


def _unreadable(path: Path, error: OSError) -> Candidate:
    return Candidate(path, f"cannot be read: {error.strerror or error}")


def parse(text: str, path: Path, root: Path, mtime: float) -> Candidate:
    """Return the workflow in the text of the plan at `path` in the project `root` (I001-14, I001-15)."""
    lines = markdown.lines(text)
    standing = plan_status.standing(lines)
    if not standing.going:
        return Candidate(path, standing.why)
    if not _FORMAL.search(text):
        why = 'is in progress, but neither the word "phase" nor "workflow" is in it, so it isn\'t a formal workflow'
        return Candidate(path, why)
    place = _place(lines, standing.status)
    extract = _extract(lines, place, path, root, mtime)
    reason = f"is in progress ({standing.why}) and names the workflow {quoted(extract.name)}; {place.why}"
    return Candidate(path, reason, extract)


def ending(text: str) -> str:
    """Say that a plan's status is completed or given up; empty if it isn't."""
    state = plan_status.standing(markdown.lines(text)).state
    return {"completed": "the status says completed", "dropped": "the status says given up"}.get(state, "")


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
    found = plan_phases.find(lines)
    chosen = max(found, key=lambda each: each.evidence, default=None)  # of several the first one
    label, total, title = _named(lines, status)
    if chosen is None:
        if label is None:
            return _Place(None, None, UNKNOWN, "it has no list of phases")
        number = max(int("".join(takewhile(str.isdecimal, label)) or 0), 1)
        return _Place(number, total, plan_phases.named(label, number, title), "a line names its phase")
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
    return _Place(at + 1, len(chosen.phases), plan_phases.named(phase.label, at + 1, phase.title), why)


def _named(lines: list[Line], status: str) -> tuple[str | None, int | None, str]:
    """Return label, total and title of the phase that a line `Current phase:` or else a status names.

    The label is None for none, and for an impossible one (I001-17).
    """
    fields = (markdown.field(line.raw[:500]) for line in lines if "phase" in line.raw.lower())
    text = next((field.value for field in fields if field and field.value and plan_phases.is_current(field)), "")
    if not text and (match := _IN_STATUS.fullmatch(status)):
        text = match["phase"] or match["first"]
    label, total, title = plan_phases.counted(text.strip("\"'"))
    if label and label.isdecimal() and total is not None and not 0 < int(label) <= total:
        label = None
    return label, total, statuses.split_mark(title or "")[0]
