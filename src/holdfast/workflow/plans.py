"""Detection method 2: plans that are in progress (R001-22)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from holdfast.workflow import prose
from holdfast.workflow.extract import Candidate, Extract

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER = "CLAUDE/Plan"

_MOST = 200  # plans looked at, the newest first
_STATUS = prose.label(r"(?:plan\s+)?status")
_ROW = re.compile(r"^\s*\|\s*\**status\**\s*\|\s*(?P<value>[^|]*)\|", re.IGNORECASE)
_IN_PROGRESS = re.compile(r"^\W*in[ _-]?progress\b", re.IGNORECASE)
_LITERAL = re.compile(r"🔄\s*in[ _-]progress", re.IGNORECASE)
_FORMAL = re.compile(r"\b(?:phase|workflow)s?\b", re.IGNORECASE)
_TITLE = re.compile(r"^plan\s*#?(\d{1,9})?\s*[:.–—-]+\s*", re.IGNORECASE)
_NUMBER = re.compile(r"^(?:plan[-_ ]?)?(\d{1,9})(?:\D|$)", re.IGNORECASE)
_DOCUMENT = re.compile(r"(?<![\w/.@-])@?(CLAUDE/[\w./-]*\w)")
_PHASE = re.compile(r"^\W*phase\s+(\d{1,4})\b\W*(.*)$", re.IGNORECASE)
_WORDS = r"completed?|done|in[ _-]progress|not[ _-]started|pending"
_MARK = re.compile(
    rf"\s*(?:[✅🔄⬜⏳]\s*(?:{_WORDS})?|[(\[]\s*[✅🔄⬜⏳]?\s*(?:{_WORDS})?\s*[)\]]|[-–—]\s*(?:{_WORDS}))\s*$",
    re.IGNORECASE,
)
_DONE = re.compile(r"✅|\b(?:completed?|done)\b", re.IGNORECASE)
_BOX = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX])\]|(?P<sign>✅|⬜|🔄|⏳))")


@dataclass(slots=True)
class _Section:
    """A phase heading of a plan with what stands under it: the state of each box, and what a status mark says."""

    title: str
    level: int
    mark: str
    boxes: list[bool] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether all boxes are ticked; without boxes, whether the mark says so."""
        return all(self.boxes) if self.boxes else _DONE.search(self.mark) is not None


def look(root: Path) -> list[tuple[Candidate, Extract | None]]:
    """Return every plan under `CLAUDE/Plan/*/PLAN.md` with what it says, the most recently changed first (I001-13)."""
    looked: list[tuple[Candidate, Extract | None]] = []
    for mtime, path in _files(root):
        candidate, extract = _examine(root, path, mtime)
        if extract and any(earlier for _, earlier in looked):
            candidate = replace(candidate, accepted=False, reasons=("is in progress too, but another changed later",))
            extract = None
        looked.append((candidate, extract))
    return looked


def parse(text: str, path: Path, root: Path, mtime: float) -> Extract | str:
    """Return the extract of a plan's text, or the reason why it is no active workflow (I001-14, -15)."""
    lines = prose.lines(text)
    reason = _idle(lines)
    if reason:
        return reason
    name, number = _name(lines, path)
    own = path.relative_to(root).as_posix()
    documents = [match for line in lines for match in _DOCUMENT.findall(line)]
    current, total, phase = _progress(lines)
    return Extract(
        name=name,
        current=current,
        total=total,
        phase=phase,
        reading=tuple(dict.fromkeys(f"@{entry}" for entry in [own, *documents])),
        context={} if number is None else {"plan_number": number},
        origin="plan",
        source=path,
        mtime=mtime,
    )


def _files(root: Path) -> list[tuple[float, Path]]:
    found = []
    for path in root.glob(f"{FOLDER}/*/PLAN.md"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))[:_MOST]


def _examine(root: Path, path: Path, mtime: float) -> tuple[Candidate, Extract | None]:
    try:
        found = prose.read(path)
    except OSError as error:
        return Candidate(path, "plan", False, (f"cannot be read: {error.strerror or error}",), mtime), None
    extract = parse(found[0], path, root, mtime) if found else "does not exist"
    if isinstance(extract, str):
        return Candidate(path, "plan", False, (extract,), mtime), None
    return Candidate(path, "plan", True, (f'is in progress and names the workflow "{extract.name}"',), mtime), extract


def _idle(lines: list[str]) -> str | None:
    """Return why a plan is not an active workflow, or None when it is."""
    status = next((found for line in lines if (found := _status(line))), None)
    if status is None and not any(_LITERAL.search(line) for line in lines):
        return 'has no status line and no "🔄 In Progress"'
    if status is not None and not _IN_PROGRESS.match(status):
        return f'its status is "{status[:80]}", not "In Progress"'
    if not any(_FORMAL.search(line) for line in lines):
        return 'is in progress, but has neither the word "phase" nor "workflow" in it'
    return None


def _status(line: str) -> str | None:
    row = _ROW.match(line)
    return prose.plain(row["value"]) if row else prose.value(_STATUS, line)


def _name(lines: list[str], path: Path) -> tuple[str, int | None]:
    """Return the plan's name without `Plan NNN:` and its number, from the title or else the folder."""
    title = next((found[1] for line in lines if (found := prose.heading(line)) and found[0] == 1), "")
    prefix = _TITLE.match(title)
    name = prose.plain(title[prefix.end() :] if prefix else title)
    folder = _NUMBER.match(path.parent.name)
    number = (prefix[1] if prefix else None) or (folder[1] if folder else None)
    return name or path.parent.name, int(number) if number else None


def _progress(lines: Iterable[str]) -> tuple[int, int, str]:
    """Return number, total and title of the first phase that is not done; 1/1 where the headings tell nothing."""
    sections = _sections(lines)
    if not sections:
        return 1, 1, "In Progress"
    last = len(sections) - 1
    current = next((index for index, section in enumerate(sections) if not section.done), last)
    return current + 1, len(sections), sections[current].title


def _sections(lines: Iterable[str]) -> list[_Section]:
    found: list[_Section] = []
    inside = False
    for line in lines:
        title = prose.heading(line)
        if title and (phase := _PHASE.match(prose.plain(title[1]))):
            found.append(_phase(phase, title[0]))
            inside = True
        elif title:
            inside = inside and title[0] > found[-1].level
        elif inside:
            _note(found[-1], line)
    return found


def _phase(match: re.Match[str], level: int) -> _Section:
    mark = _MARK.search(match[2])
    title = match[2][: mark.start()] if mark else match[2]
    return _Section(prose.plain(title) or f"Phase {match[1]}", level, mark[0] if mark else "")


def _note(section: _Section, line: str) -> None:
    if box := _BOX.match(line):
        section.boxes.append(box["box"] in ("x", "X") or box["sign"] == "✅")
    elif not section.mark and (status := _status(line)):
        section.mark = status
