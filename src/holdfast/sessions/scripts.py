"""Scripts that start agents (the client's Workflow tool): their runs, as the ledger and the client's files know them.

A script that is launched again is refused while it runs, and else has the client resume the earlier run.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock
from holdfast.memory.rows import Agent
from holdfast.process import liveness
from holdfast.sessions import agents, conversations, messages, owners
from holdfast.sessions.agent_relaunch import PASSED, Relaunch, record_reuse, tell_user
from holdfast.workflow.wording import Message, one_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.clients.client import Journal, TaskNotification
    from holdfast.project import OpenProject
    from holdfast.sessions.conversations import Request
    from holdfast.sessions.hook import Call, Context, Event, Returned

Status = Literal["running", "interrupted", "partial", "finished", "no journal"]
FAMILY = 50  # earlier runs that are looked through for one of the same script
_NAMED = 10  # runs that a prompt names and that are looked for
_UNKNOWN = "unknown journal"  # the hint that a journal can't be carried
_SAME = "Claude Code reuses their results and runs the others."
_CHANGED = (
    "The script or its args changed: calls after the first changed one run again; put changed or new agents last."
)


class ScriptRun:
    """One run of a script.

    Attributes:
        project: the project.
        row: its row in the ledger.
    """

    def __init__(self, project: OpenProject, row: Agent) -> None:
        self.project, self.row = project, row

    @property
    def path(self) -> Path:
        """The folder with its journal."""
        return Path(self.row.transcript)

    @cached_property
    def journal(self) -> Journal | None:
        """What the client noted of its agents; None if that can't be read."""
        return self.project.client.agent_runs().journal(self.path) if self.row.transcript else None

    @property
    def done(self) -> int:
        """How many of its agents have finished with a result."""
        return self.journal.done if self.journal else 0

    @cached_property
    def status(self) -> Status:
        """Where it stands.

        `running` in a client that lives, `finished` with a result of each agent, `partial` with agents that failed,
        `interrupted` if it was killed or stopped before its end, `no journal` if it is over and the client has deleted
        what it noted of the agents.
        """
        over = self.row.state not in agents.BEGUN
        ending = self.row.state if over else self.project.client.agent_runs().ended(self.path)
        if not ending and not liveness.is_gone(self.row.process):
            return "running"
        if self.journal is None:
            return "no journal"
        if ending == "completed":
            return "finished" if self.done == len(self.journal.agents) else "partial"
        return "interrupted"

    def is_elsewhere(self, process: str) -> bool:
        """Return whether it runs in another client process than this one."""
        return self.status == "running" and not (process and self.row.process == process)

    @property
    def counted(self) -> str:
        """How many of its agents have finished, in words."""
        return f"{self.done} of {len(self.journal.agents)} agents finished" if self.journal else "its journal is gone"

    @property
    def is_known(self) -> bool:
        """Whether its journal is there, in the format that Holdfast knows."""
        return self.journal is not None and self.journal.known


def judge_script(event: Call, context: Context) -> Relaunch:
    """Record that a script is launched, and say what to do if it was before (`agent_events.relaunch`)."""
    project, values = context.project, event.tool_input
    row = _record_call(event, context)
    resumed, path = values.get("resumeFromRunId"), values.get("scriptPath")
    named = isinstance(resumed, str) and bool(resumed)
    if named:
        run = find(project, str(resumed))
        family = [newest(run)] if run and run.row.transcript else []
    else:
        family = _earlier(context, row, path if isinstance(path, str) else "")
    family = [each for each in family if not each.is_elsewhere(row.process)]
    if not family:
        return PASSED
    earlier = family[0]
    same = earlier.row.fingerprint == row.fingerprint
    if earlier.status == "running":
        return _twin(context, event, earlier) if same else PASSED
    if earlier.row.discarded:
        return PASSED
    if earlier.journal and not earlier.journal.known:
        return PASSED if named else _unknown(context, event, earlier)
    if not earlier.done:
        return PASSED
    if not named and not _means(earlier, conversations.current_request(project, row.conversation)):
        # Whether the other results of a run with failed agents still hold, only the person asking knows.
        return Relaunch(messages=(Message(_way(earlier)),) if earlier.status == "partial" else ())
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(_way(earlier)),))
    return _resume(event, context, row, earlier, same=same)


def note_script_run(event: Returned, context: Context) -> None:
    """Note at the `PostToolUse` of the Workflow tool which run of a script a call started."""
    project, response = context.project, event.tool_response
    if not isinstance(response, dict) or not isinstance(response.get("runId"), str) or response.get("error"):
        return
    row, run = _record_call(event, context), response["runId"]
    folder = response.get("transcriptDir") or project.client.agent_runs().folder(event.transcript_path, run) or ""
    launched = agents.change(
        project,
        row,
        state="launched",
        run=run,
        task=str(response.get("taskId") or ""),
        transcript=str(folder),
        script=str(response.get("scriptPath") or ""),
        name=str(response.get("workflowName") or row.name),
    )
    agents.log_launch(project, launched)


