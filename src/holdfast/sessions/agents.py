"""The life of an agent: called, launched, running, ended, used.

Each signal is a step on one row of table `agents` (`memory.rows.Agent`), whichever comes first: `report` and `merge`
make the step, the functions that record a signal load and store the row, in a transaction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from holdfast import capture, clock
from holdfast.files import redact
from holdfast.memory import log
from holdfast.memory.rows import Agent, Event
from holdfast.memory.store import new_id
from holdfast.sessions import conversations

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.clients.client import AgentResult, TaskNotification
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Call

PROMPT_LIMIT_CHARS = 4_000  # of a launch's stored prompt
RESULT_LIMIT_CHARS = 1_000_000  # of an agent's stored result
LOGGED_CHARS = 4_000  # of an agent's result that the log has
State = Literal["called", "launched", "running", "missing", "stopped", "completed", "failed"]
STATES = ("called", "launched", "running", "missing", "stopped", "completed", "failed")
"""What is reported of an agent. A later one beats an earlier one, so a failure beats "completed" from the same run."""
BEGUN = ("called", "launched", "running")
DONE = ("stopped", "completed")  # states of an agent that has a result
_OF_AGENT = {
    "launched": "agent launched",
    "missing": "agent is gone",
    "stopped": "agent stopped",
    "completed": "agent completed",
    "failed": "agent failed",
}
"""What the log says of an agent's state."""
_OF_SCRIPT = {state: what.replace("agent", "script") for state, what in _OF_AGENT.items()}
_OF_SCRIPT["failed"] = "script didn't finish"  # that it failed and that somebody stopped it are one state

TURN_BYTES = 1 << 20  # bytes at the end of a transcript that hold the last turn
_ENDINGS: dict[str, State] = {"completed": "completed", "running": "running", "": "stopped"}  # else a failure
_STOPPED = ("stopped", "killed")  # by somebody, or by the end of the client

# Placeholders for the prompt that an agent was called under:
CLEARED = "cleared"  # from before `/clear`: its result answers nothing any more
ANY = ""  # cut off at work, or continued: its result answers the same work under any prompt


def report(agent: Agent, state: str, at: str, result: str = "", *, transcript: str = "", used: bool = False) -> Agent:
    """Return an agent after a signal. A weaker one never replaces a stronger one.

    An agent that is sent on after its result was used runs again, and its next result is a new one. One that was
    interrupted and goes on is judged again, and its result answers its call, whoever repeats it.

    Args:
        agent: the agent before.
        state: what is reported.
        at: when (UTC stamp).
        result: its last message, or the error.
        transcript: the path of its own transcript; empty if unknown.
        used: whether the main conversation has this result.
    """
    if agent.state == "missing" and agent.verdict == "failed" and state not in ("missing", "failed"):
        agent = replace(agent, verdict="unwritten")
    if state == "running" and agent.state == "missing":
        agent = replace(agent, state=state, resumed=True, since=at, used_at="", prompt_id=ANY, answered="")
    elif state == "running" and agent.used_at and not agent.resumed:
        agent = replace(agent, resumed=True, since=at)
    elif agent.resumed and state not in BEGUN:
        agent = replace(agent, state=state, resumed=False, result=result, changed_at=at, used_at="")
    elif STATES.index(state) >= STATES.index(agent.state):
        same_end = state == "completed" and agent.state in DONE  # it ended at its stop, whenever that is notified
        changed = agent.changed_at if same_end else at
        agent = replace(agent, state=state, result=result or agent.result, changed_at=changed)
    return replace(
        agent,
        transcript=transcript or agent.transcript,
        used_at=agent.used_at or at if used else agent.used_at,
    )


def merge(call: Agent, run: Agent) -> Agent:
    """Return one agent of two rows: what a call wanted, and what its run has reported."""
    joined = report(call, run.state, run.changed_at, run.result, transcript=run.transcript)
    began = min(call.launched_at, run.launched_at)
    return replace(
        joined,
        run=run.run,
        agent_type=call.agent_type or run.agent_type,
        launched_at=began,
        since=run.since if run.resumed else began,
        resumed=run.resumed,
        used_at=call.used_at or run.used_at,
        reminded=call.reminded or run.reminded,
    )


