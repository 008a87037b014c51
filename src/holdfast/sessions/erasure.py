"""Forget what Holdfast remembers of a project, or of a part of it: rows of the ledger, sidecars, reports, the log.

Tables are recognised by the names of their columns, so that a table added later isn't missed: the columns that name a
conversation (`SESSIONS`), and `workflow`. Agents are found by their ids. A ledger holds one project.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log
from holdfast.errors import HoldfastError, StateError
from holdfast.files import cache
from holdfast.formats import RECORDS
from holdfast.memory.rows import TABLES, Agent, Content, Conversation, Event, Row, Task, Told, WorkflowRow
from holdfast.memory.store import ANY, any_of
from holdfast.sessions import compactions, conversations, imports, recordings
from holdfast.workflow import holdfast_folder, names, places, registry, statefile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

Named = frozenset[tuple[str, str]]
"""Ids of agents, of their calls and of runs of scripts, each with its conversation."""
SESSIONS = ("conversation", "restored_in")
"""Columns that name a conversation; in their own table it is `id`."""
CLEARED = ("owner", "previous_owner", "forked_from")
"""Columns that name a conversation in a row that stays without it."""
SHORTEST_CHARS = 4  # a shorter name of a workflow is in a text by chance


@dataclass(frozen=True, slots=True)
class Scope:
    """What to forget: everything, one conversation, one workflow, or agents.

    Attributes:
        everything: the whole project, in all of its worktrees.
        conversation: a conversation's id; empty for none. It may also be the session id of another conversation.
        sessions: the session ids that it has had.
        workflow: a workflow, None for none.
        worktree: the checkout that the workflow is, or was, in.
        agents: ids of agents, of their calls and of runs of scripts, each with its session; for a workflow its own.
    """

    everything: bool = False
    conversation: str = ""
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
class Forgotten:
    """What was erased, or would be.

    Attributes:
        rows: the number of rows, by table of the ledger.
        recorded: the number of recorded events.
        logged: the number of lines of the log.
        files: sidecars, and damaged ledgers that were set aside.
        reports: HTML reports. They cover the whole project and can be made again, so they always go.
        stays: the user's own files in the project with the same content, which stay.
        clean: whether the erased text is certainly gone from the ledger's file.
    """

    rows: Mapping[str, int]
    recorded: int
    logged: int
    files: tuple[Path, ...]
    reports: tuple[Path, ...]
    stays: tuple[Path, ...]
    clean: bool = True

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to forget."""
        return not (any(self.rows.values()) or self.recorded or self.logged or self.files)


def forget(project: Workspace, scope: Scope, *, dry: bool = False) -> Forgotten:
    """Erase what is in scope from all of Holdfast's files; `dry` only tells what would be.

    The user's own files stay: state files, their copies that were set aside, and the client's transcripts.

    Raises:
        HoldfastError: the ledger can't be used.
        OSError: a file can't be written.
    """
    known = project.ledger_file.exists()
    insist_on_ledger(project)
    if known and (scope.workflow or scope.agents):
        scope = with_agents(project, scope)
    roots = checkouts(project)
    reports = tuple(_reports(project, roots))
    files = tuple(sorted({*_sidecars(project, scope, roots), *_unread_ledgers(project), *(reports * scope.everything)}))
    rows = _rows(project, scope, dry=dry) if known else {}
    insist_on_ledger(project)  # it may have failed meanwhile, and its changes with it
    if not dry:
        for file in {*files, *reports}:
            file.unlink(missing_ok=True)
        for root in roots:
            with suppress(OSError):
                if folder := holdfast_folder.existing(root):
                    folder.rmdir()
    recorded = recordings.forget(project, lambda name, line: _is_recorded(scope, name, line), dry=dry)
    logged = log.forget(lambda line: _is_logged(scope, roots, line), dry=dry)
    if not dry:
        cache.clear()  # it holds paths of workflows, plans and the project's own handlers
    clean = dry or not known or project.ledger.scrub()
    insist_on_ledger(project, "forgotten, but words may still be in its file, so run this again later")
    return Forgotten(rows, recorded, logged, files, reports, tuple(_staying(scope, roots)), clean)


