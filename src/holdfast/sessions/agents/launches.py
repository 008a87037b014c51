"""Calls of the Agent tool: what each launched, for which phase, with what verdict.

A launch is known by its `tool_use_id`. The client names the run it started only in the launch's PostToolUse and in a
`<task-notification>`, and the run's own events may come before either. So launches and runs (`runs`) are kept apart
until they can be joined (`launch_runs`), and judged once they are (`results`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import capture, clock
from holdfast.files.redact import beginning as redacted_beginning
from holdfast.files.redact import redact
from holdfast.sessions.agents import heirs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject

PROMPT = 4_000  # characters of a launch's prompt that are kept
_WINDOW = 5_000  # characters more that are looked at for what the user excludes
UNWRITTEN = "unwritten"
OPEN = f"(launches.verdict IS NULL OR launches.verdict = '{UNWRITTEN}')"
"""The launches that have no verdict, or whose verdict is still to be written into their workflow."""
_FIELDS = ("tool_use_id", "agent_id", "agent_type", "workflow", "phase", "verdict", "description", "prompt")
COLUMNS = ", ".join(f"launches.{name} AS {name}" for name in _FIELDS)  # what `of_row` reads


class Launch(NamedTuple):
    """A call of the Agent tool.

    Attributes:
        tool_use_id: the call.
        agent_id: the run it started, once known.
        agent_type: the agent's name.
        workflow: the key of the workflow it works for, if any.
        phase: the id of the phase it works for, if any.
        verdict: `completed`, `failed`, `abandoned` or `disputed` once judged; `unwritten` while its result cannot be
            written into its workflow.
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


def call_id(tool_use_id: str | None, tool_input: Mapping[str, Any]) -> str:
    """Return what a call is called: the client's id or, from old clients, a name made of what was asked.

    Without ids, the same question asked twice in a session is one call.
    """
    if tool_use_id:
        return tool_use_id
    import json

    asked = json.dumps(tool_input, sort_keys=True, default=str)
    return f"asked:{hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def named(project: OpenProject, session: str, tool_use_id: str, agent_id: str, output: str = "") -> None:
    """Join a launch with the run it started; one that was given up and does return is open again.

    `output` is where the agent's output lies, if the client says.
    """
    project.ledger.run(
        "UPDATE launches SET agent_id = ?, verdict = CASE WHEN verdict = 'abandoned' THEN NULL ELSE verdict END,"
        " output = CASE WHEN ? = '' THEN output ELSE ? END"
        " WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(agent_id, output, output, project.key, home(project, session, agent_id), tool_use_id),
    )


def home(project: OpenProject, session: str, agent_id: str) -> str:
    """Return the session an agent belongs to by now: its own may have gone on under another id (`inheritance`)."""
    heir = heirs.of(project, session)
    return heir if heir and of_run(project, heir, agent_id) else session


def find(project: OpenProject, session: str, tool_use_id: str) -> Launch | None:
    """Return a launch by its call."""
    row = project.ledger.one(
        f"SELECT {COLUMNS} FROM launches WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(project.key, session, tool_use_id),
    )
    return of_row(row) if row else None


def of_run(project: OpenProject, session: str, agent_id: str) -> Launch | None:
    """Return the launch that names a run."""
    row = project.ledger.one(
        f"SELECT {COLUMNS} FROM launches WHERE project = ? AND session = ? AND agent_id = ?"
        " ORDER BY launched_at DESC, tool_use_id LIMIT 1",
        *(project.key, session, agent_id),
    )
    return of_row(row) if row else None


def unanswered(project: OpenProject, session: str) -> list[Launch]:
    """Return the calls that have not returned, as far as the ledger knows, the first launched first."""
    rows = project.ledger.rows(
        f"SELECT {COLUMNS} FROM launches WHERE project = ? AND session = ? AND verdict IS NULL AND agent_id IS NULL"
        " ORDER BY launched_at, tool_use_id",
        *(project.key, session),
    )
    return [of_row(row) for row in rows]


def unwritten(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Note that a launch's verdict could not be written into its workflow yet; the first time gets True."""
    return _judge(project, session, tool_use_id, UNWRITTEN, "verdict IS NULL")


def judged(project: OpenProject, session: str, tool_use_id: str, verdict: str) -> bool:
    """Close a launch; of several processes that try, one gets True."""
    return _judge(project, session, tool_use_id, verdict, OPEN)


def dispute(project: OpenProject, session: str, tool_use_id: str) -> bool:
    """Doubt a launch that was judged completed; of several processes that try, one gets True."""
    return _judge(project, session, tool_use_id, "disputed", "verdict = 'completed'")


def _judge(project: OpenProject, session: str, tool_use_id: str, verdict: str, before: str) -> bool:
    changed = project.ledger.run(
        f"UPDATE launches SET verdict = ? WHERE project = ? AND session = ? AND tool_use_id = ? AND {before}",
        *(verdict, project.key, session, tool_use_id),
    )
    return changed == 1


def abandon_open(project: OpenProject, session: str) -> None:
    """Close foreground launches that never returned: the main thread is at its prompt, so none can still run."""
    project.ledger.run(
        "UPDATE launches SET verdict = 'abandoned' WHERE project = ? AND session = ? AND verdict IS NULL"
        " AND agent_id IS NULL",
        *(project.key, session),
    )


def of_row(row: Mapping[str, Any]) -> Launch:
    """Return the launch in a row that has the `COLUMNS`."""
    return Launch(**{name: row[name] for name in _FIELDS})


def beginning(project: OpenProject, said: str) -> str:
    """Return the beginning of what `kept` keeps; it is masked before it is cut, for half a secret looks like none."""
    return kept(project, redacted_beginning(said, PROMPT + _WINDOW))[:PROMPT]


def kept(project: OpenProject, said: str) -> str:
    """Return what is kept of an agent's words: secrets masked, and what the user keeps out of capture."""
    masked = capture.event(project.config, {"said": said})["said"]
    return redact(str(masked)).encode("utf-8", "replace").decode()  # no ledger takes lone surrogates
