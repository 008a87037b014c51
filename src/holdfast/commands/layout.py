"""Lay out what `show`, `watch`, `list` and `log` print: lines of one width, and the page of a workflow.

`holdfast show` prints the page in full. Where `holdfast watch` has little room, it folds sections to one line each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from holdfast import clock
from holdfast.commands import terminal
from holdfast.commands.moments import duration, when
from holdfast.workflow import views
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.sessions.history.history import PhaseHistory
    from holdfast.sessions.history.overview import Overview, Save
    from holdfast.sessions.history.succession import Sight
    from holdfast.workflow.model import Phase, Problem, Workflow

_VALUE_LIMIT_CHARS = 2_000  # of one value
_SHORT_CHARS = 200  # of one value where there is little room
_BRIEF_CHARS = 60  # of a title where there is very little room
_NEXT = 3  # pending phases that are still listed where there is little room
_LISTED = 10  # other workflows that are listed
_STYLES = {"completed": "green", "active": "bold cyan", "failed": "bold red", "blocked": "bold magenta"}
_BOXES = {"completed": "completed", "in_progress": "active", "pending": "pending"}
_UNTOLD = "the model hasn't been given this list yet"


class Sheet:
    """A list of lines of at most one width. Longer text wraps and is indented under its own beginning."""

    def __init__(self, width: int) -> None:
        self.lines: list[Text] = []
        self._width = width

    def put(self, text: Text, lead: str | Text = "", hang: int = 0) -> None:
        """Add a text after its lead; its further lines are indented to its beginning plus `hang` columns."""
        lead = Text(lead) if isinstance(lead, str) else lead
        self.lines += terminal.hanging(text, lead, self._width, hang)

    def heading(self, words: str) -> None:
        """Begin a section with an empty line and a heading."""
        self.lines += [Text(), Text(words, "bold")]

    def fact(self, label: str, text: Text) -> None:
        """Add a text with a label in a column before it."""
        self.put(text, Text(f"  {label:<13} ", "dim"))

    def section(self, words: str, texts: Iterable[Text], bullet: str = "") -> None:
        """Add a section with its heading; without texts, add nothing."""
        for number, text in enumerate(texts):
            if number == 0:
                self.heading(words)
            self.put(text, f"  {bullet}", 0 if bullet else 2)


def tell(lines: Iterable[str], hang: int = 2) -> None:
    """Print cleaned lines. Those that are too long for a terminal wrap between words, indented `hang` columns more."""
    to = terminal.console()
    page = Sheet(to.width)
    for line in map(clean, lines):
        if terminal.wraps(to) and cell_len(line) > to.width:
            indent = line[: len(line) - len(line.lstrip())]
            page.put(Text(line.lstrip()), indent, hang)
        else:
            page.lines.append(Text(line))
    terminal.put(to, page.lines)


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
        return _cropped(_waiting(sight, width), tail, height)
    room = None if height is None else height - len(tail)
    page: list[Text] = []
    for fold in _FOLDS:
        if room is not None and fold is not _FOLDS[-1] and _least(sight.overview, fold) > room:
            continue
        page = _page(sight.overview, sight.others, now, width, fold)
        if room is None or len(page) <= room:
            break
    return _cropped(page, tail, height)


def _least(overview: Overview, fold: _Fold) -> int:
    """Return a lower bound of a page's lines, so that a page that cannot fit isn't laid out."""
    return (0 if fold.phases else len(overview.workflow.phases)) + (0 if fold.lists else len(overview.todos))


def _page(overview: Overview, others: Sequence[Workflow], now: datetime, width: int, fold: _Fold) -> list[Text]:
    sheet = Sheet(width)
    _put_head(sheet, overview, now, brief=fold.head)
    _put_phases(sheet, overview, now, brief=fold.past, few=fold.phases)
    warnings = [_cleaned(each) for each in (*overview.workflow.warnings, *overview.workflow.remarks)]
    problems = list(_problem_lines(overview.workflow.root, overview.problems))
    more = _extras_in_a_line(overview)
    if fold.lists:
        sheet.lines.append(Text())
        _put_agents_in_lines(sheet, overview, now)
        _put_count(sheet, "Unused", _unused_in_a_line(overview, now))
        _put_todos_in_a_line(sheet, overview)
        _put_saves(sheet, overview, now)
        _put_count(sheet, "Also", [Text(more)] if more else [])
        _put_count(sheet, "Warnings", warnings)
        _put_count(sheet, "Not read", problems)
        _put_count(sheet, "Others", [_other_line(each) for each in others])
        return sheet.lines
    _put_agents(sheet, overview, now)
    _put_unused(sheet, overview, now)
    _put_todos(sheet, overview, now)
    sheet.heading("Saved and restored")
    _put_saves(sheet, overview, now)
    if fold.extras:
        sheet.section("Also", [Text(more)] if more else [])
    else:
        _put_extras(sheet, overview)
    sheet.section("Warnings", warnings, "- ")
    sheet.section("Not read", problems)
    _put_others(sheet, "Other workflows", others)
    return sheet.lines


def _waiting(sight: Sight, width: int) -> list[Text]:
    sheet = Sheet(width)
    sheet.put(Text("No workflow is in progress here.", "bold"))
    sheet.put(Text("Waiting for one to begin. `holdfast start TITLE` starts one."))
    sheet.section("Not read", _problem_lines(sight.root, sight.problems))
    _put_others(sheet, "Workflows", sight.others)
    return sheet.lines


def _tail(sight: Sight, width: int) -> list[Text]:
    sheet = Sheet(width)
    if sight.over:
        sheet.lines.append(Text())
        end = _END.get(sight.overview.workflow.word, "failed") if sight.overview else "is over"
        sheet.put(Text(f"It {end}; waiting for the next one to begin."))
    if sight.trouble:
        sheet.lines.append(Text())
        sheet.put(_cleaned(f"This is not the latest: {sight.trouble}"))
    return sheet.lines


def _cropped(page: list[Text], tail: list[Text], height: int | None) -> list[Text]:
    """Return a page and its tail in at most `height` lines; a line says how many of the page are left out."""
    if height is None or len(page) + len(tail) <= height:
        return page + tail
    room = max(height - len(tail) - 1, 0)
    more = Text(f"  +{len(page) - room} lines: `holdfast show` prints all", "dim")
    return [*page[:room], more, *tail][:height]


def _put_head(sheet: Sheet, overview: Overview, now: datetime, *, brief: bool) -> None:
    """Show title, status, position, time and path; `brief` leaves out the path and the end of a long title."""
    workflow, seen = overview.workflow, overview.history
    title = _line(workflow.title) or "(no title)"
    sheet.put(Text(f"{title[:_BRIEF_CHARS]}…" if brief and len(title) > _BRIEF_CHARS else title, "bold"), hang=2)
    spent = _spent(overview, seen.seconds, seen.ended_at, now) if seen.started_at else ""
    place = workflow.position if workflow.finished else workflow.progress_text
    took = f"took {spent}" if spent and workflow.finished else spent
    state = filter(None, (workflow.word, place, f"{workflow.percent}%", took))
    line = Text(", ".join(state))
    line.stylize(_STYLES.get(workflow.status, ""), 0, len(workflow.word))
    sheet.put(line, hang=2)
    if brief:
        return
    changed = f"changed {when(workflow.updated_at, now)}"
    if workflow.finished:
        kept = ", kept in the archive" if overview.archived else ""
        changed = f"{workflow.word} {when(seen.ended_at or workflow.updated_at, now)}{kept}"
    sheet.put(Text(changed, "dim"), hang=2)
    kind = f" ({_line(workflow.kind)})" if workflow.kind else ""
    known = [f"{workflow.format}{kind}", *([_line(workflow.id)] if workflow.id != workflow.path.stem else [])]
    sheet.put(Text(", ".join([*known, _line(overview.place)]), "dim"), hang=2)


def _put_phases(sheet: Sheet, overview: Overview, now: datetime, *, brief: bool, few: bool) -> None:
    """Show the phases.

    Args:
        sheet: where they are written.
        overview: the workflow with its agents and history.
        now: the present time.
        brief: leave out what finished phases delivered and handed over, except for the last one.
        few: count finished phases, and pending ones after the next few, instead of listing them.
    """
    workflow = overview.workflow
    sheet.heading(f"{workflow.unit.capitalize()}s")
    finished = [phase.number for phase in workflow.phases if phase.status == "completed"]
    pending = [phase.number for phase in workflow.phases if phase.status == "pending"]
    hidden = {*finished, *pending[_NEXT:]} if few else set()
    if few and finished:
        sheet.put(Text(f"{len(finished)} completed", "green"), _lead("completed"))
    for phase in workflow.phases:
        if phase.number not in hidden:
            past = phase.status == "completed" and phase.number != finished[-1]
            _phase(sheet, overview, phase, now, brief=brief and past, limit=_SHORT_CHARS if few else _VALUE_LIMIT_CHARS)
    if few and pending[_NEXT:]:
        sheet.put(Text(f"{len(pending[_NEXT:])} more", "dim"), _lead("pending"))
    if (unnamed := workflow.total - len(workflow.phases)) > 0:
        sheet.put(Text(f"{unnamed} of {workflow.total} have no title in the file", "dim"), "  ")
    elif not workflow.phases:
        sheet.put(Text("none", "dim"), "  ")


def _put_agents(sheet: Sheet, overview: Overview, now: datetime) -> None:
    """Show the running agents."""
    if overview.agents or not overview.workflow.finished:
        sheet.heading("Running agents")
        if not overview.agents:
            sheet.put(Text("none", "dim"), "  ")
    for each in overview.agents:
        name = Text(_line(each.agent_type), "bold")
        name.append(f"  {_line(each.agent_id)}" if each.agent_id else "", "dim not bold")
        name.append(_for_phase(overview.workflow, each), "not bold")
        sheet.put(name, "  ", 2)
        since = clock.parse(each.launched_at)
        day = "" if since and since.date() == now.date() else "%Y-%m-%d "
        exactly = f" (since {since:{day}%H:%M:%S} UTC)" if since else ""
        whose = f"session {_short(each.session)}{', which owns no workflow' if _free(overview, each) else ''}"
        sheet.put(Text(f"{_flight(each, now)}{exactly}, {whose}"), "    ")


def _put_unused(sheet: Sheet, overview: Overview, now: datetime) -> None:
    """Show the agents that ended and whose results, as far as is known, nobody used."""
    if overview.unused:
        sheet.heading("Agents whose results were not used")
    for each in overview.unused:
        name = Text(_line(each.agent_type), "bold")
        name.append(f"  {_line(each.agent_id)}", "dim not bold")
        name.append(_for_phase(overview.workflow, each), "not bold")
        sheet.put(name, "  ", 2)
        sheet.put(Text(f"{_ended(each, now)}, session {_short(each.session)}"), "    ")
        for label, said in (("said", _cut(_line(each.words), _SHORT_CHARS)), *_places(each)):
            if said:
                sheet.put(Text.assemble((f"{label}: ", "dim"), said), "    ", 2)


def _unused_in_a_line(overview: Overview, now: datetime) -> list[Text]:
    """Return a line for each agent that ended and whose result, as far as is known, nobody used."""
    return [
        Text.assemble((_line(each.agent_type), "bold"), f"{_for_phase(overview.workflow, each)}, {_ended(each, now)}")
        for each in overview.unused
    ]


def _put_agents_in_lines(sheet: Sheet, overview: Overview, now: datetime) -> None:
    """Show the running agents, one line each."""
    for each in overview.agents:
        name = Text(_line(each.agent_type), "bold")
        whose = f" of session {_short(each.session)}" if _free(overview, each) else ""
        said = f"{whose}{_for_phase(overview.workflow, each)}, {_flight(each, now)}"
        sheet.fact("Agent", name.append(said, "not bold"))
    if not overview.agents and not overview.workflow.finished:
        sheet.fact("Agents", Text("none running"))


def _put_todos(sheet: Sheet, overview: Overview, now: datetime) -> None:
    """Show the to-do list, and which sessions were told about it."""
    if not overview.todos:
        return
    sheet.heading("To-do list")
    for todo in overview.todos:
        sheet.put(Text(_line(todo["content"])), _lead(_BOXES[todo["status"]]))
    for each in overview.recipients:
        known = "this list" if each.current else "an older one"
        said = f"session {_short(each.session)} was told {known} {when(each.sent_at, now)}"
        sheet.put(Text(said, "dim"), "  ", 2)
    if not overview.recipients and not overview.workflow.finished:
        sheet.put(Text(_UNTOLD, "dim"), "  ")


def _put_todos_in_a_line(sheet: Sheet, overview: Overview) -> None:
    """Show the to-do list's counts by status in one line."""
    if not overview.todos:
        return
    statuses = [todo["status"] for todo in overview.todos]
    counts = [f"{statuses.count(name)} {name.replace('_', ' ')}" for name in _BOXES if name in statuses]
    told = [f"session {_short(each.session)} was told it" for each in overview.recipients if each.current]
    untold = [] if told or overview.workflow.finished else [_UNTOLD]
    sheet.fact("To-do list", Text("; ".join([", ".join(counts), *told, *untold])))


