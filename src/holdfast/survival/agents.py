"""Subagents: which were launched for which phase, what they reported, and what that makes of the phase.

A launch is known by its `tool_use_id`, a run by its `agent_id`; the client names both only in the launch's
PostToolUse and in a `<task-notification>`, and the run's own events may come before either. So both are kept
apart until they can be joined, and judged once they are (`DESIGN`: Agents; client facts §3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from holdfast.project import Project

State = Literal["running", "missing", "stopped", "completed", "failed"]
# A failure signal beats "completed" from the same run; a verdict beats a bare stop.
_RANK = {"running": 0, "missing": 1, "stopped": 2, "completed": 3, "failed": 4}
_MISSING = "it was stopped before it had ended"
LAUNCHES = """
CREATE TABLE IF NOT EXISTS launches (
    project TEXT NOT NULL, session TEXT NOT NULL, tool_use_id TEXT NOT NULL, agent_id TEXT,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    agent_type TEXT NOT NULL, workflow TEXT, phase TEXT, launched_at TEXT NOT NULL, verdict TEXT,
    PRIMARY KEY (project, session, tool_use_id))
"""
RUNS = """
CREATE TABLE IF NOT EXISTS runs (
    project TEXT NOT NULL, session TEXT NOT NULL, agent_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    agent_type TEXT NOT NULL, state TEXT NOT NULL, words TEXT NOT NULL,
    started_at TEXT NOT NULL, changed_at TEXT NOT NULL,
    PRIMARY KEY (project, session, agent_id))
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """A call of the Agent tool.

    Attributes:
        tool_use_id: the call.
        agent_id: the run it started, once known.
        agent_type: the agent's name.
        workflow: the key of the workflow it works for, if any.
        phase: the id of the phase it works for, if any.
        verdict: `completed`, `failed`, `abandoned` or `disputed` once judged.
    """

    tool_use_id: str
    agent_id: str | None
    agent_type: str
    workflow: str | None
    phase: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Flight:
    """An agent that was launched and has not reported its end.

    Attributes:
        session: the main session that launched it.
        agent_type: the agent's name.
        agent_id: the run; None while the client has not named it and several could be meant.
        phase: the id of the phase it works for, if any.
        since: when it was launched (UTC stamp).
        background: whether the main conversation goes on meanwhile.
    """

    session: str
    agent_type: str
    agent_id: str | None
    phase: str | None
    since: str
    background: bool


@dataclass(frozen=True, slots=True)
class Due:
    """A launch whose result is in: how the run ended and its last words."""

    launch: Launch
    state: Literal["completed", "failed"]
    words: str


def launched(
    project: Project, session: str, tool_use_id: str, agent_type: str, workflow: str | None, phase: str | None
) -> None:
    """Note a launch; one that is known already keeps what it has."""
    ensure(project)
    project.ledger.run(
        "INSERT INTO launches (project, session, tool_use_id, worktree, host, client, agent_type, workflow, phase,"
        " launched_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, tool_use_id) DO NOTHING",
        *(project.key, session, tool_use_id, project.worktree, project.host, project.client),
        *(agent_type, workflow, phase, clock.stamp()),
    )


def call_id(tool_use_id: str | None, tool_input: Mapping[str, Any]) -> str:
    """Return what a call is called: the client's id or, from old clients, a name made of what was asked.

    Without ids, the same question asked twice in a session is one call.
    """
    if tool_use_id:
        return tool_use_id
    import hashlib
    import json

    asked = json.dumps(tool_input, sort_keys=True, default=str)
    return f"asked:{hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def run_id(agent_id: str, tool_use_id: str) -> str:
    """Return what a run is called: the client's agent id, or a name of ours where the client gives none."""
    return agent_id or f"call:{tool_use_id}"