def join_duplicates(project: OpenProject, conversation: str) -> None:
    """Merge rows that are one agent, because its call or its run was reported under two ids of a conversation."""
    table, known = project.ledger.table(Agent), dict[str, Agent]()
    with project.ledger.transaction():
        for row in table.where(conversation=conversation, order="call = '', launched_at"):
            first = known.get(f"call {row.call}") if row.call else known.get(f"run {row.run}")
            if first:
                _drop(project, row)
                row = store(project, replace(merge(first, row), run=row.run or first.run))
            known |= {f"call {row.call}": row, f"run {row.run}": row}


def standing(agent: Agent, over: Collection[str] = ()) -> str:
    """Return where an agent stands, in the word that every command and page uses.

    It is its `status`, or `interrupted` for one that was cut off, or `to run again` if a person wants that.

    Args:
        agent: the agent. For a script's run, `agent_list` reads the client's files first.
        over: conversations that are over, in which nothing runs any more.
    """
    if agent.discarded:
        return "to run again"
    if agent.status == "running":
        return "interrupted" if agent.conversation in over else "running"
    if agent.state in (*BEGUN, "missing"):  # in BEGUN it was judged without a result, and none will come
        return "interrupted"
    return "failed" if agent.failed else agent.status


def is_open(agent: Agent) -> bool:
    """Return whether an agent runs, or is still to be judged or reported (`Agent.open`)."""
    if agent.kind == "script":
        return bool(agent.run) and agent.state in BEGUN
    if not agent.call:
        return agent.state in (*BEGUN, "missing")
    return agent.status != "used" or not agent.judged or agent.state == "missing" or is_disputable(agent)


def is_disputable(agent: Agent) -> bool:
    """Return whether an agent failed after its phase was judged completed."""
    return agent.state == "failed" and agent.verdict == "completed" and bool(agent.phase)


def call_id(event: Call) -> str:
    """Return the client's id of a call. Calls without an id, which no supported client sends, count as one."""
    return event.tool_use_id or "unknown"


def run_id(agent_id: str, call: str) -> str:
    """Return the id of a run: the client's agent id or, if the client gives none, one made from the call."""
    return agent_id or f"call:{call}"


def record_call(project: OpenProject, conversation: str, call: str, **about: Any) -> Agent:
    """Store that an agent, or a script, is called, with fields of `Agent`. A call that is known stays as it is."""
    with project.ledger.transaction():
        return of_call(project, conversation, call) or store(project, _new(project, conversation, call=call, **about))


def record_launch(
    project: OpenProject,
    conversation: str,
    call: str,
    agent_type: str,
    workflow: str,
    phase: str,
    *,
    description: str = "",
    prompt: str = "",
) -> None:
    """Store for which phase a call launches an agent, with the beginning of its prompt. The first time counts."""
    words: dict[str, Any] = {"description": beginning(project, description), "prompt": beginning(project, prompt)}
    with project.ledger.transaction():
        before = record_call(project, conversation, call)
        if before.state != "called":
            return
        words |= {"agent_type": agent_type, "workflow": workflow, "phase": phase}
        log_launch(project, store(project, replace(before, state="launched", **words)))


def name_run(project: OpenProject, conversation: str, call: str, run: str, output: str = "") -> None:
    """Store which run a known call started, and the path of its output, if the client says that.

    A call that was taken for lost and does return is open again.
    """
    with project.ledger.transaction():
        agent = of_call(project, conversation, call)
        if agent is None:
            return
        table = project.ledger.table(Agent)
        reported = table.one(run=run, conversation=conversation, call="")
        named = replace(agent, run=run, output=output or agent.output)
        if reported:
            _drop(project, reported)
            named = merge(named, reported)
        if named.verdict == "abandoned":
            named = replace(named, verdict="")
        if named != agent:
            log_launch(project, store(project, named))
            log_end(project, named)


def record_report(
    project: OpenProject,
    conversation: str,
    run: str,
    state: State,
    result: str = "",
    *,
    agent_type: str = "",
    transcript: str = "",
    used: bool = False,
    **about: Any,
) -> Agent:
    """Store what a run reported (`report`) at an event of a conversation, and return its agent.

    An agent of an ended conversation belongs to this one from now on. Of a long result the beginning is stored,
    which says so. `about` are further fields of `Agent` that the signal tells.
    """
    masked = _masked_result(project, result)
    with project.ledger.transaction():
        before = of_run(project, conversation, run) or _adopt(project, conversation, run)
        agent = before or _new(project, conversation, run=run, agent_type=agent_type, state="launched")
        agent = report(replace(agent, **about), state, clock.stamp(), masked, transcript=transcript, used=used)
        if agent != before:
            store(project, agent)
            if before is None or agent.changed_at != before.changed_at or agent.state != before.state:
                log_end(project, agent)
        return agent


