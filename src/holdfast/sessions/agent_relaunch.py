"""Agents that are launched again: finished work isn't done twice.

An agent is refused with its result, with what to wait for, or with the id to continue by; of a script, `scripts` has
the client resume the earlier run.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files import status_file
from holdfast.memory import log
from holdfast.memory.rows import Agent
from holdfast.process import liveness
from holdfast.sessions import agents, conversations, owners
from holdfast.workflow import holdfast_folder
from holdfast.workflow.wording import Message, clean, fenced, one_line, units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.conversations import Request
    from holdfast.sessions.hook import Call, Context

RESULT_LIMIT_CHARS = 9_400  # of a refusal: the client takes 100 more, and the handler's name comes after it
_LOOKED_AT = 200  # earlier identical calls
_OPTIONS = ("model", "effort", "isolation", "mode")


class Relaunch(NamedTuple):
    """The answer to a call that launches agents.

    Attributes:
        refusal: why the call must not run, with the result it would have brought or what to wait for; empty to let it.
        tool_input: the input with which it runs; None for the model's own.
        messages: messages to the model and the user.
        source: the row of the agent that has done the work; empty without a refusal.
        reused: whether the refusal brings the result of that agent.
    """

    refusal: str = ""
    tool_input: Mapping[str, Any] | None = None
    messages: tuple[Message, ...] = ()
    source: str = ""
    reused: bool = False


PASSED = Relaunch()


def judge_agent(event: Call, context: Context) -> Relaunch:
    """Record that an agent is launched, and say what to do if it was before (`agent_events.relaunch`)."""
    project = context.project
    conversation = conversations.of(project, event.session_id)
    asking, process = conversations.current_request(project, conversation), conversations.client_process(context)
    mark, name = fingerprint(event), str(event.tool_input.get("name") or "")
    earlier = _earlier(context, mark, asking, conversation, process)
    call = agents.record_call(
        project,
        conversation,
        agents.call_id(event),
        fingerprint=mark,
        name=name,
        prompt_id=asking.prompt,
        epoch=asking.epoch,
        process=process,
    )
    held = _teammate(context, event, call) if name else None
    held = held or next(filter(None, (_held(context, event, call, each) for each in earlier)), None)
    if held is None:
        return PASSED
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(held.refusal),))
    agents.change(project, call, verdict="refused", source=held.source)
    if held.reused:
        record_reuse(project, conversation, held.messages[0].text)
    return held


def teammates(project: OpenProject, conversation: str, process: str) -> list[Agent]:
    """Return a conversation's teammates, as far as this client process still has them, in order of launch."""
    table = project.ledger.table(Agent)
    return table.where(kind="teammate", conversation=conversation, process=process, order="launched_at")


def record_reuse(project: OpenProject, conversation: str, text: str) -> None:
    """Write into the log that a call uses what an earlier one has left."""
    log.note(project, "agent", "results used again", conversation=conversation, data={"text": text})


def tell_user(context: Context, event: Call, text: str, note: str = "") -> tuple[Message, ...]:
    """Return one line for the user, a text for the model if there is one, and write the line to the log file."""
    context.log(text, session=event.session_id)
    line = (Message(f"Holdfast: {text}", to_user=True),)
    return (*line, Message(note, must_keep=True)) if note else line


def fingerprint(event: Call) -> str:
    """Return the identity of an Agent call's work: kind, description, prompt and options.

    The description counts, for it may be all that names the unit: a workflow's agents can share one prompt.
    """
    values = event.tool_input
    description = " ".join(str(values.get("description") or "").casefold().split())
    work = [values.get("subagent_type") or "general-purpose", description, values.get("prompt")]
    work += [values.get(key) for key in _OPTIONS]
    return hashlib.sha256(json.dumps(work, default=str).encode()).hexdigest()[:32]