def named(project: Project, session: str, tool_use_id: str, agent_id: str) -> None:
    """Join a launch with the run it started; one that was given up and does return is open again."""
    ensure(project)
    project.ledger.run(
        "UPDATE launches SET agent_id = ?, verdict = CASE WHEN verdict = 'abandoned' THEN NULL ELSE verdict END"
        " WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(agent_id, project.key, session, tool_use_id),
    )


def reported(project: Project, session: str, agent_id: str, agent_type: str, state: State, words: str = "") -> None:
    """Keep what a run reported of itself.

    A weaker signal never replaces a stronger one: failed > completed > stopped > missing > running. An agent that is
    started again after a verdict (resumed, sent a message) keeps the verdict.

    Args:
        project: where.
        session: the main session.
        agent_id: the run.
        agent_type: the agent's name; empty if the signal does not say.
        state: what the signal says.
        words: its last message, or the error.
    """
    ensure(project)
    now = clock.stamp()
    stronger = " OR ".join(
        f"(excluded.state = '{new}' AND runs.state IN ({_listed(old for old in _RANK if _RANK[old] <= _RANK[new])}))"
        for new in _RANK
    )
    project.ledger.run(
        "INSERT INTO runs (project, session, agent_id, worktree, host, client, agent_type, state, words, started_at,"
        " changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session, agent_id) DO UPDATE SET state = excluded.state,"
        " words = CASE WHEN excluded.words = '' THEN runs.words ELSE excluded.words END,"
        f" changed_at = excluded.changed_at WHERE {stronger}",
        *(project.key, session, agent_id, project.worktree, project.host, project.client),
        *(agent_type, state, words, now, now),
    )


def find(project: Project, session: str, tool_use_id: str) -> Launch | None:
    """Return a launch by its call."""
    ensure(project)
    row = project.ledger.one(
        "SELECT * FROM launches WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(project.key, session, tool_use_id),
    )
    return _launch(row) if row else None


def due(project: Project, session: str) -> list[Due]:
    """Return the launches whose results are in and have not been judged.

    Only to be asked at a main-thread event, after that event's own signal was kept: there a bare SubagentStop
    with no contrary signal counts as completed.
    """
    ensure(project)
    rows = project.ledger.rows(
        "SELECT launches.*, runs.state AS state, runs.words AS words FROM launches JOIN runs"
        " ON runs.project = launches.project AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict IS NULL AND runs.state <> 'running'"
        " ORDER BY runs.changed_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [
        Due(_launch(row), "failed", row["words"] or _MISSING)
        if row["state"] in ("failed", "missing")
        else Due(_launch(row), "completed", row["words"])
        for row in rows
    ]


def running(project: Project, session: str) -> list[Launch]:
    """Return the launches whose agents have been started and have not reported an end."""
    ensure(project)
    rows = project.ledger.rows(
        "SELECT launches.* FROM launches LEFT JOIN runs ON runs.project = launches.project"
        " AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict IS NULL"
        " AND launches.agent_id IS NOT NULL AND (runs.state IS NULL OR runs.state = 'running')"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [_launch(row) for row in rows]


def in_flight(project: Project, workflow: str, free: Callable[[str], bool]) -> list[Flight]:
    """Return the agents of all sessions of this worktree that work for a workflow, the first launched first.

    A launch that names its run before it has ended runs in the background: the client names a foreground agent only
    when it returns (client fact §3.4).

    Args:
        project: where.
        workflow: the workflow's key.
        free: whether a session's agents for no workflow in particular count too.
    """
    ensure(project)
    rows = project.ledger.rows(
        "SELECT launches.* FROM launches LEFT JOIN runs ON runs.project = launches.project"
        " AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
        " WHERE launches.project = ? AND launches.worktree = ? AND launches.verdict IS NULL"
        " AND (runs.state IS NULL OR runs.state = 'running')"
        " AND (launches.workflow = ? OR launches.workflow IS NULL)"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, project.worktree, workflow),
    )
    rows = [row for row in rows if row["workflow"] or free(row["session"])]
    waited_for = [_whose(row) for row in rows if row["agent_id"] is None]
    return [
        Flight(
            session=row["session"],
            agent_type=row["agent_type"],
            agent_id=row["agent_id"] or (_unnamed(project, row) if waited_for.count(_whose(row)) == 1 else None),
            phase=row["phase"],
            since=row["launched_at"],
            background=row["agent_id"] is not None,
        )
        for row in rows
    ]


