"""Move what belongs to a session to its next id: after `/clear`, or when a compaction or a fork changed the id.

Every table of the ledger with a column `session` moves, so that a table added later isn't missed, except those that
`HISTORY` and `CONTEXT` name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.memory.rows import Agent
from holdfast.sessions import agents, askings
from holdfast.sessions.ownership import owners, sessions

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

HISTORY = frozenset(
    {"ownings", "compactions", "deliveries", "costs", "reads", "readers", "agent_heirs"} | {"events", "session_ids"}
)
"""Tables that say what happened under an id, and to which transcript. Their rows stay."""
CONTEXT = frozenset({"askings", "handler_state", "hints", "summaries", "todo_lists", "todo_tasks"})
"""Tables that say what the model knows, which `/clear` ends. Their rows move only at a compaction."""


def continue_cleared(event: Event, context: Context) -> None:
    """Give a session what the one that `/clear` ended has at work: workflows, agents, scripts, teammates.

    The client goes on in the same process with another session id, and so do they. What the model knew is gone.

    Args:
        event: the `SessionStart` with the source `clear`.
        context: its context.
    """
    project = context.project
    before = sessions.last_in(project, sessions.client_process(context), besides=event.session_id)
    if before:
        inherit(project, before, event.session_id, cleared=True)


def inherit(project: OpenProject, before: str, session: str, *, cleared: bool = False) -> None:
    """End an earlier id of a session, and give the session what belongs to it.

    Later reports of its agents count for the session too, whichever of the two ids they carry.

    Args:
        project: the project.
        before: the earlier id.
        session: the id it goes on under.
        cleared: whether `/clear` changed the id; else the conversation goes on, and what the model knows moves too.
    """
    if before == session:
        return
    sessions.ended(project, before)
    if sessions.process_gone(project, before):  # the agents ended with the process
        agents.mark_missing(project, before, ())
    ledger = project.ledger
    with ledger.transaction():
        askings.rename(project, before, session, cleared=cleared)
        _join_runs(project, before, session)
        owners.follow(project, before, session)
        for table, columns in ledger.tables().items():
            column = next((each for each in ("session", "conversation") if each in columns), "")
            if column and table not in HISTORY and not (cleared and table in CONTEXT):
                _move(project, table, column, before, session)
        _succeed(project, before, session)


def _move(project: OpenProject, table: str, column: str, before: str, session: str) -> None:
    """Move a table's rows. Where both ids have a row, the later's values count, and the earlier's where it has none."""
    ledger = project.ledger
    keys = [row["name"] for row in ledger.rows(f"PRAGMA table_info({table})") if row["pk"]]
    this = " AND ".join(f"{name} = ?" for name in keys)
    same = " AND ".join(f"later.{name} = earlier.{name}" for name in keys if name != column)
    both = ledger.rows(
        f"SELECT * FROM {table} AS earlier WHERE {column} = ?"
        f" AND EXISTS (SELECT 1 FROM {table} AS later WHERE later.{column} = ? AND {same or '0'})",
        *(before, session),
    )
    for earlier in both:
        place = [(earlier | {column: session})[name] for name in keys]
        later = ledger.one(f"SELECT * FROM {table} WHERE {this}", *place) or {}
        ledger.run(f"DELETE FROM {table} WHERE {this}", *(earlier[name] for name in keys))
        values = earlier | {name: value for name, value in later.items() if value not in (None, "")}
        changes = ", ".join(f"{name} = ?" for name in values)
        ledger.run(f"UPDATE {table} SET {changes} WHERE {this}", *values.values(), *place)
    ledger.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", session, before)


def _join_runs(project: OpenProject, before: str, session: str) -> None:
    """Merge what a run has reported under both ids."""
    table = project.ledger.table(Agent)
    for run in table.where(conversation=session, call=""):
        if agent := agents.of_run(project, before, run.run):
            table.drop(id=run.id)
            agents.store(project, agents.merge(agent, run))


def _succeed(project: OpenProject, before: str, session: str) -> None:
    """Note under which id an earlier one goes on, and every id that went on under that."""
    ledger = project.ledger
    ledger.run("UPDATE agent_heirs SET heir = ? WHERE project = ? AND heir = ?", *(session, project.key, before))
    ledger.run(
        "INSERT INTO agent_heirs (project, session, worktree, host, client, heir, since) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session) DO UPDATE SET heir = excluded.heir, since = excluded.since",
        *(project.key, before, project.worktree, project.host, project.client.NAME, session, clock.stamp()),
    )
