"""The agents and the runs of scripts of a project, for whoever asks by name: what they returned, and if it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.sessions import conversations
from holdfast.sessions.agents import script_runs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.project import OpenProject

LISTED = 200  # agents, and runs, that are listed unless all are asked for
_NAMED = 5  # agents and runs that an error names
_STATES = {"completed": "finished", "stopped": "finished", "missing": "interrupted"}
"""The words for what the ledger stores of a run's state, where it says another."""


class Entry(NamedTuple):
    """An agent, or a run of a script.

    Attributes:
        name: its id.
        kind: `agent`, `teammate` or `run`.
        status: where it stands: `running`, `finished`, `used` once the conversation has its result, `failed`,
            `interrupted` or `to run anew`; a run can also run `elsewhere`, have completed in part (`partial`), or have
            `no journal` any more.
        about: what it is, in words.
        session: the session that launched it.
        call: the call that launched it.
    """

    name: str
    kind: str
    status: str
    about: str
    session: str
    call: str
    launched_at: str


class Returned(NamedTuple):
    """What an agent returned: its id, what the script calls it, its state and its result as text."""

    agent_id: str
    label: str
    state: str
    text: str


def entries(project: OpenProject, most: int = -1, prefix: str = "") -> list[Entry]:
    """Return the latest `most` agents and as many runs of a project, or all, the latest first.

    Args:
        project: the project.
        most: how many agents, and runs, to look at; -1 for all.
        prefix: what the ids to return begin with. The journals of other runs aren't read.

    Raises:
        LedgerError: the ledger can't be read.
    """
    runs = [
        Entry(
            run.run,
            "run",
            run.status if not run.rerun_at else "to run anew",
            f"{run.name or 'a script'}: {run.counted}" + (f"; {run.reused}" if run.reused else ""),
            run.session,
            run.tool_use_id,
            run.launched_at,
        )
        for run in script_runs.every(project, most)
        if run.run.startswith(prefix)
    ]
    rows = project.ledger.rows(
        "SELECT agents.*, agent_calls.kind AS kind, agent_calls.rerun_at AS rerun_at, agent_calls.name AS mate"
        " FROM agents LEFT JOIN agent_calls ON agent_calls.project = agents.project"
        " AND agent_calls.session = agents.session AND agent_calls.tool_use_id = agents.tool_use_id"
        " WHERE agents.project = ? ORDER BY agents.launched_at DESC LIMIT ?",
        *(project.key, most),
    )
    over = conversations.ended_ids(project)
    agents = [
        Entry(
            row["agent_id"] or row["tool_use_id"],
            row["kind"] or "agent",
            "to run anew" if row["rerun_at"] else _status(row, over),
            ": ".join(filter(None, (row["mate"] or row["agent_type"], row["description"]))),
            row["session"],
            row["tool_use_id"],
            row["launched_at"],
        )
        for row in rows
        if (row["agent_id"] or row["tool_use_id"]).startswith(prefix)
    ]
    return sorted([*runs, *agents], key=lambda each: each.launched_at, reverse=True)


def count(project: OpenProject) -> int:
    """Return how many agents and runs a project has. Raises LedgerError."""
    runs = "SELECT COUNT(*) FROM script_runs WHERE project = ?1 AND run <> '' AND folder <> ''"
    row = project.ledger.one(
        f"SELECT (SELECT COUNT(*) FROM agents WHERE project = ?1) + ({runs}) AS number", project.key
    )
    return int(row["number"]) if row else 0


def find(project: OpenProject, name: str) -> Entry | None:
    """Return the latest agent or run with an id, the beginning of one, or a script's name; None if there is none.

    Raises:
        HoldfastError: several begin so.
        LedgerError: the ledger can't be read.
    """
    run = script_runs.named(project, name, None)
    name = run.run if run else name
    begun = {each.name: each for each in reversed(entries(project, prefix=name) if name else ())}
    if name in begun:
        return begun[name]
    if len(begun) > 1:
        some = ", ".join([*begun][:_NAMED]) + (" and more" if len(begun) > _NAMED else "")
        raise HoldfastError(f"several agents or runs begin with {name!r}; name one with more characters: {some}")
    return next(iter(begun.values()), None)


def results(project: OpenProject, entry: Entry) -> list[Returned]:
    """Return what an agent returned, or each agent of a run, from the client's journal as far as it is there."""
    if entry.kind == "run":
        run = script_runs.named(project, entry.name, None)
        if run and run.journal:
            script_runs.keep(run)
            return [Returned(each.agent_id, each.label, each.state, each.result) for each in run.journal.agents]
        rows = project.ledger.rows(
            "SELECT script_agents.agent_id, label, state, words FROM script_agents LEFT JOIN runs"
            " ON runs.project = script_agents.project AND runs.session = script_agents.session"
            " AND runs.agent_id = script_agents.agent_id"
            " WHERE script_agents.project = ? AND script_agents.session = ? AND run = ? ORDER BY noted_at",
            *(project.key, entry.session, entry.name),
        )
        return [Returned(row["agent_id"], row["label"], _state(row), row["words"] or "") for row in rows]
    row = project.ledger.one(
        "SELECT agent_id, state, words FROM agents WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(project.key, entry.session, entry.call),
    )
    return [Returned(row["agent_id"] or "", "", _state(row), row["words"])] if row else []


def rerun(project: OpenProject, entry: Entry) -> None:
    """Note that an agent or a run is not to be used again. Raises LedgerError."""
    table, where = ("script_runs", "run") if entry.kind == "run" else ("agent_calls", "tool_use_id")
    project.ledger.run(
        f"UPDATE {table} SET rerun_at = ? WHERE project = ? AND {where} = ?",
        *(clock.stamp(), project.key, entry.name if entry.kind == "run" else entry.call),
    )


def ids(project: OpenProject, entry: Entry) -> frozenset[tuple[str, str]]:
    """Return the ids by which an agent or a run is known, and those of the run's agents, each with its session.

    Raises:
        LedgerError: the ledger can't be read.
    """
    if entry.kind != "run":
        return frozenset({(entry.session, entry.name), (entry.session, entry.call)})
    rows = project.ledger.rows("SELECT * FROM script_runs WHERE project = ? AND run = ?", project.key, entry.name)
    found = {(row["session"], each) for row in rows for each in (row["run"], row["tool_use_id"])}
    for row in rows:
        journal = script_runs.ScriptRun(project, row, None).journal
        found |= {(row["session"], each.agent_id) for each in (journal.agents if journal else ()) if each.agent_id}
    agents = project.ledger.rows(
        "SELECT session, agent_id FROM script_agents WHERE project = ? AND run = ?", project.key, entry.name
    )
    return frozenset({*found, *((row["session"], row["agent_id"]) for row in agents)})


def _status(row: Mapping[str, Any], over: Collection[str]) -> str:
    """Return where an agent stands; one that was at work when its session ended, or was killed, is interrupted."""
    if row["fate"] == "running":
        return "interrupted" if row["session"] in over else "running"
    if row["state"] in (None, "running"):  # judged without a result, and none will come
        return "interrupted"
    return "used" if row["fate"] == "consumed" and row["state"] not in ("failed", "missing") else _state(row)


def _state(row: Mapping[str, Any]) -> str:
    return _STATES.get(row["state"], row["state"] or "unknown")