def note_notice(project: OpenProject, conversation: str, notice: TaskNotification) -> bool:
    """Record that the main conversation knows how a run ended, and store its agents' results; False for no run."""
    table = project.ledger.table(Agent)
    row = table.one(kind="script", conversation=conversation, task=notice.task_id) if notice.task_id else None
    if row and notice.status != "running":
        _end(project, row, notice.status, used_at=clock.stamp())
        store_results(ScriptRun(project, row))
    return row is not None


def mark_ended(project: OpenProject, conversation: str, listed: Collection[str]) -> None:
    """Record that the runs of a conversation have ended that the client no longer lists at a Stop."""
    for row in agents.list_open(project, conversation):
        if row.kind == "script" and row.task not in ("", *listed):
            _end(project, row, project.client.agent_runs().ended(Path(row.transcript)))


def store_results(run: ScriptRun) -> None:
    """Store the facts about a run's agents that its journal has and no event had."""
    project, conversation = run.project, run.row.conversation
    known = {(each.run, each.state, each.description) for each in children(project, run.row)}
    for each in run.journal.agents if run.journal else ():
        state: agents.State = "completed" if each.state == "finished" else "failed"
        if not each.agent_id or each.state == "started" or (each.agent_id, state, each.label) in known:
            continue
        about = {"kind": "script agent", "parent": run.row.run, "description": each.label}
        agents.record_report(project, conversation, each.agent_id, state, each.result, used=True, **about)


def children(project: OpenProject, script: Agent) -> list[Agent]:
    """Return the agents of a script's run, in the order in which they were first heard of."""
    table = project.ledger.table(Agent)
    return table.where(kind="script agent", parent=script.run, conversation=script.conversation, order="launched_at")


def find(project: OpenProject, name: str) -> ScriptRun | None:
    """Return the latest run with an id or a name; None if none is known."""
    table, order = project.ledger.table(Agent), "launched_at DESC"
    row = table.one(run=name, kind="script", order=order) if name else None
    row = row or table.one("run <> ''", name=name, kind="script", order=order)
    return ScriptRun(project, row) if row else None


def newest(run: ScriptRun) -> ScriptRun:
    """Return the last run that a run was carried on in, which has all its results and more; the run itself if none."""
    table = run.project.ledger.table(Agent)
    for _ in range(FAMILY):
        about = {"kind": "script", "source": run.row.id}
        later = table.one("transcript NOT IN ('', ?)", run.row.transcript, order="launched_at DESC", **about)
        if not later:
            break
        run = ScriptRun(run.project, later)
    return run


def list_runs(project: OpenProject) -> list[ScriptRun]:
    """Return the latest runs of this worktree that are at most `freshness_days` old, the latest first."""
    rows = project.ledger.table(Agent).where(
        "launched_at >= ? AND run <> '' AND transcript <> ''",
        owners.fresh_since(project),
        kind="script",
        worktree=project.worktree,
        order="launched_at DESC",
        limit=FAMILY,
    )
    return [ScriptRun(project, row) for row in rows]


def carry_runs(event: Event, context: Context, prompt: str) -> None:
    """Carry the runs here that a person's prompt names, whichever session they are of, so that they can be resumed."""
    if context.config.agents == "off":
        return
    for name in context.project.client.agent_runs().named_in(prompt)[:_NAMED]:
        run = find(context.project, name)
        if run and run.row.transcript and not run.row.discarded:
            carry(newest(run), event.transcript_path, name)


def carry(run: ScriptRun, transcript: str, name: str) -> None:
    """Carry the journal of a run that no client works on to the session with a transcript, where `name` is its id.

    The client looks for the journal of `resumeFromRunId` before any hook hears of the call, and refuses without it.
    """
    runs = run.project.client.agent_runs()
    here = runs.folder(transcript, name)
    if run.status != "running" and here is not None and here != run.path and run.is_known:
        runs.carry(run.path, here)


def _record_call(event: Call, context: Context) -> Agent:
    """Store that a script is called, before its run has an id, and return its row."""
    project, values, runs = context.project, event.tool_input, context.project.client.agent_runs()
    conversation = conversations.of(project, event.session_id)
    asking = conversations.current_request(project, conversation)
    script = runs.script(event.transcript_path, values, context.root)
    text = script if script is not None else json.dumps([values.get("name"), values.get("scriptPath")])
    args = json.dumps(values.get("args"), sort_keys=True, default=str)
    return agents.record_call(
        project,
        conversation,
        agents.call_id(event),
        kind="script",
        name=runs.script_name(script) if script else str(values.get("name") or ""),
        script=values["scriptPath"] if isinstance(values.get("scriptPath"), str) else "",
        fingerprint=f"{_digest(' '.join(text.split()))} {_digest(args)}",
        prompt_id=asking.prompt,
        epoch=asking.epoch,
        process=conversations.client_process(context),
    )


