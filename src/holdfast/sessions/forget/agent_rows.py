"""The rows about agents in the ledger, by the ids of the agents, of their calls and of the runs of scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.memory.rows import Agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.project import OpenProject

_AT_ONCE = 100  # ids in one statement, which takes only so many values
Named = frozenset[tuple[str, str]]
"""Ids of agents, of their calls and of runs of scripts, each with its conversation."""


def of_workflow(project: OpenProject, workflow: str, worktree: str) -> Named:
    """Return the ids of a workflow's agents and of their calls. Raises LedgerError."""
    return _ids(project.ledger.table(Agent).where(worktree=worktree, workflow=workflow))


def with_refused(project: OpenProject, agents: Named) -> Named:
    """Return ids with those of later calls that were refused because one of these agents had done their work.

    Raises LedgerError.
    """
    table = project.ledger.table(Agent)
    rows = {row.id for where, values in conditions(agents) for row in table.where(where, *values)}
    return agents | _ids(each for each in table.where(verdict="refused") if each.source in rows)


def conditions(agents: Named) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield conditions, with their values, that select the rows with some ids, and those of the runs' agents."""
    by_conversation: dict[str, list[str]] = {}
    for conversation, each in sorted(agents):
        by_conversation.setdefault(conversation, []).append(each)
    for conversation, ids in by_conversation.items():
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            where = f"conversation = ? AND (run IN ({marks}) OR call IN ({marks}) OR parent IN ({marks}))"
            yield where, (conversation, *some * 3)


def use_no_more(project: OpenProject) -> None:
    """Let no run of a script stand for one that was forgotten. Raises LedgerError."""
    gone = "source <> '' AND source NOT IN (SELECT id FROM agents)"
    project.ledger.table(Agent).update({"source": "", "description": ""}, gone, kind="script")


def _ids(rows: Iterable[Agent]) -> Named:
    return frozenset((row.conversation, each) for row in rows for each in (row.call, row.run) if each)
