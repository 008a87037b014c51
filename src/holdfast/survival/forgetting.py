"""Forgetting what Holdfast knows of a project, or of a part of it, so that its words stand in no file any more.

A table of the ledger is understood by the names of its columns, so that none is left out that is added one day:
`project` in every table; `session` and the other names a session goes by; `workflow`; and every moment's column.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.errors import HoldfastError, StateError
from holdfast.state import cache
from holdfast.survival import extracts, generations, owners, recordings, seals
from holdfast.workflow import formats, names, places, sidecars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.project import Project
    from holdfast.workflow.model import Workflow

SESSIONS = ("session", "claimed_by", "heir", "before")  # the columns that name a session; in `sessions` it is the id
MOMENTS = ("at", "since", "first_seen", "last_seen")  # the columns of moments whose name does not end in `_at`
SHORTEST = 4  # characters of a workflow's name whose being in a line says anything
_ASIDE = ("*.corrupt-*", "*.kept-*")
_VIEW = ".claude/workflow_state_system.md"


@dataclass(frozen=True, slots=True)
class Scope:
    """What to forget; exactly one of these, or a span of time.

    Attributes:
        everything: all of the project, in all of its worktrees.
        session: all of this session.
        workflow: all of this workflow.
        worktree: the checkout that the workflow is, or was, in.
        since: what changed last at this UTC stamp or later; empty is from the beginning.
        before: what changed last before this UTC stamp; empty is to the end.
    """

    everything: bool = False
    session: str = ""
    workflow: Workflow | None = None
    worktree: str = ""
    since: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, or would be.

    Attributes:
        rows: how many rows of which table of the ledger.
        recorded: how many recorded events.
        logged: how many lines of the log.
        files: sidecars and damaged ledgers that were set aside.
        reports: pages that tell of all of it, and go with whatever else goes, for they can be made anew.
        stays: files in the project with the same words, which are the user's own.
        clean: whether the words are gone from the ledger's file for certain.
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


@dataclass(frozen=True, slots=True)
class _Cut:
    """Rows of a table."""

    table: str
    where: str
    values: tuple[object, ...]


def plan(project: Project, scope: Scope) -> Forgotten:
    """Return what would be forgotten; nothing is changed. Raises LedgerError, OSError."""
    return _go(project, scope, dry=True)


def forget(project: Project, scope: Scope) -> Forgotten:
    """Forget, and make sure that the words stand in no file of Holdfast's any more.

    The user's own files stay: state files, what was set aside of them, and the client's transcripts.

    Raises:
        HoldfastError: the ledger cannot be used.
        OSError: a file cannot be written.
    """
    if project.ledger_file.exists() and project.ledger.problem:
        raise HoldfastError(
            f"{project.ledger.problem}; so nothing was forgotten. `holdfast doctor` says how to mend it"
        )
    return _go(project, scope, dry=False)


def scrub(project: Project) -> bool:
    """Make sure that nothing of what went earlier stands in the ledger's file or beside it; tell whether that is so.

    Of a ledger that cannot be used nothing is known, and nothing went. Raises LedgerError.
    """
    cache.clear()
    return not project.ledger_file.exists() or bool(project.ledger.problem) or project.ledger.scrub()


def _go(project: Project, scope: Scope, *, dry: bool) -> Forgotten:
    known = project.ledger_file.exists()
    tables = _tables(project) if known else {}
    roots = _roots(project, tables)
    reports = tuple(_reports(roots))
    files = tuple(sorted({*_sidecars(project, scope, roots), *_damaged(project), *(reports * scope.everything)}))
    rows = _rows(project, scope, tables, dry=dry) if known else {}
    if not dry:
        for file in {*files, *reports}:
            file.unlink(missing_ok=True)
        for root in roots:
            with suppress(OSError):
                paths.sidecar_dir(root).rmdir()
    recorded = recordings.forget(project, lambda name, line: _is_recorded(scope, name, line), dry=dry)
    logged = log.forget(lambda line: _is_logged(scope, roots, line), dry=dry)
    if not dry:
        cache.clear()  # it names folders of workflows and plans, and has the code of the project's own handlers
    clean = dry or not known or project.ledger.scrub()
    return Forgotten(rows, recorded, logged, files, reports, tuple(_staying(scope, roots)), clean)


def _tables(project: Project) -> dict[str, tuple[str, ...]]:
    return {name: columns for name, columns in project.ledger.tables().items() if "project" in columns}


def _rows(project: Project, scope: Scope, tables: Mapping[str, Sequence[str]], *, dry: bool) -> dict[str, int]:
    """Delete rows, or count them, by table; tombstones stay without a name, unless everything goes."""
    ledger, counts = project.ledger, dict[str, int]()
    if not dry:
        ledger.overwrite()
    with ledger.transaction():
        for cut in _cuts(project, scope, tables):
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
        if scope.workflow and "seals" in tables:
            counts["seals"] = seals.forget(project, scope.workflow.key, scope.worktree, dry=dry)
    return {name: number for name, number in sorted(counts.items()) if number}


def _cuts(project: Project, scope: Scope, tables: Mapping[str, Sequence[str]]) -> Iterator[_Cut]:
    if scope.workflow:
        yield from _of_workflow(project, scope, scope.workflow, tables)
        return
    for table, columns in sorted(tables.items(), key=lambda each: each[0] == "sessions"):  # others ask that one
        if scope.everything:
            yield _Cut(table, "project = ?", (project.key,))
        elif scope.session:
            named = [each for each in columns if each in SESSIONS or (table == "sessions" and each == "id")]
            if named:
                where = " OR ".join(f"{each} = ?" for each in named)
                yield _Cut(table, f"project = ? AND ({where})", (project.key, *[scope.session] * len(named)))
        elif moments := [each for each in columns if each in MOMENTS or each.endswith("_at")]:
            where, values = _span(moments, scope)
            yield _Cut(table, f"project = ? AND {where}", (project.key, *values))
        elif "session" in columns and "sessions" in tables:
            where, values = _span(("first_seen", "last_seen", "ended_at"), scope)
            inner = f"SELECT id FROM sessions WHERE project = ? AND {where}"
            yield _Cut(table, f"project = ? AND session IN ({inner})", (project.key, project.key, *values))


def _span(moments: Sequence[str], scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return the condition that a row's last moment lies in the span; a column may hold a word in place of one."""
    plain = [f"(CASE WHEN {each} < '3' THEN {each} ELSE '' END)" for each in moments]
    where, values = f"({' OR '.join(f'{each} >= ?' for each in plain)})", [scope.since] * len(plain)
    if scope.before:
        where += f" AND NOT ({' OR '.join(f'{each} >= ?' for each in plain)})"
        values += [scope.before] * len(plain)
    return where, tuple(values)


