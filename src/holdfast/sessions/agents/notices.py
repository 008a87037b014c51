"""What the client told the main conversation about its background agents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from holdfast import clock
from holdfast.sessions.agents import agent_status, lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.sessions.agents.lifecycle import State

_NOTICE = re.compile(b"task-notification")  # is in every entry that holds a notification (client fact §3.4)
_ENDINGS: dict[str, State] = {"completed": "completed", "running": "running", "": "stopped"}  # else a failure


TURN_BYTES = 1 << 20  # bytes at the end of a transcript that hold the last turn


class Answer(Protocol):
    """The result of a call, read from a transcript; see `catch_up_calls`."""

    @property
    def call(self) -> str:
        """The id of the call."""

    @property
    def result(self) -> lifecycle.Result:
        """What it returned."""

    @property
    def error(self) -> str:
        """What went wrong; empty unless it failed."""


class Notice(Protocol):
    """A notification of the client that an agent has ended; see `notified`."""

    @property
    def task_id(self) -> str:
        """The id of the run."""

    @property
    def tool_use_id(self) -> str:
        """The id of the call."""

    @property
    def status(self) -> str:
        """How the agent ended."""

    @property
    def summary(self) -> str:
        """One line about it."""

    @property
    def result(self) -> str:
        """The agent's last message."""

    @property
    def output_file(self) -> str:
        """The path of its whole output."""


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
    lifecycle.reported(project, session, run, "", state, words, used=state != "running")
    if tool_use_id:
        lifecycle.named(project, session, tool_use_id, run, output)


def catch_up_calls(
    project: OpenProject, session: str, transcript: str, noted: Callable[[Mapping[str, Any]], Answer | None]
) -> None:
    """Read from the transcript what calls returned whose events were lost, for example on a full disk.

    Args:
        project: the project.
        session: the main session.
        transcript: the path of its transcript, of which the last megabyte is read.
        noted: returns the result that an entry of the transcript holds, if any.
    """
    open_ = {each.tool_use_id for each in agent_status.unanswered(project, session)} if transcript else set()
    if not open_:
        return
    wanted = re.compile(b'"tool_use_id":"(?:%b)"' % b"|".join(re.escape(each.encode()) for each in sorted(open_)))
    for entry in project.transcripts.tail(transcript, most=TURN_BYTES, only=wanted):
        answer = noted(entry)
        if answer is None or answer.call not in open_:
            continue
        result = answer.result
        if answer.error:
            lifecycle.failed(project, session, answer.call, answer.error)
        else:
            lifecycle.returned(project, session, answer.call, result)
        run = lifecycle.run_id(result.agent_id, answer.call)
        lifecycle.named(project, session, answer.call, run, result.output_file)


def catch_up(
    project: OpenProject,
    session: str,
    transcript: str,
    noted: Callable[[Mapping[str, Any]], Notice | None],
    *,
    most: int | None = None,
) -> None:
    """Read from the transcript the results that the main conversation got and no event reported.

    Args:
        project: the project.
        session: the main session.
        transcript: the path of its transcript.
        noted: returns the notification that an entry of the transcript holds, if any.
        most: how many bytes at its end are read; None reads as far as the reader goes.
    """
    waiting = agent_status.waiting(project, session)
    read = project.transcripts
    for entry in read.tail(transcript, most=most or read.TAIL, only=_NOTICE) if waiting else ():
        if notice := noted(entry):
            for each in waiting:
                if _about(notice, each) and _follows(entry.get("timestamp"), each.since):
                    words = notice.result or notice.summary
                    told = (each.agent_id, each.tool_use_id, notice.status, words, notice.output_file)
                    notified(project, session, *told)


def _about(notice: Notice, agent: Agent) -> bool:
    if notice.task_id:
        return notice.task_id == agent.agent_id
    return notice.tool_use_id == agent.tool_use_id


def _follows(noted_at: object, since: str) -> bool:
    """Return whether a notice is of the present run: a resumed agent brings another notice."""
    moment, begun = clock.parse(noted_at) if isinstance(noted_at, str) else None, clock.parse(since)
    return moment is None or begun is None or moment >= begun
