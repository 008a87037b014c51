"""`holdfast status`: show workflows, agents, compactions and problems."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients.claude import claude
from holdfast.commands import options
from holdfast.commands.verb import Json, verb
from holdfast.files.redact import redact, redact_value
from holdfast.install import inspection
from holdfast.plugins import discovery
from holdfast.sessions import agents, compactions, conversations, deliveries, owners, saving
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, views
from holdfast.workflow.wording import count, one_line, quoted

if TYPE_CHECKING:
    from holdfast.memory.rows import Conversation, Delivery
    from holdfast.sessions.compactions import CompactionReport
    from holdfast.workflow.model import Found, Phase, Workflow

COMPACTIONS = 5
LOG_LINES = 5
_AGENT = (  # an agent's fields in `--json`
    *("session", "tool_use_id", "agent_id", "agent_type", "workflow", "phase", "description", "status", "last_message"),
    *("digest", "output", "transcript", "since", "ended_at", "failed"),
)
_DELIVERY = (  # a delivery's fields in `--json`
    *("id", "session", "event", "workflow", "title", "digest", "characters", "omitted", "decided_by"),
    *("state", "made_at", "changed_at"),
)
_ARRIVED = {
    "pending": "the reply could not be written",
    "delivered": "sent to the client, not confirmed yet",
    "confirmed": "confirmed by the transcript",
    "absent": "never arrived; sent again at the next prompt",
    "unconfirmed": "sent to the client, never confirmed",
    "refused": "not sent, because it could belong to another live session",
}


@verb("status")
def command(project: Workspace, *, as_json: Json = False) -> None:
    """Show the project's workflows, agents, last compactions and problems.

    For each compaction you see what was saved and restored. For each workflow you see which session owns it.

    \b
    Example:
      holdfast status
    """
    saving.take_over(project, options.conversation(project) or "")
    found = registry.all_found(project)
    status = redact_value(_status(project, found))
    if as_json:
        options.print_json(status)
        return
    shared = "folders with the same identity share the ledger"
    identity = f"Identity {status['identity']} ({shared})\n" if status["identity"] != status["root"] else ""
    options.say(paths.shown(f"Project {status['root']}\n{identity}Ledger {status['ledger']}"))
    if not status["workflows"]:
        options.say(views.NONE)
    _section("Workflows", [_workflow(each) for each in status["workflows"]])
    units = {
        (workflow.key, phase.id): _unit(workflow, phase) for workflow in found.workflows for phase in workflow.phases
    }
    _section("Agents", [_agent(each, units) for each in status["agents"]])
    _section("Last compactions", [_compaction(each) for each in status["compactions"]])
    _section("Last deliveries", [_delivery(each) for each in status["deliveries"]])
    _section("Unreadable files", [paths.shown(f"{each['path']}: {each['reason']}") for each in status["problems"]])
    _section("Failing handlers", [paths.shown(f"{each['file']}: {each['fault']}") for each in status["faults"]])
    _section("Last warnings and errors", [paths.shown(_trouble(each)) for each in status["log"]])


def _status(project: Workspace, found: Found) -> dict[str, Any]:
    files = discovery.find(claude, project)
    status: dict[str, Any] = {
        "root": str(project.root),
        "identity": project.identity,
        "ledger": project.ledger.problem or str(project.ledger.file),
        "workflows": [_row(project, each) for each in found.workflows],
        "problems": [{"path": str(each.path), "reason": each.reason} for each in found.problems],
        "sessions": [_session(each) for each in conversations.every(project)],
        "agents": _agents(project),
        "compactions": [_report(each) for each in compactions.recent(project, COMPACTIONS)],
        "deliveries": [_delivered(each) for each in deliveries.recent(project, COMPACTIONS)],
        "faults": [{"file": str(f.path), "fault": said} for f, said in inspection.complaints(project, files)],
        "log": _troubles(project),
    }
    for row in [row for part in ("agents", "compactions", "deliveries") for row in status[part]]:
        for name in {"session", "restored_in"} & {*row}:
            row[name] = conversations.session_id(project, row[name]) if row[name] else row[name]
    return status


def _troubles(project: Workspace) -> list[str]:
    """Return the last warnings and errors of this project and those that name no project."""
    lines = log.tail(500, project=project.root)
    return [line for line in lines if line.split(" ", 2)[1:2] in (["error"], ["warning"])][-LOG_LINES:]


def _trouble(line: str) -> str:
    """Return a line of the log for people, without the project, which stands above."""
    stamp, _, said = log.without_project(line).partition(" ")
    return f"{_time(stamp)} {said}"


def _row(project: Workspace, workflow: Workflow) -> dict[str, Any]:
    phase = workflow.current_name if workflow.in_order else workflow.phase
    owner = owners.owner(project, workflow)
    return views.row(workflow) | {
        "position": workflow.position,
        "phase": phase,
        "owner": conversations.session_id(project, owner) if owner else None,
    }


def _session(row: Conversation) -> dict[str, Any]:
    names = ("worktree", "transcript", "first_seen", "last_seen", "ended_at")
    return {"id": row.session} | {name: getattr(row, name) for name in names}


def _report(report: CompactionReport) -> dict[str, Any]:
    row = report.row
    restored = report.workflows and not report.not_restored
    return {
        "session": row.conversation,
        "trigger": row.trigger,
        "saved_at": report.announced_at,
        "workflows": [f"{each.title} ({each.phase})" for each in report.workflows],
        "restored_at": row.restored_at if restored else None,
        "restored_in": row.restored_in or None if restored else None,
        "not_restored": report.not_restored,
        "facts": row.facts,
        "facts_kept": row.facts_kept,
    }


def _delivered(delivery: Delivery) -> dict[str, Any]:
    values = asdict(delivery) | {"session": delivery.conversation}
    return {name: values[name] for name in _DELIVERY}


def _workflow(row: dict[str, Any]) -> str:
    owner = f", owned by session {row['owner'][:8]}" if row["owner"] else ""
    ended = f"; {one_line(row['ended'])}" if row["ended"] else ""
    phase = f" {row['phase']}" if row["phase"] else ""
    status = "paused" if row["paused"] else row["status"]
    return f"{one_line(row['title'])}: {status}, {row['position']}{phase} ({row['format']}{owner}{ended})"


def _agents(project: Workspace) -> list[dict[str, Any]]:
    """Return the agents that run, or whose results nobody used, of all sessions that can still continue."""
    gone = conversations.ended_ids(project)
    listed = [each for each in conversations.every(project) if each.id not in gone]
    return [agents.as_json(agent, *_AGENT) for each in listed for agent in agents.waiting(project, each.id)]


def _unit(workflow: Workflow, phase: Phase) -> str:
    """Return what people call a phase: `phase 1 "Build"`, or `task IMPL-1 "Build"`."""
    number = phase.number if workflow.in_order else phase.id
    return f"{workflow.unit} {one_line(str(number))} {quoted(redact(phase.title))}"


def _agent(row: dict[str, Any], units: dict[tuple[str, str], str]) -> str:
    unit = units.get((row["workflow"], row["phase"]), row["phase"])
    phase = f" for {one_line(unit)}" if unit else ""
    who = f"{one_line(row['agent_type'])} ({one_line(row['agent_id'])}){phase}, session {row['session'][:8]}"
    if row["status"] == "running":
        return f"{who}: running since {_time(row['since'])}"
    place = f": {one_line(row['output'] or row['transcript'])}" if row["output"] or row["transcript"] else ""
    return f"{who}: {row['status']} {_time(row['ended_at'])}, its result was not used{place}"


def _compaction(row: dict[str, Any]) -> str:
    if not row["workflows"]:
        return f"{row['trigger']}, session {row['session'][:8]}: nothing was saved, because it owned no workflow"
    saved = f"saved {_time(row['saved_at'])}" if row["saved_at"] else "PreCompact never fired"
    why = row["not_restored"] or "no compaction has followed"
    restored = f"restored {_time(row['restored_at'])}" if row["restored_at"] else f"not restored ({why})"
    kept = f"; the summary had {row['facts_kept']} of {row['facts']} facts word for word" if row["facts"] else ""
    return f"{row['trigger']}, session {row['session'][:8]}: {saved}; {restored}: {'; '.join(row['workflows'])}{kept}"


def _delivery(row: dict[str, Any]) -> str:
    rest = f", {count(row['omitted'], 'more line')} in the full version" if row["omitted"] else ""
    size = f", {count(row['characters'], 'character')} with {row['event']}{rest}" if row["state"] != "refused" else ""
    said = f"{one_line(row['title'])}{size}"
    return f"{_time(row['made_at'])}, session {row['session'][:8]}: {said}: {_ARRIVED[row['state']]}"


def _time(stamp: str) -> str:
    """Return a UTC stamp to the second."""
    return f"{stamp[:10]} {stamp[11:19]}"


def _section(heading: str, lines: list[str]) -> None:
    if lines:
        options.say(f"\n{heading}")
        for line in lines:
            options.say(f"  {line}")
