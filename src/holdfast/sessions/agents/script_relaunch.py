"""A script of agents that is launched again: refuse a twin, carry an interrupted run on, or answer a changed script."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from holdfast.sessions.agents import askings, script_runs
from holdfast.sessions.agents.relaunch_answer import PASSED, Relaunch, said
from holdfast.workflow.wording import Message, count, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.askings import Asking
    from holdfast.sessions.agents.script_runs import ScriptRun
    from holdfast.sessions.hook import Call, Context, Event

_NESTED = re.compile(r"\bworkflow\s*\(")  # a call of another script, in which the client knows its own `agent` only
_NAMED = 10  # runs that a prompt names and that are looked for
_UNKNOWN = "unknown journal"  # the hint that a client notes results in a way that Holdfast doesn't know


def judge(event: Call, context: Context) -> Relaunch:
    """Note that a script is launched, and say what to do if it was before (`relaunches.relaunch`)."""
    project, given = context.project, event.tool_input
    runs = project.client.agent_runs()
    asking = askings.current(project, event.session_id)
    script = runs.script(event.transcript_path, given, context.root)
    script_runs.asked(event, context, asking, script)
    digest, args = script_runs.digests(given, script)
    name = runs.script_name(script) if script else str(given.get("name") or "")
    resumed, path = given.get("resumeFromRunId"), given.get("scriptPath")
    named = isinstance(resumed, str) and bool(resumed)
    if named:
        found = script_runs.named(project, str(resumed), script_runs.process(context))
        family = [found] if found and found.row["folder"] else []
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
        return _unknown(context, event, earlier)
    if not (earlier.done or earlier.handed_on):
        return PASSED
    if not named and not _again(earlier, asking):
        return Relaunch(messages=_partial(earlier))
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(_way(earlier)),))
    return _reuse(event, context, earlier, script, same=same)


def _again(earlier: ScriptRun, asking: Asking) -> bool:
    """Return whether a launch means the work of an earlier run, although it doesn't name it.

    The model knows of a completed run until its conversation begins anew. Before that it means new agents, for example
    to look at something again that it has mended.
    """
    if earlier.status == "interrupted":
        return True
    mine = earlier.row["prompt"] == asking.prompt
    return mine and (earlier.status == "partial" or earlier.row["epoch"] != asking.epoch)


def _reuse(event: Call, context: Context, earlier: ScriptRun, script: str | None, *, same: bool) -> Relaunch:
    project, given = context.project, dict(event.tool_input)
    runs = project.client.agent_runs()
    about = f"{earlier.counted} in run {earlier.run} of the script {one_line(earlier.name or 'without a name', 60)}"
    by_journal = same and not earlier.row["answers"]
    if script is not None and (not by_journal or _has_holes(context, earlier, script)):
        lineage = [each for each in earlier.lineage if each.is_dir()]
        made = runs.answered(script, lineage)
        if made is not None and not (by_journal and made[2]):
            text, known, left_out = made
            changed = {**given, "script": text}
            changed.pop("resumeFromRunId", None)
            line = f"{about}; each call with the same prompt and options gets its earlier result ({known} known)"
            if left_out:
                line += f"; {count(left_out, 'result')} didn't fit into the script and will be made anew"
            if _NESTED.search(script):
                line += "; agents of scripts that it runs with workflow() start anew"
            script_runs.reuses(event, project, earlier, line, lineage)
            return Relaunch(tool_input=changed, messages=said(context, event, f"{line}.", _note(earlier, line)))
        if not by_journal:
            return PASSED
    target = _target(event, context, earlier)
    if target is None:
        return PASSED
    asked = given.get("resumeFromRunId") == target
    if asked and runs.folder(event.transcript_path, target) == earlier.path:
        return PASSED  # the client does all of it
    line = f"{about}; the client serves their results and runs the others"
    script_runs.reuses(event, project, earlier, line, [])
    if asked:
        return Relaunch(messages=said(context, event, f"{line}."))
    note = _note(earlier, line) + (f" It goes on as run {target}." if target != earlier.run else "")
    return Relaunch(tool_input={**given, "resumeFromRunId": target}, messages=said(context, event, f"{line}.", note))


def _has_holes(context: Context, earlier: ScriptRun, script: str) -> bool:
    """Return whether the client would run finished agents again that come after one which never started."""
    return context.project.client.agent_runs().in_stages(earlier.path, script)


def _target(event: Call, context: Context, earlier: ScriptRun) -> str | None:
    """Return the run id to resume from, in this session, carrying the journal there if need be; None if that fails."""
    runs = context.project.client.agent_runs()
    here = runs.folder(event.transcript_path, earlier.run)
    if here is None:
        return None
    if here == earlier.path and earlier.journal and earlier.journal.whole:
        return str(earlier.run)
    found = runs.journal(here)
    if here != earlier.path and found and found.whole and found.done >= earlier.done:
        return str(earlier.run)  # carried before, when the session began
    run = str(earlier.run)
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
    from holdfast.sessions.compaction import hints

    if hints.was_told(context.project, event.session_id, _UNKNOWN):
        return PASSED
    hints.tell(context.project, event.session_id, _UNKNOWN)
    text = (
        f"this client notes the results of run {earlier.run} in a way that Holdfast doesn't know, so it left them alone"
    )
    return Relaunch(messages=said(context, event, f"{text}."))


def _note(earlier: ScriptRun, line: str) -> str:
    return (
        f"Holdfast changed this call: {line}. To start all agents anew instead, stop the task, run "
        f"`holdfast agents rerun {earlier.run}`, and launch the script again."
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
    """Carry the runs here that a person's prompt names, so that the model can resume them (`carry_all`)."""
    process = script_runs.process(context)
    ids = context.project.client.agent_runs().named_in(prompt)[:_NAMED]
    found = [script_runs.named(context.project, each, process) for each in ids]
    carry_all([run for run in found if run and run.folder and not run.rerun_at], event.transcript_path)


def carry_all(found: list[ScriptRun], transcript: str) -> None:
    """Carry the journals of runs that no client works on to the session with a transcript.

    The client looks for the journal of `resumeFromRunId` before any hook hears of the call, and refuses without it.
    """
    for run in found:
        runs = run.project.client.agent_runs()
        here: Path | None = runs.folder(transcript, run.run)
        over = run.status not in ("running", "elsewhere")
        if over and here is not None and here != run.path and run.journal and run.journal.known:
            runs.carry(run.path, here)