def record_return(project: OpenProject, conversation: str, call: str, result: AgentResult) -> None:
    """Store what a call of the Agent tool returned. Any sign of a failure beats the status (I000-14)."""
    if result.status == "completed" or result.failed:
        state: State = "failed" if result.failed else "completed"
        run = run_id(result.agent_id, call)
        known = of_run(project, conversation, run)
        if known and known.call not in ("", call):  # this call lets an earlier agent go on
            name_run(project, conversation, call, run, result.output_file)
        record_report(project, conversation, run, state, result.text, agent_type=result.agent_type, used=True)


def record_failure(project: OpenProject, conversation: str, call: str, error: str) -> None:
    """Store that a call of the Agent tool failed; the client doesn't say which agent it was."""
    record_report(project, conversation, run_id("", call), "failed", error, used=True)


def record_notice(project: OpenProject, conversation: str, notice: TaskNotification, run: str, call: str = "") -> None:
    """Store what a notification to the main conversation says about a run, and the call that launched it.

    `call` is empty if only the notification may say.
    """
    state, call = _ENDINGS.get(notice.status, "failed"), call or notice.tool_use_id
    agent = of_run(project, conversation, run)
    if notice.status in _STOPPED and agent and agent.state == "missing":
        state = "missing"  # it ended with its client, and can be continued; else somebody stopped it
    record_report(project, conversation, run, state, notice.words, used=state != "running")
    if call:
        name_run(project, conversation, call, run, notice.output_file)


def catch_up_calls(project: OpenProject, conversation: str, transcript: str) -> None:
    """Read from the end of a transcript what calls returned whose events were lost, for example on a full disk."""
    calls = {each.call for each in unanswered(project, conversation)} if transcript else set()
    for answer in project.transcripts.returned(transcript, calls, most=TURN_BYTES) if calls else ():
        if answer.call in calls:
            run = run_id(answer.result.agent_id, answer.call)
            if answer.error:
                record_failure(project, conversation, answer.call, answer.error)
            else:
                record_return(project, conversation, answer.call, answer.result)
            name_run(project, conversation, answer.call, run, answer.result.output_file)


def catch_up(project: OpenProject, conversation: str, transcript: str, *, most: int | None = None) -> None:
    """Read from the transcript the results that the main conversation got and no event reported.

    `most` is the number of bytes that are read at its end; None reads as far as the reader goes.
    """
    running = waiting(project, conversation)
    read = project.transcripts
    for notice, noted_at in read.notices(transcript, most=most or read.TAIL_BYTES) if running else ():
        moment = clock.parse(noted_at)
        for each in running:
            of_it = notice.task_id == each.run if notice.task_id else notice.tool_use_id == each.call
            begun = clock.parse(each.since)
            if of_it and (moment is None or begun is None or moment >= begun):  # else it is of an earlier run
                record_notice(project, conversation, notice, each.run, each.call)


def mark_missing(project: OpenProject, conversation: str, listed: Collection[str]) -> None:
    """Mark the agents as missing that run, but that the client no longer lists at a Stop.

    An agent that was killed sends no SubagentStop (client fact §3.4). It is missing at first and counts as failed only
    at the next main-thread event, because its own last event may still be on its way.
    """
    for agent in list_open(project, conversation):
        if agent.kind == "script" or agent.run in ("", *listed):
            continue
        if agent.resumed and agent.state != "running":  # it brought no new result, so the one that was used stays
            change(project, agent, resumed=False)
        elif agent.state == "running":
            record_report(project, conversation, agent.run, "missing")


def abandon_calls(project: OpenProject, conversation: str) -> None:
    """Close the foreground calls that never returned: at a prompt of the main thread none can still run."""
    for agent in unanswered(project, conversation):
        judge(project, agent, "abandoned")


