"""The agents and the runs of scripts of a project, for whoever asks by name: what they returned, and if it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.memory.rows import Agent
from holdfast.sessions import agents, conversations, scripts
from holdfast.sessions.scripts import ScriptRun
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from holdfast.project import OpenProject

_NAMED = 5  # agents and runs that an error names
_OF_ROW = ("call", "launched_at", "ended_at", "workflow", "phase", "output", "transcript")
_LISTED = (
    "(kind = 'script' AND run <> '' AND transcript <> '')"
    " OR (kind IN ('agent', 'teammate') AND call <> '' AND verdict <> 'refused')"
)


class Entry(NamedTuple):
    """An agent, or a run of a script, in words.

    Attributes:
        name: its id.
        kind: `agent`, `teammate` or `run`.
        status: where it stands (`agents.standing`): `running`, `finished`, `used` once the conversation has its
            result, `failed`, `interrupted` or `to run again`; a run can also have finished in part (`partial`), or have
            `no journal` any more.
        about: what it is.
        session: the session that launched it.
        call: the call that launched it.
        launched_at: when (UTC stamp).
        ended_at: when it ended (UTC stamp); empty while it runs.
        workflow: the key of the workflow it works for; empty for none.
        phase: the id of the phase it works for; empty for none.
        output: the path that the client writes its output to; empty if unknown.
        transcript: the path of its own transcript; of a run, the folder with its journal. Empty if unknown.
    """

    name: str
    kind: str
    status: str
    about: str
    session: str
    call: str
    launched_at: str
    ended_at: str
    workflow: str
    phase: str
    output: str
    transcript: str


class Returned(NamedTuple):
    """What an agent returned: its id, what the script calls it, its state and its result as text."""

    agent_id: str
    label: str
    state: str
    text: str


def list_latest(project: OpenProject, most: int) -> list[Agent]:
    """Return so many agents and runs of a project, the latest first; all if negative. Raises LedgerError."""
    return project.ledger.table(Agent).where(_LISTED, order="launched_at DESC", limit=most)


def named(project: OpenProject, name: str) -> Agent:
    """Return the latest agent or run with an id, the beginning of one, or a script's name.

    Raises:
        HoldfastError: there is none, or several begin so.
        LedgerError: the ledger can't be read.
    """
    run = scripts.find(project, name)
    name = run.row.run if run else name
    begins, end = f"({_LISTED}) AND (run >= ? AND run < ? OR call >= ? AND call < ?)", f"{name}\U0010ffff"
    rows = project.ledger.table(Agent).where(begins, name, end, name, end, order="launched_at") if name else []
    found = {_name(each): each for each in rows if _name(each).startswith(name)}
    if name in found:
        return found[name]
    if len(found) > 1:
        some = ", ".join([*found][:_NAMED]) + (" and more" if len(found) > _NAMED else "")
        raise HoldfastError(f"several agents or runs begin with {name!r}; name one with more characters: {some}")
    if not found:
        raise HoldfastError(f"no agent and no run here is called {one_line(name, 80)!r}; `holdfast agents` shows them")
    return next(iter(found.values()))


def list_left(project: OpenProject) -> list[Agent]:
    """Return the agents that run or have an unused result, and the scripts that run, of sessions that aren't over."""
    over = conversations.ended_ids(project)
    left = [
        each for each in agents.list_open(project) if each.kind == "script" or (each.call and each.status != "used")
    ]
    return [each for each in left if each.conversation not in over]


def describe(project: OpenProject, rows: Iterable[Agent]) -> list[Entry]:
    """Return agents and runs in words; of a run the client's journal is read. Raises LedgerError."""
    listed, over = list(rows), conversations.ended_ids(project)
    sessions, found = conversations.session_ids(project, (each.conversation for each in listed)), []
    for row in listed:
        if row.kind == "script":
            run = ScriptRun(project, row)
            about = f"{row.name or 'a script'}: {run.counted}" + (f"; {row.description}" if row.description else "")
            kind, status = "run", _status(run, over)
        else:
            about = ": ".join(filter(None, (row.name or row.agent_type, row.description)))
            kind, status = row.kind, agents.standing(row, over)
        values = {name: getattr(row, name) for name in _OF_ROW}
        found.append(Entry(_name(row), kind, status, about, sessions[row.conversation], **values))
    return found


def line(entry: Entry) -> str:
    """Return an agent's or a run's name, where it stands and what it is, on one line."""
    return f"{entry.name:<24}  {entry.status:<11}  {one_line(entry.about, 80)}"


def results(project: OpenProject, row: Agent) -> list[Returned]:
    """Return the result of an agent, or of each agent of a run, from the client's journal as far as it exists."""
    over = conversations.ended_ids(project)
    if row.kind != "script":
        return [Returned(row.run, "", agents.standing(row, over), row.result)]
    run = ScriptRun(project, row)
    if run.journal:
        scripts.store_results(run)
        return [Returned(each.agent_id, each.label, each.state, each.result) for each in run.journal.agents]
    known = [(each, agents.standing(each, over)) for each in scripts.children(project, row)]
    finished = ("finished", "used")  # it is the script that uses it
    return [
        Returned(each.run, each.description, "finished" if word in finished else word, each.result)
        for each, word in known
    ]


def discard(project: OpenProject, row: Agent) -> None:
    """Record that an agent or a run, wherever it was carried, is not to be used again. Raises LedgerError."""
    table = project.ledger.table(Agent)
    for each in table.where(run=row.run, kind="script") if row.kind == "script" else [row]:
        agents.change(project, each, discarded=True)


def ids(project: OpenProject, row: Agent) -> frozenset[tuple[str, str]]:
    """Return the ids by which an agent or a run is known, and those of the run's agents, each with its conversation.

    Raises:
        LedgerError: the ledger can't be read.
    """
    if row.kind != "script":
        return frozenset({(row.conversation, row.run), (row.conversation, row.call)})
    found = set[tuple[str, str]]()
    for each in project.ledger.table(Agent).where(run=row.run, kind="script"):
        journal = ScriptRun(project, each).journal
        names = [each.run, each.call, *(agent.agent_id for agent in (journal.agents if journal else ()))]
        names += [child.run for child in scripts.children(project, each)]
        found |= {(each.conversation, name) for name in names if name}
    return frozenset(found)


def _name(row: Agent) -> str:
    return row.run or row.call


def _status(run: ScriptRun, over: Collection[str]) -> str:
    """Return where a run stands: as any agent does, but the client's files know first how it ended, and in part."""
    word = agents.standing(run.row, over)
    if run.row.discarded or run.status == "running":
        return word
    return "used" if run.status == "finished" and run.row.used_at else run.status
