"""A script of agents that is launched again: refuse a twin, or have the client resume the earlier run."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from holdfast.sessions import conversations, messages
from holdfast.sessions.agents import script_runs
from holdfast.sessions.agents.relaunch_answer import PASSED, Relaunch, said
from holdfast.workflow.wording import Message, one_line

if TYPE_CHECKING:
    from holdfast.sessions.agents.script_runs import ScriptRun
    from holdfast.sessions.conversations import Request
    from holdfast.sessions.hook import Call, Context, Event

_NAMED = 10  # runs that a prompt names and that are looked for
_UNKNOWN = "unknown journal"  # the hint that a journal can't be carried
_SAME = "The client reuses their results and runs the others."
_CHANGED = (
    "The script or its args changed: calls after the first changed one run again; put changed or new agents last."
)


def judge(event: Call, context: Context) -> Relaunch:
    """Note that a script is launched, and say what to do if it was before (`relaunches.relaunch`)."""
    project, given = context.project, event.tool_input
    runs = project.client.agent_runs()
    asking = conversations.current_request(project, conversations.of(project, event.session_id))
    script = runs.script(event.transcript_path, given, context.root)
    script_runs.asked(event, context, asking, script)
    digest, args = script_runs.digests(given, script)
    name = runs.script_name(script) if script else str(given.get("name") or "")
    resumed, path = given.get("resumeFromRunId"), given.get("scriptPath")
    named = isinstance(resumed, str) and bool(resumed)
    if named:
        found = script_runs.named(project, str(resumed), script_runs.process(context))
        family = [script_runs.newest(found)] if found and found.row["folder"] else []
    else:
        family = script_runs.latest(
            context, call=str(event.tool_use_id), name=name, digest=digest, path=path if isinstance(path, str) else ""
        )
    family = [each for each in family if each.status != "elsewhere"]
    if not family:
        return PASSED
    earlier = family[0]
    same = earlier.row["digest"] == digest and earlier.row["args"] == args
    if earlier.status == "running":
        return _twin(context, event, earlier) if same else PASSED
    if earlier.row["rerun_at"]:
        return PASSED
    if earlier.journal and not earlier.journal.known:
        return PASSED if named else _unknown(context, event, earlier)
    if not earlier.done:
        return PASSED
    if not named and not _again(earlier, asking):
        return Relaunch(messages=_partial(earlier))
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(_way(earlier)),))
    return _resume(event, context, earlier, same=same)


def _again(earlier: ScriptRun, asking: Request) -> bool:
    """Return whether a launch means the work of an earlier run, although it doesn't name it.

    The model knows of a completed run until its conversation begins anew. Before that it means new agents, for example
    to look at something again that it has mended.
    """
    if earlier.status == "interrupted":
        return True
    mine = earlier.row["prompt"] == asking.prompt
    return mine and (earlier.status == "partial" or earlier.row["epoch"] != asking.epoch)


def _resume(event: Call, context: Context, earlier: ScriptRun, *, same: bool) -> Relaunch:
    """Have the client resume an earlier run: carry its journal here if need be, and name it in the call.

    Nothing else of the call changes: the client itself knows which results it can serve.
    """
    target = _target(event, context, earlier)
    if target is None:
        return PASSED
    named = event.tool_input.get("resumeFromRunId") == target
    if named and same and context.project.client.agent_runs().folder(event.transcript_path, target) == earlier.path:
        return PASSED  # the client does all of it
    script = one_line(earlier.name or "without a name", 60)
    line = f"{earlier.counted} in run {earlier.run} of the script {script}. {_SAME if same else _CHANGED}"
    script_runs.reuses(event, context.project, earlier, line)
    if named:
        return Relaunch(messages=said(context, event, line, "" if same else f"Holdfast: {line}"))
    note = (
        f"Holdfast set resumeFromRunId to {target!r}: {line} To start all agents from scratch instead, stop the task, "
        f"run `holdfast agents rerun {target}`, and launch the script again."
    )
    resumed = {**event.tool_input, "resumeFromRunId": target}
    return Relaunch(tool_input=resumed, messages=said(context, event, line, note))


def _target(event: Call, context: Context, earlier: ScriptRun) -> str | None:
    """Return the run id to resume from, in this session, carrying the journal there if need be; None if that fails."""
    runs = context.project.client.agent_runs()
    for run in filter(None, (event.tool_input.get("resumeFromRunId"), earlier.run)):
        here = runs.folder(event.transcript_path, run)
        found = runs.journal(here) if here else None
        if found and found.whole and found.done >= earlier.done:
            return str(run)
    run = str(earlier.run)
    here = runs.folder(event.transcript_path, run)
    if here is None:
        return None
    if here.exists():
        run = f"wf_{secrets.token_hex(4)}-{secrets.token_hex(2)[:3]}"
        here = here.with_name(run)
    return run if runs.carry(earlier.path, here) else None


def _twin(context: Context, event: Call, earlier: ScriptRun) -> Relaunch:
    held = (
        f"This script is running already: run {earlier.run}, task {earlier.task}; {earlier.counted}. Its notification "
        f"comes when it ends; don't start it again. After TaskStop {earlier.task} it goes on if it is launched again. "
        f"To start all agents anew instead, stop the task, run `holdfast agents rerun {earlier.run}`, and launch it."
    )
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(held),))
    return Relaunch(held, messages=said(context, event, f"run {earlier.run} wasn't started twice; {earlier.counted}"))


def _unknown(context: Context, event: Call, earlier: ScriptRun) -> Relaunch:
    if messages.was_told(
        context.project,
        conversations.of(context.project, event.session_id),
        _UNKNOWN,
    ):
        return PASSED
    text = f"can't resume run {earlier.run}: the client hides its script, or its journal has an unknown format."
    told = said(context, event, text)
    return Relaunch(
        messages=(
            messages.once(
                context.project,
                conversations.of(context.project, event.session_id),
                _UNKNOWN,
                [""],
                told[0],
            ),
            *told[1:],
        )
    )


def _way(earlier: ScriptRun) -> str:
    place = f"scriptPath: {earlier.script!r}, " if earlier.script else ""
    return (
        f"An earlier run of this script left results: {earlier.run}, {earlier.counted}. To use them, stop this one and "
        f"call Workflow({{{place}resumeFromRunId: {earlier.run!r}}})."
    )


def _partial(earlier: ScriptRun) -> tuple[Message, ...]:
    """Name a run that ended with failed agents: whether its other results still hold, only the person asking knows."""
    return (Message(_way(earlier)),) if earlier.status == "partial" else ()


def carry_named(event: Event, context: Context, prompt: str) -> None:
    """Carry the runs here that a person's prompt names, so that the model can resume them (`carry`)."""
    process = script_runs.process(context)
    for each in context.project.client.agent_runs().named_in(prompt)[:_NAMED]:
        run = script_runs.named(context.project, each, process)
        if run and run.folder and not run.rerun_at:
            carry(script_runs.newest(run), event.transcript_path, each)


def carry(run: ScriptRun, transcript: str, name: str) -> None:
    """Carry the journal of a run that no client works on to the session with a transcript, where `name` is its id.

    The client looks for the journal of `resumeFromRunId` before any hook hears of the call, and refuses without it.
    """
    runs = run.project.client.agent_runs()
    here = runs.folder(transcript, name)
    over = run.status not in ("running", "elsewhere")
    if over and here is not None and here != run.path and run.journal and run.journal.known:
        runs.carry(run.path, here)
