"""Check that the workflow state files can be read, are current and agree with each other."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from holdfast import formats, paths
from holdfast.checks import folders, notice, ok, problem
from holdfast.errors import BrokenError, HoldfastError, SchemaMismatch, StateError, command_line
from holdfast.files import access, atomic, cache, document
from holdfast.files.lock import locked
from holdfast.formats import RECORDS
from holdfast.sessions import conversations, owners, rewind
from holdfast.workflow import places, registry, search, statefile
from holdfast.workflow.findings import ELSEWHERE, aside
from holdfast.workflow.values import Deviation
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.format import Format
    from holdfast.workflow.model import Foreign, Found, Problem, Workflow


def findings(project: Workspace, only: str = "") -> Iterator[Finding]:
    """Read every state file of the project, or `only` those of a format; nothing is written."""
    tops = [project.root / record.TOP for record in RECORDS.values()]
    if any(access.closed(each) not in (None, each) for each in tops):
        return  # the folders check reports a folder that can't be entered
    names = (only,) if only else formats.NAMES
    usable = {form.name: form for form in registry.usable(names)}
    found = registry.get(only).find(project) if only else registry.all_found(project)
    theirs = {each.path for each in registry.foreign(project)}
    own: list[Finding] = []
    for name, form in usable.items():
        own += of_format(project, form, [each for each in found.workflows if each.format == name])
    named = {each.path for each in own if each.code in ("broken", "foreign", "folder")}  # by the format itself
    wrong = [
        replace(_unread(project, each), code="broken", path=each.path)
        for each in found.problems
        if each.path not in theirs | named
        and not (folders.blocked(each.path) or folders.linked(project.root, each.path))
        and not (each.path in tops and access.is_link(each.path))  # the folders check reports that, too
    ]
    wrong += own
    offered = {each.remedy for each in wrong}
    wrong += [each for each in _replaced(project, only) if each.remedy not in offered]
    wrong += _stale(project, found)
    if not only:
        wrong += _left_over(project)
    yield from wrong
    if not wrong:
        yield ok(f"{count(len(found.workflows), 'workflow')}, with consistent files")


def of_format(project: Workspace, form: Format, workflows: Iterable[Workflow]) -> Iterator[Finding]:
    """Yield the problems of one format's files."""
    if not form.reports_all:
        yield from (misplaced(each) for each in in_the_way(project, registry.foreign(project, form.name)))
        level = problem if form.deviations == "problem" else notice
        for workflow in workflows:
            for warning in (*workflow.warnings, *workflow.remarks):
                field = warning.field if isinstance(warning, Deviation) else ""
                remedy = f"correct {workflow.path}"
                yield level(f"{workflow.path}: {warning}", remedy, code="schema", path=workflow.path, field=field)
    yield from form.findings(project)


def in_the_way(project: Workspace, foreign: Iterable[Foreign]) -> Iterator[Foreign]:
    """Yield other programs' files that block a format, without those that the folders check reports."""
    for each in foreign:
        if each.in_the_way and not (folders.blocked(each.path) or folders.linked(project.root, each.path)):
            yield each


def misplaced(each: Foreign) -> Finding:
    """Return the finding about a file in a format's place that isn't the format's."""
    text = f"{each.path}: {each.meaning}"
    if each.field:
        remedy = f'correct "{each.field}" in {each.path}'
        return problem(text, remedy, code="foreign", path=each.path, field=each.field)
    remedy = access.remedy(each.path) or each.remedy or ELSEWHERE
    return notice(text, remedy, code="foreign", path=each.path)


def _unread(project: Workspace, trouble: Problem) -> Finding:
    """Return the finding for a file that can't be read; a broken one is repaired from the ledger, or set aside."""
    path = trouble.path
    if unlinking := access.unlinking(path):
        return problem(f"{path}: {trouble.reason}", unlinking)
    if closed := access.remedy(path):
        return problem(f"{path}: {trouble.fault}", closed, access.opener(path))
    brought = (project.root / record.TOP for name, record in RECORDS.items() if name not in formats.OURS)
    if path in brought and access.is_folder(path):  # the package is at fault, not the folder
        return problem(f"{path}: {trouble.fault}", "upgrade the package that brings the format, or install it again")
    if path.suffix != ".json":  # only its format could repair it
        return problem(f"{path}: {trouble.reason}", putting_back(project, path) or aside(path))
    try:
        broken = statefile.read(project, path).repairable
    except SchemaMismatch:
        return notice(f"{path}: {trouble.reason}", ELSEWHERE)
    except StateError as error:
        broken = isinstance(error, BrokenError)
    if not broken:  # a file that can't be read needs a person
        return problem(
            f"{path}: {trouble.fault}",
            putting_back(project, path, replace=True) or aside(path),
        )
    text = "; ".join(filter(None, (trouble.fault, trouble.fallback)))
    return problem(f"{path}: {text}", "holdfast doctor --fix", partial(_mend, project, path))


