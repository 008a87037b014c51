"""What happens to agents, written down: a call of the Agent tool, the run it started, what that reported, the verdict.

A launch is known by its `tool_use_id`, a run by its `agent_id`. The client names the run only in the launch's
PostToolUse and in a `<task-notification>`, and the run's own events may come before either. So both are kept apart,
and the view `agents` joins them (`agent_status`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal, Protocol

from holdfast import capture, clock
from holdfast.files.redact import beginning as redacted_beginning
from holdfast.files.redact import redact
from holdfast.sessions.agents import agent_status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.project import OpenProject

PROMPT_LIMIT_CHARS = 4_000  # characters of a launch's prompt that are kept
_WINDOW_CHARS = 5_000  # characters more that are looked at for what the user excludes
State = Literal["running", "missing", "stopped", "completed", "failed"]
# A failure signal beats "completed" from the same run; a verdict beats a bare stop.
_STATES: tuple[State, ...] = ("running", "missing", "stopped", "completed", "failed")


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
    """Note a launch; one that is known already keeps what it has. Of the prompt the beginning is kept."""
    project.ledger.run(
        "INSERT INTO launches (project, session, tool_use_id, worktree, host, client, agent_type, workflow, phase,"
        " launched_at, description, prompt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session, tool_use_id) DO NOTHING",
        *(project.key, session, tool_use_id, project.worktree, project.host, project.client),
        *(agent_type, workflow, phase, clock.stamp(), beginning(project, description), beginning(project, prompt)),
    )


def named(project: OpenProject, session: str, tool_use_id: str, agent_id: str, output: str = "") -> None:
    """Join a launch with the run it started; one that was given up and does return is open again.

    `output` is where the agent's output lies, if the client says.
    """
    session = agent_status.home(project, session, agent_id)
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
    session = agent_status.home(project, session, agent_id)
    words, now = kept(project, words), clock.stamp()
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
    weaker = _STATES[: _STATES.index(state) + 1]
    project.ledger.run(
        "INSERT INTO runs (project, session, agent_id, worktree, host, client, agent_type, state, words, digest,"
        " started_at, changed_at, consumed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)"
        " ON CONFLICT (project, session, agent_id) DO UPDATE SET state = excluded.state,"
        " words = CASE WHEN excluded.words = '' THEN runs.words ELSE excluded.words END,"
        " digest = CASE WHEN excluded.words = '' THEN runs.digest ELSE excluded.digest END,"
        f" changed_at = excluded.changed_at WHERE runs.state IN ({', '.join('?' * len(weaker))})",
        *(*run, project.worktree, project.host, project.client),
        *(agent_type, state, words, digest, now, now, *weaker),
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


def unwritten(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Note that a launch's verdict could not be written into its workflow yet; the first time gets True."""
    return _judge(project, session, tool_use_id, agent_status.UNWRITTEN, "verdict IS NULL")


def judged(project: OpenProject, session: str, tool_use_id: str, verdict: str) -> bool:
    """Close a launch; of several processes that try, one gets True."""
    return _judge(project, session, tool_use_id, verdict, agent_status.OPEN)


def dispute(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Doubt a launch that was judged completed; of several processes that try, one gets True."""
    return _judge(project, session, tool_use_id, "disputed", "verdict = 'completed'")


def abandon_open(project: OpenProject, session: str) -> None:
    """Close foreground launches that never returned: the main thread is at its prompt, so none can still run."""
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


def beginning(project: OpenProject, said: str) -> str:
    """Return the beginning of what `kept` keeps; it is masked before it is cut, for half a secret looks like none."""
    return kept(project, redacted_beginning(said, PROMPT_LIMIT_CHARS + _WINDOW_CHARS))[:PROMPT_LIMIT_CHARS]


def kept(project: OpenProject, said: str) -> str:
    """Return what is kept of an agent's words: secrets masked, and what the user keeps out of capture."""
    masked = capture.event(project.config, {"said": said})["said"]
    return redact(str(masked)).encode("utf-8", "replace").decode()  # no ledger takes lone surrogates
