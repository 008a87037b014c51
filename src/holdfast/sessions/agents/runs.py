"""Runs of subagents: what each has reported of itself.

A run is known by its `agent_id`; the launch that started it may be known before or after (`launches`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, Protocol

from holdfast import clock
from holdfast.sessions.agents import launches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from holdfast.project import OpenProject

State = Literal["running", "missing", "stopped", "completed", "failed"]
# A failure signal beats "completed" from the same run; a verdict beats a bare stop.
_RANK = {"running": 0, "missing": 1, "stopped": 2, "completed": 3, "failed": 4}
MISSING = "it was stopped before it had ended"


class Result(Protocol):
    """What a call returned; see `returned`."""

    @property
    def status(self) -> str:
        """`completed`, or another word for one whose agent goes on."""

    @property
    def agent_id(self) -> str:
        """The run; empty if unknown."""

    @property
    def agent_type(self) -> str:
        """The agent's name; empty if unknown."""

    @property
    def text(self) -> str:
        """Its last message."""

    @property
    def output_file(self) -> str:
        """Where a background agent writes."""

    @property
    def failed(self) -> bool:
        """Whether anything says that it failed, whatever the status is."""


def run_id(agent_id: str, tool_use_id: str) -> str:
    """Return what a run is called: the client's agent id, or a name of ours where the client gives none."""
    return agent_id or f"call:{tool_use_id}"


def reported(
    project: OpenProject,
    session: str,
    agent_id: str,
    agent_type: str,
    state: State,
    words: str = "",
    *,
    transcript: str = "",
    used: bool = False,
) -> None:
    """Keep what a run reported of itself.

    A weaker signal never replaces a stronger one: failed > completed > stopped > missing > running. An agent that is
    started again after a verdict (resumed, sent a message) keeps the verdict; once its result was used it runs again,
    and what it brings then is a result of its own.

    Args:
        project: where.
        session: the main session.
        agent_id: the run.
        agent_type: the agent's name; empty if the signal does not say.
        state: what the signal says.
        words: its last message, or the error.
        transcript: where the run's own transcript lies.
        used: whether the main conversation has this result: a call returned it, or a notification told it.
    """
    session = launches.home(project, session, agent_id)
    words, now = launches.kept(project, words), clock.stamp()
    digest = hashlib.sha256(words.encode()).hexdigest()[:12] if words else ""
    run = (project.key, session, agent_id)
    if state == "running":
        project.ledger.run(
            "UPDATE runs SET resumed = 1, resumed_at = ? WHERE project = ? AND session = ? AND agent_id = ?"
            " AND consumed_at IS NOT NULL AND resumed = 0",
            *(now, *run),
        )
    else:
        project.ledger.run(
            "UPDATE runs SET state = ?, words = ?, digest = ?, changed_at = ?, resumed = 0, consumed_at = NULL"
            " WHERE project = ? AND session = ? AND agent_id = ? AND resumed = 1",
            *(state, words, digest, now, *run),
        )
    stronger = " OR ".join(
        f"(excluded.state = '{new}' AND runs.state IN ({_listed(old for old in _RANK if _RANK[old] <= _RANK[new])}))"
        for new in _RANK
    )
    project.ledger.run(
        "INSERT INTO runs (project, session, agent_id, worktree, host, client, agent_type, state, words, digest,"
        " started_at, changed_at, consumed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)"
        " ON CONFLICT (project, session, agent_id) DO UPDATE SET state = excluded.state,"
        " words = CASE WHEN excluded.words = '' THEN runs.words ELSE excluded.words END,"
        " digest = CASE WHEN excluded.words = '' THEN runs.digest ELSE excluded.digest END,"
        f" changed_at = excluded.changed_at WHERE {stronger}",
        *(*run, project.worktree, project.host, project.client),
        *(agent_type, state, words, digest, now, now),
    )
    if transcript or used:
        project.ledger.run(
            "UPDATE runs SET transcript = CASE WHEN ? = '' THEN transcript ELSE ? END,"
            " consumed_at = CASE WHEN ? = 1 THEN COALESCE(consumed_at, ?) ELSE consumed_at END"
            " WHERE project = ? AND session = ? AND agent_id = ?",
            *(transcript, transcript, int(used), now, *run),
        )


def returned(project: OpenProject, session: str, call: str, result: Result) -> None:
    """Keep what the call of an agent returned: the result of one that was waited for.

    A background launch returns at once and is no result. Any sign of a failure beats a status (I000-14).
    """
    if result.status == "completed" or result.failed:
        state: State = "failed" if result.failed else "completed"
        run = run_id(result.agent_id, call)
        reported(project, session, run, result.agent_type, state, result.text, used=True)


def failed(project: OpenProject, session: str, call: str, error: str) -> None:
    """Keep that the call of an agent failed; the client does not say which agent it was."""
    reported(project, session, run_id("", call), "", "failed", error, used=True)


def reminded(project: OpenProject, session: str, agent_id: str) -> bool:
    """Tell whether an agent was given its workflow's reminders."""
    row = project.ledger.one(
        "SELECT reminded_at FROM runs WHERE project = ? AND session = ? AND agent_id = ?",
        *(project.key, session, agent_id),
    )
    return bool(row and row["reminded_at"])


def remind(project: OpenProject, session: str, agent_id: str) -> None:
    """Note that an agent was given its workflow's reminders."""
    project.ledger.run(
        "UPDATE runs SET reminded_at = ? WHERE project = ? AND session = ? AND agent_id = ?",
        *(clock.stamp(), project.key, session, agent_id),
    )


def still_there(project: OpenProject, session: str, listed: Collection[str]) -> None:
    """Note at a Stop which agents that were seen to start the client no longer lists.

    One that was killed sends no SubagentStop (client fact §3.4). It is missing first, and counts as failed at the
    next main-thread event only: its own last event may be on its way. Agents that run elsewhere never start here.
    """
    rows = project.ledger.rows(
        "SELECT agent_id, agent_type, resumed FROM runs WHERE project = ? AND session = ?"
        " AND (state = 'running' OR resumed = 1)",
        *(project.key, session),
    )
    for row in rows:
        if row["agent_id"] in listed:
            continue
        if row["resumed"]:  # its result was used before; what it may have begun since brought none
            project.ledger.run(
                "UPDATE runs SET resumed = 0 WHERE project = ? AND session = ? AND agent_id = ?",
                *(project.key, session, row["agent_id"]),
            )
        else:
            reported(project, session, row["agent_id"], row["agent_type"], "missing")


def _listed(states: Iterable[str]) -> str:
    return ", ".join(f"'{state}'" for state in states)
