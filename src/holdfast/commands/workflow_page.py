"""The page of a workflow, which `holdfast status` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.text import Text

from holdfast.clock import duration, when
from holdfast.commands import terminal
from holdfast.commands.terminal import row
from holdfast.files.redact import redact, redact_value
from holdfast.sessions import agent_list
from holdfast.workflow import views
from holdfast.workflow.outside_reading import OUTSIDE
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from rich.console import RenderableType

    from holdfast.sessions.agent_list import Entry
    from holdfast.sessions.overview import Overview, Save
    from holdfast.sessions.phases import PhaseHistory
    from holdfast.workflow.model import Phase

_VALUE_LIMIT_CHARS = 2_000  # of one value
_NEXT = 3  # pending phases that a brief page lists
_STYLES = {"completed": "green", "active": "bold cyan", "failed": "bold red", "blocked": "bold magenta"}


def page(
    overview: Overview, agents: Iterable[Entry], now: datetime, *, brief: bool = False
) -> Iterator[RenderableType]:
    """Yield the parts of a workflow's page.

    Args:
        overview: the workflow with its history.
        agents: the agents to list.
        now: the present time.
        brief: count finished and later phases, and leave out required reading, reminders and context.
    """
    workflow = overview.workflow
    yield from _head(overview, now)
    yield from _phases(overview, now, brief=brief)
    yield from agents_section(agents)
    yield from _saves(overview, now)
    if not brief:
        values = redact_value(dict(workflow.context)).items()  # also by the names, such as `password`
        context = (f"{name} = {v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)}" for name, v in values)
        yield from section("Required reading", [_reading(overview, entry) for entry in workflow.reading])
        yield from section("Reminders", map(_cleaned, workflow.reminders), "- ")
        yield from section("Context", map(_cleaned, context))
    yield from section("Warnings", map(_cleaned, (*workflow.warnings, *workflow.remarks)), "- ")
    problems = (f"{each.path}: {each.reason}".removeprefix(f"{workflow.root}/") for each in overview.problems)
    yield from section("Unreadable files", map(_cleaned, problems))


def _heading(words: str) -> Iterator[RenderableType]:
    yield Text()
    yield Text(words, "bold")


def section(heading: str, texts: Iterable[Text], bullet: str = "") -> Iterator[RenderableType]:
    """Yield a heading and an indented line for each text; nothing if there are no texts."""
    for number, text in enumerate(texts):
        if number == 0:
            yield from _heading(heading)
        yield row(f"  {bullet}", text)


def _head(overview: Overview, now: datetime) -> Iterator[RenderableType]:
    """Yield title, status, position, time and path."""
    workflow, seen = overview.workflow, overview.history
    yield Text(_line(workflow.title) or "(no title)", "bold")
    spent = _spent(overview, seen.seconds, seen.ended_at, now) if seen.started_at else ""
    place = workflow.position if workflow.finished else workflow.progress_text
    took = f"took {spent}" if spent and workflow.finished else spent
    state = Text(", ".join(filter(None, (workflow.word, place, f"{workflow.percent}%", took))))
    state.stylize(_STYLES.get(workflow.status, ""), 0, len(workflow.word))
    yield state
    archived = ", kept in the archive" if overview.archived else ""
    changed = f"changed {when(workflow.updated_at, now)}{archived}"
    if workflow.finished:
        changed = f"{workflow.word} {when(seen.ended_at or workflow.updated_at, now)}{archived}"
    yield Text("; ".join(filter(None, (changed, _line(workflow.ended)))), "dim")
    kind = f" ({_line(workflow.kind)})" if workflow.kind else ""
    named = [_line(workflow.id)] if workflow.id != workflow.path.stem else []
    yield terminal.text(", ".join([f"{workflow.format}{kind}", *named, _line(overview.place)]), "dim")


def _phases(overview: Overview, now: datetime, *, brief: bool) -> Iterator[RenderableType]:
    """Yield the phases; if `brief`, count finished ones, and pending ones after the next few."""
    workflow = overview.workflow
    yield from _heading(f"{workflow.unit.capitalize()}s")
    finished = [phase.number for phase in workflow.phases if phase.status == "completed"] if brief else []
    later = [phase.number for phase in workflow.phases if phase.status == "pending"][_NEXT:] if brief else []
    if finished:
        yield row(_mark("completed"), Text(f"{len(finished)} completed", "green"))
    for phase in workflow.phases:
        if phase.number not in (*finished, *later):
            yield from _phase(overview, phase, now)
    if later:
        yield row(_mark("pending"), Text(f"{len(later)} more", "dim"))
    if (unnamed := workflow.total - len(workflow.phases)) > 0:
        yield Text(f"  {unnamed} of {workflow.total} have no title in the file", "dim")
    elif not workflow.phases:
        yield Text("  none", "dim")


def _phase(overview: Overview, phase: Phase, now: datetime) -> Iterator[RenderableType]:
    workflow, seen = overview.workflow, overview.history.phases.get(phase.id)
    width = len(str(workflow.total))
    lead = _mark(phase.status).append(f"{phase.number:>{width}}. " if workflow.in_order else "")
    line = Text(_line(phase.title if workflow.in_order else f"{phase.id} {phase.title}"))
    line.stylize("bold" if phase.status == "active" else "")
    if phase.agent:
        line.append(f"  @{_line(phase.agent)}", "cyan")
    if passed := _passed(overview, phase, seen, now):
        line.append(f"  {passed}", _STYLES[phase.status] if phase.status in ("failed", "blocked") else "dim")
    yield row(lead, line)
    error = {"failed": "error", "blocked": "blocked by"}.get(phase.status, "last error")
    details = (
        ("delivered", "dim", ", ".join(map(_line, phase.deliverables))),
        ("handed over", "dim", phase.handover),
        (error, "red", seen.error if seen else ""),
    )
    for label, style, text in details:
        if text and text.strip():
            yield row(" " * len(lead.plain), Text.assemble((f"{label}: ", style), _cleaned(text)))


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


def agents_section(agents: Iterable[Entry]) -> Iterator[RenderableType]:
    """Yield the agents as `holdfast agents` lists them."""
    yield from section("Agents", (terminal.text(redact(agent_list.line(each))) for each in agents))


def _saves(overview: Overview, now: datetime) -> Iterator[RenderableType]:
    """Yield the last save, the last restore and the owner."""
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
    facts = {"Last save": _saved(overview.last_save, now), "Last restore": restored, "Owner": belongs}
    yield from _heading("Saved and restored")
    for label, text in facts.items():
        yield row(Text(f"  {label:<13} ", "dim"), _cleaned(text))


def _saved(save: Save | None, now: datetime) -> str:
    if save is None:
        return "never"
    by = f"by PreCompact ({save.trigger}) of session {_short(save.session)}" if save.session else f'at "{save.reason}"'
    return f"{when(save.at, now)}, {by}" + ("" if save.current else "; the file has changed since")


def _reading(overview: Overview, entry: str) -> Text:
    state = overview.absent.get(entry, "")
    marks = {OUTSIDE: f"  {OUTSIDE}, not to be read", "missing": "  missing"}
    return Text(_line(entry)).append(marks.get(state, ""), "bold red")


def _mark(status: str) -> Text:
    return Text.assemble("  ", (views.MARKS[status], _STYLES.get(status, "dim")), " ")


def _cleaned(text: str) -> Text:
    """Return text from a file, cut, with its line breaks, without control characters and secrets."""
    lines = _cut(redact(clean(text).strip())).expandtabs(4).split("\n")
    return Text("\n".join(line.rstrip() for line in lines))


def _line(text: str) -> str:
    """Return text from a file on one line, cut, without control characters and secrets."""
    return _cut(redact(clean(" ".join(clean(text).split()))))


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_LIMIT_CHARS else f"{text[:_VALUE_LIMIT_CHARS]}… (cut; whole with --json)"


def _short(session: str) -> str:
    return _line(session)[:8]