def _end(project: OpenProject, row: Agent, ending: str, **values: Any) -> None:
    """Store how a run has ended: `completed`, or any other word if it was stopped or failed before its end."""
    state = "completed" if ending == "completed" else "failed"
    agents.log_end(project, agents.change(project, row, state=state, changed_at=clock.stamp(), **values))


def _earlier(context: Context, row: Agent, path: str) -> list[ScriptRun]:
    """Return the earlier runs of a script, the latest first: by its content, its path or its own name."""
    script = row.fingerprint.split()[0]
    return [
        each
        for each in list_runs(context.project)
        if each.row.id != row.id
        and (
            each.row.fingerprint.split()[0] == script
            or (row.name and each.row.name == row.name)
            or (path and each.row.script == path)
        )
    ]


def _means(earlier: ScriptRun, asking: Request) -> bool:
    """Return whether a launch means the work of an earlier run, although it doesn't name it.

    The model knows about a completed run until its conversation restarts. Before that it means new agents, for example
    to look at something again that it has mended.
    """
    if earlier.status == "interrupted":
        return True
    mine = earlier.row.prompt_id == asking.prompt
    return mine and (earlier.status == "partial" or earlier.row.epoch != asking.epoch)


def _resume(event: Call, context: Context, row: Agent, earlier: ScriptRun, *, same: bool) -> Relaunch:
    """Have the client resume an earlier run: carry its journal here if need be, and name it in the call.

    Nothing else of the call changes: the client itself knows which results it can serve.
    """
    project, target = context.project, _target(event, context, earlier)
    if target is None:
        return PASSED
    named = event.tool_input.get("resumeFromRunId") == target
    if named and same and project.client.agent_runs().folder(event.transcript_path, target) == earlier.path:
        return PASSED  # the client does all of it
    script = one_line(earlier.row.name or "without a name", 60)
    line = f"{earlier.counted} in run {earlier.row.run} of the script {script}. {_SAME if same else _CHANGED}"
    agents.change(project, row, source=earlier.row.id, description=line)
    record_reuse(project, row.conversation, line)
    if named:
        return Relaunch(messages=tell_user(context, event, line, "" if same else f"Holdfast: {line}"))
    note = (
        f"Holdfast set resumeFromRunId to {target!r}: {line} To start all agents from scratch instead, stop the task, "
        f"run `holdfast agents {target} --rerun`, and launch the script again."
    )
    resumed = {**event.tool_input, "resumeFromRunId": target}
    return Relaunch(tool_input=resumed, messages=tell_user(context, event, line, note))


def _target(event: Call, context: Context, earlier: ScriptRun) -> str | None:
    """Return the run id to resume from, in this session, carrying the journal there if need be; None if that fails."""
    runs = context.project.client.agent_runs()
    for run in filter(None, (event.tool_input.get("resumeFromRunId"), earlier.row.run)):
        here = runs.folder(event.transcript_path, run)
        found = runs.journal(here) if here else None
        if found and found.whole and found.done >= earlier.done:
            return str(run)
    run = earlier.row.run
    here = runs.folder(event.transcript_path, run)
    if here is None:
        return None
    if here.exists():
        run = f"wf_{secrets.token_hex(4)}-{secrets.token_hex(2)[:3]}"
        here = here.with_name(run)
    return run if runs.carry(earlier.path, here) else None


def _twin(context: Context, event: Call, earlier: ScriptRun) -> Relaunch:
    run, task = earlier.row.run, earlier.row.task
    refusal = (
        f"This script is running already: run {run}, task {task}; {earlier.counted}. Its notification "
        f"comes when it ends; don't start it again. After TaskStop {task} it goes on if it is launched again. "
        f"To run all agents again instead, stop the task, run `holdfast agents {run} --rerun`, and launch it."
    )
    if context.config.agents == "tell":
        return Relaunch(messages=(Message(refusal),))
    line = f"run {run} not started: already running, {earlier.counted}."
    return Relaunch(refusal, messages=tell_user(context, event, line))


def _unknown(context: Context, event: Call, earlier: ScriptRun) -> Relaunch:
    conversation = conversations.of(context.project, event.session_id)
    if messages.was_told(context.project, conversation, _UNKNOWN):
        return PASSED
    text = f"can't resume run {earlier.row.run}: Claude Code hides its script, or its journal has an unknown format."
    line, *note = tell_user(context, event, text)
    return Relaunch(messages=(messages.once(context.project, conversation, _UNKNOWN, [""], line), *note))


def _way(earlier: ScriptRun) -> str:
    place = f"scriptPath: {earlier.row.script!r}, " if earlier.row.script else ""
    return (
        f"An earlier run of this script left results: {earlier.row.run}, {earlier.counted}. To use them, stop this one "
        f"and call Workflow({{{place}resumeFromRunId: {earlier.row.run!r}}})."
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
