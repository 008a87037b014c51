"""Whether the workflow state files can be read, are current and agree with each other."""

from __future__ import annotations

import os
import re
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.checks import folders, notice, ok, problem
from holdfast.errors import BrokenError, MissingError, SchemaMismatch, StateError
from holdfast.files import access, atomic, document
from holdfast.files.lock import locked
from holdfast.formats import RECORDS
from holdfast.formats.compaction import file as compaction_file
from holdfast.formats.compaction.detection import memory
from holdfast.formats.compaction.detection.detect import detect
from holdfast.formats.hybrid import file as hybrid_file
from holdfast.formats.hybrid import view
from holdfast.formats.wfs import places as wfs_places
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import extras, places, registry, statefile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Found, Problem, Workflow

_FIELD = re.compile(r'"([^"]+)"')  # as warnings name it, before what is wrong with it
_RECOVERED = "; its last generation is used"
_NEEDED = {"id": "a text", "task": "a text", "phases": "a list"}  # without which a file is no hybrid workflow
_A = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def look(project: Workspace) -> Iterator[Finding]:
    """Read every state file of the project; nothing is written."""
    tops = [project.root / record.TOP for record in RECORDS.values()]
    if any(access.closed(each) not in (None, each) for each in tops):
        return  # in a folder that cannot be entered nothing can even be looked for; the folders check says so
    found = registry.all_found(project)
    theirs = {each.path: (each.meaning, each.in_the_way) for each in registry.foreign(project)}
    told = [
        _unread(project, each)
        for each in found.problems
        if not each.path.is_relative_to(wfs_places.top(project))  # the sessions check says it
        and each.path not in theirs
        and not (folders.blocked(each.path) or folders.linked(project.root, each.path))
    ]
    told += [
        _in_the_way(project, path, why)
        for path, (why, in_the_way) in theirs.items()
        if in_the_way and not (folders.blocked(path) or folders.linked(project.root, path))
    ]
    entries, _ = compaction_file.scan(project)
    kept = [entry.workflow for entry in entries]
    told += _unsound([*kept, *(each for each in found.workflows if each.format == hybrid_file.NAME)])
    told += _stale(project, found)
    told += _piled_up(kept, found)
    told += _view(project, theirs)
    told += _extra(project, found)
    told += _left_over(project)
    told += _said(project)
    yield from told
    if not told:
        yield ok(f"{len(found.workflows)} workflow(s), and their files agree")


def _unread(project: Workspace, trouble: Problem) -> Finding:
    """Say what is wrong with a file; a broken one is mended by what the ledger kept, or set aside."""
    path = trouble.path
    if unlinking := access.unlinking(path):
        return problem(f"{path}: {trouble.reason}", unlinking)
    if closed := access.remedy(path):
        fix = partial(access.open_up, path) if access.can_open(path) else None
        return problem(f"{path}: {trouble.reason.removesuffix(_RECOVERED)}", closed, fix)
    try:
        broken = statefile.read(project, path).repairable
    except SchemaMismatch:
        return notice(f"{path}: {trouble.reason}", _aside(path))
    except StateError as error:
        broken = isinstance(error, BrokenError)
    if not broken:  # what may not be read is a person's to look at
        return problem(f"{path}: {trouble.reason.removesuffix(_RECOVERED)}", _aside(path))
    return problem(f"{path}: {trouble.reason}", "holdfast doctor --fix", partial(_mend, project, path))


def _in_the_way(project: Workspace, path: Path, why: str) -> Finding:
    """Say what stands at a place of ours and is not ours: without its file the hybrid format cannot be used at all."""
    if closed := access.remedy(path):
        return notice(f"{path}: {why.partition(';')[0]}", closed)
    if path != hybrid_file.path(project):
        return notice(f"{path}: {why}", _aside(path))
    hindered = "so no workflow of the hybrid format can be kept here"
    try:
        data = document.load(path, within=project.root).data
    except StateError as error:
        return problem(f"{path}: {error.reason}, {hindered}", _aside(path))
    faults = _faults(data)
    if not any(key in data for key in _NEEDED):  # another tool's, which is in its right
        return notice(f"{path}: {_listed(list(faults.values()))}, {hindered}", _aside(path))
    return problem(f"{path}: {_listed(list(faults.values()))}, {hindered}", f'correct "{next(iter(faults))}" in {path}')


def _faults(data: dict[str, Any]) -> dict[str, str]:
    """Return field -> what is wrong with it, of a file that is no hybrid workflow (`hybrid_file.check`)."""
    found = {}
    for key, wanted in _NEEDED.items():
        fits = isinstance(data.get(key), (str, int, float) if key != "phases" else list)
        if key not in data:
            found[key] = f'"{key}" is missing'
        elif not fits:
            found[key] = f'"{key}" is {_A.get(type(data[key]), "a number")} where {wanted} must be'
    if not found:
        names = [f"phases[{number}]" for number in range(len(data["phases"]))]
        found = {name: f'"{name}" has no "title"' for name in names}
    return found


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _mend(project: Workspace, path: Path) -> str:
    with locked(_lock(project, path)):
        try:
            statefile.read(project, path)
        except StateError:
            if project.ledger.problem:
                raise  # what it held before may be known once the ledger is mended
            aside = statefile.set_aside(project, path)
            return f"set {path} aside as {aside.name}; nothing was known of what it held before"
        _, changed = statefile.rewrite(project, path, lambda file: dict(file.data), why="doctor", repair=True)
    return f"wrote the last good content of {path}, and left what it held beside it" if changed else ""