def putting_back(project: Workspace, path: Path, *, replace: bool = False) -> str:
    """Return the command that puts the last whole content of a file back, if it was read; else nothing."""
    if not os.path.lexists(project.ledger_file):
        return ""  # nothing was, and looking would create it
    try:
        document.read(path, search.LIMIT_BYTES)
        last = rewind.last_state(project, path)
    except HoldfastError:
        return ""
    if last is None:
        return ""
    if replace:
        return rewind.putting_back(path, last[0])
    return command_line("restore", last[0], "--workflow", str(path))


def _mend(project: Workspace, path: Path) -> str:
    with locked(_lock(project, path)):
        try:
            statefile.read(project, path)
        except StateError:
            if project.ledger.problem:
                raise  # once the ledger is repaired, it may have an earlier content
            broken = statefile.set_aside(project, path)
            return f"set {path} aside as {broken.name}; no earlier content was known"
        try:
            _, changed = statefile.rewrite(project, path, lambda file: dict(file.data), why="doctor", repair=True)
        except SchemaMismatch:  # JSON of another kind: in a folder of the workflow's own nobody else can mean it
            if not _spread(project, path):
                raise
            file, changed = statefile.read(project, path), True
            document.set_aside(path)
            statefile.write(project, path, dict(file.data), None, why="doctor")
    return f"{path}: its last content is put back, and the broken one kept next to it" if changed else ""


def _lock(project: Workspace, path: Path) -> Path:
    """Return the folder to lock for writing a state file: the format's, or the workflow's own if they are spread."""
    return _spread(project, path) or next(
        (project.root / RECORDS[name].TOP for name in places.keepers(project.root, path)), path.parent
    )


def _spread(project: Workspace, path: Path) -> Path | None:
    """Return the folder of the workflow that a file belongs to; None if its format gives workflows none."""
    for name in places.keepers(project.root, path):
        top = project.root / RECORDS[name].TOP
        if RECORDS[name].SPREAD and path.is_relative_to(top) and path.parent != top:
            return top / path.relative_to(top).parts[0]
    return None


def _replaced(project: Workspace, only: str) -> Iterator[Finding]:
    """Yield a notice for each unfinished workflow whose file holds something else now."""
    for number, each in rewind.missing(project) if os.path.lexists(project.ledger_file) else ():
        if only in ("", each.format) and each.path.exists():
            text = f"{each.path} held {quoted(each.title)}, which is unfinished and in no file any more"
            yield notice(text, rewind.putting_back(each.path, number), path=each.path, code="replaced")


def _stale(project: Workspace, found: Found) -> Iterator[Finding]:
    """Yield a notice for each unfinished workflow that is too old to be restored and that no live session owns."""
    unfinished = [each for each in found.workflows if not each.finished]
    fresh = {each.key for each in owners.fresh_ones(project, unfinished)}
    old = [each for each in unfinished if each.key not in fresh]
    live, holders = conversations.live_others(project, "") if old else set(), owners.holders(project, old)
    for workflow in old:
        if holders[workflow.key] not in live:
            changed = owners.changed_at(project, workflow)[:10]
            text = (
                f"{workflow.path}: {quoted(workflow.title)} is unfinished ({workflow.position}), but last "
                f"changed on {changed} and owned by no live session, so Holdfast no longer restores it by itself"
            )
            yield notice(text, command_line("done", "--all", workflow.id), code="stale", path=workflow.path)


def _left_over(project: Workspace) -> Iterator[Finding]:
    """Yield a notice for each leftover file in the folders that Holdfast writes to; nothing reads these any more."""
    for folder in (*places.folders(project.root), paths.sidecar_dir(project.root), cache.folder()):
        if access.is_link(folder):
            continue
        for path in sorted(each for pattern in places.ASIDE for each in folder.glob(pattern)):
            remedy = f"look at {path}, and remove it if nobody needs it"
            yield notice(f"{path} was set aside earlier; nothing reads it", remedy, code="aside", path=path)
        for path in atomic.abandoned(folder):
            text = f"{path} was left by a process that was killed; nothing reads it"
            yield notice(text, "holdfast doctor --fix", partial(_removed, path), code="abandoned", path=path)


def _removed(path: Path) -> str:
    if not os.path.lexists(path):
        return ""
    atomic.remove(path)
    return f"removed {path}"
