"""Delete what Holdfast knows of a project, or of a part of it, from the ledger's tables.

Tables are recognised by the names of their columns, so that a table added later isn't missed: the columns that name a
session (`SESSIONS`), `workflow`, and the columns that hold a time. A ledger holds one project.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.memory.rows import Conversation
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.forget import agent_rows
from holdfast.sessions.history import extracts, generations
from holdfast.workflow import names, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.sessions.forget.agent_rows import Named
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

# Columns that name a conversation; in table `conversations` also `id`.
SESSIONS = ("session", "conversation", "owner", "previous_owner", "claimed_by", "forked_from")
SHORTEST_CHARS = 4  # a shorter name of a workflow is in a text by chance
MOMENTS = ("at", "since", "first_seen", "last_seen")  # columns that hold a time and don't end in `_at`


@dataclass(frozen=True, slots=True)
class Scope:
    """What to forget: everything, one session, one workflow, agents, or a span of time.

    Attributes:
        everything: the whole project, in all of its worktrees.
        session: the id of a conversation; empty for none.
        session_ids: the ids that it has had.
        workflow: a workflow, None for none.
        worktree: the checkout that the workflow is, or was, in.
        agents: ids of agents, of their calls and of runs of scripts, each with its session; beside a workflow its own.
        since: the start of the span: what last changed at this UTC stamp or later. Empty is the beginning.
        before: the end of the span: what last changed before this UTC stamp. Empty is no end.
    """

    everything: bool = False
    session: str = ""
    session_ids: frozenset[str] = frozenset()
    workflow: Workflow | None = None
    worktree: str = ""
    agents: Named = frozenset()
    since: str = ""
    before: str = ""

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
    """Delete the rows in scope, or count them, and return their number by table.

    Tombstones lose their names but stay, unless everything goes.

    Args:
        project: the project.
        scope: what to forget.
        known: the columns of each table, as `tables` returns them.
        dry: whether only to count.

    Raises:
        LedgerError: the ledger cannot be read or written.
    """
    ledger, counts = project.ledger, dict[str, int]()
    if not dry:
        ledger.overwrite()
    with ledger.transaction():
        if scope.workflow and "workflows" in known:
            counts["conversations"] = _forget_summary(project, scope.workflow.key, scope.worktree, dry=dry)
        for cut in _cuts(project, scope, known):
            if cut.table == "tombstones" and not scope.everything:
                number = extracts.hide_tombstones(project, cut.where, cut.values, dry=dry)
            elif dry:
                row = ledger.one(f"SELECT COUNT(*) AS number FROM {cut.table} WHERE {cut.where}", *cut.values)
                number = int(row["number"]) if row else 0
            else:
                if cut.table == "extracts" and not scope.everything:
                    extracts.bury_gone(project, cut.where, cut.values)
                number = ledger.run(f"DELETE FROM {cut.table} WHERE {cut.where}", *cut.values)
            counts[cut.table] = counts.get(cut.table, 0) + number
        if scope.workflow and "seals" in known:
            counts["seals"] = snapshots.forget(project, scope.workflow.key, scope.worktree, dry=dry)
        if counts.get("script_runs") and not dry:
            agent_rows.use_no_more(project)
    return {name: number for name, number in sorted(counts.items()) if number}


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
        others = {table: columns for table, columns in known.items() if not scope.workflow or "workflow" not in columns}
        yield from (_Cut(*each) for each in agent_rows.conditions(project, scope.agents, others))
        for name in scope.names if "events" in known else ():  # a decision's reason may quote an agent's result
            yield _Cut("events", "instr(data, ?)", (json.dumps(name)[1:-1],))
        return
    for table, columns in known.items():
        if scope.everything:
            yield _Cut(table, "1", ())
        elif scope.session:
            named = [each for each in columns if each in SESSIONS or (table == "conversations" and each == "id")]
            if named:
                where = " OR ".join(f"{each} = ?" for each in named)
                yield _Cut(table, where, tuple([scope.session] * len(named)))
        elif moments := [each for each in columns if each in MOMENTS or each.endswith("_at")]:
            where, values = _span(moments, scope)
            yield _Cut(table, where, values)


def _span(moments: Sequence[str], scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return a condition that a row's last time lies in the span. Some columns hold a word instead of a time."""
    plain = [f"(CASE WHEN {each} < '3' THEN {each} ELSE '' END)" for each in moments]
    where, values = f"({' OR '.join(f'{each} >= ?' for each in plain)})", [scope.since] * len(plain)
    if scope.before:
        where += f" AND NOT ({' OR '.join(f'{each} >= ?' for each in plain)})"
        values += [scope.before] * len(plain)
    return where, tuple(values)


def _of_workflow(
    project: Workspace, scope: Scope, workflow: Workflow, known: Mapping[str, Sequence[str]]
) -> Iterator[_Cut]:
    place, mine = (scope.worktree, workflow.key), "worktree = ? AND workflow = ?"
    for table, columns in known.items():
        if "workflow" in columns:
            # Not every table has the checkout, but the key has the file, and which workflow was in it.
            where = mine if "worktree" in columns else "workflow = ?"
            yield _Cut(table, where, place if "worktree" in columns else (workflow.key,))
    if "told" in known:  # a plan's path or a report may stand in place of a key; what goes is only told once more
        other = "key <> '' AND key NOT LIKE '%:%#%'"
        yield _Cut("told", f"key = ? OR value = ? OR ({other})", (workflow.key, workflow.key))
    titles = tuple(dict.fromkeys([workflow.title, *(phase.title for phase in workflow.phases)]))
    if "todo_tasks" in known:
        listed = ", ".join("?" * len(titles))
        yield _Cut("todo_tasks", f"subject IN ({listed})", titles)
    if "extracts" in known:
        yield _Cut("extracts", "worktree = ? AND path = ?", (scope.worktree, workflow.place))
    if "tombstones" in known:
        yield _Cut("tombstones", "worktree = ? AND name = ?", (scope.worktree, names.key(workflow.title)))
    if "generations" in known:
        for generation in generations.of(project, scope.worktree, _content_of(project, workflow)):
            yield _Cut("generations", "id = ?", (generation,))


def _content_of(project: Workspace, workflow: Workflow) -> Callable[[str, bytes], bool]:
    """Return a test of whether a path's content was this workflow's. It counts if unreadable and without another id."""
    folder = Path(workflow.place).parent

    def wanted(place: str, raw: bytes) -> bool:
        if workflow.spread and Path(place).is_relative_to(folder):
            return True
        if Path(place).parent != folder:
            return False
        try:
            found = registry.get(workflow.format).parsed(project, project.root / place, raw)
        except StateError:
            return _id_of(raw) in (workflow.id, None)
        return found.key == workflow.key or (place != workflow.place and _same(found.title, workflow.title))

    return wanted


def _same(one: str, other: str) -> bool:
    return names.key(one) == names.key(other)


def _id_of(raw: bytes) -> str | None:
    """Return the id in a content that is no workflow by itself, such as the file beside a `hybrid` one; else None."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return str(data["id"]) if isinstance(data, dict) and "id" in data else None
