"""What a session is told of agents when its conversation begins anew: which run, which were cut off, which have ended.

Work whose results the conversation has had is named only after a compaction, where the model may have lost them.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sessions import conversations, required, session_guidance
from holdfast.sessions.agents import agent_status, lifecycle, script_relaunch, script_runs
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, wording
from holdfast.workflow.wording import Message, one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.project import OpenProject
    from holdfast.sessions.agents.script_runs import ScriptRun
    from holdfast.sessions.hook import Context, Event

LIMIT_CHARS = 2_400
_AGENTS = 10  # agents, and runs, that are named
_FINISHED = 5  # agents and runs whose results the conversation has had
_LEAD = "Agents of this session or of earlier work in this project. Go on with earlier work only if it is still wanted."

_USED = "Finished before the compaction, newest first. Use these results; run the work again only if it has changed."


def roster(event: Event, context: Context) -> list[Message]:
    """Name what is left of agents, so that none is started twice and no result is lost.

    Args:
        event: a `SessionStart` of the main conversation, after `join`.
        context: its context.

    Returns:
        Messages for the model.
    """
    if context.config.agents == "off" or context.project.ledger.problem:
        return []
    finished = _finished(event, context) if _is_compaction(event) else []
    told = [Message(wording.fenced(_USED, finished))] if finished else []
    lines = [*_scripts(event, context), *_teammates(event, context), *_agents(event, context)]
    if not lines:
        return told
    kept = list[str]()
    for line in lines:
        if wording.size([*kept, line]) > LIMIT_CHARS:
            kept.append(f"{len(lines) - len(kept)} more: `holdfast agents list`")
            break
        kept.append(line)
    context.log(f"named {len(lines)} agents and runs that are left", session=event.session_id)
    return [*told, Message(wording.fenced(_LEAD, kept))]


def _is_compaction(event: Event) -> bool:
    return getattr(event, "source", "") == "compact"


def _finished(event: Event, context: Context) -> list[str]:
    """Name the conversation's last agents and runs whose results it has had, with the places of these."""
    project, session = context.project, conversations.of(context.project, event.session_id)
    runs = script_runs.recent(project, script_runs.process(context), days=context.config.freshness_days)
    found = [
        (run.used_at, f"{_script(run)} has finished, {run.counted}; {_results(run)}")
        for run in runs
        if run.session == session and run.used_at and run.status in ("completed", "partial") and _is_known(run)
    ]
    for agent in agent_status.used(project, session, _FINISHED):
        task = f" (launched for {quoted(agent.description)})" if agent.description.strip() else ""
        place = f"transcript: {wording.clean(agent.transcript or agent.output)}"
        who = f"{one_line(agent.agent_type, 60)} ({one_line(agent.agent_id, 60)})"
        found.append((agent.changed_at or "", f"{who} has finished{task}; {place}"))
    return [line for _, line in sorted(found, reverse=True)[:_FINISHED]]


def unused(context: Context, session: str, transcript: str) -> list[ScriptRun]:
    """Return the latest run of each script that runs, was cut off, or has results that nobody has used."""
    seen: set[str] = set()
    found: list[ScriptRun] = []
    told: set[str] | None = None
    process = script_runs.process(context)
    for run in script_runs.recent(context.project, process, days=context.config.freshness_days):
        names, over = {run.digest, run.name or run.digest}, run.ending and (run.used_at or run.rerun_at)
        if names & seen or (not over and run.status == "elsewhere"):  # the status may need the client's files
            continue
        seen |= names
        if run.used_at or run.rerun_at or run.status == "no journal":
            continue
        if run.status != "running" and run.session == session:
            if told is None:
                told = {notice.task_id for notice, _ in context.project.transcripts.notices(transcript)}
            if run.task in told:
                continue
        found.append(run)
    return found[:_AGENTS]


def _scripts(event: Event, context: Context) -> Iterator[str]:
    found = unused(context, conversations.of(context.project, event.session_id), event.transcript_path)
    for run in found:
        script_relaunch.carry(run, event.transcript_path, run.run)
        who, results = _script(run), _results(run)
        if run.status == "running":
            yield f"{who} (task {run.task}) is running, {run.counted}; don't start it again"
        elif not _is_known(run):
            continue  # only the client that hid the script, or wrote such a journal, can resume it
        elif run.status == "completed":
            yield f"{who} has finished, {run.counted}; nobody has used its result; {results}"
        else:
            how = "was interrupted" if run.status == "interrupted" else "ended with failed agents"
            call = f"Workflow({{scriptPath: {run.script!r}, resumeFromRunId: {run.run!r}}}), with the same args"
            yield f"{who} {how}, {run.counted}; to go on: {wording.clean(call)}; {results}"


def _is_known(run: ScriptRun) -> bool:
    return run.journal is not None and run.journal.known


def _has_workflow(project: OpenProject, session: str) -> bool:
    owned = registry.owned(Workspace.of(project), session)
    return required.own_workflow(project, session, owned) is not None


def _script(run: ScriptRun) -> str:
    return f"script {quoted(run.name or 'without a name', 60)}, run {run.run}"


def _results(run: ScriptRun) -> str:
    return f"results: {wording.clean(run.folder)}/journal.jsonl"


def _teammates(event: Event, context: Context) -> Iterator[str]:
    project = context.project
    for name, agent in lifecycle.teammates(
        project, conversations.of(project, event.session_id), script_runs.process(context)
    ):
        said = f"; last report: {quoted(agent.words, wording.VALUE_LIMIT_CHARS)}" if agent.words.strip() else ""
        yield f"teammate {one_line(name, 60)} ({agent.agent_id}) is there; use SendMessage, don't start it again{said}"


def _agents(event: Event, context: Context) -> Iterator[str]:
    """Name the agents of sessions that are over, and this session's own where no workflow's guidance names them."""
    project, session = context.project, conversations.of(context.project, event.session_id)
    mates = {agent.tool_use_id for _, agent in lifecycle.teammates(project, session, script_runs.process(context))}
    own = [each for each in agent_status.waiting(project, session) if each.tool_use_id not in mates]
    if _is_compaction(event):  # the client itself names those that run
        own = [each for each in own if each.unused]
    cleared = getattr(event, "source", "") == "clear"  # no guidance is given then
    if own and (cleared or not _has_workflow(project, session)):
        yield from session_guidance.agent_lines(own)
    since = clock.stamp(clock.now() - timedelta(days=min(context.config.freshness_days, 36_500)))
    over = conversations.over_since(project, session, since, _AGENTS)
    left = (agent for each in over for agent in agent_status.left_over(project, each))
    for agent in islice(left, _AGENTS):
        if agent.fate == "finished":
            yield from session_guidance.agent_lines([agent])
        else:
            source = conversations.transcript(project, agent.session)
            if project.client.agent_runs().carry_agent(source, agent.agent_id, event.transcript_path):
                task = f" (launched for {quoted(agent.description)})" if agent.description.strip() else ""
                who = f"{one_line(agent.agent_type, 60)} ({one_line(agent.agent_id, 60)})"
                yield f"{who} was interrupted{task}; SendMessage to its id continues it"