def _put_saves(sheet: Sheet, overview: Overview, now: datetime) -> None:
    """Show the last save, the last restore, the owner and any problem of the ledger."""
    restore, owner = overview.last_restore, overview.owner
    restored = "never"
    if restore:
        snapshot = "; PreCompact never fired" if restore.saved_at is None else ""
        restored = f"{when(restore.at, now)}, in session {_short(restore.session)}{snapshot}"
    belongs = "none"
    if owner:
        alive = "live" if owner.live else "not live"
        seen = f", last seen {when(owner.last_seen, now)}" if owner.last_seen and not owner.live else ""
        belongs = f"session {_short(owner.id)}, {alive}{seen}"
    facts = [("Last save", _saved(overview.last_save, now)), ("Last restore", restored), ("Owner", belongs)]
    for label, said in [*facts, *([("Ledger", overview.ledger)] if overview.ledger else [])]:
        sheet.fact(label, _cleaned(said))


def _put_extras(sheet: Sheet, overview: Overview) -> None:
    """Show required reading (with missing files marked), reminders and context."""
    workflow = overview.workflow
    sheet.section("Required reading", [_reading(overview, entry) for entry in workflow.reading])
    sheet.section("Reminders", map(_cleaned, workflow.reminders), "- ")
    sheet.section("Context", [_cleaned(f"{_line(name)} = {_value(value)}") for name, value in workflow.context.items()])


