"""Find out from a plan's text whether it is in progress (R001-22, I001-14)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from holdfast.workflow import markdown, scanner, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.workflow.markdown import Line

_STATUS = {
    "status": "",
    "plan status": "",
    **{f"{whole} status": whole for whole in statuses.WHOLES},
}  # label -> the whole that it is the status of
_STATE = ("state", "current state", "overall state", "plan state")
_OF = rf"(?:(?P<of>{'|'.join(statuses.WHOLES)})\s+|plan\s+)?status"
_UNSIGNED = re.compile(
    rf"{markdown.OPENING}(?P<bold>[*_`]{{0,3}}){_OF}(?:[*_`]{{0,3}}(?:\s+[–—-]{{1,2}}\s+|\s*=\s*)|(?P<end>[*_`]{{1,3}})\s+)"
    r"(?P<value>\S.*)",
    re.IGNORECASE,
)  # a label without a colon: a dash, an equals sign, or nothing where it is bold
_HEADING = re.compile(rf"\W*{_OF}\b(?:\s+(?:tracking|update|report))?(?P<rest>.*)", re.IGNORECASE)
_SIGNED = re.compile(r"[✅⬜🔄❌⏳🚫⏸☐☑]\ufe0f?[\s*_`]*[A-Za-z]+(?:[\s_-]+[A-Za-z]+)?")
_STATEMENTS = 1000  # lines with "status" or "state" in them that are looked at
_UNDER = 12  # lines under a heading "Status" that are looked at
_BELOW = 4  # lines of text among them, one of which may be the status
_AROUND = 20  # lines above and below "🔄 In Progress" that are looked at for its context


class Standing(NamedTuple):
    """Whether a plan is in progress, why, and whether its owner might well expect it to be.

    `status` is the text that says so, in the plan's own words. `kind` is the same for plans that aren't in progress for
    much the same reason.
    """

    going: bool
    why: str
    notable: bool = False
    status: str = ""
    kind: str = ""


COMPLETED = "the status says completed"
DROPPED = "the status says given up"
SILENT = 'no status line and no "🔄 In Progress"'
_KINDS = {
    "completed": COMPLETED,
    "dropped": DROPPED,
    "blocked": "the status says blocked",
    "not_started": "the status says not started",
    "in_progress": "the status says that it is not in progress",
}


class _Part(NamedTuple):
    """A phase, task or the like of a plan, with its status as written."""

    title: str
    status: str


def standing(lines: list[Line]) -> Standing:
    """Return whether a plan is in progress.

    Its own status line decides. Without one, any of these does, in this order: a status mark in its title, a phase or
    task in progress, a heading "In Progress" with something under it, "🔄 In Progress" elsewhere.
    Text that only explains or offers statuses doesn't count.
    """
    parts: list[_Part] = []
    offered = ""
    for value, decisive in _statements(lines, parts):
        if statuses.choices(value):
            offered = offered or value
        elif decisive or statuses.in_progress(value) or statuses.opening(value):
            return _by(value, "its status is")
    if mark := _title(lines):
        return _by(mark, "the mark in its title says")
    if part := next((part for part in parts if statuses.in_progress(part.status)), None):
        return Standing(True, f"it has no status of its own, but {quoted(part.title, 60)} in it is in progress")
    if said := next(_said([line for line in lines if not offered or offered not in line.raw]), ""):
        return Standing(True, f"it has no status line, but says {quoted(said)}", status=said)
    return _silent(lines, parts, offered)


def _by(value: str, words: str) -> Standing:
    if statuses.in_progress(value):
        return Standing(True, f"{words} {quoted(value)}", status=value)
    kind = _KINDS.get(statuses.opening(value) or statuses.word(value) or "", "some other status")
    return Standing(False, f'{words} {quoted(value)}, which is not "In Progress"', kind=kind)


def _silent(lines: list[Line], parts: list[_Part], offered: str) -> Standing:
    """Say why a plan without a status is not in progress."""
    if offered:
        kind = "the status line picks none of what it offers"
        return Standing(False, f"its status line offers {quoted(offered)} and picks none", notable=True, kind=kind)
    if any(statuses.mentions_progress(line.raw) for line in lines):
        why = 'has no status line, and "in progress" stands only in its prose or a legend'
        return Standing(False, why, kind='no status line, and "in progress" only in prose or a legend')
    if any(part.status for part in parts):
        why = "has no status line, and no phase or task in it is marked as in progress"
        return Standing(False, why, kind="no status line, and nothing is marked as in progress")
    return Standing(False, 'has no status line and no "🔄 In Progress"', kind=SILENT)


def _statements(lines: list[Line], parts: list[_Part]) -> Iterator[tuple[str, bool]]:
    """Yield each statement of a plan's own status, with whether it decides in any case; collect statuses of its parts.

    What is under a phase, a task or the like belongs to that part. What is under a decision or a note is ignored.
    """
    inside, level, first, left = "", 0, True, _STATEMENTS
    for index, line in enumerate(lines):
        if line.kind == "heading":
            kind = "" if first and line.depth == 1 else _kind(line.text)
            first = False
            if not inside or line.depth <= level:
                inside, level = kind, line.depth
            if kind == "part":
                parts.append(_Part(*_marked(line.text)))
        elif line.kind == "break":
            inside, level = "", 0
        low = line.raw.lower()
        if ("status" not in low and "state" not in low) or left <= 0:
            continue
        left -= 1
        for of, value in _labelled(line, lines[index + 1 : index + _UNDER]):
            nested = inside == "part" or (line.kind == "item" and line.raw[:2].isspace())
            if nested and inside != "aside":
                parts.append(_Part(parts[-1].title if parts else "a task", value))
            elif not inside:
                yield value, not of
    for head, rows in scanner.tables(lines):
        parts += _of_table(head, rows)


def _kind(title: str) -> str:
    """Return "part" or "aside" by a heading's first word, else an empty text; a number makes a part too."""
    words = markdown.words(title[:200])
    first = words[0] if words else ""
    if {first, first.removesuffix("s"), "".join(words[:2]).removesuffix("s")} & statuses.PARTS or (
        _is_numbered(title) and not statuses.SUMMARIES & {*markdown.words(title)}
    ):
        return "part"
    return "aside" if {first, first.removesuffix("s")} & statuses.ASIDES else ""