def judge(project: OpenProject, agent: Agent, verdict: str, *, before: Collection[str] = ("", "unwritten")) -> bool:
    """Give an agent a verdict if it has one of those `before`; of several processes that try, one gets True."""
    with project.ledger.transaction():
        now = project.ledger.table(Agent).one(id=agent.id)
        if now is None or now.verdict not in before:
            return False
        store(project, replace(now, verdict=verdict))
        return True


def change(project: OpenProject, agent: Agent, **values: Any) -> Agent:
    """Change fields of an agent's row, whatever else has changed in it meanwhile, and return it."""
    with project.ledger.transaction():
        now = project.ledger.table(Agent).one(id=agent.id)
        return store(project, replace(now, **values)) if now else agent


def store(project: OpenProject, agent: Agent) -> Agent:
    """Write an agent's row, and return it."""
    return project.ledger.table(Agent).put(replace(agent, open=is_open(agent)))


def of_call(project: OpenProject, conversation: str, call: str) -> Agent | None:
    """Return the agent that a call launched; None if the call is unknown."""
    return project.ledger.table(Agent).one(conversation=conversation, call=call)


def of_run(project: OpenProject, conversation: str, run: str) -> Agent | None:
    """Return the agent that a run belongs to, whether or not a call is known for it; of several calls the latest."""
    return project.ledger.table(Agent).one(run=run, conversation=conversation, order="launched_at DESC, call")


def list_launched(project: OpenProject, conversation: str) -> list[Agent]:
    """Return all agents that a conversation launched, in order of launch."""
    table, calls = project.ledger.table(Agent), "call <> '' AND kind <> 'script' AND verdict <> 'refused'"
    return table.where(calls, conversation=conversation, order="launched_at, call")


def list_open(project: OpenProject, conversation: str | None = None) -> list[Agent]:
    """Return the agents and scripts with `Agent.open`, of a conversation or of all, in order of launch."""
    of: dict[str, Any] = {} if conversation is None else {"conversation": conversation}
    return project.ledger.table(Agent).where(order="launched_at, call", open=True, **of)


def launched(project: OpenProject, conversation: str | None = None) -> list[Agent]:
    """Return the open agents of a conversation, or of all, that were launched by a known call, in order of launch."""
    return [each for each in list_open(project, conversation) if each.call and each.kind != "script"]


def waiting(project: OpenProject, conversation: str | None = None) -> list[Agent]:
    """Return the named agents that run, or whose results have not reached their conversation, in order of launch.

    They are those of a conversation, or of all.
    """
    return [each for each in launched(project, conversation) if each.named and each.status != "used"]


def unanswered(project: OpenProject, conversation: str) -> list[Agent]:
    """Return the agents whose calls have not returned, as far as the ledger knows, in order of launch."""
    return [each for each in launched(project, conversation) if not each.named and not each.verdict]


def unclaimed(project: OpenProject, conversation: str) -> list[Agent]:
    """Return the runs that run, or are missing, and for which no call is known."""
    return [each for each in list_open(project, conversation) if not each.call]


def may_have_started(call: Agent, run: Agent) -> bool:
    """Return whether a call whose run is unknown can have started a run. An older run was interrupted, untold."""
    return run.agent_type == call.agent_type and run.launched_at >= call.launched_at


def candidates(project: OpenProject, conversation: str, run: str) -> list[Agent]:
    """Return the calls that may have started a run: the one that names it, or all of its type without a run."""
    agent = of_run(project, conversation, run)
    if agent is None or agent.call:
        return [agent] if agent else []
    return [each for each in unanswered(project, conversation) if may_have_started(each, agent)]


def attribute(project: OpenProject, conversation: str, run: str, transcript: str = "") -> Agent | None:
    """Return the agent that a running subagent is; None if several could be it, or none is known.

    Until a call returns, the client doesn't say which run it started (client fact §3.4). A foreground run is matched by
    its type; if several of one type run, by the prompt that its own transcript begins with, which is next to the main
    session's `transcript`.
    """
    found = candidates(project, conversation, run)
    rivals = [each for each in in_foreground(project, conversation) if found and each.agent_type == found[0].agent_type]
    if len(found) == 1 and (found[0].named or len(rivals) == 1):
        return found[0]
    prompt = project.transcripts.agent_prompt(transcript, run) if found else ""
    same = [each for each in found if prompt and each.prompt == beginning(project, prompt)]
    return same[0] if len({(each.workflow, each.phase) for each in same}) == 1 else None