def _extras_in_a_line(overview: Overview) -> str:
    """Return the counts of reading, reminders and context; empty if there are none."""
    workflow = overview.workflow
    missing = f" ({len(overview.missing)} missing)" if overview.missing else ""
    reading = f"required reading {len(workflow.reading)}{missing}" if workflow.reading else ""
    reminders = f"reminders {len(workflow.reminders)}" if workflow.reminders else ""
    context = f"context {len(workflow.context)}" if workflow.context else ""
    return ", ".join(filter(None, (reading, reminders, context)))


def _put_others(sheet: Sheet, heading: str, workflows: Sequence[Workflow]) -> None:
    """Show workflows, one line each."""
    if workflows:
        sheet.heading(heading)
    for each in workflows[:_LISTED]:
        sheet.put(_other_line(each), _lead(each.status))
    if more := len(workflows[_LISTED:]):
        sheet.put(Text(f"{more} more: `holdfast list`", "dim"), "  ")


def _other_line(workflow: Workflow) -> Text:
    """Return a workflow as one line."""
    return Text(_line(workflow.title)).append(f"  {workflow.status}, {workflow.position}, {_line(workflow.id)}", "dim")


def _put_count(sheet: Sheet, label: str, texts: Sequence[Text]) -> None:
    """Show a list in one line: its first text, and how many more there are."""
    if texts:
        more = f" (+{len(texts) - 1} more)" if len(texts) > 1 else ""
        sheet.fact(label, Text.assemble(texts[0], more))