def _of_workflow(
    project: Project, scope: Scope, workflow: Workflow, tables: Mapping[str, Sequence[str]]
) -> Iterator[_Cut]:
    key, place = (project.key, scope.worktree), (project.key, scope.worktree, workflow.key)
    mine = "project = ? AND worktree = ? AND workflow = ?"
    if {"runs", "launches"} <= set(tables):
        inner = f"SELECT agent_id FROM launches WHERE {mine} AND agent_id IS NOT NULL"
        yield _Cut("runs", f"project = ? AND agent_id IN ({inner})", (project.key, *place))
    if {"summaries", "owners"} <= set(tables):
        inner = f"SELECT session FROM owners WHERE {mine}"
        yield _Cut("summaries", f"project = ? AND session IN ({inner})", (project.key, *place))
    for table, columns in tables.items():
        if "workflow" in columns:
            # Not every table says in which checkout, but the key says which file, and which one was in it.
            where = mine if "worktree" in columns else "project = ? AND workflow = ?"
            yield _Cut(table, where, place if "worktree" in columns else (project.key, workflow.key))
    titles = tuple(dict.fromkeys([workflow.title, *(phase.title for phase in workflow.phases)]))
    if "todo_tasks" in tables:
        listed = ", ".join("?" * len(titles))
        yield _Cut("todo_tasks", f"project = ? AND worktree = ? AND subject IN ({listed})", (*key, *titles))
    if "extracts" in tables:
        yield _Cut("extracts", "project = ? AND worktree = ? AND path = ?", (*key, workflow.place))
    if "tombstones" in tables:
        yield _Cut("tombstones", "project = ? AND worktree = ? AND name = ?", (*key, names.key(workflow.title)))
    if "generations" in tables:
        for generation in generations.of(project, scope.worktree, _content_of(project, workflow)):
            yield _Cut("generations", "project = ? AND id = ?", (project.key, generation))