def unclean(project: Workspace) -> HoldfastError:
    """Return an error about a ledger that another process kept from being cleaned."""
    text = (
        f"forgotten, but another process is reading {project.ledger_file}, so text may be left in the file next to it"
    )
    return HoldfastError(f"{text}; run this again when no session is busy")


def insist_on_ledger(project: Workspace, so: str = "nothing was forgotten") -> None:
    """Raise HoldfastError if the ledger's file is not what was read and written: never claim "forgotten" then."""
    if project.ledger_file.exists() and project.ledger.problem:
        raise HoldfastError(f"{so}: the ledger can't be used now")


def workflow_files(project: Workspace) -> list[Path]:
    """Return the files of workflows in a checkout, without those of other programs."""
    theirs = {each.path for each in registry.foreign(project)}
    return [each for each in _in_workflow_places([project.root]) if each not in theirs]


def delete_workflows(project: Workspace, files: Sequence[Path]) -> None:
    """Delete files of workflows, with the `.gitignore` that kept them out of git and the folders that are then empty.

    Raises OSError if a file can't be deleted.
    """
    for file in files:
        file.unlink()
    for folder in set(filter(None, (places.private(project.root, file) for file in files))):
        statefile.end_out_of_git(folder)
    for file in files:
        with suppress(OSError):  # a folder stays if it holds other files
            for folder in file.relative_to(project.root).parents[:-1]:
                (project.root / folder).rmdir()


def _in_workflow_places(roots: Sequence[Path]) -> list[Path]:
    """Return the states, views and copies that were set aside in these checkouts."""
    patterns = [each for record in RECORDS.values() for each in (*record.STATES, *record.VIEWS)]
    patterns += [f"{each.rpartition('/')[0]}/{aside}" for each in patterns for aside in places.ASIDE]
    return [*{file: None for root in roots for each in patterns for file in sorted(root.glob(each)) if file.is_file()}]


def _sidecars(project: Workspace, scope: Scope, roots: Sequence[Path]) -> Iterator[Path]:
    for session in {session for session, _ in scope.agents}:
        places = {
            holdfast_folder.result_place(root, each) for root in roots for of, each in scope.agents if of == session
        }
        yield from (file for root in roots for file in holdfast_folder.results(root, session) if file in places)
    if scope.workflow and holdfast_folder.existing(Path(scope.worktree)):
        yield from filter(Path.is_file, [holdfast_folder.sidecar_place(Path(scope.worktree), scope.workflow)])
    if scope.workflow or scope.agents:
        return
    if scope.everything:
        folders = [folder for root in roots if (folder := holdfast_folder.existing(root))]
        yield from (file for folder in folders for file in folder.glob("*") if holdfast_folder.wrote(file))
        return
    yield from (file for root in roots for file in holdfast_folder.results(root, scope.conversation))
    if project.ledger_file.exists() and holdfast_folder.existing(project.root):
        rows = project.ledger.table(WorkflowRow).where(worktree=project.worktree, owner=scope.conversation)
        owned = {each.workflow for each in rows}
        for each in registry.with_keys(project, owned).workflows:
            if each.key in owned:
                yield from filter(Path.is_file, [holdfast_folder.sidecar_place(project.root, each)])