def broke_off(project: OpenProject, conversation: str) -> bool:
    """Return whether a conversation was cut off at work: in a turn of its own, or while agents of it were at work."""
    if not conversations.has_crashed(project, conversation):
        return False
    found = agents.launched(project, conversation)
    unended = any(each.status == "running" or each.state == "missing" for each in found)
    return unended or not conversations.get(project, conversation).idle


def is_alive(agent: Agent, conversation: str, process: str) -> bool:
    """Return whether an agent belongs to the client `process` that a conversation runs in now."""
    return agent.process == process if process else agent.conversation == conversation


def _earlier(context: Context, mark: str, asking: Request, conversation: str, process: str) -> list[Agent]:
    """Return the identical calls of the last beginning before this one that have not answered one of this.

    A call that answered one of that beginning belongs to it. Of identical calls the first answers the first, the second
    the second. The conversation's own calls count first. Another client's don't while that runs, except agents that had
    finished when this conversation was forked from theirs.
    """
    project, own = context.project, conversations.get(context.project, conversation)

    def counts(agent: Agent) -> bool:
        if is_alive(agent, conversation, process):
            return True
        if own.forked_from == agent.conversation and "" < agent.ended_at <= own.first_seen:
            return True
        return liveness.is_gone(agent.process)

    table, since = project.ledger.table(Agent), owners.fresh_since(project)
    rows = table.where("launched_at >= ?", since, fingerprint=mark, order="launched_at DESC", limit=_LOOKED_AT)
    rows = [each for each in rows if each.epoch != asking.epoch and each.verdict != "refused" and each.kind == "agent"]
    rows = [each for each in rows if counts(each)]
    rows = [each for each in rows if each.conversation == conversation] or rows
    last = [each for each in rows if rows[0].epoch in (each.epoch, each.answered)]
    return [each for each in reversed(last) if each.answered != asking.epoch and not each.discarded]


def _held(context: Context, event: Call, call: Agent, agent: Agent) -> Relaunch | None:
    """Return why a call need not run, if an earlier one did its work, does it or can go on with it; else None."""
    project = context.project
    who = f"{one_line(agent.agent_type, 60)} {agent.run}".strip()
    alive = is_alive(agent, call.conversation, call.process)
    if agent.status == "running" and alive:
        why = f"This agent is running already: {who}. Its notification brings the result; don't start it again."
        return _refuse(context, event, call, agent, why, f"{who} not started: already running.")
    cut_off = agent.prompt_id == agents.ANY or (not alive and broke_off(project, agent.conversation))
    wanted = agent.unused or cut_off or agent.prompt_id == call.prompt_id
    wanted = wanted and agent.prompt_id != agents.CLEARED  # the person starts over
    wanted = wanted and agent.state in agents.DONE and bool(agent.result.strip())
    if wanted and _holds(context, event, call, agent, cut_off=cut_off):
        # Where a fork gets the result, the conversation that it left still has to hear of it.
        goes_on = agent.conversation != call.conversation and not alive
        used = not goes_on or agent.conversation in conversations.ended_ids(project)
        agents.record_report(project, agent.conversation, agent.run, "completed", agent.result, used=used)
        text, line = _result(context, agent, who), f"{who} had finished; its result was used again."
        return _refuse(context, event, call, agent, text, line)._replace(reused=True)
    if agent.state in (*agents.BEGUN, "missing") and not alive and (run := _interrupted(context, event, agent)):
        why = (
            f"This agent was interrupted and can go on where it was: use SendMessage with to: {run!r} and the "
            "message 'Continue your task.' Don't start it again."
        )
        return _refuse(context, event, call, agent, why, f"{who or run} was interrupted; it is continued.")
    return None


def _refuse(context: Context, event: Call, call: Agent, agent: Agent, why: str, line: str) -> Relaunch:
    """Return a refusal, after noting that an earlier agent has answered a call of this beginning."""
    agents.change(context.project, agent, answered=call.epoch)
    return Relaunch(why, messages=tell_user(context, event, line), source=agent.id)


