"""Subagents: which were launched for which phase, what they reported, and what that makes of the phase.

A launch is known by its `tool_use_id`, a run by its `agent_id`; the client names both only in the launch's
PostToolUse and in a `<task-notification>`, and the run's own events may come before either. So both are kept
apart until they can be joined, and judged once they are (`DESIGN`: Agents; client facts §3.4). What became of each,
for whoever asks, `fates` says.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock
from holdfast.survival import happenings
from holdfast.survival.happenings import Happening
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from holdfast.project import Project
    from holdfast.survival.happenings import Asked

State = Literal["running", "missing", "stopped", "completed", "failed"]
# A failure signal beats "completed" from the same run; a verdict beats a bare stop.
_RANK = {"running": 0, "missing": 1, "stopped": 2, "completed": 3, "failed": 4}
_ENDINGS: dict[str, State] = {"completed": "completed", "running": "running", "": "stopped"}  # else a failure
MISSING = "it was stopped before it had ended"
PROMPT = 4_000  # characters of a launch's prompt that are kept
LAUNCHES = """
CREATE TABLE IF NOT EXISTS launches (
    project TEXT NOT NULL, session TEXT NOT NULL, tool_use_id TEXT NOT NULL, agent_id TEXT,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    agent_type TEXT NOT NULL, workflow TEXT, phase TEXT, launched_at TEXT NOT NULL, verdict TEXT,
    description TEXT NOT NULL DEFAULT '', prompt TEXT NOT NULL DEFAULT '', output TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (project, session, tool_use_id))
"""
# What an earlier version noted of a run says nothing of its use: none of those is told as unused (`consumed_at`).
RUNS = """
CREATE TABLE IF NOT EXISTS runs (
    project TEXT NOT NULL, session TEXT NOT NULL, agent_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    agent_type TEXT NOT NULL, state TEXT NOT NULL, words TEXT NOT NULL,
    started_at TEXT NOT NULL, changed_at TEXT NOT NULL,
    digest TEXT NOT NULL DEFAULT '', transcript TEXT NOT NULL DEFAULT '', consumed_at TEXT DEFAULT 'unknown',
    resumed INTEGER NOT NULL DEFAULT 0, resumed_at TEXT, reminded_at TEXT,
    PRIMARY KEY (project, session, agent_id))
"""
HEIRS = """
CREATE TABLE IF NOT EXISTS agent_heirs (
    project TEXT NOT NULL, session TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    heir TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (project, session))
"""

_FIELDS = ("tool_use_id", "agent_id", "agent_type", "workflow", "phase", "verdict", "description", "prompt")
_LAUNCH = ", ".join(f"launches.{name} AS {name}" for name in _FIELDS)
# A launch whose agent has not reported its end, beside its run if there is one; or one that was started again.
_AT_WORK = "(runs.resumed = 1 OR (launches.verdict IS NULL AND (runs.state IS NULL OR runs.state = 'running')))"


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
        description: what the call is said to be for, in a few words.
        prompt: the beginning of what the agent was told.
    """

    tool_use_id: str
    agent_id: str | None
    agent_type: str
    workflow: str | None
    phase: str | None
    verdict: str | None
    description: str = ""
    prompt: str = ""


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
    project: Project,
    session: str,
    tool_use_id: str,
    agent_type: str,
    workflow: str | None,
    phase: str | None,
    *,
    description: str = "",
    prompt: str = "",
) -> None:
    """Note a launch; one that is known already keeps what it has. Of the prompt the beginning is kept."""
    ensure(project)
    project.ledger.run(
        "INSERT INTO launches (project, session, tool_use_id, worktree, host, client, agent_type, workflow, phase,"
        " launched_at, description, prompt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session, tool_use_id) DO NOTHING",
        *(project.key, session, tool_use_id, project.worktree, project.host, project.client),
        *(agent_type, workflow, phase, clock.stamp(), storable(description[:PROMPT]), storable(prompt[:PROMPT])),
    )


def call_id(tool_use_id: str | None, tool_input: Mapping[str, Any]) -> str:
    """Return what a call is called: the client's id or, from old clients, a name made of what was asked.

    Without ids, the same question asked twice in a session is one call.
    """
    if tool_use_id:
        return tool_use_id
    import json

    asked = json.dumps(tool_input, sort_keys=True, default=str)
    return f"asked:{hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def run_id(agent_id: str, tool_use_id: str) -> str:
    """Return what a run is called: the client's agent id, or a name of ours where the client gives none."""
    return agent_id or f"call:{tool_use_id}"