def _content_of(project: Project, workflow: Workflow) -> Callable[[str, bytes], bool]:
    """Return whether what a path held was this workflow, or said something of it; what nobody can read any more too."""
    folder = Path(workflow.place).parent

    def wanted(place: str, raw: bytes) -> bool:
        if Path(place).parent != folder:
            return False
        try:
            found = formats.get(workflow.format).parsed(project, project.root / place, raw)
        except StateError:
            return _id_of(raw) in (workflow.id, None)
        return found.key == workflow.key or (place != workflow.place and _same(found.title, workflow.title))

    return wanted


def _same(one: str, other: str) -> bool:
    return names.key(one) == names.key(other)


def _id_of(raw: bytes) -> str | None:
    """Return whose a content is that is no workflow by itself, such as the file beside a `hybrid` one."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return str(data["id"]) if isinstance(data, dict) and "id" in data else None


def _roots(project: Project, tables: Mapping[str, Sequence[str]]) -> list[Path]:
    """Return the checkouts that the ledger knows of, this one first."""
    found = {
        row["worktree"]: None
        for table, columns in tables.items()
        if "worktree" in columns
        for row in project.ledger.rows(f"SELECT DISTINCT worktree FROM {table} WHERE project = ?", project.key)
    }
    return [project.root, *(Path(each) for each in sorted(found) if each not in ("", str(project.root)))]


def _sidecars(project: Project, scope: Scope, roots: Sequence[Path]) -> Iterator[Path]:
    if scope.workflow:
        yield from filter(Path.is_file, [sidecars.place(Path(scope.worktree), scope.workflow)])
        return
    if scope.session:
        if project.ledger_file.exists():
            for each in formats.all_found(project).workflows:
                if owners.owner(project, each) == scope.session:
                    yield from filter(Path.is_file, [sidecars.place(project.root, each)])
        return
    for root in roots:
        folder = paths.sidecar_dir(root)
        if folder.is_symlink():
            continue
        for file in folder.glob("*") if folder.is_dir() else ():
            ours = file.name == ".gitignore" or file.suffix in (".md", ".tmp")
            if ours and file.is_file() and (scope.everything or (file.suffix != "" and _changed_in(scope, file))):
                yield file


def _reports(roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the reports in our folders: each tells of everything, and can be made anew."""
    for root in roots:
        folder = paths.sidecar_dir(root)
        if not folder.is_symlink():
            yield from (file for file in folder.glob("*.html") if file.is_file())


def _changed_in(scope: Scope, file: Path) -> bool:
    from holdfast import clock

    return _within(scope, clock.stamp(clock.from_mtime(file.lstat().st_mtime)))


def _within(scope: Scope, at: str) -> bool:
    return at >= scope.since and (not scope.before or at < scope.before)


def _damaged(project: Project) -> Iterator[Path]:
    """Yield ledgers of this project that were set aside: nobody can take a part out of those."""
    yield from project.ledger_file.parent.glob(f"{project.ledger_file.name}.corrupt-*")


def _is_recorded(scope: Scope, name: str, line: str) -> bool:
    if scope.everything:
        return True
    if scope.session:
        return name == recordings.of(scope.session)
    if scope.workflow:
        return any(json.dumps(each)[1:-1] in line for each in _names(scope.workflow))
    try:
        return _within(scope, str(json.loads(line)["at"]))
    except (ValueError, LookupError, TypeError):
        return True  # half a line; nobody can tell when


def _is_logged(scope: Scope, roots: Sequence[Path], line: str) -> bool:
    if scope.session:
        return scope.session in line
    if not any(log.concerns(line, root) for root in roots):
        return False
    if scope.workflow:
        return any(log.written(each) in line for each in _names(scope.workflow))
    return scope.everything or _within(scope, line.split(" ", 1)[0])


def _names(workflow: Workflow) -> list[str]:
    return [each for each in (workflow.id, workflow.title) if len(each) >= SHORTEST]


def _staying(scope: Scope, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the user's own files with the same words."""
    if scope.workflow:
        own = Path(scope.worktree) / scope.workflow.place
        yield from filter(Path.is_file, [own, *(file for each in _ASIDE for file in own.parent.glob(each))])
    if not scope.everything:
        return
    for root in roots:
        for place in (*places.STATES, _VIEW):
            yield from (file for file in sorted(root.glob(place)) if file.is_file())
            yield from (file for each in _ASIDE for file in sorted(root.glob(f"{Path(place).parent}/{each}")))
