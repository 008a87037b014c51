"""Delete what Holdfast knows of a project, or of a part of it, from the ledger's tables.

Tables are recognised by the names of their columns, so that a table added later isn't missed: the columns that name a
session or conversation (`SESSIONS`), `workflow`, and the columns of `agent_rows`. A ledger holds one project.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.memory.rows import Conversation
from holdfast.sessions import compactions, conversations, imports
from holdfast.sessions.forget import agent_rows
from holdfast.workflow import names, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.sessions.forget.agent_rows import Named
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

SESSIONS = ("conversation", "restored_in")
"""Columns that name a conversation; in the tables of these also `id`."""
_OF_SESSIONS = ("conversations", "session_ids")
CLEARED = ("owner", "previous_owner", "forked_from")
"""Columns that name a conversation in a row that stays without it."""
SHORTEST_CHARS = 4  # a shorter name of a workflow is in a text by chance


@dataclass(frozen=True, slots=True)
class Scope:
    """What to forget: everything, one conversation, one workflow, or agents.

    Attributes:
        everything: the whole project, in all of its worktrees.
        sessions: the ids of a conversation, its own and those of its sessions; empty for none.
        workflow: a workflow, None for none.
        worktree: the checkout that the workflow is, or was, in.
        agents: ids of agents, of their calls and of runs of scripts, each with its session; beside a workflow its own.
    """

    everything: bool = False
    sessions: tuple[str, ...] = ()
    workflow: Workflow | None = None
    worktree: str = ""
    agents: Named = frozenset()

    @property
    def names(self) -> list[str]:
        """What a text about the workflow or its agents mentions: the workflow's id and title, and the agents' ids."""
        names = [self.workflow.id, self.workflow.title] if self.workflow else []
        return [each for each in (*names, *sorted({each for _, each in self.agents})) if len(each) >= SHORTEST_CHARS]


@dataclass(frozen=True, slots=True)
class _Cut:
    """The rows of a table that a condition selects."""

    table: str
    where: str
    values: tuple[object, ...]


def of_session(project: Workspace, session: str) -> Scope:
    """Return the scope of the conversation that goes on under a session id. Raises LedgerError."""
    conversation = conversations.of(project, session)
    return Scope(sessions=tuple(sorted({session, conversation} | conversations.all_ids(project, conversation))))


def tables(project: Workspace) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table, by table. Raises LedgerError."""
    return project.ledger.tables()


def checkouts(project: Workspace, known: Mapping[str, Sequence[str]]) -> list[Path]:
    """Return the checkouts of the project that the ledger knows, this one first. Raises LedgerError."""
    found = {
        row["worktree"]: None
        for table, columns in known.items()
        if "worktree" in columns
        for row in project.ledger.rows(f"SELECT DISTINCT worktree FROM {table}")
    }
    return [project.root, *(Path(each) for each in sorted(found) if each not in ("", str(project.root)))]


def rows(project: Workspace, scope: Scope, known: Mapping[str, Sequence[str]], *, dry: bool) -> dict[str, int]:
    """Delete the rows in scope and return their number by table; `dry` only counts.

    `known` has the columns of each table, as `tables` returns them. Raises LedgerError.
    """
    ledger, counts = project.ledger, dict[str, int]()
    if not dry:
        ledger.overwrite()
    with ledger.transaction():
        if scope.workflow and "workflows" in known:
            counts["conversations"] = _forget_summary(project, scope.workflow.key, scope.worktree, dry=dry)
        for cut in _cuts(project, scope, known):
            if dry:
                row = ledger.one(f"SELECT COUNT(*) AS number FROM {cut.table} WHERE {cut.where}", *cut.values)
                number = int(row["number"]) if row else 0
            else:
                number = ledger.run(f"DELETE FROM {cut.table} WHERE {cut.where}", *cut.values)
            counts[cut.table] = counts.get(cut.table, 0) + number
        if scope.workflow:
            key, name = scope.workflow.key, names.key(scope.workflow.title)
            counts["compactions"] = compactions.forget(project, key, scope.worktree, dry=dry)
            counts["imports"] = imports.forget(project, scope.worktree, scope.workflow.place, name, dry=dry)
        if not dry:
            _clear(project, scope.sessions, known)
            agent_rows.use_no_more(project)
    return {name: number for name, number in sorted(counts.items()) if number}


