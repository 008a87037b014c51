"""What a plan's text says about a workflow, if it is one that is in progress (R001-22, I001-15)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from holdfast.formats.compaction.detection import planphases, planstatus
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.patterns import regex
from holdfast.workflow import prose, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

# The words, not a file or a variable that has them in its name.
_FORMAL = regex(r"(?<![\w/.@])(?:phase|workflow)(?:e?s|d|['’]s|[_-]?\d{1,3})?(?!\w)(?!\.\w)(?!/\S)", re.IGNORECASE)
_TITLE = regex(r"\W*plan(?:[\s_#-]*(?P<number>\d{1,9}))?\s*(?:[:.–—-]+\s*|(?<=\d)\s+|$)", re.IGNORECASE)
_NUMBER = regex(r"(?:plan[-_ ]?)?(\d{1,9})(?:\D|$)", re.IGNORECASE)
_DOCUMENT = regex(r"(?<![\w/.@-])@?(CLAUDE/(?:[\w.-]+/)*[\w-][\w.-]*\.\w{1,8})(?![\w/])")
_FRONT_MATTER = prose.label("title")


class Reading(NamedTuple):
    """What a plan says: an extract, if it is an active workflow, and why it is one or not."""

    extract: Extract | None
    reason: str
    notable: bool = False
    kind: str = ""


def parse(text: str, path: Path, root: Path, mtime: float) -> Reading:
    """Return what the text of the plan at `path` in the project `root` says (I001-14, -15)."""
    lines = prose.lines(text)
    standing = planstatus.standing(lines, prose.metadata(text))
    if not standing.going:
        return Reading(None, standing.why, standing.notable, standing.kind)
    if not _FORMAL.search(text):
        why = 'is in progress, but neither the word "phase" nor "workflow" is in it, so it is no formal workflow'
        return Reading(None, why, notable=True, kind="in progress, but no formal workflow")
    extract = _extract(lines, standing.status, path, root, mtime)
    return Reading(extract, f"is in progress ({standing.why}) and names the workflow {quoted(extract.name)}")


def may_be_active(text: str) -> bool:
    """Tell quickly whether a text could be that of a plan in progress at all."""
    return "progress" in text.lower() or "\U0001f504" in text


def _extract(lines: list[str], status: str, path: Path, root: Path, mtime: float) -> Extract:
    name, number = _name(lines, path)
    own = path.relative_to(root).as_posix()
    documents = [match for line in lines if "CLAUDE/" in line for match in _DOCUMENT.findall(line)]
    place = planphases.place(lines, status)
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


def _name(lines: list[str], path: Path) -> tuple[str, int | None]:
    """Return the plan's name without `Plan NNN:` and status mark, and its number; from the title or else the folder."""
    titles = [found for line in lines if (found := prose.heading(line))]
    title = next((text for level, text in titles if level == 1), "")
    title = title or next((text for _, text in titles[:1] if _TITLE.match(text)), "") or _front_matter(lines)
    title = statuses.marked(prose.plain(title))[0]
    prefix = _TITLE.match(title)
    name = prose.plain(title[prefix.end() :] if prefix else title)
    folder = _NUMBER.match(path.parent.name)
    number = (prefix["number"] if prefix else None) or (folder[1] if folder else None)
    return name or path.parent.name, int(number) if number else None


def _front_matter(lines: list[str]) -> str:
    if not lines or lines[0].strip() != "---":
        return ""
    title = next((found for line in lines[1:40] if (found := prose.value(_FRONT_MATTER, line[:500]))), "")
    return title.strip("\"'")


def _printable(text: str) -> str:
    """Return text that can be written as UTF-8, whatever bytes a folder's name is made of."""
    return text.encode("utf-8", "replace").decode("utf-8")
