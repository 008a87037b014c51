"""Erase what Holdfast knows of a project, or of a part of it, from all of its files.

`ledger_rows` deletes from the ledger; this module does the files: sidecars, reports, recordings and the log.
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
from holdfast.sessions import owners, recordings
from holdfast.sessions.forget import ledger_rows
from holdfast.workflow import holdfast_folder, places, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.sessions.forget.ledger_rows import Scope
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


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
        scope = ledger_rows.with_agents(project, scope)
    roots = ledger_rows.checkouts(project)
    reports = tuple(_reports(project, roots))
    files = tuple(sorted({*_sidecars(project, scope, roots), *_unread_ledgers(project), *(reports * scope.everything)}))
    rows = ledger_rows.rows(project, scope, dry=dry) if known else {}
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
    insist_on_ledger(project, "forgotten, but words may still stand in its file; run this again")
    return Forgotten(rows, recorded, logged, files, reports, tuple(_staying(scope, roots)), clean)


def scrub(project: Workspace) -> bool:
    """Remove the traces of earlier erasures from the ledger's file and the files beside it.

    Returns whether they are certainly gone. Raises HoldfastError if the ledger can't be used.
    """
    cache.clear()
    clean = not project.ledger_file.exists() or project.ledger.scrub()
    insist_on_ledger(project)
    return clean


def unclean(project: Workspace, then: str) -> HoldfastError:
    """Return an error about a ledger that another process kept from being cleaned; `then` says what cleans it."""
    text = f"forgotten, but another process is reading {project.ledger_file}, so text may be left in the file beside it"
    return HoldfastError(f"{text}; {then}")


def insist_on_ledger(project: Workspace, so: str = "nothing was forgotten") -> None:
    """Raise HoldfastError if the ledger's file is not what was read and written: never claim "forgotten" then."""
    if project.ledger_file.exists() and project.ledger.problem:
        raise HoldfastError(f"{so}; `holdfast doctor` says what is wrong with the ledger")


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
    yield from (file for root in roots for session in scope.sessions for file in holdfast_folder.results(root, session))
    if project.ledger_file.exists() and holdfast_folder.existing(project.root):
        for each in _workflows(project, scope.sessions):
            if owners.owner(project, each) in scope.sessions:
                yield from filter(Path.is_file, [holdfast_folder.sidecar_place(project.root, each)])


def _workflows(project: Workspace, sessions: Sequence[str]) -> Iterator[Workflow]:
    """Yield the project's workflows. Of very many only some are found, so those that the sessions own are read too."""
    found = registry.all_found(project)
    yield from found.workflows
    for key in [key for session in sessions for key in owners.owned(project, session)] if found.left else ():
        yield from registry.with_keys(project, [key]).workflows


def _reports(project: Workspace, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the HTML reports beside the ledger and in Holdfast's folders of these checkouts."""
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
        patterns = [each for record in RECORDS.values() for each in (*record.STATES, *record.VIEWS)]
        patterns += [f"{each.rpartition('/')[0]}/{aside}" for each in patterns for aside in places.ASIDE]
        yield from {file: None for each in patterns for file in sorted(root.glob(each)) if file.is_file()}