def still_there(project: Project, session: str, listed: Collection[str]) -> None:
    """Note at a Stop which agents that were seen to start the client no longer lists.

    One that was killed sends no SubagentStop (client fact §3.4). It is missing first, and counts as failed at the
    next main-thread event only: its own last event may be on its way. Agents that run elsewhere never start here.
    """
    ensure(project)
    rows = project.ledger.rows(
        "SELECT agent_id, agent_type FROM runs WHERE project = ? AND session = ? AND state = 'running'",
        *(project.key, session),
    )
    for row in rows:
        if row["agent_id"] not in listed:
            reported(project, session, row["agent_id"], row["agent_type"], "missing")


def disputed(project: Project, session: str) -> list[Due]:
    """Return, once each, the launches that were judged completed and whose run reported a failure only afterwards."""
    ensure(project)
    rows = project.ledger.rows(
        "SELECT launches.*, runs.state AS state, runs.words AS words FROM launches JOIN runs"
        " ON runs.project = launches.project AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict = 'completed'"
        " AND launches.phase IS NOT NULL AND runs.state = 'failed'",
        *(project.key, session),
    )
    return [
        Due(_launch(row), "failed", row["words"])
        for row in rows
        if project.ledger.run(
            "UPDATE launches SET verdict = 'disputed' WHERE project = ? AND session = ? AND tool_use_id = ?"
            " AND verdict = 'completed'",
            *(project.key, session, row["tool_use_id"]),
        )
    ]


def judged(project: Project, session: str, tool_use_id: str, verdict: str) -> bool:
    """Close a launch; of several processes that try, one gets True."""
    ensure(project)
    changed = project.ledger.run(
        "UPDATE launches SET verdict = ? WHERE project = ? AND session = ? AND tool_use_id = ? AND verdict IS NULL",
        *(verdict, project.key, session, tool_use_id),
    )
    return changed == 1


def abandon_open(project: Project, session: str) -> None:
    """Close foreground launches that never returned: the main thread is at its prompt, so none can still run."""
    ensure(project)
    project.ledger.run(
        "UPDATE launches SET verdict = 'abandoned' WHERE project = ? AND session = ? AND verdict IS NULL"
        " AND agent_id IS NULL",
        *(project.key, session),
    )


def ensure(project: Project) -> None:
    """Make sure that both tables are there."""
    project.ledger.ensure(LAUNCHES)
    project.ledger.ensure(RUNS)


def _whose(row: dict[str, Any]) -> tuple[str, str]:
    return row["session"], row["agent_type"]


def _unnamed(project: Project, launch: dict[str, Any]) -> str | None:
    """Return the one run that a launch whose run nobody has named can only have started."""
    rows = project.ledger.rows(
        "SELECT agent_id FROM runs WHERE project = ? AND session = ? AND agent_type = ? AND state = 'running'"
        " AND started_at >= ? AND agent_id NOT IN"
        " (SELECT agent_id FROM launches WHERE project = ? AND session = ? AND agent_id IS NOT NULL)",
        *(project.key, *_whose(launch), launch["launched_at"], project.key, launch["session"]),
    )
    return str(rows[0]["agent_id"]) if len(rows) == 1 else None


def _listed(states: Any) -> str:
    return ", ".join(f"'{state}'" for state in states)


def _launch(row: dict[str, Any]) -> Launch:
    fields = ("tool_use_id", "agent_id", "agent_type", "workflow", "phase", "verdict")
    return Launch(**{name: row[name] for name in fields})
