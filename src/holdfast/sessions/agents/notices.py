"""What the client told the main conversation about its background agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sessions.agents import agent_status, lifecycle

if TYPE_CHECKING:
    from holdfast.clients.client import TaskNotification
    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.sessions.agents.lifecycle import State

_ENDINGS: dict[str, State] = {"completed": "completed", "running": "running", "": "stopped"}  # else a failure
_STOPPED = ("stopped", "killed")  # by somebody, or by the end of the client
TURN_BYTES = 1 << 20  # bytes at the end of a transcript that hold the last turn


def notified(
    project: OpenProject, session: str, agent_id: str, tool_use_id: str, status: str, words: str, output: str = ""
) -> None:
    """Store what a notification told the main conversation about a background agent.

    Args:
        project: the project.
        session: the main session.
        agent_id: the run; empty if the notification doesn't say.
        tool_use_id: the call; empty if the notification doesn't say.
        status: `completed`, `running`, empty for a bare stop, or a word for a failure.
        words: its last message.
        output: the path of its whole output.
    """
    run = lifecycle.run_id(agent_id, tool_use_id)
    state = _ENDINGS.get(status, "failed")
    if status in _STOPPED and agent_status.is_missing(project, session, run):
        state = "missing"  # it ended with its client, and can be continued; else somebody stopped it
    lifecycle.reported(project, session, run, "", state, words, used=state != "running")
    if tool_use_id:
        lifecycle.named(project, session, tool_use_id, run, output)


def catch_up_calls(project: OpenProject, session: str, transcript: str) -> None:
    """Read from the transcript what calls returned whose events were lost, for example on a full disk.

    Args:
        project: the project.
        session: the main session.
        transcript: the path of its transcript, of which the last megabyte is read.
    """
    open_ = {each.tool_use_id for each in agent_status.unanswered(project, session)} if transcript else set()
    for answer in project.transcripts.returned(transcript, open_, most=TURN_BYTES) if open_ else ():
        if answer.call not in open_:
            continue
        result = answer.result
        if answer.error:
            lifecycle.failed(project, session, answer.call, answer.error)
        else:
            lifecycle.returned(project, session, answer.call, result)
        run = lifecycle.run_id(result.agent_id, answer.call)
        lifecycle.named(project, session, answer.call, run, result.output_file)


def catch_up(project: OpenProject, session: str, transcript: str, *, most: int | None = None) -> None:
    """Read from the transcript the results that the main conversation got and no event reported.

    Args:
        project: the project.
        session: the main session.
        transcript: the path of its transcript.
        most: how many bytes at its end are read; None reads as far as the reader goes.
    """
    waiting = agent_status.waiting(project, session)
    read = project.transcripts
    for notice, noted_at in read.notices(transcript, most=most or read.TAIL_BYTES) if waiting else ():
        for each in waiting:
            if _about(notice, each) and _follows(noted_at, each.since):
                told = (each.agent_id, each.tool_use_id, notice.status, notice.words, notice.output_file)
                notified(project, session, *told)


def _about(notice: TaskNotification, agent: Agent) -> bool:
    if notice.task_id:
        return notice.task_id == agent.agent_id
    return notice.tool_use_id == agent.tool_use_id


def _follows(noted_at: object, since: str) -> bool:
    """Return whether a notice is of the present run: a resumed agent brings another notice."""
    moment, begun = clock.parse(noted_at) if isinstance(noted_at, str) else None, clock.parse(since)
    return moment is None or begun is None or moment >= begun
