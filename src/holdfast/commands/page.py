"""The page that shows a workflow to people: `holdfast show` prints it once, `holdfast watch` keeps it up to date."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from rich.text import Text

from holdfast.commands import sections
from holdfast.commands.sheet import Sheet, cropped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.sessions.history.overview import Overview
    from holdfast.sessions.history.succession import Sight
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class _Fold:
    """What a page leaves out to fit. The fields are set in this order, so each implies those before it.

    Attributes:
        extras: reading, reminders and context; their counts stay.
        past: what finished phases delivered and handed over, except for the last one.
        lists: section headings, and all but one line of each section; the phases stay.
        phases: finished phases, and pending ones except for the next few.
        head: the file's path, when it changed, and the end of a long title.
    """

    extras: bool = False
    past: bool = False
    lists: bool = False
    phases: bool = False
    head: bool = False


_END = {"completed": "is completed", "cancelled": "was cancelled"}
_FOLDS = tuple(_Fold(*[True] * left_out) for left_out in range(len(fields(_Fold)) + 1))


def full_page(overview: Overview, now: datetime, width: int, *, over: bool = False) -> list[Text]:
    """Return a workflow's whole page as lines of at most `width` columns.

    With `over`, a line above says that no workflow is in progress and how this one, the last, ended.
    """
    sheet = Sheet(width)
    if over:
        sheet.put(Text(f"No workflow is in progress here. The last one {_END.get(overview.workflow.word, 'failed')}:"))
        sheet.lines.append(Text())
    return sheet.lines + _page(overview, (), now, width, _FOLDS[0])


def watched(sight: Sight, now: datetime, width: int, height: int | None = None) -> list[Text]:
    """Return the lines of the live view: the workflow, a line for each other one, and what the view waits for.

    Args:
        sight: what `holdfast watch` sees at the moment.
        now: the present time.
        width: columns.
        height: how many lines fit, or None for no limit. What doesn't fit is left out, the least important first.
    """
    tail = _tail(sight, width) + ([] if height is None else [Text(), Text("Ctrl-C ends", "dim")])
    if sight.overview is None:
        return cropped(_waiting(sight, width), tail, height)
    room = None if height is None else height - len(tail)
    page: list[Text] = []
    for fold in _FOLDS:
        if room is not None and fold is not _FOLDS[-1] and _least(sight.overview, fold) > room:
            continue
        page = _page(sight.overview, sight.others, now, width, fold)
        if room is None or len(page) <= room:
            break
    return cropped(page, tail, height)


def _least(overview: Overview, fold: _Fold) -> int:
    """Return a lower bound of a page's lines, so that a page that cannot fit isn't laid out."""
    return (0 if fold.phases else len(overview.workflow.phases)) + (0 if fold.lists else len(overview.todos))


def _page(overview: Overview, others: Sequence[Workflow], now: datetime, width: int, fold: _Fold) -> list[Text]:
    sheet = Sheet(width)
    sections.head(sheet, overview, now, brief=fold.head)
    sections.phases(sheet, overview, now, brief=fold.past, few=fold.phases)
    warnings = [sections.text(each) for each in (*overview.workflow.warnings, *overview.workflow.remarks)]
    problems = list(sections.problems(overview.workflow.root, overview.problems))
    more = sections.extras_in_a_line(overview)
    if fold.lists:
        sheet.lines.append(Text())
        sections.agents_in_lines(sheet, overview, now)
        sections.count(sheet, "Unused", sections.unused_in_a_line(overview, now))
        sections.todos_in_a_line(sheet, overview)
        sections.kept(sheet, overview, now)
        sections.count(sheet, "Also", [Text(more)] if more else [])
        sections.count(sheet, "Warnings", warnings)
        sections.count(sheet, "Not read", problems)
        sections.count(sheet, "Others", [sections.other(each) for each in others])
        return sheet.lines
    sections.agents(sheet, overview, now)
    sections.unused(sheet, overview, now)
    sections.todos(sheet, overview, now)
    sheet.heading("Saved and restored")
    sections.kept(sheet, overview, now)
    if fold.extras:
        sheet.section("Also", [Text(more)] if more else [])
    else:
        sections.extras(sheet, overview)
    sheet.section("Warnings", warnings, "- ")
    sheet.section("Not read", problems)
    sections.others(sheet, "Other workflows", others)
    return sheet.lines


def _waiting(sight: Sight, width: int) -> list[Text]:
    sheet = Sheet(width)
    sheet.put(Text("No workflow is in progress here.", "bold"))
    sheet.put(Text("Waiting for one to begin. `holdfast start TITLE` starts one."))
    sheet.section("Not read", sections.problems(sight.root, sight.problems))
    sections.others(sheet, "Workflows", sight.others)
    return sheet.lines


def _tail(sight: Sight, width: int) -> list[Text]:
    sheet = Sheet(width)
    if sight.over:
        sheet.lines.append(Text())
        end = _END.get(sight.overview.workflow.word, "failed") if sight.overview else "is over"
        sheet.put(Text(f"It {end}; waiting for the next one to begin."))
    if sight.trouble:
        sheet.lines.append(Text())
        sheet.put(sections.text(f"This is not the latest: {sight.trouble}"))
    return sheet.lines
