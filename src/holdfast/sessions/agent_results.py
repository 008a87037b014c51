"""What calls of the Agent tool returned, and what the client notified, from events or from the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sessions import agents

if TYPE_CHECKING:
    from holdfast.clients.client import AgentResult, TaskNotification
    from holdfast.project import OpenProject
    from holdfast.sessions.agents import State

TURN_BYTES = 1 << 20  # bytes at the end of a transcript that hold the last turn
_ENDINGS: dict[str, State] = {"completed": "completed", "running": "running", "": "stopped"}  # else a failure
_STOPPED = ("stopped", "killed")  # by somebody, or by the end of the client


def record_return(project: OpenProject, conversation: str, call: str, result: AgentResult) -> None:
    """Store what a call of the Agent tool returned. Any sign of a failure beats the status (I000-14)."""
    if result.status == "completed" or result.failed:
        state: State = "failed" if result.failed else "completed"
        run = agents.run_id(result.agent_id, call)
        known = agents.of_run(project, conversation, run)
        if known and known.call not in ("", call):  # this call lets an earlier agent go on
            agents.name_run(project, conversation, call, run, result.output_file)
        agents.record_report(project, conversation, run, state, result.text, agent_type=result.agent_type, used=True)


def record_failure(project: OpenProject, conversation: str, call: str, error: str) -> None:
    """Store that a call of the Agent tool failed; the client doesn't say which agent it was."""
    agents.record_report(project, conversation, agents.run_id("", call), "failed", error, used=True)


def record_notice(project: OpenProject, conversation: str, notice: TaskNotification, run: str, call: str = "") -> None:
    """Store what a notification told the main conversation about a run, and the call that launched it.

    `call` is empty if only the notification may say.
    """
    state, call = _ENDINGS.get(notice.status, "failed"), call or notice.tool_use_id
    agent = agents.of_run(project, conversation, run)
    if notice.status in _STOPPED and agent and agent.state == "missing":
        state = "missing"  # it ended with its client, and can be continued; else somebody stopped it
    agents.record_report(project, conversation, run, state, notice.words, used=state != "running")
    if call:
        agents.name_run(project, conversation, call, run, notice.output_file)


def catch_up_calls(project: OpenProject, conversation: str, transcript: str) -> None:
    """Read from the end of a transcript what calls returned whose events were lost, for example on a full disk."""
    calls = {each.call for each in agents.unanswered(project, conversation)} if transcript else set()
    for answer in project.transcripts.returned(transcript, calls, most=TURN_BYTES) if calls else ():
        if answer.call in calls:
            run = agents.run_id(answer.result.agent_id, answer.call)
            if answer.error:
                record_failure(project, conversation, answer.call, answer.error)
            else:
                record_return(project, conversation, answer.call, answer.result)
            agents.name_run(project, conversation, answer.call, run, answer.result.output_file)


def catch_up(project: OpenProject, conversation: str, transcript: str, *, most: int | None = None) -> None:
    """Read from the transcript the results that the main conversation got and no event reported.

    `most` is the number of bytes that are read at its end; None reads as far as the reader goes.
    """
    waiting = agents.waiting(project, conversation)
    read = project.transcripts
    for notice, noted_at in read.notices(transcript, most=most or read.TAIL_BYTES) if waiting else ():
        moment = clock.parse(noted_at)
        for each in waiting:
            of_it = notice.task_id == each.run if notice.task_id else notice.tool_use_id == each.call
            begun = clock.parse(each.since)
            if of_it and (moment is None or begun is None or moment >= begun):  # else it is of an earlier run
                record_notice(project, conversation, notice, each.run, each.call)
