"""Is a plan in progress, by what stands in it? (R001-22, I001-14)"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from holdfast.patterns import regex
from holdfast.workflow import prose, statuses
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF = r"(?:(?P<of>current|overall|project|implementation|progress|phase|work|development)\s+|plan\s+)?"
_WHEN = r"(?:\s*\([^()]{0,60}\)|\s+as\s+of\s+[^:：]{1,40}?)?"
_LABEL = prose.label(rf"{_OF}status{_WHEN}")
_STATE = prose.label(r"(?:(?:current|overall|plan)\s+)?(?P<of>state)")
_UNSIGNED = (
    regex(rf"{prose.OPENING}{_OF}status[*_`]{{0,3}}(?:\s+[–—-]{{1,2}}\s+|\s*=\s*)(?P<value>\S.*)$", re.IGNORECASE),
    regex(rf"{prose.OPENING}[*_`]{{1,3}}{_OF}status[*_`]{{1,3}}\s+(?P<value>\S.*)$", re.IGNORECASE),
)
_STATED = regex(r"status|state\b", re.IGNORECASE)
_CELL = regex(rf"\W*{_OF}status\W*", re.IGNORECASE)
_HEADING = regex(rf"\W*{_OF}status\b(?:\s+(?:tracking|update|report))?(?P<rest>.*)", re.IGNORECASE)
_BOLD = regex(r"\s*(?:\*\*|__)[^*:：]{1,40}(?:\*\*|__)\s*")  # a line that serves as a heading
_UNIT = regex(
    r"\W*(?:phase|step|task|stage|milestone|sprint|wave|batch|part|iteration|epic|story|ticket|item|work ?stream|track"
    r"|section|zone|module|feature|requirement|deliverable)s?\b|\W*\d+(?:\.\d+)*[.)]?\s+(?!.*\b(?:overview|status"
    r"|summary|info|metadata)\b)",
    re.IGNORECASE,
)
_ASIDE = regex(
    r"\W*(?:decision|adr|risk|bug|issue|question|finding|option|alternative|example|template|legend|dependency"
    r"|dependencies|related|history|changelog|log|journal|note)s?\b",
    re.IGNORECASE,
)
_LEGEND = regex(
    r"\b(?:legend|icons?|symbols?|emojis?|notation|status\s+(?:values|codes|indicators|definitions))\b"
    r"|^\W*(?:status\s+)?(?:keys?|markers?|meanings?|conventions?|states|statuses)\W*$",
    re.IGNORECASE,
)
_SIGNS_COLUMN = regex(r"\W*(?:icon|emoji|symbol|mark(?:er)?|sign|code|key|status|state)\W*", re.IGNORECASE)
_TICKED = regex(r"\s*(?:[-*+]\s+)?\[(?P<box>[^\[\]])\]\s+(?P<words>.*)")
_SIGNED = regex(r"[✅⬜🔄❌⏳🚫⏸☐☑]\ufe0f?[\s*_`]*[A-Za-z]+(?:[\s_-]+[A-Za-z]+)?")
_SPOKEN = regex(
    r"(?:[\"'“‘`]|\b(?:to|as|an?|means?|until|once|when|if|not|was|were|use|set|mark|marked|unless|before|after|from|with"
    r"|emoji|icon|status\s+of|of|the)|=)[\s*_`]*$",
    re.IGNORECASE,
)
_STATEMENTS = 1000  # lines with the word in them that are looked at
_UNDER = 12  # lines under a heading "Status" that are looked at
_BELOW = 4  # of them with text, one of which may be the status
_AROUND = 20  # lines up and down from "🔄 In Progress" that are looked at for what it stands in
_NONE = regex(r"[\W_]*(?:none|nothing|n/a|no\b.*|empty|tbd)?[\W_]*", re.IGNORECASE)


class Standing(NamedTuple):
    """Whether a plan is in progress, why, and whether its owner might well expect it to be.

    `status` is what says so, in the plan's own words; `kind` is what plans that are not for much the same reason share.
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
    """A phase, task or the like of a plan, with what is said of its status."""

    title: str
    status: str


