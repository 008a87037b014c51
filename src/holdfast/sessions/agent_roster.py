"""The agents that a restarted conversation is told about: running, interrupted and ended ones.

Work whose results the conversation has had is named only after a compaction, where the model may have lost them.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from holdfast.memory.rows import Agent
from holdfast.sessions import agent_relaunch, agents, conversations, owners, required, scripts, session_guidance
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import wording
from holdfast.workflow.wording import Message, one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.sessions.hook import Context, Event
    from holdfast.sessions.scripts import ScriptRun

LIMIT_CHARS = 2_400
_AGENTS = 10  # agents, and runs, that are named
_FINISHED = 5  # agents and runs whose results the conversation has had
_LEAD = "Agents of this session or of earlier work in this project. Go on with earlier work only if it is still wanted."

_USED = "Finished before the compaction, newest first. Use these results; run the work again only if it has changed."


def roster(event: Event, context: Context) -> list[Message]:
    """Name to the model what is left of agents, so that none is started twice and no result is lost.

    To be called at a `SessionStart` of the main conversation, after `join`.
    """
    if context.config.agents == "off" or context.project.ledger.problem:
        return []
    project, conversation = Workspace.at(event, context)
    mates = agent_relaunch.teammates(project, conversation, conversations.client_process(context))
    finished = _finished(context, conversation) if _is_compaction(event) else []
    messages = [Message(wording.fenced(_USED, finished))] if finished else []
    lines = [*_scripts(event, context, conversation), *map(_teammate, mates)]
    lines += _agents(event, context, {each.id for each in mates})
    if not lines:
        return messages
    shown = list[str]()
    for line in lines:
        if wording.size([*shown, line]) > LIMIT_CHARS:
            shown.append(f"{len(lines) - len(shown)} more: `holdfast agents`")
            break
        shown.append(line)
    context.log(f"named {len(lines)} agents and runs that are left", session=event.session_id)
    return [*messages, Message(wording.fenced(_LEAD, shown))]


def _is_compaction(event: Event) -> bool:
    return getattr(event, "source", "") == "compact"


def _finished(context: Context, conversation: str) -> list[str]:
    """Name the conversation's last agents and runs whose results it has had, with the places of these."""
    project = context.project
    found = [
        (run.row.used_at, f"{_script(run)[0]} has finished, {run.counted}; {_script(run)[1]}")
        for run in scripts.list_runs(project)
        if run.row.conversation == conversation
        and run.row.used_at
        and run.status in ("finished", "partial")
        and run.is_known
    ]
    used = "used_at <> '' AND NOT resumed AND state IN ('stopped', 'completed')"
    used += " AND call <> '' AND kind IN ('agent', 'teammate')"
    newest = project.ledger.table(Agent).where(
        used, conversation=conversation, order="changed_at DESC", limit=_FINISHED
    )
    for agent in newest:
        place = f"transcript: {wording.clean(agent.transcript or agent.output)}"
        line = f"{session_guidance.name(agent)} has finished{session_guidance.task(agent)}; {place}"
        found.append((agent.changed_at, line))
    return [line for _, line in sorted(found, reverse=True)[:_FINISHED]]


def unused(context: Context, conversation: str, transcript: str) -> list[ScriptRun]:
    """Return the latest run of each script that runs, was cut off, or has results that nobody has used."""
    seen: set[str] = set()
    found: list[ScriptRun] = []
    notified: set[str] | None = None
    process = conversations.client_process(context)
    for run in scripts.list_runs(context.project):
        row, digest = run.row, run.row.fingerprint.split()[0]
        over = row.state not in agents.BEGUN and (row.used_at or row.discarded)
        names = {digest, row.name or digest}
        if names & seen or (not over and run.is_elsewhere(process)):  # the status may need the client's files
            continue
        seen |= names
        if row.used_at or row.discarded or run.status == "no journal":
            continue
        if run.status != "running" and row.conversation == conversation:
            if notified is None:
                notified = {notice.task_id for notice, _ in context.project.transcripts.notices(transcript)}
            if row.task in notified:
                continue
        found.append(run)
    return found[:_AGENTS]


def _scripts(event: Event, context: Context, conversation: str) -> Iterator[str]:
    for run in unused(context, conversation, event.transcript_path):
        scripts.carry(run, event.transcript_path, run.row.run)
        who, results = _script(run)
        if run.status == "running":
            yield f"{who} (task {run.row.task}) is running, {run.counted}; don't start it again"
        elif not run.is_known:
            continue  # only the client that hid the script, or wrote such a journal, can resume it
        elif run.status == "finished":
            yield f"{who} has finished, {run.counted}; nobody has used its result; {results}"
        else:
            how = "was interrupted" if run.status == "interrupted" else "ended, but some agents failed"
            call = f"Workflow({{scriptPath: {run.row.script!r}, resumeFromRunId: {run.row.run!r}}}), with the same args"
            yield f"{who} {how}, {run.counted}. Resume: {wording.clean(call)}; {results}"


def _script(run: ScriptRun) -> tuple[str, str]:
    """Return the name of a script's run, and the sentence about where its results are."""
    name = f"script {quoted(run.row.name or 'without a name', 60)}, run {run.row.run}"
    return name, f"results: {wording.clean(run.row.transcript)}/journal.jsonl"


def _teammate(mate: Agent) -> str:
    last = f"; last report: {quoted(mate.words, wording.VALUE_LIMIT_CHARS)}" if mate.words.strip() else ""
    return f"teammate {one_line(mate.name, 60)} ({mate.run}) is there; use SendMessage, don't start it again{last}"


def _agents(event: Event, context: Context, mates: set[str]) -> Iterator[str]:
    """Name the agents of sessions that are over, and this session's own where no workflow's guidance names them."""
    project, conversation = Workspace.at(event, context)
    own = [each for each in agents.waiting(project, conversation) if each.id not in mates]
    if _is_compaction(event):  # the client itself names those that run
        own = [each for each in own if each.unused]
    cleared = getattr(event, "source", "") == "clear"  # then there is no guidance
    if own and (cleared or required.own_workflow(project, conversation) is None):
        yield from session_guidance.agent_lines(own)
    over = conversations.over_since(project, conversation, owners.fresh_since(project), _AGENTS)
    named = (agent for each in over for agent in agents.launched(project, each) if agent.named)
    left = (each for each in named if each.status in ("running", "finished") or each.state == "missing")
    for agent in islice(left, _AGENTS):
        if agent.status == "finished":
            yield from session_guidance.agent_lines([agent])
        else:
            source = conversations.get(project, agent.conversation).transcript
            if project.client.agent_runs().carry_agent(source, agent.run, event.transcript_path):
                yield session_guidance.interrupted(agent)