def _is_numbered(title: str) -> bool:
    start = next((at for at, sign in enumerate(title) if sign.isalnum()), 0)
    number, _, rest = title[start:].partition(" ")
    number = number[:-1] if number[-1:] in (".", ")") else number
    return bool(rest) and all(each.isdecimal() for each in number.split("."))


def _labelled(line: Line, below: list[Line]) -> Iterator[tuple[str, str]]:
    """Yield (of what, status) for each status that a line states, or that follows it as under a heading."""
    if row := line.cells:
        of = _STATUS.get(markdown.name(row[0][:60]))
        is_head = bool(below) and below[0].kind == "rule"
        if of is not None and len(row) > 1 and not (is_head and not statuses.opening(row[1])):
            yield of, markdown.plain(row[1])
        return
    for part in markdown.parts(line.raw):
        if stated := _stated(part[:500]):
            of, value = stated
            value = value or _below(below)
            if value and (of != "state" or statuses.opening(value)):
                yield of, value
        elif (head := _head(line, part)) and (match := _HEADING.fullmatch(head[:200])):
            rest = match["rest"].strip(" -–—:*_`")
            value = _below(below) if not rest else rest if line.kind == "heading" and statuses.opening(rest) else ""
            if value:
                yield match["of"] or "", value


def _stated(part: str) -> tuple[str, str] | None:
    """Return (of what, status) for a label with its value, which may be empty; None for anything else."""
    field = markdown.field(part)
    if field and (of := _STATUS.get(_undated(field.words))) is not None:
        return of, field.value
    match = _UNSIGNED.match(part)
    if match and (match["end"] is None or part[: match.end("bold")].endswith(("*", "_", "`"))):
        return (match["of"] or "").lower(), markdown.plain(match["value"])
    return ("state", field.value) if field and field.words in _STATE else None


def _undated(words: str) -> str:
    """Return a label's words without a date or a remark after them."""
    words = words.partition(" as of ")[0]
    return words.partition("(")[0].rstrip() if words.endswith(")") else words


def _head(line: Line, part: str) -> str:
    """Return the text of a heading, or of bold words alone on a line, which count as one; else empty."""
    bare = part.strip()
    inner = bare[2:-2]
    if line.kind == "heading":
        return line.text
    is_bold = bare[:2] in ("**", "__") and bare[-2:] in ("**", "__") and 0 < len(inner) <= 40
    return inner if is_bold and not any(sign in inner for sign in "*:：") else ""


def _below(lines: list[Line]) -> str:
    """Return the status under a heading "Status" or after an empty label; empty if there is none.

    Of checkboxes, the last ticked one counts. A list of nothing but states is a legend.
    """
    boxes: list[Line] = []
    texts: list[str] = []
    for line in lines:
        if line.kind == "heading" or line.cells or len(texts) == _BELOW:
            break
        if line.box:
            boxes.append(line)
        elif line.kind != "blank" and not boxes:
            texts.append(markdown.plain(line.text or line.raw))
    if boxes:
        return next((line.text for line in reversed(boxes) if (line.box or "").strip()), "")
    if len({state for text in texts if (state := statuses.pure(text))}) > 1:
        return ""
    going = next((text for text in texts if statuses.in_progress(text)), "")
    return going or next((text for text in texts if statuses.opening(text)), "")


