"""The timeline: what happened in a project, from all tables of its ledger, ordered by time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact, redact_value
from holdfast.sessions.compaction import deliveries, losses, snapshots
from holdfast.sessions.history import archive, generations, history, timeline_event
from holdfast.sessions.history.timeline_event import Asked, TimelineEvent
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import registry
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

LIMIT = 50  # events that are shown by default


def happened(
    project: Workspace,
    *,
    since: datetime | None = None,
    session: str | None = None,
    workflow: Workflow | None = None,
    limit: int = LIMIT,
) -> list[TimelineEvent]:
    """Return what happened, the newest first. Each table is read only as far as needed.

    Args:
        project: the project. Its other worktrees are included unless a workflow is given.
        since: the earliest time; None for no limit.
        session: only events of the session with this id.
        workflow: only events of this workflow of this worktree, with the generations of its file.
        limit: how many at most.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    asked = Asked(
        limit,
        clock.stamp(since) if since else "",
        session or "",
        workflow.key if workflow else "",
        workflow.place if workflow else "",
        project.worktree if workflow else "",
        f"{workflow.place.rpartition('/')[0]}/" if workflow and workflow.spread else "",
    )
    found = [each for source in _SOURCES for each in source(project, asked)]
    order = sorted(range(len(found)), key=lambda place: (found[place].at, place), reverse=True)
    return _titled(project, [found[place] for place in order[:limit]])


class PhaseName(NamedTuple):
    """What people call a phase.

    Attributes:
        unit: what its format calls a phase, such as `task`.
        label: its number from 1, or the id if its format gives people that one, and its title.
    """

    unit: str
    label: str


PhaseNames = dict[tuple[str, str], PhaseName]  # by workflow key and phase id


def sentence(happening: TimelineEvent, names: PhaseNames) -> str:
    """Describe an event in one line, secrets masked: what happened, to which workflow and phase, and the details.

    Args:
        happening: the event.
        names: what people call the phases (`phase_names`). A phase that isn't in it is called by its id.
    """
    what, about = happening.what, quoted(redact(happening.title)) if happening.title else ""
    if happening.phase:
        name = names.get((happening.workflow, happening.phase), PhaseName("phase", one_line(happening.phase, 40)))
        what = re.sub(r"^phase\b", name.unit, what)
        about = ", ".join(filter(None, (about, f"{name.unit} {name.label}")))
    detail = one_line(redact(happening.detail), 300)  # masked before the cut: half a secret isn't recognised
    return redact(": ".join(filter(None, (what, "; ".join(filter(None, (about, detail)))))))


def phase_names(project: Workspace) -> PhaseNames:
    """Return what people call the phases of all workflows that have a file or are in the archive."""
    archived = [each.workflow for each in archive.entries(project)]
    return names_of([*archived, *registry.all_found(project).workflows])


def names_of(workflows: Iterable[Workflow]) -> PhaseNames:
    """Return what people call the phases of workflows; of two with the same key, the later one counts."""
    return {
        (each.key, phase.id): PhaseName(
            each.unit, f"{phase.number if each.in_order else one_line(phase.id, 40)} {quoted(phase.title)}"
        )
        for each in workflows
        for phase in each.phases
    }


def as_json(happening: TimelineEvent) -> dict[str, Any]:
    """Return an event as JSON values, secrets masked."""
    names = ("at", "kind", "what", "session", "workflow", "title", "phase", "detail", "worktree")
    told = {name: getattr(happening, name) or None for name in names} | {"data": dict(happening.data)}
    return dict(redact_value(told))


def of_agents(project: Workspace, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: agents that were launched, and agents that reported an end."""
    where = "kind = 'agent' AND what <> 'results used again'"
    rows = timeline_event.newest(project, asked, table="events", at="at", where=where, session="conversation")
    found = []
    for row in rows:
        data = json.loads(row["data"])
        detail = ": ".join(filter(None, (data["agent_type"] or data["agent_id"], one_line(data["last_message"], 120))))
        about = (row["at"], "agent", row["what"], row["conversation"], row["workflow"], "", row["phase"])
        del data["call"]
        found.append(TimelineEvent(*about, detail=detail, worktree=row["worktree"], data=data))
    return found


def reused(project: Workspace, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: launches that used what an earlier one had left."""
    where = "kind = 'agent' AND what = 'results used again'"
    rows = timeline_event.newest(project, asked, table="events", at="at", where=where, session="conversation")
    found = []
    for row in rows:
        about, text = (row["at"], "agent", row["what"], row["conversation"]), json.loads(row["data"])["text"]
        found.append(TimelineEvent(*about, detail=one_line(text, 300), worktree=row["worktree"]))
    return found


def decided(project: Workspace, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: decisions of handlers, and outcomes that were dropped."""
    said = {"where": "kind = 'decision'", "session": "conversation"}
    found = []
    for row in timeline_event.newest(project, asked, table="events", at="at", **said):
        data = json.loads(row["data"])
        what = "decision dropped" if data["dropped"] else "decision"
        event = f"{data['event']}({data['tool']})" if data["tool"] else data["event"]
        detail = f"{data['outcome']} on {event} by {data['handler']}"
        detail = ": ".join(filter(None, (detail, data["dropped"] or data["reason"])))
        found.append(
            TimelineEvent(
                *(row["at"], "decision", what, row["conversation"]), detail=detail, worktree=row["worktree"], data=data
            )
        )
    return found


def _titled(project: Workspace, found: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    """Add the workflow's title to events whose table holds only its key."""
    found = list(found)
    titles = {each.workflow: each.title for each in found if each.title}
    if any(each.workflow and each.workflow not in titles for each in found):
        titles |= {each.key: each.title for each in registry.all_found(project).workflows}
    if any(each.workflow and each.workflow not in titles for each in found):
        titles |= {each.workflow.key: each.workflow.title for each in archive.entries(project)}
    return [
        each
        if each.title or not each.workflow
        else replace(each, title=titles.get(each.workflow, each.workflow.rpartition("#")[2]))
        for each in found
    ]


# Each reports on its own table. Events of one moment count as having happened in this order.
_SOURCES = (
    *(sessions.happened, owners.happened, generations.happened, snapshots.happened, deliveries.happened),
    *(losses.happened, of_agents, reused, decided, history.happened, archive.happened),
)