def standing(lines: list[str], comments: list[str]) -> Standing:
    """Return whether a plan is in progress.

    Its own status line decides; else a status mark in its title, a status in a comment, a phase or task that is in
    progress, a heading "In Progress" with something under it, or "🔄 In Progress" elsewhere. What only explains or
    offers statuses does not count.
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
    if value := next(_in_comments(comments), ""):
        return _by(value, "its status is")
    if part := next((part for part in parts if statuses.in_progress(part.status)), None):
        return Standing(True, f"it has no status of its own, but {quoted(part.title, 60)} in it is in progress")
    if said := next(_said([line for line in lines if not offered or offered not in line]), ""):
        return Standing(True, f"it has no status line, but says {quoted(said)}", status=said)
    return _silent(lines, parts, offered)


def _by(value: str, words: str) -> Standing:
    if statuses.in_progress(value):
        return Standing(True, f"{words} {quoted(value)}", status=value)
    kind = _KINDS.get(statuses.opening(value) or statuses.word(value) or "", "some other status")
    return Standing(False, f'{words} {quoted(value)}, which is not "In Progress"', kind=kind)


def _silent(lines: list[str], parts: list[_Part], offered: str) -> Standing:
    """Return why a plan that says nothing of its status is not in progress."""
    if offered:
        kind = "the status line picks none of what it offers"
        return Standing(False, f"its status line offers {quoted(offered)} and picks none", notable=True, kind=kind)
    if any("progress" in line.lower() and re.search(statuses.IN_PROGRESS, line, re.IGNORECASE) for line in lines):
        why = 'has no status line, and "in progress" stands only in its prose or a legend'
        return Standing(False, why, kind='no status line, and "in progress" only in prose or a legend')
    if any(part.status for part in parts):
        why = "has no status line, and no phase or task in it is marked as in progress"
        return Standing(False, why, kind="no status line, and nothing is marked as in progress")
    return Standing(False, 'has no status line and no "🔄 In Progress"', kind=SILENT)


def _statements(lines: list[str], parts: list[_Part]) -> Iterator[tuple[str, bool]]:
    """Yield what a plan says of its own status, and whether that decides whatever it is; collect its parts' statuses.

    What stands under a phase, a task or the like is that part's; what stands under a decision or a note is neither's.
    """
    inside, level, first, left = "", 0, True, _STATEMENTS
    for index, line in enumerate(lines):
        title = prose.heading(line)
        if title:
            kind = "" if first and title[0] == 1 else _kind(title[1])
            first = False
            if not inside or title[0] <= level:
                inside, level = kind, title[0]
            if kind == "part":
                parts.append(_Part(*_marked(title[1])))
        elif prose.is_break(line):
            inside, level = "", 0
        if not _STATED.search(line) or left <= 0:
            continue
        left -= 1
        for of, value in _labelled(line, lines[index + 1 : index + _UNDER], title):
            nested = inside == "part" or (line[:2].isspace() and prose.item(line) is not None)
            if nested and inside != "aside":
                parts.append(_Part(parts[-1].title if parts else "a task", value))
            elif not inside:
                yield value, not of
    for head, rows in prose.tables(lines):
        parts += _of_table(head, rows)


def _kind(title: str) -> str:
    return "part" if _UNIT.match(title) else "aside" if _ASIDE.match(title) else ""


def _labelled(line: str, below: list[str], title: tuple[int, str] | None) -> Iterator[tuple[str, str]]:
    """Yield (of what, status) for each status a line states or heads."""
    row = prose.cells(line)
    if row:
        match = _CELL.fullmatch(row[0][:60])
        is_head = bool(below) and prose.is_rule(below[0])
        if match and len(row) > 1 and not (is_head and not statuses.opening(row[1])):
            yield match["of"] or "", prose.plain(row[1])
        return
    for part in prose.parts(line):
        patterns = (_LABEL, *_UNSIGNED, _STATE)
        by, match = next(((each, found) for each in patterns if (found := each.match(part[:500]))), (None, None))
        if match:
            value = prose.plain(match["value"]) or _below(below)
            if value and (by is not _STATE or statuses.opening(value)):
                yield match["of"] or "", value
        elif (
            not title
            and _BOLD.fullmatch(part)
            and (match := _HEADING.fullmatch(part[:200]))
            and not match["rest"].strip("* ")
        ):
            if value := _below(below):
                yield match["of"] or "", value
        elif title and (match := _HEADING.fullmatch(title[1][:200])):
            rest = match["rest"].strip(" -–—:*_`")
            value = rest if statuses.opening(rest) else "" if rest else _below(below)
            if value:
                yield match["of"] or "", value


def _below(lines: list[str]) -> str:
    """Return the status that stands under a heading "Status" or after an empty label, if any.

    Of boxes the last ticked one counts. A list of nothing but states is a legend.
    """
    boxes: list[tuple[str, str]] = []
    texts: list[str] = []
    for line in lines:
        if prose.heading(line) or prose.cells(line) or len(texts) == _BELOW:
            break
        if match := _TICKED.match(line[:500]):
            boxes.append((match["box"], match["words"]))
        elif line.strip() and not boxes:
            texts.append(prose.plain(prose.item(line) or line.strip().lstrip("> ")))
    if boxes:
        return next((words for box, words in reversed(boxes) if box.strip()), "")
    if len({state for text in texts if (state := statuses.pure(text))}) > 1:
        return ""
    going = next((text for text in texts if statuses.in_progress(text)), "")
    return going or next((text for text in texts if statuses.opening(text)), "")


def _of_table(head: list[str], rows: list[list[str]]) -> Iterator[_Part]:
    """Yield the statuses in a table with a column of that name; a table of signs and their meanings is a legend."""
    column = next((at for at, cell in enumerate(head) if at and _CELL.fullmatch(cell[:60])), 0)
    if column and not _SIGNS_COLUMN.fullmatch(head[0][:60]):
        for row in rows:
            if len(row) > column:
                titles = [cell for cell in row[:column] if not cell.strip("*_` ").isdigit()] or row
                yield _Part(prose.plain(titles[0]), row[column])


def _marked(title: str) -> tuple[str, str]:
    text, mark = statuses.marked(title)
    return text, (mark or "").replace("_", " ")


def _title(lines: list[str]) -> str:
    """Return the status mark in a plan's title."""
    title = next((found for line in lines if (found := prose.heading(line))), None)
    return _marked(title[1].lstrip("✅🔄\ufe0f "))[1] if title and title[0] == 1 else ""