def _of_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[_Part]:
    """Yield the statuses in a table with a column of that name; a table of signs and their meanings is a legend."""
    column = next((at for at, cell in enumerate(head) if at and markdown.name(cell[:60]) in _STATUS), 0)
    if column and markdown.name(head[0][:60]) not in statuses.SIGN_COLUMNS:
        for row in rows:
            if len(row) > column:
                titles = [cell for cell in row[:column] if not cell.strip("*_` ").isdigit()] or row
                yield _Part(markdown.plain(titles[0]), row[column])


def _marked(title: str) -> tuple[str, str]:
    text, mark = statuses.split_mark(title)
    return text, (mark or "").replace("_", " ")


def _title(lines: list[Line]) -> str:
    """Return the status mark in a plan's title, empty for none."""
    title = next((line for line in lines if line.kind == "heading"), None)
    return _marked(title.text.lstrip("✅🔄\ufe0f "))[1] if title and title.depth == 1 else ""


def _said(lines: list[Line]) -> Iterator[str]:
    """Yield the lines that say "In Progress" as a heading or as the documents write it, except legends and the like."""
    section = ""
    for index, line in enumerate(lines):
        section = line.text if line.kind == "heading" else section
        if "progress" not in line.raw.lower():
            continue
        if line.kind == "heading" and statuses.pure(line.text) == "in_progress":
            if _is_filled(lines[index + 1 : index + _AROUND]):
                yield line.text
        elif (match := statuses.literal(line.raw)) and not _is_explained(lines, index, match, section):
            yield line.raw.strip()


def _is_filled(below: list[Line]) -> bool:
    """Return whether a heading "In Progress" means anything: on a board, nothing or "None" may be below it."""
    first = next((line for line in below if line.kind != "blank"), None)
    if first is None or first.kind == "heading":
        return first is None or statuses.pure(first.text) is None
    name = markdown.name(_own(first)[:200])
    return name not in statuses.NOTHING and markdown.words(name)[:1] != ["no"]


def _is_explained(lines: list[Line], index: int, match: re.Match[str], section: str) -> bool:
    """Return whether "🔄 In Progress" in a line is part of a legend, a quotation, or what somebody is told to write."""
    line = lines[index]
    row = line.cells
    if (row and statuses.literal(row[0])) or _is_legend(section) or _is_spoken_of(match.string[: match.start()][-60:]):
        return True
    label, colon, _ = line.raw.partition(":")
    if len({statuses.opening(each) for each in _SIGNED.findall(line.raw[:1000])} - {None}) > 2 or (
        colon and _is_legend(label)
    ):
        return True
    around = (_next(lines, index, -1), _next(lines, index, 1))
    others = {statuses.pure(_own(each)) for each in around if each} - {None, "in_progress"}
    return bool(statuses.pure(_own(line)) and others) or _is_under_legend(lines, index)


def _is_legend(text: str) -> bool:
    """Return whether a heading or a label announces a legend."""
    words = markdown.words(text[:200])
    pairs = pairwise(words)
    return (
        not statuses.LEGENDS.isdisjoint(words)
        or any(one == "status" and other in statuses.LEGENDS_OF_STATUS for one, other in pairs)
        or markdown.name(text[:200]).removeprefix("status ") in statuses.LEGEND_NAMES
    )


def _is_spoken_of(before: str) -> bool:
    """Return whether these words come before a status that is only mentioned, as in: set it to "🔄 In Progress"."""
    bare = before.rstrip("\u00a0 \t*_")
    if bare[-1:] in ("`", '"', "'", "“", "‘", "="):
        return True
    return bare[-1:].isalnum() and markdown.words(bare)[-1] in statuses.SPEAKING


def _own(line: Line) -> str:
    return line.text if line.kind == "item" and line.text else line.raw


def _next(lines: list[Line], index: int, step: int) -> Line | None:
    near = lines[index + 1 : index + _AROUND] if step > 0 else lines[max(index - _AROUND, 0) : index][::-1]
    return next((line for line in near if line.kind != "blank"), None)


def _is_under_legend(lines: list[Line], index: int) -> bool:
    """Return whether the list or table around a line begins right below a line that announces a legend."""
    for above in reversed(lines[max(index - _AROUND, 0) : index]):
        if above.kind not in ("blank", "item") and not above.cells:
            return _is_legend(above.raw) and above.raw.rstrip("*_` ").endswith(":")
    return False
