"""A report's tables: sessions, compactions, workflows, agents, what the context got, and everything that happened."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from holdfast.memory import costs as counted
from holdfast.report import markup, wording
from holdfast.report.markup import foreign_text, tag
from holdfast.report.wording import brief
from holdfast.sessions import timeline
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from xml.etree.ElementTree import Element

    from holdfast.memory.rows import Cost, Delivery
    from holdfast.report.markup import Content
    from holdfast.report.story import Run, Session, Story, WorkflowEntry
    from holdfast.sessions.compactions import Report
    from holdfast.sessions.history.timeline_event import TimelineEvent

KINDS = {
    "session": "sessions",
    "compaction": "compactions",
    "delivery": "guidance",
    "phase": "phases",
    "agent": "agents",
    "decision": "decisions",
    "owner": "owners",
    "generation": "kept contents",
    "archive": "archive",
}
_STATES = {
    "pending": "not sent",
    "delivered": "not confirmed yet",
    "confirmed": "confirmed",
    "absent": "never arrived",
    "unconfirmed": "never confirmed",
    "refused": "refused: it could belong to another live session",
}
_OUTCOMES = {
    "running": "running",
    "completed": "finished",
    "failed": "failed",
    "left": "unfinished when its session ended",
}
_BRIEF = ("When", "Session", "Trigger", "Owner", "Launched", "From", "To")  # the cells of these columns don't wrap


def sessions(story: Story) -> Element:
    """Return the table of sessions, newest first. Each table is without content if it has no rows."""
    heads = ("Session", "Status", "From", "To", "Compactions", "Agents", "Worktree")
    return _table(heads, [_session(story, each) for each in story.sessions])


def _session(story: Story, each: Session) -> Element:
    came = sum((one.row.restored_in or one.row.conversation) == each.id for one in story.compactions)
    until = story.made_at if each.standing == "live" else each.last_at
    cells: tuple[Content, ...] = (
        wording.session(each.id),
        each.standing,
        wording.moment(each.first_at),
        f"{wording.moment(until)}, {wording.span(wording.between(each.first_at, until))}",
        f"{came or '–'}",
        f"{len(each.runs) or '–'}",
        "–" if each.worktree == str(story.root) else foreign_text(brief(each.worktree)),
    )
    return _row(cells)


def compactions(story: Story) -> Element:
    """Return the table of compactions and their outcomes."""
    heads = ("When", "Session", "Trigger", "Workflow", "Restored", "Kept by the summary")
    return _table(heads, [_compaction(each) for each in story.compactions])


def _mark(report: Report) -> Element:
    """Return the sign of how a compaction ended."""
    return tag("i", class_=f"mark {report.ending}", aria_hidden="true")


def _compaction(each: Report) -> Element:
    row = each.row
    had = [tag("div", foreign_text(brief(saved.title, 60)), f" {brief(saved.phase, 60)}") for saved in each.workflows]
    given = [tag("div", _given(delivery)) for delivery in each.deliveries]
    moved = "" if row.restored_in in ("", row.conversation) else f" → {wording.session(row.restored_in)}"
    cells: tuple[Content, ...] = (
        [_mark(each), f" {wording.moment(each.at)}"],
        f"{wording.session(row.conversation)}{moved}",
        wording.TRIGGERS.get(row.trigger, brief(row.trigger, 20)),
        had or "no workflow",
        [tag("b", wording.ENDINGS[each.ending].capitalize()), *given],
        f"{row.facts_kept} of {count(row.facts, 'fact')}, word for word" if row.facts else "–",
    )
    return _row(cells)


def _given(delivery: Delivery) -> list[Element | str]:
    if delivery.state == "refused":
        return [foreign_text(brief(delivery.title, 60)), f": {_STATES['refused']}"]
    more = f", {count(delivery.omitted, 'more line')} in the full version" if delivery.omitted else ""
    size = f"{count(delivery.characters, 'character')} with {delivery.event}{more}"
    return [foreign_text(brief(delivery.title, 60) or "the trail"), f": {size}; {_STATES[delivery.state]}"]


def workflows(story: Story) -> Element:
    """Return the table of workflows with their phases."""
    heads = ("Workflow", "Status", "Phases", "Owner", "File")
    return _table(heads, [_workflow(story, each) for each in story.workflows])


def _workflow(story: Story, told: WorkflowEntry) -> Element:
    workflow = told.workflow
    phases = [
        tag("li", foreign_text(brief(each.title, 80)), f" {each.status}", class_=each.status)
        for each in workflow.phases
    ]
    where = "" if told.worktree == str(story.root) else f" in {brief(told.worktree)}"
    place = f"{brief(workflow.place)}{where}" + (" (in the archive)" if told.archived else "")
    cells: tuple[Content, ...] = (
        [tag("b", foreign_text(brief(workflow.title, 80))), f" {workflow.format}"],
        f"{workflow.word}, {workflow.progress_text}, {workflow.percent}%",
        tag("ol", phases, class_="phases") if phases else "–",
        wording.session(told.owner),
        foreign_text(place),
    )
    return _row(cells)


def agents(story: Story) -> Element:
    """Return the table of agents and their outcomes, newest first."""
    found = sorted((run for each in story.sessions for run in each.runs), key=lambda run: run.began_at, reverse=True)
    heads = ("Launched", "Agent", "Session", "Task", "Result", "Last message")
    return _table(heads, [_run(story, each) for each in found])


def _run(story: Story, run: Run) -> Element:
    agent = run.agent
    phase = story.phases.get((agent.workflow or "", agent.phase or ""), "") or agent.phase or agent.description
    length = wording.span(wording.between(run.began_at, run.ended_at))
    unused = "" if run.used or run.outcome in ("running", "left") else "; its result was not used"
    cells: tuple[Content, ...] = (
        wording.moment(run.began_at),
        foreign_text(brief(agent.agent_type or agent.agent_id, 40)),
        wording.session(agent.session),
        foreign_text(brief(phase, 80)) if phase else "–",
        f"{_OUTCOMES[run.outcome]}, {length}{unused}",
        foreign_text(brief(agent.words, 300)) if agent.words else "–",
    )
    return _row(cells)


def costs(story: Story) -> Element:
    """Return the table of what was put into the model's context, by session, event and handler."""
    total = sum(each.characters for each in story.costs)
    rows = [
        row
        for session, parts in groupby(story.costs, key=lambda each: each.conversation)
        for row in _costs(session, list(parts), total)
    ]
    heads = ("Session", "Event", "Handler", "Times", "Characters", "Tokens")
    rule = tag("p", f"{counted.RULE[0].upper()}{counted.RULE[1:]}.", class_="note")
    return tag("div", [_table(heads, rows), rule] if rows else "")


