"""Forgetting what Holdfast knows of a project, or of a part of it, so that its words stand in no file any more.

`ledger_rows` takes it out of the ledger; here are the files beside that: sidecars, reports, recordings and the log.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import HoldfastError
from holdfast.files import cache
from holdfast.formats import RECORDS
from holdfast.sessions.forget import ledger_rows
from holdfast.sessions.history import recordings
from holdfast.sessions.ownership import owners
from holdfast.workflow import ownfolder, places, registry, sidecars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.sessions.forget.ledger_rows import Scope
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

SHORTEST_CHARS = 4  # characters of a workflow's name whose being in a line says anything


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


def plan(project: Workspace, scope: Scope) -> Forgotten:
    """Return what would be forgotten; nothing is changed. Raises HoldfastError, OSError."""
    return _go(project, scope, dry=True)


def forget(project: Workspace, scope: Scope) -> Forgotten:
    """Forget, and make sure that the words stand in no file of Holdfast's any more.

    The user's own files stay: state files, what was set aside of them, and the client's transcripts.

    Raises:
        HoldfastError: the ledger cannot be used.
        OSError: a file cannot be written.
    """
    return _go(project, scope, dry=False)


def scrub(project: Workspace) -> bool:
    """Make sure that nothing of what went earlier stands in the ledger's file or beside it; tell whether that is so.

    Raises HoldfastError where the ledger cannot be used.
    """
    cache.clear()
    clean = not project.ledger_file.exists() or project.ledger.scrub()
    insist_on_ledger(project)
    return clean


def insist_on_ledger(project: Workspace, so: str = "nothing was forgotten") -> None:
    """Raise HoldfastError where the ledger's file is not what was read and written: never say "forgotten" then."""
    if project.ledger_file.exists() and project.ledger.problem:
        raise HoldfastError(f"{so}; `holdfast doctor` says what is wrong with the ledger")


def _go(project: Workspace, scope: Scope, *, dry: bool) -> Forgotten:
    known = project.ledger_file.exists()
    insist_on_ledger(project)
    tables = ledger_rows.tables(project) if known else {}
    roots = ledger_rows.checkouts(project, tables)
    reports = tuple(_reports(roots))
    files = tuple(sorted({*_sidecars(project, scope, roots), *_damaged(project), *(reports * scope.everything)}))
    rows = ledger_rows.rows(project, scope, tables, dry=dry) if known else {}
    insist_on_ledger(project)  # it may have been given up meanwhile, and undone
    if not dry:
        for file in {*files, *reports}:
            file.unlink(missing_ok=True)
        for root in roots:
            with suppress(OSError):
                if folder := ownfolder.existing(root):
                    folder.rmdir()
    recorded = recordings.forget(project, lambda name, line: _is_recorded(scope, name, line), dry=dry)
    logged = log.forget(lambda line: _is_logged(scope, roots, line), dry=dry)
    if not dry:
        cache.clear()  # it names folders of workflows and plans, and has the code of the project's own handlers
    clean = dry or not known or project.ledger.scrub()
    insist_on_ledger(project, "forgotten, but words may still stand in its file; run this again")
    return Forgotten(rows, recorded, logged, files, reports, tuple(_staying(scope, roots)), clean)


def _sidecars(project: Workspace, scope: Scope, roots: Sequence[Path]) -> Iterator[Path]:
    if scope.workflow:
        if ownfolder.existing(Path(scope.worktree)):
            yield from filter(Path.is_file, [sidecars.place(Path(scope.worktree), scope.workflow)])
        return
    if scope.session:
        if project.ledger_file.exists() and ownfolder.existing(project.root):
            for each in registry.all_found(project).workflows:
                if owners.owner(project, each) == scope.session:
                    yield from filter(Path.is_file, [sidecars.place(project.root, each)])
        return
    for root in roots:
        folder = ownfolder.existing(root)
        for file in folder.glob("*") if folder else ():
            dated = file.suffix in (".md", ".tmp")
            if (scope.everything or (dated and _changed_in(scope, file))) and ownfolder.wrote(file):
                yield file


def _reports(roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the reports in our folders: each tells of everything, and can be made anew."""
    for root in roots:
        folder = ownfolder.existing(root)
        yield from filter(ownfolder.wrote, folder.glob("*.html") if folder else ())


def _changed_in(scope: Scope, file: Path) -> bool:
    from holdfast import clock

    return _within(scope, clock.stamp(clock.from_mtime(file.lstat().st_mtime)))


def _within(scope: Scope, at: str) -> bool:
    return at >= scope.since and (not scope.before or at < scope.before)


def _damaged(project: Workspace) -> Iterator[Path]:
    """Yield ledgers of this project that were set aside: nobody can take a part out of those."""
    yield from project.ledger_file.parent.glob(f"{project.ledger_file.name}.corrupt-*")


def _is_recorded(scope: Scope, name: str, line: str) -> bool:
    if scope.everything:
        return True
    if scope.session:
        return name == recordings.file_name(scope.session)
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
    return [each for each in (workflow.id, workflow.title) if len(each) >= SHORTEST_CHARS]


def _staying(scope: Scope, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the user's own files with the same words."""
    if scope.workflow:
        root = Path(scope.worktree)
        own = root / scope.workflow.place
        if scope.workflow.spread:
            yield from (file for file in sorted(own.parent.rglob("*")) if file.is_file())
        else:
            views = (root / place for place in (scope.workflow.beside, *RECORDS[scope.workflow.format].VIEWS))
            asides = (file for each in places.ASIDE for file in own.parent.glob(each))
            yield from filter(Path.is_file, [own, *views, *asides])
    if not scope.everything:
        return
    for root in roots:
        if folder := ownfolder.existing(root):
            yield from (file for file in sorted(folder.glob("*")) if not ownfolder.wrote(file))
        patterns = [each for record in RECORDS.values() for each in (*record.STATES, *record.VIEWS)]
        patterns += [f"{each.rpartition('/')[0]}/{aside}" for each in patterns for aside in places.ASIDE]
        yield from {file: None for each in patterns for file in sorted(root.glob(each)) if file.is_file()}
