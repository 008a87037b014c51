"""Whether the workflow state files can be read, are current and agree with each other."""

from __future__ import annotations

import os
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.checks import folders, notice, ok, problem
from holdfast.errors import MissingError, NotOurs, StateError
from holdfast.state import document
from holdfast.state.lock import locked
from holdfast.survival import owners, sessions
from holdfast.workflow import foreign, formats, statefile
from holdfast.workflow.formats import compaction_file, hybrid_extra, hybrid_file, hybrid_view
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.project import Project
    from holdfast.workflow.model import Found, Problem, Workflow

_ASIDE = ("*.corrupt-*", "*.kept-*")


def look(project: Project) -> Iterator[Finding]:
    """Read every state file of the project; nothing is written."""
    found = formats.all_found(project)
    theirs = {path: (why, in_the_way) for path, why, in_the_way in foreign.files(project)}
    told = [
        _unread(project, each)
        for each in found.problems
        if each.path not in theirs and not (folders.blocked(each.path) or folders.linked(project.root, each.path))
    ]
    told += [
        notice(f"{path}: {why}", _aside(path))
        for path, (why, in_the_way) in theirs.items()
        if in_the_way and not (folders.blocked(path) or folders.linked(project.root, path))
    ]
    entries, _ = compaction_file.scan(project)
    kept = [entry.workflow for entry in entries]
    told += _unsound([*kept, *(each for each in found.workflows if each.format != compaction_file.NAME)])
    told += _stale(project, found)
    told += _piled_up(kept, found)
    told += _view(project, theirs)
    told += _extra(project, found)
    told += _left_over(project)
    yield from told
    if not told:
        yield ok(f"{len(found.workflows)} workflow(s), and their files agree")


def _unread(project: Project, trouble: Problem) -> Finding:
    """Say what is wrong with a file that is broken, and mend it by what the ledger kept, or set it aside."""
    path = trouble.path
    try:
        recovered = bool(statefile.read(project, path).broken)
    except NotOurs:
        return notice(f"{path}: {trouble.reason}", _aside(path))
    except StateError:
        recovered = False
    if not recovered and not path.is_file():
        return problem(f"{path}: {trouble.reason}", _aside(path))
    return problem(f"{path}: {trouble.reason}", "holdfast doctor --fix", partial(_mend, project, path))


def _mend(project: Project, path: Path) -> str:
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


def _lock(project: Project, path: Path) -> Path:
    """Return the folder whose lock is held for a write to a state file."""
    kept = compaction_file.folder(project)
    return kept if path.is_relative_to(kept) else path.parent


def _unsound(workflows: Iterable[Workflow]) -> Iterator[Finding]:
    for workflow in workflows:
        for warning in workflow.warnings:
            yield notice(f"{workflow.path}: {warning}", f"correct {workflow.path}")


def _stale(project: Project, found: Found) -> Iterator[Finding]:
    """Say which unfinished workflows no session works on any more: they are not restored unasked."""
    old = [each for each in found.workflows if not each.finished and not owners.fresh(project, each)]
    live = sessions.live_others(project, "") if old else set()
    for workflow in old:
        if owners.owner(project, workflow) not in live:
            text = (
                f"{workflow.path}: {quoted(workflow.title)} is unfinished at {workflow.position}, last changed "
                f"{workflow.updated_at[:10]} and no live session's, so it is not restored unasked any more"
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


def _view(project: Project, theirs: dict[Path, Any]) -> Iterator[Finding]:
    """Say that the Markdown view shows another state than the hybrid workflow has."""
    path = project.root / hybrid_view.FILE
    try:
        file = hybrid_file.load(project)
        present: bytes | None = document.read(path)[0]
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
    return hybrid_view.generate_markdown(data).encode("utf-8", "replace")


def _redraw(project: Project) -> str:
    path = project.root / hybrid_view.FILE
    with locked(hybrid_file.path(project).parent):
        data = hybrid_file.load(project).data
        hybrid_view.write(project, data)
    if document.read(path)[0] != _wanted(data):
        raise StateError(path, "could not be written; holdfast status shows why")
    return f"wrote {path} from the workflow's state"


def _extra(project: Project, found: Found) -> Iterator[Finding]:
    """Say that the file beside the hybrid workflow belongs to another one."""
    path = project.root / hybrid_extra.FILE
    try:
        named = str(statefile.read(project, path).data.get("id", ""))
    except StateError:
        return  # missing, or said above
    ids = {each.id for each in found.workflows if each.format == hybrid_file.NAME}
    if named not in ids:
        present = f"{hybrid_file.FILE} holds {next(iter(ids))}" if ids else f"{hybrid_file.FILE} holds none"
        text = f"{path} belongs to the workflow {quoted(named)}, and {present}; nothing reads it"
        yield notice(text, _aside(path))


def _left_over(project: Project) -> Iterator[Finding]:
    kept = compaction_file.folder(project)
    folders = [hybrid_file.path(project).parent, *(each for each in sorted(kept.glob("*")) if each.is_dir())]
    for folder in folders:
        for path in sorted(each for pattern in _ASIDE for each in folder.glob(pattern)):
            yield notice(f"{path} was set aside earlier; nothing reads it", f"rm {shlex.quote(str(path))}")


def _aside(path: Path) -> str:
    name = shlex.quote(str(path))
    return f"mv {name} {name}.aside" if os.path.lexists(path) else f"look at {path}"