def _problem_lines(root: Path | None, found: Sequence[Problem]) -> Iterator[Text]:
    """Yield a line for each file that could not be read."""
    for each in found:
        near = root is not None and each.path.is_relative_to(root)
        place = each.path.relative_to(root).as_posix() if near and root else str(each.path)
        yield _cleaned(f"{place}: {each.reason}")


def _cleaned(given: str, limit: int = _VALUE_LIMIT_CHARS) -> Text:
    """Return text from a file, cut to `limit` characters, with its line breaks and without control characters."""
    return Text("\n".join(line.rstrip() for line in _cut(clean(given).strip(), limit).expandtabs(4).split("\n")))


def _phase(sheet: Sheet, overview: Overview, phase: Phase, now: datetime, *, brief: bool, limit: int) -> None:
    seen = overview.history.phases.get(phase.id)
    width = len(str(overview.workflow.total))
    lead = _lead(phase.status, f"{phase.number:>{width}}. " if overview.workflow.in_order else "")
    title = phase.title if overview.workflow.in_order else f"{phase.id} {phase.title}"
    line = Text(_line(title), "bold" if phase.status == "active" else "")
    if phase.agent:
        line.append(f"  @{_line(phase.agent)}", "cyan")
    if passed := _passed(overview, phase, seen, now):
        line.append(f"  {passed}", _STYLES[phase.status] if phase.status in ("failed", "blocked") else "dim")
    sheet.put(line, lead)
    if brief:
        return
    indent = " " * cell_len(lead.plain)
    if phase.deliverables:
        delivered = ", ".join(map(_line, phase.deliverables))
        sheet.put(Text.assemble(("delivered: ", "dim"), _cleaned(delivered, limit)), indent, 2)
    if phase.handover.strip():
        sheet.put(Text.assemble(("handed over: ", "dim"), _cleaned(phase.handover, limit)), indent, 2)
    if seen and seen.error:
        word = {"failed": "error", "blocked": "blocked by"}.get(phase.status, "last error")
        sheet.put(Text.assemble((f"{word}: ", "red"), _cleaned(seen.error, limit)), indent, 2)


