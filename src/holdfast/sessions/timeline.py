"""The timeline: what happened in a project, as its log has it, in words."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact, redact_value
from holdfast.memory.rows import Event
from holdfast.sessions import archive, conversations
from holdfast.workflow import registry
from holdfast.workflow.wording import count, one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

LIMIT = 50  # events that are shown by default
_WORDS = {
    ("archive", "archived"): "workflow archived",
    ("compaction", "announced"): "compaction started ({trigger})",
    ("delivery", "absent"): "guidance never arrived",
    ("delivery", "refused"): "restore refused",
    ("delivery", "unconfirmed"): "guidance was never confirmed",
    ("delivery", "unwritten"): "guidance was never sent",
    ("delivery", "given"): "restored to Claude",
    ("delivery", "given again"): "restored to Claude again",
    ("delivery", "*"): "guidance {what}",
    ("generation", "kept"): "version {number} saved",
    ("decision", "*"): "decision",
    ("agent", "*"): "{what}",
    ("owner", "*"): "{what}",
    ("session", "*"): "{what}",
    ("*", "*"): "{kind} {what}",
}
"""What each kind of event is called, by kind and `what`; `*` stands for any other. Braces take values of its data."""
_DETAILS = {
    ("archive", "archived"): "{status}",
    ("delivery", "given"): "{characters} characters with {event}{more}",
    ("delivery", "given again"): "{characters} characters with {event}{more}",
    ("delivery", "refused"): "it could belong to another live session",
    ("generation", "kept"): "{path} ({reason})",
}


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One thing that happened.

    Attributes:
        at: when (UTC stamp).
        kind: `session`, `compaction`, `delivery`, `owner`, `phase`, `agent`, `decision`, `generation` or
            `archive`.
        what: what happened, in a few fixed words.
        session: the session's id; empty if unknown.
        workflow: the workflow's key; empty for none.
        title: the workflow's title; empty if the table doesn't hold it.
        phase: the phase's id; empty for none.
        detail: further details in words; may be empty.
        worktree: the checkout of the project.
        data: the details as JSON values.
    """

    at: str
    kind: str
    what: str
    session: str = ""
    workflow: str = ""
    title: str = ""
    phase: str = ""
    detail: str = ""
    worktree: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def happened(
    project: Workspace,
    *,
    since: datetime | None = None,
    session: str | None = None,
    workflow: Workflow | None = None,
    limit: int = LIMIT,
) -> list[TimelineEvent]:
    """Return the events of a project, the newest first.

    Args:
        project: the project. Its other worktrees are included unless a workflow is given.
        since: the earliest time; None for no limit.
        session: only events of this conversation.
        workflow: only events of this workflow of this worktree, with the versions of its file.
        limit: how many at most.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    start, equal = clock.stamp(since) if since else "", {}
    where, values = "at >= ? AND NOT (kind = 'delivery' AND what = 'delivered')", [start]  # what follows says more
    if session:
        where += " AND (conversation = ? OR (kind = 'owner' AND instr(data, ?)))"
        values += [session, json.dumps({"previous_owner": session})[1:-1]]
    if workflow:
        about, equal = _about(workflow), {"worktree": project.worktree}
        where = f"{where} AND (workflow = ? OR {' OR '.join(['instr(data, ?)'] * len(about))})"
        values += [workflow.key, *about]
    found = project.ledger.table(Event).where(where, *values, order="at DESC, id DESC", limit=limit, **equal)
    return _titled(project, _renamed(project, [_described(each, json.loads(each.data)) for each in found]))


def _renamed(project: Workspace, events: list[TimelineEvent]) -> list[TimelineEvent]:
    """Return events with the session ids that their conversations have now."""
    before = [str(each.data["previous_owner"]) for each in events if each.data.get("previous_owner")]
    names = conversations.session_ids(project, [*before, *(each.session for each in events if each.session)])
    found = []
    for each in events:
        owner = names.get(str(each.data.get("previous_owner")))
        detail = f"previously session {owner[:8]}" if owner else each.detail
        found.append(replace(each, session=names.get(each.session, ""), detail=detail))
    return found


def _titled(project: Workspace, events: list[TimelineEvent]) -> list[TimelineEvent]:
    """Add the workflow's title to events that have only its key."""
    titles = {each.workflow: each.title for each in events if each.title}
    if any(each.workflow and each.workflow not in titles for each in events):
        titles |= {each.key: each.title for each in registry.all_found(project).workflows}
    if any(each.workflow and each.workflow not in titles for each in events):
        titles |= {each.workflow.key: each.workflow.title for each in archive.entries(project)}
    return [
        each
        if each.title or not each.workflow
        else replace(each, title=titles.get(each.workflow, each.workflow.rpartition("#")[2]))
        for each in events
    ]


