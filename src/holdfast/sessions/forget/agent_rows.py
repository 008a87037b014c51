"""The rows about agents in the ledger, by the ids of the agents, of their calls and of the runs of scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.project import OpenProject

_IDS = ("agent_id", "tool_use_id", "run")  # columns that name an agent, its call or its run of a script
_AT_ONCE = 100  # ids in one statement, which takes only so many values
Named = frozenset[tuple[str, str]]
"""Ids of agents, of their calls and of runs of scripts, each with its session."""


def of_workflow(project: OpenProject, workflow: str, worktree: str) -> Named:
    """Return the ids of a workflow's agents and of their calls. Raises LedgerError."""
    found = project.ledger.rows(
        "SELECT session, tool_use_id, agent_id FROM launches WHERE project = ? AND worktree = ? AND workflow = ?",
        *(project.key, worktree, workflow),
    )
    return frozenset((row["session"], each) for row in found for each in (row["tool_use_id"], row["agent_id"]) if each)


def with_refused(project: OpenProject, agents: Named) -> Named:
    """Return ids with those of later calls that were refused because one of these agents had done their work.

    What was noted of such a call names the agent. Raises LedgerError.
    """
    rows = project.ledger.rows(
        "SELECT session, tool_use_id, refused FROM agent_calls WHERE project = ? AND refused <> ''", project.key
    )
    calls = {(row["session"], row["tool_use_id"]) for row in rows if any(each in row["refused"] for _, each in agents)}
    return agents | calls


def conditions(
    project: OpenProject, agents: Named, known: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    """Yield a table, a condition and its values for the rows about agents.

    Args:
        project: the project.
        agents: the ids.
        known: the columns of the tables to look at, by table.
    """
    by_session: dict[str, list[str]] = {}
    for session, each in sorted(agents):
        by_session.setdefault(session, []).append(each)
    for table, columns in known.items():
        ids = [each for each in _IDS if each in columns]
        for session, named in by_session.items() if ids else ():
            for start in range(0, len(named), _AT_ONCE):
                some = named[start : start + _AT_ONCE]
                where = " OR ".join(f"{each} IN ({', '.join('?' * len(some))})" for each in ids)
                yield table, f"session = ? AND ({where})", (session, *some * len(ids))


def use_no_more(project: OpenProject) -> None:
    """Let no run of a script stand for one that was forgotten. Raises LedgerError."""
    project.ledger.run(
        "UPDATE script_runs SET answers = '', reused = '' WHERE project = ?1 AND answers <> ''"
        " AND answers NOT IN (SELECT folder FROM script_runs WHERE project = ?1)",
        project.key,
    )
