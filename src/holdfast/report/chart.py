"""A report's timeline: a lane for each session with its compactions and agents, and one for each workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.report import axis, wording
from holdfast.report.markup import foreign_text, tag
from holdfast.report.wording import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from xml.etree.ElementTree import Element

    from holdfast.report.axis import Axis
    from holdfast.report.story import Attempt, Run, Session, Story, Told
    from holdfast.sessions.compaction.aftermath import Compaction
    from holdfast.sessions.compaction.deliveries import Delivery

_LEGEND = (
    ("mark confirmed", "compaction, restored and confirmed"),
    ("mark given", "compaction, restored, not confirmed"),
    ("mark lost", "not restored"),
    ("mark nothing", "compaction with nothing to restore"),
    ("mark open", "announced, but didn't happen"),
    ("mark apart", "guidance without a compaction"),
    ("key session", "session"),
    ("key running", "running"),
    ("key completed", "completed"),
    ("key failed", "failed"),
    ("key left", "left unfinished"),
    ("key blocked", "blocked"),
)
_NARROWEST = 0.01  # the part of the axis that even the shortest bar takes
_OUTCOMES = {"active": "running"}


def draw(story: Story) -> Element:
    """Return the timeline, with a legend of what is drawn in it; without content if there is nothing to draw."""
    line = axis.across(_moments(story))
    lanes = [_session(line, story, each) for each in reversed(story.sessions)]
    lanes += [lane for told in story.workflows if (lane := _workflow(line, story, told)) is not None]
    if not lanes:
        return tag("div")
    breaks = tag("div", [_break(each) for each in line.breaks], class_="breaks", aria_hidden="true")
    chart = tag("div", _head(line), breaks, lanes, class_="chart")
    drawn = {name.split(" ")[1] for lane in lanes for each in lane.iter() if " " in (name := each.get("class", ""))}
    keys = [(name, text) for name, text in _LEGEND if name.split(" ")[1] in drawn]
    legend = tag("ul", [tag("li", tag("i", class_=name), text) for name, text in keys], class_="legend")
    scroll = tag("div", chart, class_="scroll", tabindex="0", role="region", aria_label="Timeline; scrolls sideways")
    return tag("div", scroll, legend)


def mark(compaction: Compaction, number: int, line: Axis | None = None) -> Element:
    """Return a compaction's mark: on the timeline a link to its row in the table, elsewhere only the mark."""
    if line is None:
        return tag("i", class_=f"mark {compaction.ending}", aria_hidden="true")
    trigger = wording.TRIGGERS.get(compaction.trigger, compaction.trigger)
    told = f"Compaction ({trigger}), {wording.moment(compaction.at)}: {wording.ENDINGS[compaction.ending]}"
    place = f"left:{_percent(line.place(wording.seconds(compaction.at)))}"
    name = f"mark {compaction.ending}"
    return tag("a", class_=name, href=f"#compaction-{number}", style=place, title=told, aria_label=told)


def _moments(story: Story) -> Iterator[float]:
    for session in story.sessions:
        yield from _within(story, session.first_at, story.made_at if session.standing == "live" else session.last_at)
        for run in session.runs:
            yield from _within(story, run.began_at, run.ended_at)
    for compaction in story.compactions:
        yield from _within(story, compaction.at)
    for attempt in story.attempts:
        yield from _within(story, attempt.began_at, attempt.ended_at or story.made_at)
    yield from (wording.seconds(each.made_at) for each in story.apart)
    yield from (wording.seconds(each.at) for each in story.happened)


def _within(story: Story, *stamps: str | None) -> Iterator[float]:
    """Yield times in seconds since 1970; a time before `story.since` becomes `story.since`."""
    yield from (wording.seconds(max(each, story.since)) for each in stamps if each)


def _head(line: Axis) -> Element:
    ticks = [
        tag("span", tag("b", each.day), f" {each.time}", class_="tick", style=f"left:{_percent(each.left)}")
        for each in line.ticks()
    ]
    return tag("div", ticks, class_="axis", aria_hidden="true")


def _break(each: axis.Break) -> Element:
    place = f"left:{_percent(each.left)};width:{_percent(each.width)}"
    return tag("i", class_="break", style=place, title=f"{wording.span(each.seconds)} in which nothing happened")


