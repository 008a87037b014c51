"""What became of each agent: every question about it is answered from the ledger's view `agents`.

The view puts each launch beside the run it started (`ledger/schema.sql`). What is written there is `lifecycle`'s.
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
"""The launches that have no verdict, or whose verdict is still to be written into their workflow."""
_ORDER = "launched_at, tool_use_id"


class Agent(NamedTuple):
    """A call of the Agent tool, and the run it started.

    Attributes:
        session: the main session.
        tool_use_id: the call that launched it.
        agent_id: the run; empty while the client has not named it.
        agent_type: its name.
        workflow: the key of the workflow it works for, if any.
        phase: the id of the phase it works for, if any.
        description: what its launch is said to be for, in a few words.
        prompt: the beginning of what it was told.
        launched_at: when it was launched (UTC stamp).
        since: when it was launched, or started again (UTC stamp).
        verdict: `completed`, `failed`, `abandoned` or `disputed` once judged; `unwritten` while its result cannot be
            written into its workflow.
        fate: `running`; `finished` or `failed`, where nothing shows that its result reached the main conversation;
            `consumed`, where it did, or where none will come.
        state: what its run reported last; None without a run.
        words: its last message, or the error; empty while it runs for the first time.
        digest: of the words, 12 hexadecimal digits of their SHA-256; empty without words.
        output: where the client writes its output; empty if unknown.
        transcript: where its own transcript lies; empty if unknown.
        changed_at: when its run last reported (UTC stamp); None without a run.
        background: whether the main conversation goes on meanwhile: the client names a foreground agent only when it
            returns (client fact §3.4).
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

    @property
    def unused(self) -> bool:
        """Whether it has ended, and nothing shows that its result reached the main conversation."""
        return self.fate in ("finished", "failed")

    @property
    def ended_at(self) -> str | None:
        """When it ended (UTC stamp), None while it runs."""
        return None if self.fate == "running" else self.changed_at

    @property
    def outcome(self) -> Literal["completed", "failed"]:
        """How the run ended that it reported last."""
        return "failed" if self.state in ("failed", "missing") else "completed"

    @property
    def failed(self) -> bool:
        """Whether it ended with a failure, used or not."""
        return self.fate != "running" and self.outcome == "failed"


_COLUMNS = ", ".join(Agent._fields[:-1])


def of_session(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents a session launched and the client has named, the first launched first."""
    return _of_session(project, session, "agent_id <> ''")


def waiting(project: OpenProject, session: str) -> list[Agent]:
    """Return those agents a session launched whose results have not been used."""
    return _of_session(project, session, "agent_id <> '' AND fate <> 'consumed'")


def running(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents that have been started, have a name and have not reported an end."""
    return [each for each in waiting(project, session) if each.fate == "running"]


def at_work(project: OpenProject, session: str) -> list[Agent]:
    """Return a session's agents that work on a phase nobody has judged yet, in the foreground too."""
    return _of_session(project, session, "verdict IS NULL AND phase IS NOT NULL AND fate = 'running'")


def due(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents whose results are in and have not been judged, in the order in which they ended.

    Only to be asked at a main-thread event, after that event's own signal was kept: there a bare SubagentStop
    with no contrary signal counts as completed.
    """
    return _of_session(project, session, f"{OPEN} AND state <> 'running'", order="changed_at, tool_use_id")


def contradicted(project: OpenProject, session: str) -> list[Agent]:
    """Return the agents for a phase that were judged completed, and whose runs reported a failure afterwards."""
    # Failures are few; the `+` keeps SQLite from looking at all that were completed.
    failed = "SELECT agent_id FROM runs WHERE project = ? AND session = ? AND state = 'failed'"
    where = f"agent_id IN ({failed}) AND +verdict = 'completed' AND phase IS NOT NULL"
    return _of_session(project, session, where, project.key, session)


def unanswered(project: OpenProject, session: str) -> list[Agent]:
    """Return those whose calls have not returned, as far as the ledger knows, the first launched first."""
    return _of_session(project, session, "verdict IS NULL AND agent_id IS NULL")


def find(project: OpenProject, session: str, tool_use_id: str) -> Agent | None:
    """Return an agent by the call that launched it."""
    return next(iter(_of_session(project, session, "tool_use_id = ?", tool_use_id)), None)


def of_run(project: OpenProject, session: str, agent_id: str) -> Agent | None:
    """Return the agent that a run is of; of several calls that name it the last."""
    found = _of_session(project, session, "agent_id = ?", agent_id, order="launched_at DESC, tool_use_id")
    return next(iter(found), None)


def home(project: OpenProject, session: str, agent_id: str) -> str:
    """Return the session an agent belongs to by now: its own may have gone on under another id (`session_lineage`)."""
    row = project.ledger.one("SELECT heir FROM agent_heirs WHERE project = ? AND session = ?", project.key, session)
    return str(row["heir"]) if row and of_run(project, row["heir"], agent_id) else session


class Run(NamedTuple):
    """A run: its name, its type, and when it was first heard of (UTC stamp)."""

    agent_id: str
    agent_type: str
    started_at: str

    def may_be_of(self, launch: Agent) -> bool:
        """Tell whether a launch that names no run can have started this one."""
        return self.agent_type == launch.agent_type and self.started_at >= launch.launched_at


def run(project: OpenProject, session: str, agent_id: str) -> Run | None:
    """Return a run by its name, whether a launch has that name or not."""
    return next(iter(_runs(project, session, "agent_id = ?", agent_id)), None)


def unnamed(project: OpenProject, session: str) -> list[Run]:
    """Return the runs that go on and that no launch names."""
    named = (
        "SELECT 1 FROM launches WHERE launches.project = runs.project AND launches.session = runs.session"
        " AND launches.agent_id = runs.agent_id"
    )
    return _runs(project, session, f"state = 'running' AND NOT EXISTS ({named})")


def in_flight(project: OpenProject, workflow: str, free: Callable[[str], bool]) -> list[Agent]:
    """Return the agents of all sessions of this worktree that run for a workflow, the first launched first.

    One whose run the client has not named gets the one run that it can only have started, if there is one.

    Args:
        project: where.
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
        project: where.
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