def _lock(project: Workspace, path: Path) -> Path:
    """Return the folder whose lock is held for a write to a state file."""
    kept = compaction_file.folder(project)
    return kept if path.is_relative_to(kept) else path.parent


def _unsound(workflows: Iterable[Workflow]) -> Iterator[Finding]:
    for workflow in workflows:
        for warning in workflow.warnings:
            field = _FIELD.match(warning)
            remedy = f'correct "{field[1]}" in {workflow.path}' if field else f"correct {workflow.path}"
            # The schema of the hybrid format is fixed; the other's is for people to keep by hand.
            level = problem if workflow.format == hybrid_file.NAME else notice
            yield level(f"{workflow.path}: {warning}", remedy)


def _said(project: Workspace) -> Iterator[Finding]:
    """Say what `holdfast explain` warns of in the files that people keep, as far as they count."""
    for candidate in detect(project, everything=True).candidates:
        if candidate.accepted or candidate.method == memory.FILE:
            for warning in candidate.warnings:
                yield notice(f"{candidate.path}: {warning}", f"correct {candidate.path}")


def _stale(project: Workspace, found: Found) -> Iterator[Finding]:
    """Say which unfinished workflows no session works on any more: they are not restored unasked."""
    old = [each for each in found.workflows if not each.finished and not owners.fresh(project, each)]
    live = sessions.live_others(project, "") if old else set()
    for workflow in old:
        if owners.owner(project, workflow) not in live:
            changed = owners.changed_at(project, workflow)[:10]
            text = (
                f"{workflow.path}: {quoted(workflow.title)} is unfinished at {workflow.position}, last changed "
                f"{changed} and no live session's, so it is not restored unasked any more"
            )
            yield notice(text, shlex.join(["holdfast", "done", "--all", workflow.id]))


def _piled_up(kept: Iterable[Workflow], found: Found) -> Iterator[Finding]:
    """Say which files of the compaction format are left of a finished workflow, or older ones of a newer file's."""
    current = {each.path for each in found.workflows}
    for workflow in kept:
        if workflow.path not in current:
            text = (
                f"{workflow.path} is an older state of {quoted(workflow.title)}, which has a newer file; it is not read"
            )
            yield notice(text, f"rm {shlex.quote(str(workflow.path))}")
        elif workflow.finished:
            text = f"{workflow.path}: {quoted(workflow.title)} is finished, and its file is still there"
            yield notice(text, shlex.join(["holdfast", "done", "--all", workflow.id]))


def _view(project: Workspace, theirs: dict[Path, Any]) -> Iterator[Finding]:
    """Say that the Markdown view shows another state than the hybrid workflow has."""
    path = project.root / view.FILE
    try:
        file = hybrid_file.load(project)
        present: bytes | None = document.read(path, within=project.root)[0]
    except MissingError as error:
        if error.path != path:
            return
        present = None
    except StateError:
        return  # broken or another's: said above
    if path not in theirs and not file.broken and present != _wanted(file.data):
        what = "is missing" if present is None else f"does not show what {file.path} says"
        yield notice(f"{path}, the view of the workflow, {what}", "holdfast doctor --fix", partial(_redraw, project))


def _wanted(data: dict[str, Any]) -> bytes:
    return view.generate_markdown(data).encode("utf-8", "replace")


def _redraw(project: Workspace) -> str:
    path = project.root / view.FILE
    with locked(hybrid_file.path(project).parent):
        data = hybrid_file.load(project).data
        view.write(project, data)
    if document.read(path, within=project.root)[0] != _wanted(data):
        raise StateError(path, "could not be written; holdfast status shows why")
    return f"wrote {path} from the workflow's state"


def _extra(project: Workspace, found: Found) -> Iterator[Finding]:
    """Say that the file beside the hybrid workflow belongs to another one."""
    path = extras.beside(hybrid_file.path(project))
    try:
        named = str(statefile.read(project, path).data.get("id", ""))
    except StateError:
        return  # missing, or said above
    ids = {each.id for each in found.workflows if each.format == hybrid_file.NAME}
    if named not in ids:
        present = f"{hybrid_file.FILE} holds {next(iter(ids))}" if ids else f"{hybrid_file.FILE} holds none"
        text = f"{path} belongs to the workflow {quoted(named)}, and {present}; nothing reads it"
        yield notice(text, _aside(path))


def _left_over(project: Workspace) -> Iterator[Finding]:
    """Say what nothing reads any more, in all folders that the formats or we ourselves write to."""
    for folder in (*places.folders(project.root), paths.sidecar_dir(project.root)):
        if access.is_link(folder):
            continue
        for path in sorted(each for pattern in places.ASIDE for each in folder.glob(pattern)):
            yield notice(f"{path} was set aside earlier; nothing reads it", f"rm {shlex.quote(str(path))}")
        for path in atomic.abandoned(folder):
            yield notice(f"{path} is of a writer that was killed; nothing reads it", f"rm {shlex.quote(str(path))}")


def _aside(path: Path) -> str:
    name = shlex.quote(str(path))
    return f"mv {name} {name}.aside" if os.path.lexists(path) else f"look at {path}"
