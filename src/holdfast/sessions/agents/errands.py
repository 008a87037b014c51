"""Which launch a running subagent belongs to, and so what it was sent for.

Until a launch returns the client does not say which run it started (client fact §3.4): one that is waited for is told
apart by its type, and several of one type by the prompt their own transcripts begin with.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.patterns import regex
from holdfast.sessions.agents import launches
from holdfast.sessions.reading import transcripts

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.agents.launches import Launch

_SAFE = regex(r"[A-Za-z0-9_-]{1,128}")


def of(project: OpenProject, session: str, agent_id: str, transcript: str = "") -> Launch | None:
    """Return the launch that started a run, or None where several could have, or none is known.

    Args:
        project: where.
        session: the main session.
        agent_id: the run.
        transcript: where the main session's transcript lies.
    """
    found = candidates(project, session, agent_id)
    if len(found) == 1 and (found[0].agent_id or len(_rivals(project, session, agent_id)) == 1):
        return found[0]
    said = _first_prompt(transcript, agent_id) if found else ""
    same = [each for each in found if said and each.prompt == launches.beginning(project, said)]
    return same[0] if len({(each.workflow, each.phase) for each in same}) == 1 else None


def candidates(project: OpenProject, session: str, agent_id: str) -> list[Launch]:
    """Return the launches that may have started a run: the one that names it, else all of its type still without."""
    named = launches.of_run(project, session, agent_id)
    return [named] if named else _unnamed(project, session, agent_id)


def _unnamed(project: OpenProject, session: str, agent_id: str) -> list[Launch]:
    """Return the open launches of a run's type, made before it began, whose runs nobody has named yet."""
    rows = project.ledger.rows(
        f"SELECT {launches.COLUMNS} FROM launches JOIN runs ON runs.project = launches.project"
        " AND runs.session = launches.session AND runs.agent_type = launches.agent_type"
        " AND launches.launched_at <= runs.started_at"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict IS NULL"
        " AND launches.agent_id IS NULL AND runs.agent_id = ? ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session, agent_id),
    )
    return [launches.of_row(row) for row in rows]


def _rivals(project: OpenProject, session: str, agent_id: str) -> list[str]:
    """Return the runs of the same type, itself with them, that no launch names and that an open launch may have begun.

    A run that is older than any of those was interrupted, which no event tells.
    """
    rows = project.ledger.rows(
        "SELECT others.agent_id AS agent_id FROM runs JOIN runs AS others ON others.project = runs.project"
        " AND others.session = runs.session AND others.agent_type = runs.agent_type AND others.state = 'running'"
        " WHERE runs.project = ? AND runs.session = ? AND runs.agent_id = ? AND NOT EXISTS"
        " (SELECT 1 FROM launches WHERE launches.project = others.project AND launches.session = others.session"
        " AND launches.agent_id = others.agent_id) AND EXISTS"
        " (SELECT 1 FROM launches WHERE launches.project = others.project AND launches.session = others.session"
        " AND launches.agent_type = others.agent_type AND launches.agent_id IS NULL AND launches.verdict IS NULL"
        " AND launches.launched_at <= others.started_at)",
        *(project.key, session, agent_id),
    )
    return [str(row["agent_id"]) for row in rows]


def _first_prompt(transcript: str, agent_id: str) -> str:
    """Return what a run's own transcript begins with; it lies beside the main session's (client payloads)."""
    if not transcript.endswith(".jsonl") or not _SAFE.fullmatch(agent_id):
        return ""
    own = Path(transcript.removesuffix(".jsonl")) / "subagents" / f"agent-{agent_id}.jsonl"
    entries = transcripts.head(str(own))
    return next((said for entry in entries if entry.get("type") == "user" and (said := _prompt(entry))), "")


def _prompt(entry: dict[str, Any]) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
