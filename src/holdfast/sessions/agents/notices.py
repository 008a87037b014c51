"""What the client told the main conversation of agents that run beside it."""

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

_NOTICE = re.compile(b"task-notification")  # stands in every entry that notes one (client fact §3.4)
_ENDINGS: dict[str, State] = {"completed": "completed", "running": "running", "": "stopped"}  # else a failure


TURN_BYTES = 1 << 20  # bytes of a transcript's end that hold a turn


class Answer(Protocol):
    """A call's result in a transcript; see `catch_up_calls`."""

    @property
    def call(self) -> str:
        """The call."""

    @property
    def result(self) -> lifecycle.Result:
        """What it returned."""

    @property
    def error(self) -> str:
        """What went wrong, where it failed."""


class Notice(Protocol):
    """What the client told the main conversation of an agent that ended; see `notified`."""

    @property
    def task_id(self) -> str:
        """The run."""

    @property
    def tool_use_id(self) -> str:
        """The call."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def summary(self) -> str:
        """One line about it."""

    @property
    def result(self) -> str:
        """Its last message."""

    @property
    def output_file(self) -> str:
        """Where its whole output lies."""


def notified(
    project: OpenProject, session: str, agent_id: str, tool_use_id: str, status: str, words: str, output: str = ""
) -> None:
    """Keep what the client told the main conversation of an agent that runs beside it: its result, if it has ended.

    Args:
        project: where.
        session: the main session.
        agent_id: the run; empty if the notification does not say.
        tool_use_id: the call; empty if it does not say.
        status: `completed`, `running`, or a word for a failure.
        words: its last message.
        output: where its whole output lies.
    """
    run = lifecycle.run_id(agent_id, tool_use_id)
    state = _ENDINGS.get(status, "failed")
    lifecycle.reported(project, session, run, "", state, words, used=state != "running")
    if tool_use_id:
        lifecycle.named(project, session, tool_use_id, run, output)


def catch_up_calls(
    project: OpenProject, session: str, transcript: str, noted: Callable[[Mapping[str, Any]], Answer | None]
) -> None:
    """Keep what calls returned whose events were lost, as on a full disk: only the transcript shows it.

    Args:
        project: where.
        session: the main session.
        transcript: where its transcript lies; its last megabyte is looked at.
        noted: reads an entry of it that notes such a result.
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
    """Note the results that the main conversation was given and no event told: only its transcript shows them.

    Args:
        project: where.
        session: the main session.
        transcript: where its transcript lies.
        noted: reads an entry of it that notes such a result.
        most: how many bytes of its end are looked at, where not all that can be.
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
    """Tell whether a notice is of the present run: an agent that is started again brings another one."""
    moment, begun = clock.parse(noted_at) if isinstance(noted_at, str) else None, clock.parse(since)
    return moment is None or begun is None or moment >= begun
