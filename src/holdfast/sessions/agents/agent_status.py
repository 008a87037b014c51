"""The status of agents: every question is answered from the ledger's view `agents`.

The view joins each launch with the run that it started (`ledger/schema.sql`). `lifecycle` writes its tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.project import OpenProject

Fate = Literal["running", "finished", "failed", "consumed"]
MISSING = "it was stopped before it had ended"
UNWRITTEN = "unwritten"
OPEN = f"(verdict IS NULL OR verdict = '{UNWRITTEN}')"
"""SQL condition: the launch has no verdict, or its verdict still has to be written into its workflow."""
_ORDER = "launched_at, tool_use_id"
_OF_SESSION = "project = ?1 AND session = ?2"
_PENDING = " UNION ALL ".join(
    (
        f"agent_id IN (SELECT agent_id FROM launches WHERE {_OF_SESSION} AND verdict IS NULL AND agent_id <> ''",
        f"SELECT agent_id FROM runs WHERE {_OF_SESSION} AND consumed_at IS NULL",
        f"SELECT agent_id FROM runs WHERE {_OF_SESSION} AND resumed = 1",
        f"SELECT agent_id FROM runs WHERE {_OF_SESSION} AND state IN ('running', 'missing'))",
    )
)
"""SQL condition of a session's named agents that may be other than consumed. Indexes find them among any number."""
_UNJUDGED = (
    f"tool_use_id IN (SELECT tool_use_id FROM launches WHERE {_OF_SESSION} AND verdict IS NULL"
    f" UNION ALL SELECT tool_use_id FROM launches WHERE {_OF_SESSION} AND verdict = '{UNWRITTEN}')"
)
"""SQL condition of a session's launches that are `OPEN`, for which an index is used."""


class Agent(NamedTuple):
    """A call of the Agent tool, and the run it started.

    Attributes:
        session: the session that launched it.
        tool_use_id: the call that launched it.
        agent_id: the run; empty while the client has not named it.
        agent_type: the kind of agent, such as `code-reviewer`.
        workflow: the key of the workflow it works for, None for none.
        phase: the id of the phase it works for, None for none.
        description: the short description that the call gave.
        prompt: the beginning of its prompt.
        launched_at: when it was launched (UTC stamp).
        since: when it was launched or, if it was resumed, when that happened (UTC stamp).
        verdict: `completed`, `failed`, `abandoned` or `disputed` once judged; `unwritten` while its result can't be
            written into its workflow; None before.
        fate: `running`; `finished` or `failed` if it has ended and nothing shows that its result reached the main
            conversation; `consumed` if it did, or if no result will come.
        state: what its run reported last; None without a run.
        words: its last message or its error; empty during its first run.
        digest: the first 12 hexadecimal digits of the SHA-256 of `words`; empty without words.
        output: the path that the client writes its output to; empty if unknown.
        transcript: the path of its own transcript; empty if unknown.
        changed_at: when its run last reported (UTC stamp); None without a run.
        background: whether the main conversation goes on while it runs. It is False while the client has not named the
            run: a foreground agent is named only when its call returns (client fact §3.4).
    """

    session: str
    tool_use_id: str
    agent_id: str
    agent_type: str
    workflow: str | None
    phase: str | None
    description: str
    prompt: str
    launched_at: str
    since: str
    verdict: str | None
    fate: Fate
    state: str | None
    words: str
    digest: str
    output: str
    transcript: str
    changed_at: str | None
    background: bool = True

    def row(self, *names: str) -> dict[str, Any]:
        """Return some of these values for `--json`: attributes, with `status` for the fate and `last_message`."""
        return {name: getattr(self, {"status": "fate", "last_message": "words"}.get(name, name)) for name in names}

    @property
    def unused(self) -> bool:
        """Whether it has ended and nothing shows that its result reached the main conversation."""
        return self.fate in ("finished", "failed")

    @property
    def ended_at(self) -> str | None:
        """When it ended (UTC stamp); None while it runs."""
        return None if self.fate == "running" else self.changed_at

    @property
    def outcome(self) -> Literal["completed", "failed"]:
        """How its run ended, as last reported: `completed` unless it failed or went missing."""
        return "failed" if self.state in ("failed", "missing") else "completed"

    @property
    def failed(self) -> bool:
        """Whether it ended with a failure, whether or not the main conversation has the result."""
        return self.fate != "running" and self.outcome == "failed"


