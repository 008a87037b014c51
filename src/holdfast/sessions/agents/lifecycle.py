"""Write down what happens to agents: a call of the Agent tool, the run it started, its reports, the verdict.

A launch is known by its `tool_use_id`, a run by its `agent_id`. The client names the run only in the launch's
PostToolUse and in a `<task-notification>`, and the run's own events may come before either. So launches and runs are
stored apart, and the view `agents` joins them (`agent_status`).
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal

from holdfast import capture, clock
from holdfast.files.redact import MARGIN_CHARS, redact
from holdfast.sessions import conversations
from holdfast.sessions.agents import agent_status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.files.transcript import Result
    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent

PROMPT_LIMIT_CHARS = 4_000  # characters of a launch's prompt that are kept
RESULT_LIMIT_CHARS = 1_000_000  # of an agent's result that are kept
State = Literal["running", "missing", "stopped", "completed", "failed"]
# A failure signal beats "completed" from the same run; a verdict beats a bare stop.
_STATES: tuple[State, ...] = ("running", "missing", "stopped", "completed", "failed")


def call_id(tool_use_id: str | None, tool_input: Mapping[str, Any]) -> str:
    """Return the id of a call: the client's or, for old clients, one made from the call's input.

    Without the client's ids, two calls with the same input in one session count as one.
    """
    if tool_use_id:
        return tool_use_id
    asked = json.dumps(tool_input, sort_keys=True, default=str)
    return f"asked:{hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def refused(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Return whether a call was refused because its agent had been launched before."""
    row = project.ledger.one(
        "SELECT refused FROM agent_calls WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(project.key, session, tool_use_id),
    )
    return bool(row and row["refused"])


def teammates(project: OpenProject, session: str, process: int | None) -> list[tuple[str, Agent]]:
    """Return the names and runs of a session's teammates, as far as this client process still has them."""
    rows = project.ledger.rows(
        "SELECT name, tool_use_id FROM agent_calls WHERE project = ? AND session = ? AND kind = 'teammate'"
        " AND process = ? ORDER BY called_at",
        *(project.key, session, process),
    )
    found = ((row["name"], agent_status.find(project, session, row["tool_use_id"])) for row in rows)
    return [(name, agent) for name, agent in found if agent]


def run_id(agent_id: str, tool_use_id: str) -> str:
    """Return the id of a run: the client's agent id or, if the client gives none, one made from the call."""
    return agent_id or f"call:{tool_use_id}"


def launched(
    project: OpenProject,
    session: str,
    tool_use_id: str,
    agent_type: str,
    workflow: str | None,
    phase: str | None,
    *,
    description: str = "",
    prompt: str = "",
) -> None:
    """Store a launch, with the beginning of its prompt. A launch that is known already stays as it is."""
    project.ledger.run(
        "INSERT INTO launches (project, session, tool_use_id, worktree, host, client, agent_type, workflow, phase,"
        " launched_at, description, prompt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session, tool_use_id) DO NOTHING",
        *(project.key, session, tool_use_id, project.worktree, project.host, project.client.NAME),
        *(agent_type, workflow, phase, clock.stamp(), beginning(project, description), beginning(project, prompt)),
    )