def _in_comments(comments: list[str]) -> Iterator[str]:
    for comment in comments:
        if (match := _LABEL.match(comment)) and not statuses.choices(match["value"]):
            yield match["value"].strip()


def _said(lines: list[str]) -> Iterator[str]:
    """Yield the lines that say "In Progress" as a heading or as the documents write it; legends and the like do not."""
    section = ""
    board: set[str] = set()
    for index, line in enumerate(lines):
        if "progress" not in line.lower():
            section = title[1] if (title := prose.heading(line)) else section
            continue
        title = prose.heading(line)
        section = title[1] if title else section
        if title and statuses.pure(title[1]) == "in_progress":
            board = board or _board(lines)
            if _is_filled(lines[index + 1 : index + _AROUND], board):
                yield title[1]
        elif (match := statuses.literal(line)) and not _is_explained(lines, index, match, section):
            yield line.strip()


def _board(lines: list[str]) -> set[str]:
    """Return the states that have headings of their own."""
    return {state for line in lines if (title := prose.heading(line)) and (state := statuses.pure(title[1]))}


def _is_filled(below: list[str], board: set[str]) -> bool:
    """Tell whether a heading "In Progress" means anything: nothing or "None" may stand below it on a board."""
    first = next((line for line in below if line.strip()), "")
    if not first or prose.heading(first):
        return len(board) < 2
    return not _NONE.fullmatch(prose.item(first) or first[:200])


def _is_explained(lines: list[str], index: int, match: re.Match[str], section: str) -> bool:
    """Tell whether "🔄 In Progress" in a line is a legend's, a quotation, or what somebody is told to write."""
    line = lines[index]
    row = prose.cells(line)
    if (
        (row and statuses.literal(row[0]))
        or _LEGEND.search(section[:200])
        or _SPOKEN.search(line[: match.start()][-60:])
    ):
        return True
    label, colon, rest = line.partition(":")
    if (
        len({statuses.opening(each) for each in _SIGNED.findall(line[:1000])} - {None}) > 2
        or len(statuses.listed(line)) > 1
        or (colon and (len(statuses.listed(rest)) > 1 or _LEGEND.search(label[:200])))
    ):
        return True
    text = prose.item(line) or line
    around = (_next(lines, index, -1), _next(lines, index, 1))
    others = {statuses.pure(prose.item(each) or each) for each in around} - {None, "in_progress"}
    return bool(statuses.pure(text) and others) or _is_under_legend(lines, index)


def _next(lines: list[str], index: int, step: int) -> str:
    near = lines[index + 1 : index + _AROUND] if step > 0 else lines[max(index - _AROUND, 0) : index][::-1]
    return next((line for line in near if line.strip()), "")


def _is_under_legend(lines: list[str], index: int) -> bool:
    """Tell whether a list or table begins right below a line that calls it a legend."""
    for above in reversed(lines[max(index - _AROUND, 0) : index]):
        if above.strip() and prose.item(above) is None and not prose.cells(above):
            return _LEGEND.search(above[:200]) is not None and above.rstrip("*_` ").endswith(":")
    return False
