"""What became of each agent, as far as the main conversation is concerned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast.sessions.agents import launch_runs, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.project import OpenProject

Fate = Literal["running", "finished", "failed", "consumed"]
_FAILED = ("failed", "missing")
_COLUMNS = (
    *("session", "tool_use_id", "agent_id", "agent_type", "workflow", "phase", "description", "output"),
    *("launched_at", "verdict"),
)
_OF_RUN = ("state", "words", "digest", "transcript", "changed_at", "consumed_at", "resumed", "resumed_at")
_SELECT = (
    f"SELECT {', '.join(f'launches.{name} AS {name}' for name in _COLUMNS)},"
    f" {', '.join(f'runs.{name} AS {name}' for name in _OF_RUN)}"
    f" FROM {launch_runs.ALL}"
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
        failed: whether it ended with a failure, used or not.
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
    failed: bool

    @property
    def unused(self) -> bool:
        """Whether it has ended, and nothing shows that its result reached the main conversation."""
        return self.fate in ("finished", "failed")


def of_session(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents a session launched, the first launched first."""
    rows = project.ledger.rows(
        f"{_SELECT} WHERE launches.project = ? AND launches.session = ? AND launches.agent_id IS NOT NULL"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [_agent(row) for row in rows]


def waiting(project: OpenProject, session: str) -> list[Agent]:
    """Return those agents a session launched whose results have not been used: few, however many it launched."""
    rows = project.ledger.rows(
        f"{_SELECT} WHERE launches.project = ? AND launches.session = ? AND COALESCE(launches.agent_id, '') <> ''"
        " AND (launches.verdict IS NULL OR launches.agent_id IN"
        " (SELECT agent_id FROM runs WHERE project = ? AND session = ? AND consumed_at IS NULL"
        " UNION SELECT agent_id FROM runs WHERE project = ? AND session = ? AND resumed = 1))"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session) * 3,
    )
    return [agent for agent in map(_agent, rows) if agent.fate != "consumed"]


def unused(project: OpenProject, workflow: str, free: Callable[[str], bool]) -> list[Agent]:
    """Return the agents that worked for a workflow in this worktree and ended without a known use, in that order.

    Args:
        project: where.
        workflow: the workflow's key.
        free: whether a session's agents for no workflow in particular count too.
    """
    rows = project.ledger.rows(
        f"{_SELECT} WHERE launches.project = ? AND launches.worktree = ? AND launches.agent_id IS NOT NULL"
        " AND (launches.workflow = ? OR launches.workflow IS NULL) AND runs.consumed_at IS NULL"
        " AND runs.state <> 'running' ORDER BY runs.changed_at, launches.tool_use_id",
        *(project.key, project.worktree, workflow),
    )
    found = [_agent(row) for row in rows if row["workflow"] or free(row["session"])]
    return [each for each in found if each.unused]


def _agent(row: dict[str, Any]) -> Agent:
    fate = _fate(row)
    return Agent(
        **{name: row[name] for name in _COLUMNS[:7]},
        fate=fate,
        words=(row["words"] or "") or (runs.MISSING if row["state"] == "missing" else ""),
        digest=row["digest"] or "",
        output=row["output"] or "",
        transcript=row["transcript"] or "",
        since=row["resumed_at"] or row["launched_at"],
        ended_at=None if fate == "running" else row["changed_at"],
        failed=fate != "running" and row["state"] in _FAILED,
    )


def _fate(row: dict[str, Any]) -> Fate:
    if row["resumed"] or (row["verdict"] is None and row["state"] in (None, "running")):
        return "running"
    if row["consumed_at"] or row["state"] in (None, "running"):  # judged without a run: nothing more will come
        return "consumed"
    return "failed" if row["state"] in _FAILED else "finished"