_COLUMNS = ", ".join(Agent._fields[:-1])


def of_session(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents that a session launched and that the client has named, in order of launch."""
    return _of_session(project, session, "agent_id <> ''")


def waiting(project: OpenProject, session: str) -> list[Agent]:
    """Return the named agents of a session whose results have not reached the main conversation, in order of launch."""
    return _of_session(project, session, f"{_PENDING} AND fate <> 'consumed'")


def running(project: OpenProject, session: str) -> list[Agent]:
    """Return the named agents of a session that run, in order of launch."""
    return [each for each in waiting(project, session) if each.fate == "running"]


def number_running(project: OpenProject, session: str) -> int:
    """Return how many agents of a session run, those that the client has not named yet included."""
    return len(running(project, session)) + len(unanswered(project, session))


def at_work(project: OpenProject, session: str) -> list[Agent]:
    """Return a session's running agents that work on a phase and have no verdict yet, foreground agents included."""
    return _of_session(project, session, "verdict IS NULL AND phase IS NOT NULL AND fate = 'running'")


def due(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents that have ended and have no final verdict yet, in the order in which they ended.

    Call it only at an event of the main thread, after that event's own signal was stored: by then a bare SubagentStop
    that nothing contradicts counts as completed.
    """
    return _of_session(project, session, f"{_UNJUDGED} AND state <> 'running'", order="changed_at, tool_use_id")


def unjudged(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents without a final verdict, whether they have ended or not, in order of launch."""
    return _of_session(project, session, _UNJUDGED)


def contradicted(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents whose phase was judged completed and whose run reported a failure afterwards."""
    # Failures are few; the `+` keeps SQLite from going through every completed launch.
    failed = "SELECT agent_id FROM runs WHERE project = ? AND session = ? AND state = 'failed'"
    where = f"agent_id IN ({failed}) AND +verdict = 'completed' AND phase IS NOT NULL"
    return _of_session(project, session, where, project.key, session)


def unanswered(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents whose calls have not returned, as far as the ledger knows, in order of launch."""
    return _of_session(project, session, "verdict IS NULL AND agent_id IS NULL")


def find(project: OpenProject, session: str, tool_use_id: str) -> Agent | None:
    """Return the agent that a call launched; None if the call is unknown."""
    return next(iter(_of_session(project, session, "tool_use_id = ?", tool_use_id)), None)


def of_run(project: OpenProject, session: str, agent_id: str) -> Agent | None:
    """Return the agent that a run belongs to; if several calls name the run, the latest."""
    found = _of_session(project, session, "agent_id = ?", agent_id, order="launched_at DESC, tool_use_id")
    return next(iter(found), None)


def alive(project: OpenProject) -> set[str]:
    """Return the ids of the runs of all sessions whose end nobody has reported."""
    sql = "SELECT agent_id FROM runs WHERE project = ? AND state = 'running'"
    return {str(row["agent_id"]) for row in project.ledger.rows(sql, project.key)}


class Run(NamedTuple):
    """One run of an agent: its id, the kind of agent, and when its first event came (UTC stamp)."""

    agent_id: str
    agent_type: str
    started_at: str

    def may_be_of(self, launch: Agent) -> bool:
        """Return whether a launch whose run is unknown can have started this one."""
        return self.agent_type == launch.agent_type and self.started_at >= launch.launched_at


def run(project: OpenProject, session: str, agent_id: str) -> Run | None:
    """Return a run by its id, whether or not a launch names it; None if it is unknown."""
    return next(iter(_runs(project, session, "agent_id = ?", agent_id)), None)


def unnamed(project: OpenProject, session: str) -> list[Run]:
    """Return the running runs that no launch names."""
    named = (
        "SELECT 1 FROM launches WHERE launches.project = runs.project AND launches.session = runs.session"
        " AND launches.agent_id = runs.agent_id"
    )
    return _runs(project, session, f"state = 'running' AND NOT EXISTS ({named})")


def lost(project: OpenProject, session: str, launch: Agent) -> list[Run]:
    """Return the runs that no launch names, that brought no result, and that a launch may have started."""
    named = "SELECT agent_id FROM launches WHERE project = ? AND session = ? AND agent_id IS NOT NULL"
    where = f"state IN ('running', 'missing') AND agent_id NOT IN ({named})"
    return [each for each in _runs(project, session, where, project.key, session) if each.may_be_of(launch)]


def any_unended(project: OpenProject, session: str) -> bool:
    """Return whether an agent of a session never brought a result, as far as the ledger knows."""
    where = "(fate = 'running' OR state = 'missing') LIMIT 1"
    return bool(_select(project, f"session = ? AND {where}", session))


def is_missing(project: OpenProject, session: str, agent_id: str) -> bool:
    """Return whether a run was cut off with its client's process."""
    return bool(_runs(project, session, "agent_id = ? AND state = 'missing'", agent_id))


def ended_since(project: OpenProject, session: str, since: str) -> bool:
    """Return whether an agent of a session started after a UTC stamp and has ended; agents of scripts count."""
    where = "state IN ('stopped', 'completed', 'failed') AND started_at > ? LIMIT 1"
    return bool(_runs(project, session, where, since))


def used(project: OpenProject, session: str, most: int) -> list[Agent]:
    """Return the agents of a session that finished last and whose results its conversation has had, newest first."""
    newest = f"SELECT agent_id FROM runs WHERE {_OF_SESSION} AND state IN ('stopped', 'completed')"
    newest += " AND consumed_at IS NOT NULL AND resumed = 0 ORDER BY changed_at DESC LIMIT ?3"
    return _of_session(project, session, f"agent_id IN ({newest})", most, order="changed_at DESC, tool_use_id")


def left_over(project: OpenProject, session: str) -> list[Agent]:
    """Return the named agents of a session that is over that never ended, or whose results nobody has, as launched."""
    return _of_session(project, session, f"{_PENDING} AND (fate IN ('running', 'finished') OR state = 'missing')")


def in_flight(project: OpenProject, workflow: str, free: Callable[[str], bool]) -> list[Agent]:
    """Return the agents of all sessions of this worktree that run for a workflow, in order of launch.

    An agent whose run the client has not named yet gets that run's id if only one run is possible.

    Args:
        project: the project.
        workflow: the workflow's key.
        free: whether a session's agents for no workflow in particular count too.
    """
    found = _of_workflow(project, workflow, free, "fate = 'running'", _ORDER)
    waited_for = [(each.session, each.agent_type) for each in found if not each.background]
    return [
        each if each.background or waited_for.count((each.session, each.agent_type)) > 1 else _with_run(project, each)
        for each in found
    ]


def unused(project: OpenProject, workflow: str, free: Callable[[str], bool]) -> list[Agent]:
    """Return the agents that worked for a workflow in this worktree and ended without a known use, in that order.

    Args:
        project: the project.
        workflow: the workflow's key.
        free: whether a session's agents for no workflow in particular count too.
    """
    ended = "fate IN ('finished', 'failed')"
    return _of_workflow(project, workflow, free, ended, "changed_at, tool_use_id")


def _with_run(project: OpenProject, agent: Agent) -> Agent:
    found = [run for run in unnamed(project, agent.session) if run.may_be_of(agent)]
    return agent._replace(agent_id=found[0].agent_id) if len(found) == 1 else agent


def _runs(project: OpenProject, session: str, where: str, *values: object) -> list[Run]:
    sql = f"SELECT {', '.join(Run._fields)} FROM runs WHERE project = ? AND session = ? AND {where}"
    return [Run(**row) for row in project.ledger.rows(sql, project.key, session, *values)]


def _of_session(project: OpenProject, session: str, where: str, *values: object, order: str = _ORDER) -> list[Agent]:
    return _select(project, f"session = ? AND {where} ORDER BY {order}", session, *values)


def _of_workflow(
    project: OpenProject, workflow: str, free: Callable[[str], bool], where: str, order: str
) -> list[Agent]:
    where = f"worktree = ? AND (workflow = ? OR workflow IS NULL) AND {where} ORDER BY {order}"
    found = _select(project, where, project.worktree, workflow)
    return [each for each in found if each.workflow or free(each.session)]


def _select(project: OpenProject, where: str, *values: object) -> list[Agent]:
    rows = project.ledger.rows(f"SELECT {_COLUMNS} FROM agents WHERE project = ? AND {where}", project.key, *values)
    return [_agent(row) for row in rows]


def _agent(row: dict[str, Any]) -> Agent:
    words = row["words"] or (MISSING if row["state"] == "missing" else "")
    return Agent(**row | {"agent_id": row["agent_id"] or "", "words": words}, background=row["agent_id"] is not None)
