"""An agent that is launched again: refuse it with its result, with what to wait for, or with the id to continue by."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files import status_file
from holdfast.sessions import conversations
from holdfast.sessions.agents import agent_status, lifecycle, script_runs
from holdfast.sessions.agents.relaunch_answer import PASSED, Relaunch, said
from holdfast.workflow import ownfolder
from holdfast.workflow.wording import Message, clean, fenced, one_line, units

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.sessions.conversations import Request
    from holdfast.sessions.hook import Call, Context, Returned

RESULT_LIMIT_CHARS = 9_500  # of a refusal, as for any text that the client takes
_ENDED = ("completed", "stopped")  # states of a run that has a result
_LOOKED_AT = 200  # earlier identical calls
_OPTIONS = ("model", "effort", "isolation", "mode")


def judge(event: Call, context: Context) -> Relaunch:
    """Note that an agent is launched, and say what to do if it was before (`relaunches.relaunch`)."""
    project = context.project
    asking = conversations.current_request(project, conversations.of(project, event.session_id))
    process = script_runs.process(context)
    call, name, print_ = lifecycle.call_id(event.tool_use_id, event.tool_input), _name(event), fingerprint(event)
    earlier = _earlier(project, context, print_, asking)
    _note(project, conversations.of(project, event.session_id), call, print_, name, asking, process)
    held = _teammate(context, event, name, asking, process) or next(
        filter(None, (_held(context, event, row, asking, process) for row in earlier)), None
    )
    if held is None:
        return PASSED
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(held.refusal),))
    project.ledger.run(
        "UPDATE agent_calls SET refused = ? WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(held.messages[0].text, project.key, conversations.of(project, event.session_id), call),
    )
    return held


def note_teammate(event: Returned, project: OpenProject) -> None:
    """Note that a call made a teammate, who stays after each turn."""
    response = event.tool_response
    if isinstance(response, dict) and response.get("status") == "teammate_spawned":
        project.ledger.run(
            "UPDATE agent_calls SET kind = 'teammate', name = ? WHERE project = ? AND session = ? AND tool_use_id = ?",
            *(str(response.get("name") or _name(event)), project.key, conversations.of(project, event.session_id)),
            lifecycle.call_id(event.tool_use_id, event.tool_input),
        )


def fingerprint(event: Call) -> str:
    """Return what makes two calls of the Agent tool the same work: kind, description, prompt and options.

    The description counts, for it may be all that names the unit: a workflow's agents can share one prompt.
    """
    given = event.tool_input
    called = " ".join(str(given.get("description") or "").casefold().split())
    asked = [given.get("subagent_type") or "general-purpose", called, given.get("prompt")]
    asked += [given.get(key) for key in _OPTIONS]
    return hashlib.sha256(json.dumps(asked, default=str).encode("utf-8", "replace")).hexdigest()[:32]


def _earlier(project: OpenProject, context: Context, fingerprint: str, asking: Request) -> list[dict[str, Any]]:
    """Return the identical calls of the last beginning before this one that have not answered one of this.

    A call that answered one of that beginning belongs to it. Of identical calls the first answers the first, the second
    the second.
    """
    since = clock.stamp(clock.now() - timedelta(days=min(context.config.freshness_days, 36_500)))
    rows = project.ledger.rows(
        "SELECT * FROM agent_calls WHERE project = ? AND fingerprint = ? AND called_at >= ?"
        " ORDER BY called_at DESC LIMIT ?",
        *(project.key, fingerprint, since, _LOOKED_AT),
    )
    rows = [row for row in rows if row["epoch"] != asking.epoch and not row["refused"] and row["kind"] == "agent"]
    last = [row for row in rows if rows[0]["epoch"] in (row["epoch"], row["answered"])]
    return [row for row in reversed(last) if row["answered"] != asking.epoch and not row["rerun_at"]]


def _note(
    project: OpenProject, session: str, call: str, fingerprint: str, name: str, asking: Request, process: int | None
) -> None:
    project.ledger.run(
        "INSERT INTO agent_calls (project, session, tool_use_id, worktree, host, client, fingerprint, name, prompt,"
        " epoch, process, copy, called_at) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1 + COUNT(*), ? FROM agent_calls"
        " WHERE project = ? AND fingerprint = ? AND epoch = ? ON CONFLICT (project, session, tool_use_id) DO NOTHING",
        *(project.key, session, call, project.worktree, project.host, project.client.NAME, fingerprint, name),
        *(asking.prompt, asking.epoch, process, clock.stamp(), project.key, fingerprint, asking.epoch),
    )


def _held(context: Context, event: Call, row: dict[str, Any], asking: Request, process: int | None) -> Relaunch | None:
    """Return why a call need not run, if an earlier one did its work, does it or can go on with it; else None."""
    project = context.project
    agent = agent_status.find(project, row["session"], row["tool_use_id"])
    if agent is None or row["host"] != project.host:
        return None
    who = f"{one_line(agent.agent_type, 60)} {agent.agent_id}".strip()
    alive = (
        conversations.is_in(project, row["session"], row["process"], process)
        if process is not None
        else row["session"] == conversations.of(project, event.session_id)
    )
    if not alive and not conversations.is_gone(project, row["session"], row["process"]):
        return None  # another client's agent
    if agent.fate == "running" and alive:
        _answers(project, row, asking)
        why = f"This agent is running already: {who}. Its notification brings the result; don't start it again."
        return Relaunch(why, messages=said(context, event, f"{who} wasn't started twice; it is still running."))
    ended = agent.state in _ENDED
    cut_off = row["prompt"] == conversations.ANY or (not alive and broke_off(project, row["session"]))
    wanted = agent.unused or cut_off or row["prompt"] == asking.prompt
    wanted = wanted and row["prompt"] != conversations.CLEARED  # the person starts over
    if ended and agent.words.strip() and wanted and _holds(context, event, row, agent, cut_off=cut_off):
        _answers(project, row, asking)
        lifecycle.reported(project, row["session"], agent.agent_id, "", "completed", agent.words, used=True)
        text = _result(context, agent, who)
        return Relaunch(text, messages=said(context, event, f"{who} had finished; its result was used again."))
    if not ended and not alive and agent.state != "failed" and (found := _interrupted(context, event, row, agent)):
        _answers(project, row, asking)
        why = (
            f"This agent was interrupted and can go on where it was: use SendMessage with to: {found!r} and the "
            "message 'Continue your task.' Don't start it again."
        )
        return Relaunch(why, messages=said(context, event, f"{who or found} was interrupted; it is continued."))
    return None


def broke_off(project: OpenProject, session: str) -> bool:
    """Return whether a session was cut off at work: in a turn of its own, or while agents of it were at work."""
    if not conversations.has_crashed(project, session):
        return False
    return not conversations.is_idle(project, session) or agent_status.any_unended(project, session)


def free_calls(project: OpenProject, session: str) -> None:
    """Let the results of the work that a session was cut off at answer its calls under any later prompt."""
    project.ledger.run(
        "UPDATE agent_calls SET prompt = ? WHERE project = ? AND session = ? AND prompt = ?",
        *(conversations.ANY, project.key, session, conversations.current_request(project, session).prompt),
    )


def _holds(context: Context, event: Call, row: dict[str, Any], agent: Agent, *, cut_off: bool) -> bool:
    """Return whether an agent's result still holds: nothing was edited or committed since.

    A result that the conversation has had holds only if its agent ran once under the prompt, and no agent that was
    started later has ended: otherwise the agent is part of a loop. Work that was cut off is begun from its start, so
    there agents that came later are no loop.
    """
    project, ended = context.project, agent.ended_at or ""
    of = {row["session"], conversations.of(project, event.session_id)}
    if not agent.unused:
        if not cut_off and any(agent_status.ended_since(project, each, ended) for each in of):
            return False
        if _is_repeated(project, row, agent, lifecycle.call_id(event.tool_use_id, event.tool_input)):
            return False
    moment = clock.parse(ended)
    if moment is None or project.head_changed_at > moment.timestamp():
        return False
    paths = {event.transcript_path, *(conversations.transcript(project, each) for each in of)}
    return not any(project.transcripts.edited_since(each, ended) for each in paths)


def _is_repeated(project: OpenProject, row: dict[str, Any], agent: Agent, call: str) -> bool:
    """Return whether an agent ran more than once under its prompt, one run after the other; `call` is the present."""
    found = project.ledger.one(
        "SELECT 1 FROM agent_calls JOIN agents USING (project, session, tool_use_id)"
        " WHERE project = ? AND fingerprint = ? AND agent_calls.prompt = ? AND refused = ''"
        " AND tool_use_id NOT IN (?, ?) AND (called_at > ? OR (state IN (?, ?) AND changed_at < ?)) LIMIT 1",
        *(project.key, row["fingerprint"], row["prompt"], agent.tool_use_id, call),
        *(agent.ended_at, *_ENDED, agent.launched_at),
    )
    return found is not None


def _interrupted(context: Context, event: Call, row: dict[str, Any], agent: Agent) -> str:
    """Return the id by which an interrupted agent can go on in this session; empty if it can't."""
    project = context.project
    source = conversations.transcript(project, row["session"])
    prompt = event.tool_input.get("prompt")
    runs = [agent.agent_id] if agent.agent_id and not agent.agent_id.startswith("call:") else []
    runs = runs or [each.agent_id for each in agent_status.lost(project, row["session"], agent)]
    for run in runs:
        said = project.transcripts.agent_prompt(source, run)
        if said and said == prompt and project.client.agent_runs().carry_agent(source, run, event.transcript_path):
            return run
    return ""