def named(project: OpenProject, session: str, tool_use_id: str, agent_id: str, output: str = "") -> None:
    """Note which run a launch started. An abandoned launch that does return is open again.

    `output` is the path of the agent's output; empty if the client doesn't say.
    """
    project.ledger.run(
        "UPDATE launches SET agent_id = ?, verdict = CASE WHEN verdict = 'abandoned' THEN NULL ELSE verdict END,"
        " output = CASE WHEN ? = '' THEN output ELSE ? END"
        " WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(agent_id, output, output, project.key, session, tool_use_id),
    )


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
    """Store what a run reported.

    A weaker signal never replaces a stronger one: failed > completed > stopped > missing > running. An agent that is
    resumed or sent a message after a verdict keeps the verdict. If its result was used before, it counts as running
    again, and its next result as a new one. An agent that was interrupted and goes on is judged again.

    Args:
        project: the project.
        session: the main session whose event it was. An agent of a session that is over belongs to it from now on.
        agent_id: the run.
        agent_type: the kind of agent; empty if the signal doesn't say.
        state: the state that the signal reports.
        words: its last message, or the error. Of a longer one the beginning is kept, which says so.
        transcript: the path of the run's own transcript; empty if unknown.
        used: whether the main conversation has this result, from the call's return or from a notification.
    """
    session = _home(project, session, agent_id)
    words, now = _result(project, words), clock.stamp()
    digest = hashlib.sha256(words.encode()).hexdigest()[:12] if words else ""
    run = (project.key, session, agent_id)
    if state not in ("missing", "failed"):
        project.ledger.run(
            f"UPDATE launches SET verdict = '{agent_status.UNWRITTEN}' WHERE project = ?1 AND session = ?2"
            " AND agent_id = ?3 AND verdict = 'failed' AND EXISTS (SELECT 1 FROM runs WHERE project = ?1"
            " AND session = ?2 AND agent_id = ?3 AND state = 'missing')",
            *run,
        )
    if state == "running":
        _continue(project, *run[1:])
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
    weaker = _STATES[: _STATES.index(state) + 1]
    project.ledger.run(
        "INSERT INTO runs (project, session, agent_id, worktree, host, client, agent_type, state, words, digest,"
        " started_at, changed_at, consumed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)"
        " ON CONFLICT (project, session, agent_id) DO UPDATE SET state = excluded.state,"
        " words = CASE WHEN excluded.words = '' THEN runs.words ELSE excluded.words END,"
        " digest = CASE WHEN excluded.words = '' THEN runs.digest ELSE excluded.digest END,"
        # It ended at its stop, whenever the notification of that comes.
        " changed_at = CASE WHEN excluded.state = 'completed' AND runs.state IN ('stopped', 'completed')"
        f" THEN runs.changed_at ELSE excluded.changed_at END WHERE runs.state IN ({', '.join('?' * len(weaker))})",
        *(*run, project.worktree, project.host, project.client.NAME),
        *(agent_type, state, words, digest, now, now, *weaker),
    )
    if transcript or used:
        project.ledger.run(
            "UPDATE runs SET transcript = CASE WHEN ? = '' THEN transcript ELSE ? END,"
            " consumed_at = CASE WHEN ? = 1 THEN COALESCE(consumed_at, ?) ELSE consumed_at END"
            " WHERE project = ? AND session = ? AND agent_id = ?",
            *(transcript, transcript, int(used), now, *run),
        )


def _home(project: OpenProject, session: str, agent_id: str) -> str:
    """Return the session that an agent belongs to, after moving it to this one if the session that launched it is over.

    SendMessage continues an interrupted agent in whichever session sends it, under the agent's own id, which is unique.
    """
    if agent_status.of_run(project, session, agent_id):
        return session
    launch = project.ledger.one(
        "SELECT session, tool_use_id FROM launches WHERE project = ? AND agent_id = ?"
        " ORDER BY launched_at DESC LIMIT 1",
        *(project.key, agent_id),
    )
    if launch and conversations.process_gone(project, launch["session"]):
        still_there(project, launch["session"], ())
        for table in ("launches", "agent_calls", "runs"):
            column, value = ("agent_id", agent_id) if table == "runs" else ("tool_use_id", launch["tool_use_id"])
            project.ledger.run(
                f"UPDATE OR IGNORE {table} SET session = ? WHERE project = ? AND session = ? AND {column} = ?",
                *(session, project.key, launch["session"], value),
            )
    return session


def _continue(project: OpenProject, session: str, agent_id: str) -> None:
    """Note that an interrupted agent runs again; its result then answers its call, whoever repeats it."""
    changed = project.ledger.run(
        "UPDATE runs SET state = 'running', resumed = 1, resumed_at = ?, consumed_at = NULL"
        " WHERE project = ? AND session = ? AND agent_id = ? AND state = 'missing'",
        *(clock.stamp(), project.key, session, agent_id),
    )
    if changed:
        project.ledger.run(
            "UPDATE agent_calls SET prompt = ?4, answered = '' WHERE project = ?1 AND session = ?2 AND tool_use_id IN"
            " (SELECT tool_use_id FROM launches WHERE project = ?1 AND session = ?2 AND agent_id = ?3)",
            *(project.key, session, agent_id, conversations.ANY),
        )