def _reports(project: Workspace, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the HTML reports next to the ledger and in Holdfast's folders of these checkouts."""
    yield from filter(holdfast_folder.wrote, [holdfast_folder.beside(project.ledger_file)])
    for root in roots:
        folder = holdfast_folder.existing(root)
        yield from filter(holdfast_folder.wrote, folder.glob("*.html") if folder else ())


def _unread_ledgers(project: Workspace) -> Iterator[Path]:
    """Yield the ledgers that nothing reads: damaged or former ones. Nothing can be deleted from them in part."""
    yield from project.ledger_file.parent.glob(f"{project.ledger_file.name}.corrupt-*")
    for former in project.former_ledgers:
        yield from former.parent.glob(f"{former.name}*")


def _is_recorded(scope: Scope, name: str, line: str) -> bool:
    if scope.everything or name in map(recordings.file_name, scope.sessions):
        return True
    return any(json.dumps(each)[1:-1] in line for each in scope.names)


def _is_logged(scope: Scope, roots: Sequence[Path], line: str) -> bool:
    if scope.sessions:
        return any(each in line for each in scope.sessions)
    if not any(log.concerns(line, root) for root in roots):
        return False
    return scope.everything or any(log.written(each) in line for each in scope.names)


def _staying(scope: Scope, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the user's own files that hold the same content."""
    if scope.workflow:
        root = Path(scope.worktree)
        own = root / scope.workflow.place
        if scope.workflow.spread:
            yield from (file for file in sorted(own.parent.rglob("*")) if file.is_file())
        else:
            held = filter(None, (scope.workflow.beside, *RECORDS[scope.workflow.format].VIEWS))
            views = (file for pattern in held for file in sorted(root.glob(pattern)))
            asides = (file for each in places.ASIDE for file in own.parent.glob(each))
            yield from filter(Path.is_file, [own, *views, *asides])
    if not scope.everything:
        return
    for root in roots:
        if folder := holdfast_folder.existing(root):
            yield from (file for file in sorted(folder.glob("*")) if not holdfast_folder.wrote(file))
    yield from _in_workflow_places(roots)


def of_conversation(project: Workspace, conversation: str) -> Scope:
    """Return the scope of a conversation. Raises LedgerError."""
    return Scope(conversation=conversation, sessions=tuple(sorted(conversations.all_ids(project, conversation))))


def checkouts(project: Workspace) -> list[Path]:
    """Return the checkouts of the project that the ledger knows, this one first. Raises LedgerError."""
    found = {
        row["worktree"]
        for table in (TABLES if project.ledger_file.exists() else ())
        if "worktree" in _columns(table)
        for row in project.ledger.rows(f"SELECT DISTINCT worktree FROM {table.TABLE}")
    }
    return [project.root, *(Path(each) for each in sorted(found - {"", str(project.root)}))]


def with_agents(project: Workspace, scope: Scope) -> Scope:
    """Return a scope with the ids of its workflow's agents, and of later calls that were refused because of them.

    Such a call was refused because one of these agents had done its work. Raises LedgerError.
    """
    table, found = project.ledger.table(Agent), scope.agents
    if scope.workflow:
        found = _ids(table.where(worktree=scope.worktree, workflow=scope.workflow.key))
    rows = {row.id for where, values in _of_agents(found) for row in table.where(where, *values)}
    refused = _ids(each for each in table.where(verdict="refused") if each.source in rows)
    return replace(scope, agents=found | refused)


def _rows(project: Workspace, scope: Scope, *, dry: bool) -> dict[str, int]:
    """Delete the rows in scope and return their number by table; `dry` only counts. Raises LedgerError."""
    ledger, counts = project.ledger, dict[str, int]()
    if not dry:
        ledger.rows("PRAGMA secure_delete = ON")  # what is deleted from now on is overwritten with zeros
    with ledger.transaction():
        for row, where, values in _cuts(project, scope):
            table = ledger.table(row)
            number = table.count(where, *values) if dry else table.drop(where, *values)
            counts[row.TABLE] = counts.get(row.TABLE, 0) + number
        if scope.workflow:
            key, name = scope.workflow.key, names.key(scope.workflow.title)
            counts["compactions"] = compactions.forget(project, key, scope.worktree, dry=dry)
            counts["imports"] = imports.forget(project, scope.worktree, scope.workflow.place, name, dry=dry)
        if not dry:
            _clear(project, scope)
    return {name: number for name, number in sorted(counts.items()) if number}


def _columns(row: type[Row]) -> set[str]:
    return {each.name for each in fields(row)}


def _ids(rows: Iterable[Agent]) -> Named:
    return frozenset((row.conversation, each) for row in rows for each in (row.call, row.run) if each)


def _of_agents(agents: Named) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield conditions, with their values, that select the rows with some ids, and those of the runs' agents."""
    for conversation in sorted({each for each, _ in agents}):
        ids = any_of(sorted(each for of, each in agents if of == conversation))
        yield f"conversation = ? AND (run {ANY} OR call {ANY} OR parent {ANY})", (conversation, ids, ids, ids)


def _clear(project: Workspace, scope: Scope) -> None:
    """Remove the ids of a conversation from rows that stay, and let no run of a script stand for one that is gone."""
    for row in TABLES if scope.conversation else ():
        for column in sorted(_columns(row) & {*CLEARED}):
            project.ledger.table(row).update({column: ""}, f"{column} = ?", scope.conversation)
    gone = "source <> '' AND source NOT IN (SELECT id FROM agents)"
    project.ledger.table(Agent).update({"source": "", "description": ""}, gone, kind="script")


_Cut = tuple[type[Row], str, tuple[Any, ...]]
"""Rows to delete: their table, and the condition that selects them with its values."""


def _cuts(project: Workspace, scope: Scope) -> Iterator[_Cut]:
    if scope.workflow:
        yield from _of_workflow(project, scope, scope.workflow)
    if scope.workflow or scope.agents:
        yield from ((Agent, *each) for each in _of_agents(scope.agents))
        for name in scope.names:  # what an agent said may be quoted in a decision's reason
            yield Event, "instr(data, ?)", (json.dumps(name)[1:-1],)
    for row in TABLES:
        if scope.everything:
            yield row, "1", ()
        elif scope.conversation:
            named = ["id"] if row is Conversation else sorted(_columns(row) & {*SESSIONS})
            if named:
                where = " OR ".join(f"{each} = ?" for each in named)
                yield row, where, (scope.conversation,) * len(named)


def _of_workflow(project: Workspace, scope: Scope, workflow: Workflow) -> Iterator[_Cut]:
    for row in TABLES:
        columns = _columns(row)
        if "workflow" in columns and row is not Agent:  # those are in `scope.agents`
            # Not every table has the checkout, but the key has the file, and which workflow was in it.
            here = "worktree = ? AND workflow = ?" if "worktree" in columns else "workflow = ?"
            yield row, here, (scope.worktree, workflow.key) if "worktree" in columns else (workflow.key,)
    other = (
        "key <> '' AND key NOT LIKE '%:%#%'"  # a plan's path or a report stands there; it is only announced once more
    )
    yield Told, f"key = ? OR value = ? OR ({other})", (workflow.key, workflow.key)
    titles = [workflow.title, *(phase.title for phase in workflow.phases)]
    yield Task, f"subject {ANY}", (any_of(titles),)
    yield Event, "worktree = ? AND instr(data, ?)", (scope.worktree, json.dumps(workflow.key))
    version = "worktree = ? AND path = ? AND number = ?"
    for each in project.ledger.rows("SELECT path, number FROM contents WHERE worktree = ?", scope.worktree):
        stored = (scope.worktree, each["path"], each["number"])
        content = project.ledger.table(Content).one(version, *stored)
        if content and _is_content_of(project, workflow, content.path, bytes(content.content)):
            yield Content, version, stored
            noted = json.dumps({"path": each["path"], "number": each["number"]})[1:-1]
            yield Event, "worktree = ? AND kind = 'generation' AND instr(data, ?)", (scope.worktree, noted)


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
    """Return the id in a content that is no workflow by itself, such as the notes of a `hybrid` one; else None."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return str(data["id"]) if isinstance(data, dict) and "id" in data else None