def _about(workflow: Workflow) -> list[str]:
    """Return texts found in the data of events about a workflow: of a compaction, or of a version of its file."""
    about = [f'"key": {json.dumps(workflow.key)}', f'"path": {json.dumps(workflow.place)}']
    if workflow.spread:
        folder = json.dumps(workflow.place.rpartition("/")[0])
        about.append(f'"path": {folder[:-1]}/')
    return about


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

    `names` has what people call the phases (`phase_names`). A phase that isn't in it is called by its id.
    """
    what, about = happening.what, quoted(redact(happening.title)) if happening.title else ""
    if happening.phase:
        name = names.get((happening.workflow, happening.phase), PhaseName("phase", one_line(happening.phase, 40)))
        what = re.sub(r"^phase\b", name.unit, what)
        about = ", ".join(filter(None, (about, f"{name.unit} {name.label}")))
    detail = one_line(redact(happening.detail), 300)  # masked before the cut: half a secret isn't recognised
    return redact(": ".join(filter(None, (what, "; ".join(filter(None, (about, detail)))))))


def phase_names(project: Workspace) -> PhaseNames:
    """Return the display names of the phases of all workflows that have a file or are in the archive."""
    archived = [each.workflow for each in archive.entries(project)]
    return names_of([*archived, *registry.all_found(project).workflows])


def names_of(workflows: Iterable[Workflow]) -> PhaseNames:
    """Return the display names of the phases of workflows; of two with the same key, the later one counts."""
    return {
        (each.key, phase.id): PhaseName(
            each.unit, f"{phase.number if each.in_order else one_line(phase.id, 40)} {quoted(phase.title)}"
        )
        for each in workflows
        for phase in (*each.phases, *each.skipped)
    }


def as_json(happening: TimelineEvent) -> dict[str, Any]:
    """Return an event as JSON values, secrets masked."""
    names = ("at", "kind", "what", "session", "workflow", "title", "phase", "detail", "worktree")
    values = {name: getattr(happening, name) or None for name in names} | {"data": dict(happening.data)}
    return dict(redact_value(values))


def _described(event: Event, data: dict[str, Any]) -> TimelineEvent:
    """Return an event in words, as the log alone knows it."""
    more = f", {count(data['omitted'], 'more line')} in the full version" if data.get("omitted") else ""
    values = {"kind": event.kind, "what": event.what, "more": more, **data}
    kinds = ((event.kind, event.what), (event.kind, "*"), ("*", "*"))
    words = next(_WORDS[each] for each in kinds if each in _WORDS)
    detail = _DETAILS.get((event.kind, event.what), "").format_map(values)
    if event.kind == "phase":
        attempt = f"attempt {data['attempt']}" if data["attempt"] > 1 else ""
        detail = "; ".join(filter(None, (attempt, data["error"] if event.what != "completed" else "")))
    elif event.kind == "agent":
        named = data.get("agent_type") or data.get("agent_id") or ""
        detail = data.get("text") or ": ".join(filter(None, (named, one_line(data["last_message"], 120))))
    elif event.kind == "session" and "before" in data:
        detail = f"previously session {data['before'][:8]}"
    elif event.kind == "compaction":
        by = data["announced_by"]
        words += "" if by else ", its start was missed"
        moved = f"from session {by[:8]}: " if by not in (None, event.conversation) else ""
        had = [f"{quoted(each['title'])} {each['phase']}".strip() for each in data["workflows"]]
        detail = moved + (", ".join(had) or "no workflow")
        data = data | {"workflows": [each["title"] for each in data["workflows"]]}
    elif event.kind == "decision":
        words, detail = _decision(data)
    what = words.format_map(values)
    about = event.conversation, event.workflow, event.title, event.phase
    return TimelineEvent(event.at, event.kind, what, *about, detail, event.worktree, data)


def _decision(data: Mapping[str, Any]) -> tuple[str, str]:
    event = f"{data['event']}({data['tool']})" if data["tool"] else data["event"]
    detail = f"{data['outcome']} on {event} by {data['handler']}"
    what = "decision dropped" if data["dropped"] else "decision"
    return what, ": ".join(filter(None, (detail, data["dropped"] or data["reason"])))
