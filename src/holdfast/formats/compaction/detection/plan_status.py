"""Find out from a plan's text whether it is in progress (R001-22, I001-14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from holdfast.workflow import markdown, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.workflow.markdown import Line

_STATUS = re.compile(r"(?:(?P<of>current|overall|project|implementation)\s+|plan\s+)?status")
_PART = re.compile(r"\W*(?:(?:phase|milestone|stage|sprint|task|step)s?\b|\d+(?:\.\d+)*[.)]?\s)", re.IGNORECASE)
_LITERAL = re.compile(r"(?:\W*|.*\bis\W+)🔄\ufe0f?[\s*_`]*in[\s_-]*progress\b", re.IGNORECASE)
_BELOW = 4  # lines of text below a heading "Status", one of which may be the status


class Standing(NamedTuple):
    """Whether a plan is in progress, and why.

    `status` is what says that the plan itself is in progress. `state` is what another status means
    (`statuses.opening`); empty if nobody knows.
    """

    going: bool
    why: str
    status: str = ""
    state: str = ""


class _Part(NamedTuple):
    """A phase, task or the like of a plan, with its status as written."""

    title: str
    status: str


def standing(lines: list[Line]) -> Standing:
    """Return whether a plan is in progress.

    Its own status line decides. Without one, a mark in its title does, else a phase or task in progress, else
    "🔄 In Progress" as the documents write it.
    """
    parts: list[_Part] = []
    title = next((line.text for line in lines if line.kind == "heading"), "")
    mark = (statuses.split_mark(title)[1] or "").replace("_", " ")
    for value, is_decisive in [*_statements(lines, parts), (mark, bool(mark))]:
        if statuses.in_progress(value):
            return Standing(True, f"its status is {quoted(value)}", status=value)
        if state := statuses.opening(value) or is_decisive:
            why = f'its status is {quoted(value)}, which is not "In Progress"'
            return Standing(False, why, state=state if isinstance(state, str) else "")
    if part := next((part for part in parts if statuses.in_progress(part.status)), None):
        return Standing(True, f"it has no status of its own, but {quoted(part.title, 60)} in it is in progress")
    if literal := _literal(lines):
        return Standing(True, f"it has no status line, but says {quoted(literal)}")
    return Standing(False, 'has no status line and no "🔄 In Progress"')


def _statements(lines: list[Line], parts: list[_Part]) -> Iterator[tuple[str, bool]]:
    """Yield each statement of a plan's own status, with whether it decides in any case; collect statuses of its parts.

    What is under a phase, a task or the like belongs to that part, up to a heading of its level or a rule.
    """
    level, is_first = 0, True  # a level of 0 is outside parts
    for index, line in enumerate(lines):
        if line.kind == "heading":
            is_part = _PART.match(line.text) is not None and not (is_first and line.depth == 1)
            is_first = False
            level = (line.depth if is_part else 0) if not level or line.depth <= level else level
            if is_part:
                title, mark = statuses.split_mark(line.text)
                parts.append(_Part(title, (mark or "").replace("_", " ")))
        elif line.kind == "break":
            level = 0
        if "status" not in line.raw.lower():
            continue
        for value, is_decisive in _labelled(line, lines[index + 1 : index + 1 + 3 * _BELOW]):
            if level or (line.kind == "item" and line.raw[:2].isspace()):
                parts.append(_Part(parts[-1].title if parts else "a task", value))
            else:
                yield value, is_decisive
    for head, rows in markdown.tables(lines):
        parts += _of_table(head, rows)


def _labelled(line: Line, below: list[Line]) -> Iterator[tuple[str, bool]]:
    """Yield the status that a line states, or that follows it as under a heading, with whether it is the plan's own."""
    if line.cells:
        if len(line.cells) > 1 and _STATUS.fullmatch(markdown.name(line.cells[0])) and statuses.opening(line.cells[1]):
            yield markdown.plain(line.cells[1]), True
        return
    field = markdown.field(line.raw)
    label = field.words if field else markdown.name(line.text) if line.kind == "heading" else ""
    if (match := _STATUS.fullmatch(label)) and (value := field.value if field and field.value else _below(below)):
        yield value, match["of"] is None


def _below(lines: list[Line]) -> str:
    """Return the status in the first lines of text below a heading "Status"; empty if there is none."""
    texts: list[str] = []
    for line in lines:
        if line.kind == "heading" or line.cells or line.box is not None or len(texts) == _BELOW:
            break
        if line.kind != "blank":
            texts.append(markdown.plain(line.text or line.raw))
    stated = [text for text in texts if statuses.opening(text)]
    return stated[0] if len(stated) == 1 else ""  # several are a legend


def _of_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[_Part]:
    """Yield the statuses in a table with a column of that name; a table of signs and their meanings is a legend."""
    column = next((at for at, cell in enumerate(head) if at and _STATUS.fullmatch(markdown.name(cell))), 0)
    for row in rows:
        titles = [cell for cell in row[:column] if any(each.isalpha() for each in cell)]
        if titles and len(row) > column:
            yield _Part(markdown.plain(titles[0]), row[column])


def _literal(lines: list[Line]) -> str:
    """Return the line that says "🔄 In Progress" as the documents write it; empty for none.

    It begins with the sign, or says that something "is 🔄 In Progress". Where lines are nothing but other states, all
    of them are a legend or a board.
    """
    if any(statuses.pure(line.text) not in (None, "in_progress") for line in lines):
        return ""
    literal = (line for line in lines if line.kind in ("text", "heading") and _LITERAL.match(line.text))
    return next((line.raw.strip() for line in literal), "")