def returned(project: OpenProject, session: str, call: str, result: Result) -> None:
    """Store what a call of the Agent tool returned: the result of a foreground agent.

    A background launch returns at once and has no result yet. Any sign of a failure beats the status (I000-14).
    """
    if result.status == "completed" or result.failed:
        state: State = "failed" if result.failed else "completed"
        run = run_id(result.agent_id, call)
        reported(project, session, run, result.agent_type, state, result.text, used=True)


def failed(project: OpenProject, session: str, call: str, error: str) -> None:
    """Store that a call of the Agent tool failed; the client doesn't say which agent it was."""
    reported(project, session, run_id("", call), "", "failed", error, used=True)


def still_there(project: OpenProject, session: str, listed: Collection[str]) -> None:
    """Mark as missing the agents that were seen to start and that the client no longer lists at a Stop.

    An agent that was killed sends no SubagentStop (client fact §3.4). It is missing at first and counts as failed only
    at the next main-thread event, because its own last event may still be on its way. Agents that run elsewhere never
    start here.
    """
    rows = project.ledger.rows(
        "SELECT agent_id, agent_type, state, resumed FROM runs WHERE project = ?1 AND session = ?2 AND agent_id IN ("
        "SELECT agent_id FROM runs WHERE project = ?1 AND session = ?2 AND state = 'running'"
        " UNION ALL SELECT agent_id FROM runs WHERE project = ?1 AND session = ?2 AND resumed = 1)",
        *(project.key, session),
    )
    for row in rows:
        if row["agent_id"] in listed:
            continue
        # One that was resumed after its result was used keeps that result if it brings no new one.
        if row["resumed"] and row["state"] != "running":
            project.ledger.run(
                "UPDATE runs SET resumed = 0 WHERE project = ? AND session = ? AND agent_id = ?",
                *(project.key, session, row["agent_id"]),
            )
        else:
            reported(project, session, row["agent_id"], row["agent_type"], "missing")


def reminded(project: OpenProject, session: str, agent_id: str) -> bool:
    """Return whether an agent was given its workflow's reminders."""
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


def unwritten(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Note that a launch's verdict can't be written into its workflow yet; return True the first time."""
    return _judge(project, session, tool_use_id, agent_status.UNWRITTEN, "verdict IS NULL")


def judged(project: OpenProject, session: str, tool_use_id: str, verdict: str) -> bool:
    """Close a launch with a verdict. If several processes try, one gets True."""
    return _judge(project, session, tool_use_id, verdict, agent_status.OPEN)


def dispute(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Mark a launch that was judged completed as disputed. If several processes try, one gets True."""
    return _judge(project, session, tool_use_id, "disputed", "verdict = 'completed'")


def abandon_open(project: OpenProject, session: str) -> None:
    """Close the foreground launches that never returned: at a prompt of the main thread none can still run."""
    project.ledger.run(
        "UPDATE launches SET verdict = 'abandoned' WHERE project = ? AND session = ? AND verdict IS NULL"
        " AND agent_id IS NULL",
        *(project.key, session),
    )


def _judge(project: OpenProject, session: str, tool_use_id: str, verdict: str, before: str) -> bool:
    changed = project.ledger.run(
        f"UPDATE launches SET verdict = ? WHERE project = ? AND session = ? AND tool_use_id = ? AND {before}",
        *(verdict, project.key, session, tool_use_id),
    )
    return changed == 1


def _result(project: OpenProject, words: str) -> str:
    if len(words) <= RESULT_LIMIT_CHARS:
        return kept(project, words)
    cut = f"… (the first {RESULT_LIMIT_CHARS:,} of {len(words):,} characters; the agent's transcript has all of it)"
    return beginning(project, words, RESULT_LIMIT_CHARS - len(cut)) + cut


def beginning(project: OpenProject, said: str, most: int = PROMPT_LIMIT_CHARS) -> str:
    """Return the first characters of `kept(said)`, of which only as much as needed is looked at.

    What a cut may have halved, so that it wasn't masked, is left out.
    """
    looked_at = said[: most + 2 * MARGIN_CHARS]
    masked = kept(project, looked_at)
    return (masked if looked_at == said else masked[:-MARGIN_CHARS])[:most]


def kept(project: OpenProject, said: str) -> str:
    """Return an agent's words as they are stored, with secrets and the user's excluded text masked."""
    masked = capture.event(project.config, {"said": said})["said"]
    return redact(str(masked)).encode("utf-8", "replace").decode()  # the ledger can't store lone surrogates