def _clear(project: Workspace, sessions: Sequence[str], known: Mapping[str, Sequence[str]]) -> None:
    """Remove a conversation's ids from rows that stay."""
    marks = ", ".join("?" * len(sessions))
    for table, columns in known.items() if sessions else ():
        for column in set(CLEARED) & set(columns):
            project.ledger.run(f"UPDATE {table} SET {column} = '' WHERE {column} IN ({marks})", *sessions)


def _forget_summary(project: Workspace, workflow: str, worktree: str, *, dry: bool) -> int:
    """Remove the summary of a workflow's owner, or only count it."""
    owned = "summary > '' AND id IN (SELECT owner FROM workflows WHERE worktree = ? AND workflow = ?)"
    table = project.ledger.table(Conversation)
    if dry:
        return table.count(owned, worktree, workflow)
    return table.update({"summary": ""}, owned, worktree, workflow)


def _cuts(project: Workspace, scope: Scope, known: Mapping[str, Sequence[str]]) -> Iterator[_Cut]:
    if scope.workflow:
        yield from _of_workflow(project, scope, scope.workflow, known)
    if scope.workflow or scope.agents:
        yield from (_Cut("agents", *each) for each in agent_rows.conditions(scope.agents))
        for name in scope.names:  # what an agent said may be quoted in a decision's reason
            yield _Cut("events", "instr(data, ?)", (json.dumps(name)[1:-1],))
    for table, columns in known.items():
        if scope.everything:
            yield _Cut(table, "1", ())
        elif scope.sessions and (named := [each for each in columns if _names_session(table, each)]):
            marks = ", ".join("?" * len(scope.sessions))
            yield _Cut(table, " OR ".join(f"{each} IN ({marks})" for each in named), scope.sessions * len(named))


def _names_session(table: str, column: str) -> bool:
    return column in SESSIONS or (table in _OF_SESSIONS and column == "id")


def _of_workflow(
    project: Workspace, scope: Scope, workflow: Workflow, known: Mapping[str, Sequence[str]]
) -> Iterator[_Cut]:
    place, mine = (scope.worktree, workflow.key), "worktree = ? AND workflow = ?"
    for table, columns in known.items():
        if "workflow" in columns and table != "agents":  # those are in `scope.agents`
            # Not every table has the checkout, but the key has the file, and which workflow was in it.
            where = mine if "worktree" in columns else "workflow = ?"
            yield _Cut(table, where, place if "worktree" in columns else (workflow.key,))
    other = "key <> '' AND key NOT LIKE '%:%#%'"  # a plan's path or a report stands there; it is only told once more
    yield _Cut("told", f"key = ? OR value = ? OR ({other})", (workflow.key, workflow.key))
    titles = tuple(dict.fromkeys([workflow.title, *(phase.title for phase in workflow.phases)]))
    yield _Cut("todo_tasks", f"subject IN ({', '.join('?' * len(titles))})", titles)
    yield _Cut("events", "worktree = ? AND instr(data, ?)", (scope.worktree, json.dumps(workflow.key)))
    version = "worktree = ? AND path = ? AND number = ?"
    for row in project.ledger.rows("SELECT path, number FROM contents WHERE worktree = ?", scope.worktree):
        stored = (scope.worktree, row["path"], row["number"])
        content = project.ledger.one(f"SELECT content FROM contents WHERE {version}", *stored)
        if content and _is_content_of(project, workflow, row["path"], bytes(content["content"])):
            yield _Cut("contents", version, stored)
            noted = json.dumps({"path": row["path"], "number": row["number"]})[1:-1]
            yield _Cut("events", "worktree = ? AND kind = 'generation' AND instr(data, ?)", (scope.worktree, noted))


def _is_content_of(project: Workspace, workflow: Workflow, place: str, raw: bytes) -> bool:
    """Return whether a version of a file was this workflow's: also one that is unreadable and without another id."""
    folder = Path(workflow.place).parent
    if workflow.spread and Path(place).is_relative_to(folder):
        return True
    if Path(place).parent != folder:
        return False
    try:
        found = registry.get(workflow.format).parsed(project, project.root / place, raw)
    except StateError:
        return _id_of(raw) in (workflow.id, None)
    same = names.key(found.title) == names.key(workflow.title)
    return found.key == workflow.key or (place != workflow.place and same)


def _id_of(raw: bytes) -> str | None:
    """Return the id in a content that is no workflow by itself, such as the file beside a `hybrid` one; else None."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return str(data["id"]) if isinstance(data, dict) and "id" in data else None