def in_foreground(project: OpenProject, conversation: str) -> list[Agent]:
    """Return the running agents that are known by no call, and that an unanswered call may have started."""
    calls = unanswered(project, conversation)
    runs = [each for each in unclaimed(project, conversation) if each.status == "running"] if calls else []
    return [run for run in runs if any(may_have_started(each, run) for each in calls)]


def compacts_itself(project: OpenProject, conversation: str, environ: Mapping[str, str]) -> bool:
    """Return whether an unmarked compaction event is a subagent's own.

    Never where the client marks such events. Else it is an agent's while the main thread waits for a foreground agent,
    or rests after a Stop with an agent still running. While the main thread works next to a background agent nothing
    tells the two apart; then it counts as the main one.
    """
    if project.client.marks_agents(environ):
        return False
    idle = conversations.get(project, conversation).idle
    return bool(in_foreground(project, conversation) or (idle and _in_background(project, conversation)))


def compacted_agent(project: OpenProject, conversation: str) -> str | None:
    """Return the agent whose own compaction an unmarked event announces: the one that runs; None where several do.

    Call it only where `compacts_itself` holds.
    """
    running = in_foreground(project, conversation) + _in_background(project, conversation)
    found = {each.run for each in running}
    return found.pop() if len(found) == 1 else None


def _in_background(project: OpenProject, conversation: str) -> list[Agent]:
    return [each for each in waiting(project, conversation) if each.status == "running"]


def beginning(project: OpenProject, text: str, most: int = PROMPT_LIMIT_CHARS) -> str:
    """Return an agent's words as they are stored: the first, with secrets and the user's excluded text masked."""
    masked = str(capture.event(project.config, {"text": text})["text"])
    return redact.beginning(masked, most).encode("utf-8", "replace").decode()  # the ledger can't store lone surrogates


def _masked_result(project: OpenProject, result: str) -> str:
    cut = f"… (the first {RESULT_LIMIT_CHARS:,} of {len(result):,} characters; the agent's transcript has all of it)"
    cut = cut if len(result) > RESULT_LIMIT_CHARS else ""
    return beginning(project, result, RESULT_LIMIT_CHARS - len(cut)) + cut


def _new(project: OpenProject, conversation: str, **fields: Any) -> Agent:
    now = clock.stamp()
    return Agent(new_id(), conversation, project.worktree, launched_at=now, since=now, **fields)


def _adopt(project: OpenProject, conversation: str, run: str) -> Agent | None:
    """Move an agent to the conversation that continues it, if the one that launched it is over; None for no such.

    SendMessage continues an interrupted agent in whichever session sends it, under the agent's own id, which is unique.
    """
    table = project.ledger.table(Agent)
    agent = table.one("call <> ''", run=run, order="launched_at DESC")
    if agent is None or not conversations.process_gone(project, agent.conversation):
        return None
    mark_missing(project, agent.conversation, ())
    table.update({"conversation": conversation}, id=agent.id)
    return table.one(id=agent.id)


def _drop(project: OpenProject, agent: Agent) -> None:
    """Delete a row that turned out to be another one's agent, with what the log says of its end."""
    project.ledger.table(Agent).drop(id=agent.id)
    project.ledger.table(Event).drop(id=f"{agent.id} end")


def log_launch(project: OpenProject, agent: Agent) -> None:
    """Write into the log that an agent or a script was launched; a later call of the same agent replaces it."""
    _log(project, replace(agent, state="launched", result="", changed_at=agent.launched_at), agent.id)


def log_end(project: OpenProject, agent: Agent) -> None:
    """Write into the log how an agent or a script ended, if it did; a stronger report of the same run replaces it."""
    if agent.state not in BEGUN:
        _log(project, agent, f"{agent.id} end")


def _log(project: OpenProject, agent: Agent, entry: str) -> None:
    is_script = agent.kind == "script"
    data = {
        "agent_id": agent.run or None,
        "agent_type": agent.name if is_script else agent.agent_type,
        "call": agent.call,
        "last_message": agent.result[:LOGGED_CHARS],
    }
    about = {"conversation": agent.conversation, "workflow": agent.workflow, "phase": agent.phase}
    what = (_OF_SCRIPT if is_script else _OF_AGENT)[agent.state]
    log.note(project, "agent", what, **about, at=agent.changed_at, id=entry, data=data)