def named(project: Project, session: str, tool_use_id: str, agent_id: str, output: str = "") -> None:
    """Join a launch with the run it started; one that was given up and does return is open again.

    `output` is where the agent's output lies, if the client says.
    """
    ensure(project)
    project.ledger.run(
        "UPDATE launches SET agent_id = ?, verdict = CASE WHEN verdict = 'abandoned' THEN NULL ELSE verdict END,"
        " output = CASE WHEN ? = '' THEN output ELSE ? END"
        " WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(agent_id, output, output, project.key, _home(project, session, agent_id), tool_use_id),
    )


def notified(
    project: Project, session: str, agent_id: str, tool_use_id: str, status: str, words: str, output: str = ""
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
    run = run_id(agent_id, tool_use_id)
    state = _ENDINGS.get(status, "failed")
    reported(project, session, run, "", state, words, used=state != "running")
    if tool_use_id:
        named(project, session, tool_use_id, run, output)


def reported(
    project: Project,
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
    ensure(project)
    session = _home(project, session, agent_id)
    words, now = storable(words), clock.stamp()
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


def reminded(project: Project, session: str, agent_id: str) -> bool:
    """Tell whether an agent was given its workflow's reminders."""
    ensure(project)
    row = project.ledger.one(
        "SELECT reminded_at FROM runs WHERE project = ? AND session = ? AND agent_id = ?",
        *(project.key, session, agent_id),
    )
    return bool(row and row["reminded_at"])


def remind(project: Project, session: str, agent_id: str) -> None:
    """Note that an agent was given its workflow's reminders."""
    ensure(project)
    project.ledger.run(
        "UPDATE runs SET reminded_at = ? WHERE project = ? AND session = ? AND agent_id = ?",
        *(clock.stamp(), project.key, session, agent_id),
    )


def find(project: Project, session: str, tool_use_id: str) -> Launch | None:
    """Return a launch by its call."""
    ensure(project)
    row = project.ledger.one(
        f"SELECT {_LAUNCH} FROM launches WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(project.key, session, tool_use_id),
    )
    return _launch(row) if row else None


def of_run(project: Project, session: str, agent_id: str) -> Launch | None:
    """Return the launch that names a run."""
    ensure(project)
    row = project.ledger.one(
        f"SELECT {_LAUNCH} FROM launches WHERE project = ? AND session = ? AND agent_id = ?"
        " ORDER BY launched_at DESC, tool_use_id LIMIT 1",
        *(project.key, session, agent_id),
    )
    return _launch(row) if row else None


def unnamed(project: Project, session: str, agent_id: str) -> list[Launch]:
    """Return the open launches of a run's type, made before it began, whose runs nobody has named yet."""
    ensure(project)
    rows = project.ledger.rows(
        f"SELECT {_LAUNCH} FROM launches JOIN runs ON runs.project = launches.project"
        " AND runs.session = launches.session AND runs.agent_type = launches.agent_type"
        " AND launches.launched_at <= runs.started_at"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict IS NULL"
        " AND launches.agent_id IS NULL AND runs.agent_id = ? ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session, agent_id),
    )
    return [_launch(row) for row in rows]


def due(project: Project, session: str) -> list[Due]:
    """Return the launches whose results are in and have not been judged.

    Only to be asked at a main-thread event, after that event's own signal was kept: there a bare SubagentStop
    with no contrary signal counts as completed.
    """
    ensure(project)
    rows = project.ledger.rows(
        f"SELECT {_LAUNCH}, runs.state AS state, runs.words AS words FROM launches JOIN runs"
        " ON runs.project = launches.project AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict IS NULL AND runs.state <> 'running'"
        " ORDER BY runs.changed_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [
        Due(_launch(row), "failed", row["words"] or MISSING)
        if row["state"] in ("failed", "missing")
        else Due(_launch(row), "completed", row["words"])
        for row in rows
    ]


def running(project: Project, session: str) -> list[Launch]:
    """Return the launches whose agents have been started and have not reported an end."""
    ensure(project)
    rows = project.ledger.rows(
        f"SELECT {_LAUNCH} FROM launches LEFT JOIN runs ON runs.project = launches.project"
        " AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
        " WHERE launches.project = ? AND launches.session = ? AND launches.agent_id IS NOT NULL"
        f" AND {_AT_WORK}"
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
        f" WHERE launches.project = ? AND launches.worktree = ? AND {_AT_WORK}"
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


def disputed(project: Project, session: str) -> list[Due]:
    """Return, once each, the launches that were judged completed and whose run reported a failure only afterwards."""
    ensure(project)
    rows = project.ledger.rows(
        f"SELECT {_LAUNCH}, runs.state AS state, runs.words AS words FROM launches JOIN runs"
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
    """Make sure that all tables are there."""
    for table in (LAUNCHES, RUNS, HEIRS):
        project.ledger.ensure(table)


def storable(text: str) -> str:
    """Return text without lone surrogates, which no ledger takes."""
    return text.encode("utf-8", "replace").decode()


def _home(project: Project, session: str, agent_id: str) -> str:
    """Return the session an agent belongs to by now: its own may have gone on under another id (`inheritance`)."""
    row = project.ledger.one(
        "SELECT agent_heirs.heir AS heir FROM agent_heirs JOIN launches ON launches.project = agent_heirs.project"
        " AND launches.session = agent_heirs.heir AND launches.agent_id = ?"
        " WHERE agent_heirs.project = ? AND agent_heirs.session = ?",
        *(agent_id, project.key, session),
    )
    return str(row["heir"]) if row else session


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
    return Launch(**{name: row[name] for name in _FIELDS})


def happened(project: Project, asked: Asked) -> list[Happening]:
    """Return which agents were launched, and which reported an end: those asked for."""
    ensure(project)
    launches = happenings.newest(project, asked, ddl=LAUNCHES, table="launches", at="launched_at")
    return [
        *(_happening(row, row["launched_at"], "agent launched", "") for row in launches),
        *(_happening(row, row["changed_at"], _ENDED[row["state"]], row["words"]) for row in _ended(project, asked)),
    ]


_ENDED = {
    "missing": "agent is gone",
    "stopped": "agent stopped",
    "completed": "agent completed",
    "failed": "agent failed",
}
_OF_RUN = "launches.project = runs.project AND launches.session = runs.session AND launches.agent_id = runs.agent_id"


def _ended(project: Project, asked: Asked) -> list[dict[str, Any]]:
    if not asked.workflow:
        named = ", ".join(
            f"(SELECT MAX(launches.{each}) FROM launches WHERE {_OF_RUN}) AS {each}" for each in ("workflow", "phase")
        )
        return happenings.newest(
            *(project, asked),
            ddl=RUNS,
            table="runs",
            at="changed_at",
            where="state <> 'running'",
            columns=f"session, agent_id, agent_type, state, words, changed_at, worktree, {named}",
        )
    project.ledger.ensure(f"{LAUNCHES};CREATE INDEX IF NOT EXISTS launches_workflow ON launches (project, workflow)")
    rows = project.ledger.rows(
        "SELECT runs.session AS session, runs.agent_id AS agent_id, runs.agent_type AS agent_type, state, words,"
        f" changed_at, runs.worktree AS worktree, workflow, phase FROM launches JOIN runs ON {_OF_RUN}"
        " WHERE launches.project = ? AND workflow = ? AND launches.worktree = ? AND state <> 'running'"
        " AND changed_at >= ? AND (? = '' OR runs.session = ?) ORDER BY changed_at DESC LIMIT ?",
        *(project.key, asked.workflow, asked.worktree, asked.since, asked.session, asked.session, asked.limit),
    )
    return rows[::-1]


def _happening(row: Mapping[str, Any], at: str, what: str, words: str) -> Happening:
    said = one_line(words, 120)
    return Happening(
        *(at, "agent", what, row["session"], row["workflow"] or "", "", row["phase"] or ""),
        detail=": ".join(filter(None, (row["agent_type"] or row["agent_id"] or "", said))),
        worktree=row["worktree"],
        data={"agent_id": row["agent_id"], "agent_type": row["agent_type"], "words": words},
    )