def _session(line: Axis, story: Story, session: Session) -> Element:
    end = story.made_at if session.standing == "live" else session.last_at
    title = f"Session {session.id}: {wording.moment(session.first_at)} to {wording.moment(end)}, {session.standing}"
    bar = _bar(line, session.first_at, end, f"session {session.standing}", title)
    marks = [
        mark(each, number, line)
        for number, each in enumerate(story.compactions, 1)
        if (each.restored_in or each.session) == session.id
    ]
    marks += [_apart(line, each) for each in story.apart if each.session == session.id]
    where = "" if session.worktree == str(story.root) else f", in {brief(session.worktree)}"
    name = tag("p", tag("b", f"Session {wording.session(session.id)}"), f" {session.standing}{where}", class_="name")
    agents = [tag("div", [_run(line, each) for each in row], class_="track thin") for row in _rows(line, session.runs)]
    return tag("div", name, tag("div", bar, marks, class_="track"), agents, class_="lane")


def _apart(line: Axis, delivery: Delivery) -> Element:
    lost = delivery.state in ("refused", "absent")
    told = f"{'No guidance' if lost else 'Guidance'} with {delivery.event}, {wording.moment(delivery.made_at)}"
    told += f": {delivery.state}"
    place = f"left:{_percent(line.place(wording.seconds(delivery.made_at)))}"
    return tag("i", class_="mark lost" if lost else "mark apart", style=place, title=told, role="img", aria_label=told)


def _run(line: Axis, run: Run) -> Element:
    name = brief(run.agent.agent_type or run.agent.agent_id, 40)
    length = wording.span(wording.between(run.began_at, run.ended_at))
    title = f"Agent {name}, {wording.moment(run.began_at)}: {run.outcome}, {length}"
    return _bar(line, run.began_at, run.ended_at, run.outcome, title, name)


def _rows(line: Axis, runs: Iterable[Run]) -> list[list[Run]]:
    """Distribute runs over rows so that none covers another."""
    rows: list[tuple[list[Run], float]] = []
    for run in sorted(runs, key=lambda each: each.began_at):
        left, right = (line.place(wording.seconds(each)) for each in (run.began_at, run.ended_at))
        end = max(right, left + _NARROWEST)
        free = next((at for at, (_, before) in enumerate(rows) if before <= left), None)
        if free is None:
            rows.append(([run], end))
        else:
            rows[free] = ([*rows[free][0], run], end)
    return [row for row, _ in rows]


def _workflow(line: Axis, story: Story, told: Told) -> Element | None:
    workflow = told.workflow
    ran = [each for each in story.attempts if (each.workflow, each.worktree) == (workflow.key, told.worktree)]
    if not ran:
        return None
    numbers = {phase.id: phase.number for phase in workflow.phases}
    bars = [_attempt(line, story, each, numbers.get(each.phase)) for each in ran]
    about = f" {workflow.status}, {workflow.format}"
    name = tag("p", "Workflow ", tag("b", foreign_text(brief(workflow.title, 60))), about, class_="name")
    return tag("div", name, tag("div", bars, class_="track"), class_="lane")


def _attempt(line: Axis, story: Story, attempt: Attempt, number: int | None) -> Element:
    end = attempt.ended_at or story.made_at
    phase = brief(story.phases.get((attempt.workflow, attempt.phase), "") or attempt.phase, 80)
    again = f", attempt {attempt.number}" if attempt.number > 1 else ""
    length = wording.span(wording.between(attempt.began_at, end))
    outcome = _OUTCOMES.get(attempt.outcome, attempt.outcome)
    title = f"Phase {phase}{again}, {wording.moment(attempt.began_at)}: {outcome}, {length}"
    label = f"{number} {phase}" if number else phase
    return _bar(line, attempt.began_at, end, outcome, title, label)


def _bar(line: Axis, begin: str, end: str, name: str, title: str, label: str = "") -> Element:
    left, right = (line.place(wording.seconds(each)) for each in (begin, end))
    place = f"left:{_percent(left)};width:{_percent(max(right - left, 0.0))}"
    return tag("span", label, class_=f"bar {name}", style=place, title=title)


def _percent(part: float) -> str:
    return f"{part * 100:.2f}%"