def _holds(context: Context, event: Call, call: Agent, agent: Agent, *, cut_off: bool) -> bool:
    """Return whether an agent's result still holds: nothing was edited or committed since.

    A result that the conversation has had holds only if its agent ran once under the prompt, and no agent that was
    started later has ended: otherwise the agent is part of a loop. Work that was cut off is begun from its start, so
    there agents that came later are no loop.
    """
    project, ended = context.project, agent.ended_at
    both = {agent.conversation, call.conversation}
    if not agent.unused:
        later = (
            "changed_at > ? AND launched_at > ? AND kind <> 'script' AND state IN ('stopped', 'completed', 'failed')"
        )
        table = project.ledger.table(Agent)
        if not cut_off and any(table.one(later, ended, ended, conversation=each) for each in both):
            return False
        if _is_repeated(project, call, agent):
            return False
    moment = clock.parse(ended)
    if moment is None or project.head_changed_at > moment.timestamp():
        return False
    paths = {event.transcript_path, *(conversations.get(project, each).transcript for each in both)}
    return not any(project.transcripts.edited_since(each, ended) for each in paths)


def _is_repeated(project: OpenProject, call: Agent, agent: Agent) -> bool:
    """Return whether an agent ran more than once under its prompt, one run after the other."""
    others = project.ledger.table(Agent).where(
        "id NOT IN (?, ?) AND verdict <> 'refused'",
        *(agent.id, call.id),
        fingerprint=agent.fingerprint,
        prompt_id=agent.prompt_id,
        order="launched_at DESC",
        limit=_LOOKED_AT,
    )
    return any(
        each.launched_at > agent.ended_at or (each.state in agents.DONE and each.changed_at < agent.launched_at)
        for each in others
    )


def _interrupted(context: Context, event: Call, agent: Agent) -> str:
    """Return the id by which an interrupted agent can go on in this session; empty if it can't."""
    project = context.project
    source = conversations.get(project, agent.conversation).transcript
    prompt = event.tool_input.get("prompt")
    runs = [agent.run] if agent.run and not agent.run.startswith("call:") else []
    lost = agents.unclaimed(project, agent.conversation)
    for run in runs or [each.run for each in lost if agents.may_have_started(agent, each)]:
        text = project.transcripts.agent_prompt(source, run)
        if text and text == prompt and project.client.agent_runs().carry_agent(source, run, event.transcript_path):
            return run
    return ""


def _result(context: Context, agent: Agent, who: str) -> str:
    moment = clock.parse(agent.ended_at)
    when = status_file.age(int((clock.now() - moment).total_seconds())) if moment else "earlier"
    lead = f"This agent has finished already ({who}, {when}); nothing was started."
    whole = fenced(f"{lead} Its result:", agent.result.split("\n")) if units(agent.result) <= RESULT_LIMIT_CHARS else ""
    if whole and units(whole) <= RESULT_LIMIT_CHARS:
        return whole
    path = holdfast_folder.result_place(context.root, agent.run)
    try:
        holdfast_folder.put(context.root, path, holdfast_folder.result(agent.run, agent.conversation, agent.result))
        rest = f"Its result is in {clean(str(path))}; read it."
    except (StateError, OSError):
        rest = f"Its result is in {clean(agent.output or agent.transcript)}."
    return fenced(f"{lead} {rest} This is its beginning:", agent.result[: RESULT_LIMIT_CHARS - 1_500].split("\n"))


def _teammate(context: Context, event: Call, call: Agent) -> Relaunch | None:
    found = teammates(context.project, call.conversation, call.process)
    same = [each for each in found if each.name == call.name and each.epoch != call.epoch and not each.discarded]
    if not same:
        return None
    who = one_line(call.name, 60)
    why = (
        f"The teammate {who} is there already: send it the task with SendMessage to: {who!r}. If it doesn't answer, "
        "launch another under another name."
    )
    line = f"the teammate {who} not started: already running."
    return Relaunch(why, messages=tell_user(context, event, line), source=same[0].id)
