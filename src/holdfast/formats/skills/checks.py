"""What is wrong with the files of this format, and what is old (R004-38, R004-42)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files import atomic
from holdfast.files.lock import locked
from holdfast.formats.skills import archive, feature_file, index, paths, schema
from holdfast.formats.skills.schema import State
from holdfast.workflow import values
from holdfast.workflow.findings import Finding, notice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.formats.skills.archive import Old
    from holdfast.workflow.records import Records
    from holdfast.workflow.store import FileFormat

_TEMPORARY_AGE = timedelta(hours=1)
"""The age from which another program's temporary file counts as left behind."""
_FIX = "holdfast doctor --fix"


def findings(form: FileFormat, project: Records) -> Iterator[Finding]:
    """Yield what is wrong and what is old, with fixes. Warnings and broken files are told for all formats alike."""
    unfinished: dict[Path, dict[str, Any]] = {}
    for path in form.files(project):
        with suppress(StateError):
            file = form.load(project, path)
            form.check(file)
            state = State.read(project.root, path, file.data)
            if not state.is_over:
                unfinished[path] = file.data
            elif not file.broken:  # else its content is an earlier one: a person may want what was written since
                copy = "outdated: completed/ has the later copy" if state.is_outdated else f"{state.status}"
                text = f"active/{path.name} is {copy}"
                yield notice(text, _FIX, partial(_move_away, form, project, path), path=path, code="finished")
            feature = feature_file.read(project.root, values.text(state.context.get(schema.FEATURE)))
            if feature and (text := feature_file.difference(feature, state.completed_tasks, len(state.tasks))):
                yield notice(f"{path}: {text}", "correct the one that is wrong", path=path, code="feature")
    lines, is_mendable = index.differences(project.root, unfinished)
    place = paths.index(project.root)
    for number, line in enumerate(lines):
        fix = partial(_relist, project, unfinished) if is_mendable and not number else None
        remedy = _FIX if is_mendable else f"move {place} away, then run `{_FIX}`"
        yield notice(line, remedy, fix, path=place, code="index")
    for old in archive.old_ones(form, project):
        yield notice(f"{old.text} can go", _FIX, partial(_remove_one, form, project, old), path=old.path, code="old")
    for path in paths.active(project.root).glob("*.json.tmp*"):
        if _is_left(path):
            text = f"{path} was left by a process that was killed"
            yield notice(text, _FIX, partial(_unlink, path), path=path, code="temporary")


def _is_left(path: Path) -> bool:
    """Return whether another program's temporary file is so old that nobody is writing it any more (I004-15)."""
    try:
        changed = clock.from_mtime(path.lstat().st_mtime)
    except OSError:
        return False
    return clock.now() - changed > _TEMPORARY_AGE and path.is_file() and not path.is_symlink()


def _move_away(form: FileFormat, project: Records, path: Path) -> str:
    with locked(paths.top(project.root)):
        workflow = form.view(project, form.load(project, path))
        if not workflow.finished or workflow.recovered:  # somebody opened it again
            return ""
        archive.move_away(project, workflow)
    return f"active/{path.name} is gone; completed/ has it"


def _relist(project: Records, unfinished: dict[Path, dict[str, Any]]) -> str:
    with locked(paths.top(project.root)):
        index.rebuild(project.root, unfinished)
    return "index.json lists the unfinished workflows"


def _remove_one(form: FileFormat, project: Records, old: Old) -> str:
    archive.remove(form, project, [old])
    return archive.summary([old])


def _unlink(path: Path) -> str:
    atomic.remove(path)
    return f"removed {path}"