def _passed(overview: Overview, phase: Phase, seen: PhaseHistory | None, now: datetime) -> str:
    """Return a phase's outcome, duration and attempts, without what its mark shows already."""
    spent = _spent(overview, seen.seconds, seen.ended_at, now) if seen else ""
    failed = phase.status if phase.status in ("failed", "blocked") else ""
    attempts = f"{seen.attempts} attempts" if seen and seen.attempts > 1 else ""
    return ", ".join(filter(None, (failed, spent, attempts)))


def _spent(overview: Overview, seconds: float, ended_at: str | None, now: datetime) -> str:
    """Return how long something took or has taken so far; empty if its duration is unknown."""
    if ended_at is None and overview.workflow.finished:
        return ""  # it was given up, and nobody saw when this ended
    if ended_at is None:
        return f"{duration(seconds + (now - overview.at).total_seconds())} so far"
    return duration(seconds) if seconds > 0 else ""


def _ended(agent: Agent, now: datetime) -> str:
    return f"{agent.fate} {when(agent.ended_at, now)}" if agent.ended_at else agent.fate


def _places(agent: Agent) -> Iterator[tuple[str, str]]:
    """Yield a label and a path for an agent's output and its transcript."""
    yield "output", _line(agent.output)
    yield "transcript", _line(agent.transcript)


def _for_phase(workflow: Workflow, agent: Agent) -> str:
    phase = next((each for each in workflow.phases if each.id == agent.phase), None)
    if phase is None:
        return ""
    return f"  for {workflow.unit} {phase.number}" if workflow.in_order else f"  for {workflow.named(phase)}"


def _free(overview: Overview, agent: Agent) -> bool:
    """Return whether an agent is shown although neither it nor its session belongs to the workflow."""
    return overview.owner is None and agent.phase is None


def _flight(agent: Agent, now: datetime) -> str:
    where = f"in the {'background' if agent.background else 'foreground'}"
    since = clock.parse(agent.launched_at)
    return f"{where} for {duration((now - since).total_seconds())}" if since else where


def _saved(save: Save | None, now: datetime) -> str:
    if save is None:
        return "never"
    by = f"by PreCompact ({save.trigger}) of session {_short(save.session)}" if save.session else f'at "{save.reason}"'
    return f"{when(save.at, now)}, {by}" + ("" if save.current else "; the file has changed since")


def _reading(overview: Overview, entry: str) -> Text:
    line = Text(_line(entry))
    if entry in overview.outside:
        return line.append("  outside the project, not to be read", "bold red")
    return line.append("  missing", "bold red") if entry in overview.missing else line


def _lead(status: str, number: str = "") -> Text:
    return Text.assemble("  ", (views.MARKS[status], _STYLES.get(status, "dim")), f" {number}")


def _line(given: str) -> str:
    """Return text from a file on one line, cut and without control characters."""
    return _cut(clean(" ".join(clean(given).split())))


def _cut(given: str, limit: int = _VALUE_LIMIT_CHARS) -> str:
    return given if len(given) <= limit else f"{given[:limit]}… (cut; whole with --json)"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(session: str) -> str:
    return _line(session)[:8]
