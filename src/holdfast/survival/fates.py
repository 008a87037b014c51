"""What became of each agent, as far as the main conversation is concerned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from holdfast import clock
from holdfast.survival import agents, transcripts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.project import Project

Fate = Literal["running", "finished", "failed", "consumed"]
_COLUMNS = (
    *("session", "tool_use_id", "agent_id", "agent_type", "workflow", "phase", "description", "output"),
    *("launched_at", "verdict"),
)
_OF_RUN = ("state", "words", "digest", "transcript", "changed_at", "consumed_at", "resumed", "resumed_at")
_SELECT = (
    f"SELECT {', '.join(f'launches.{name} AS {name}' for name in _COLUMNS)},"
    f" {', '.join(f'runs.{name} AS {name}' for name in _OF_RUN)}"
    " FROM launches LEFT JOIN runs ON runs.project = launches.project AND runs.session = launches.session"
    " AND runs.agent_id = launches.agent_id"
)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that was launched and that the client has named.

    Attributes:
        session: the main session.
        tool_use_id: the call that launched it.
        agent_id: the run.
        agent_type: its name.
        workflow: the key of the workflow it works for, if any.
        phase: the id of the phase it works for, if any.
        description: what its launch is said to be for.
        fate: `running`; `finished` or `failed`, where nothing shows that its result reached the main conversation;
            `consumed`, where it did.
        words: its last message, or the error; empty while it runs for the first time.
        digest: of the words, 12 hexadecimal digits of their SHA-256; empty without words.
        output: where the client writes its output; empty if unknown.
        transcript: where its own transcript lies; empty if unknown.
        since: when it was launched, or started again (UTC stamp).
        ended_at: when it ended (UTC stamp), None while it runs.
    """

    session: str
    tool_use_id: str
    agent_id: str
    agent_type: str
    workflow: str | None
    phase: str | None
    description: str
    fate: Fate
    words: str
    digest: str
    output: str
    transcript: str
    since: str
    ended_at: str | None

    @property
    def unused(self) -> bool:
        """Whether it has ended, and nothing shows that its result reached the main conversation."""
        return self.fate in ("finished", "failed")


class Notice(Protocol):
    """What the client told the main conversation of an agent that ended; see `agents.notified`."""

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


def of_session(project: Project, session: str) -> list[Agent]:
    """Return the agents a session launched, the first launched first."""
    agents.ensure(project)
    rows = project.ledger.rows(
        f"{_SELECT} WHERE launches.project = ? AND launches.session = ? AND launches.agent_id IS NOT NULL"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [_agent(row) for row in rows]


def unused(project: Project, workflow: str, free: Callable[[str], bool]) -> list[Agent]:
    """Return the agents that worked for a workflow in this worktree and ended without a known use, in that order.

    Args:
        project: where.
        workflow: the workflow's key.
        free: whether a session's agents for no workflow in particular count too.
    """
    agents.ensure(project)
    rows = project.ledger.rows(
        f"{_SELECT} WHERE launches.project = ? AND launches.worktree = ? AND launches.agent_id IS NOT NULL"
        " AND (launches.workflow = ? OR launches.workflow IS NULL) AND runs.consumed_at IS NULL"
        " AND runs.state <> 'running' ORDER BY runs.changed_at, launches.tool_use_id",
        *(project.key, project.worktree, workflow),
    )
    found = [_agent(row) for row in rows if row["workflow"] or free(row["session"])]
    return [each for each in found if each.unused]


def catch_up(
    project: Project,
    session: str,
    transcript: str,
    noted: Callable[[Mapping[str, Any]], Notice | None],
    *,
    most: int = transcripts.TAIL,
) -> None:
    """Note the results that the main conversation was given and no event told: only its transcript shows them.

    Args:
        project: where.
        session: the main session.
        transcript: where its transcript lies.
        noted: reads an entry of it that notes such a result.
        most: how many bytes of its end are looked at.
    """
    waiting = [each for each in of_session(project, session) if each.fate != "consumed"]
    for entry in transcripts.tail(transcript, most=most) if waiting else ():
        if notice := noted(entry):
            for each in waiting:
                if _about(notice, each) and _follows(entry.get("timestamp"), each.since):
                    words = notice.result or notice.summary
                    told = (each.agent_id, each.tool_use_id, notice.status, words, notice.output_file)
                    agents.notified(project, session, *told)


def _about(notice: Notice, agent: Agent) -> bool:
    if notice.task_id:
        return notice.task_id == agent.agent_id
    return notice.tool_use_id == agent.tool_use_id


def _follows(noted_at: object, since: str) -> bool:
    """Tell whether a notice is of the present run: an agent that is started again brings another one."""
    moment, begun = clock.parse(noted_at) if isinstance(noted_at, str) else None, clock.parse(since)
    return moment is None or begun is None or moment >= begun


def _agent(row: dict[str, Any]) -> Agent:
    fate = _fate(row)
    return Agent(
        **{name: row[name] for name in _COLUMNS[:7]},
        fate=fate,
        words=(row["words"] or "") or (agents.MISSING if row["state"] == "missing" else ""),
        digest=row["digest"] or "",
        output=row["output"] or "",
        transcript=row["transcript"] or "",
        since=row["resumed_at"] or row["launched_at"],
        ended_at=None if fate == "running" else row["changed_at"],
    )


def _fate(row: dict[str, Any]) -> Fate:
    if row["resumed"] or (row["verdict"] is None and row["state"] in (None, "running")):
        return "running"
    if row["consumed_at"] or row["state"] in (None, "running"):  # judged without a run: nothing more will come
        return "consumed"
    return "failed" if row["state"] in ("failed", "missing") else "finished"