def _result(context: Context, agent: Agent, who: str) -> str:
    moment = clock.parse(agent.ended_at or "")
    when = status_file.age(int((clock.now() - moment).total_seconds())) if moment else "earlier"
    lead = f"This agent has finished already ({who}, {when}); nothing was started."
    whole = fenced(f"{lead} Its result:", agent.words.split("\n")) if units(agent.words) <= RESULT_LIMIT_CHARS else ""
    if whole and units(whole) <= RESULT_LIMIT_CHARS:
        return whole
    path = ownfolder.result_place(context.root, agent.agent_id)
    try:
        ownfolder.put(context.root, path, ownfolder.result(agent.agent_id, agent.session, agent.words))
        rest = f"Its result is in {clean(str(path))}; read it."
    except (StateError, OSError):
        rest = f"Its result is in {clean(agent.output or agent.transcript)}."
    return fenced(f"{lead} {rest} This is its beginning:", agent.words[: RESULT_LIMIT_CHARS - 1_500].split("\n"))


def _teammate(context: Context, event: Call, name: str, asking: Request, process: int | None) -> Relaunch | None:
    if not name:
        return None
    row = context.project.ledger.one(
        "SELECT tool_use_id FROM agent_calls WHERE project = ? AND session = ? AND kind = 'teammate' AND name = ?"
        " AND process = ? AND epoch <> ? AND rerun_at IS NULL",
        *(context.project.key, conversations.of(context.project, event.session_id), name, process, asking.epoch),
    )
    if row is None:
        return None
    who = one_line(name, 60)
    why = (
        f"The teammate {who} is there already: send it the task with SendMessage to: {who!r}. If it doesn't answer, "
        "launch another under another name."
    )
    return Relaunch(why, messages=said(context, event, f"the teammate {who} wasn't started twice."))


def _answers(project: OpenProject, row: dict[str, Any], asking: Request) -> None:
    project.ledger.run(
        "UPDATE agent_calls SET answered = ? WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(asking.epoch, project.key, row["session"], row["tool_use_id"]),
    )


def _name(event: Call) -> str:
    name = event.tool_input.get("name")
    return name if isinstance(name, str) else ""