def _costs(session: str, parts: Sequence[Cost], total: int) -> list[Element]:
    characters = sum(each.characters for each in parts)
    share = tag("i", class_="share", style=f"width:{characters / total * 100:.1f}%", aria_hidden="true")
    size: list[Element | str] = [f"{characters:,}", share]
    whole: tuple[Content, ...] = (wording.session(session), "all", "", "", size, f"{counted.tokens(characters):,}")
    return [_row(whole, class_="sum")] + [
        _row(
            (
                wording.session(session),
                f"{each.event}{' (of a subagent)' if each.agent else ''}",
                foreign_text(each.handler),
                f"{each.replies:,}",
                f"{each.characters:,}",
                f"{counted.tokens(each.characters):,}",
            )
        )
        for each in parts
    ]


def happened(story: Story) -> Element:
    """Return the table of everything that happened, newest first, with a checkbox for each kind that hides it."""
    there = [kind for kind in KINDS if any(each.kind == kind for each in story.happened)]
    boxes = [
        tag("label", tag("input", type="checkbox", id=f"show-{kind}", checked="checked"), f" {KINDS[kind]}")
        for kind in there
    ]
    names = timeline.names_of(each.workflow for each in reversed(story.workflows))
    rows = [_happened(story, each, names) for each in story.happened]
    if not rows:
        return tag("div")
    note = ("Older events are left out. ", markup.code("holdfast report --limit N"), " lists more.")
    more = tag("p", note, class_="note") if story.more else ""
    table = _table(("When", "Session", "What"), rows)
    return tag("div", tag("div", boxes, class_="boxes") if len(there) > 1 else "", table, more, class_="log")


def _happened(story: Story, each: TimelineEvent, names: timeline.PhaseNames) -> Element:
    where = "" if each.worktree in ("", str(story.root)) else f" (in {brief(each.worktree)})"
    text = f"{timeline.sentence(each, names)}{where}"
    return _row(
        (wording.moment(each.at), wording.session(each.session), foreign_text(text)), class_=f"kind-{each.kind}"
    )


def _table(heads: Sequence[str], rows: Sequence[Element]) -> Element:
    if not rows:
        return tag("div")
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            cell.set("data-label", head)
            if head in _BRIEF:
                cell.set("class", "brief")
    top = tag("thead", tag("tr", [tag("th", each, scope="col") for each in heads]))
    return tag("table", top, tag("tbody", rows))


def _row(cells: Iterable[Content], **attributes: str) -> Element:
    return tag("tr", [tag("td", each) for each in cells], **attributes)
