"""The list of unfinished workflows: written with each of them (R004-07, R004-08, I004-14), never the only source.

Other programs list workflows from it. Holdfast reads the files themselves, which people may remove (R004-39).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import log
from holdfast.errors import BrokenError, MissingError, SchemaMismatch, StateError
from holdfast.files import document
from holdfast.formats.skills import machine, paths, schema
from holdfast.formats.skills.schema import State
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from holdfast.files.document import Document

_LISTED = "active_workflows"
_Rows = list[dict[str, Any]]


def row(root: Path, path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workflow's entry in the list."""
    workflow, skill = values.members(data.get("workflow")), paths.skill(data, path)
    rules = machine.known(root, skill)[0] or machine.of_phases(skill)
    started, moved = (values.text(workflow.get(each)) for each in ("created_at", "updated_at"))
    key = State(dict(data), path, rules).key
    return {"id": path.stem, "skill": skill, "feature": key, "started_at": started, "last_activity": moved or started}


def put(root: Path, path: Path, data: Mapping[str, Any]) -> None:
    """List an unfinished workflow as it is now. Hold the lock on the top folder."""
    own, wanted = _ids(path, data), row(root, path, data)

    def edit(rows: _Rows) -> _Rows:
        if not any(_id(each) in own for each in rows):
            return _of_files(root, rows)
        return [each | wanted if _id(each) in own else each for each in rows]

    _change(root, edit)


def rebuild(root: Path) -> None:
    """Make the list agree with the files of unfinished workflows. Hold the lock on the top folder."""
    _change(root, lambda rows: _of_files(root, rows))


def _change(root: Path, edit: Callable[[_Rows], _Rows]) -> None:
    """Change the list, unless it is another program's. A broken or missing one is rebuilt from the files.

    It is never the only source, so what makes it unreadable or unwritable stops no workflow.
    """
    path = paths.index(root)

    def attempt() -> None:
        before: Document | None = None
        try:
            before = _load(root)
        except MissingError:
            pass
        except BrokenError:
            document.set_aside(path)
        rows = edit(_rows(before) if before else [])
        data = dict(before.data) if before else {"schema_version": schema.VERSION, "updated_at": "", _LISTED: []}
        if before is None or rows != data[_LISTED]:
            data |= {"updated_at": schema.stamp(), _LISTED: rows}
            document.replace(path, data, before.raw if before else None, like=before, limit=statefile.LIMIT_BYTES)

    try:
        statefile.insist(attempt)
    except StateError as error:
        log.write("warning", f"the list of workflows was not brought up to date: {error}")


def _of_files(root: Path, rows: _Rows) -> _Rows:
    """Return a row for each file of an unfinished workflow, with the further keys of the row that it had."""
    found: _Rows = []
    for path in sorted(paths.active(root).glob("*.json")):
        try:
            data = document.load(path, statefile.LIMIT_BYTES).data
        except StateError:
            continue
        if paths.is_state(data) and schema.status_of(data["workflow"]) not in schema.FINAL:
            before = next((each for each in rows if _id(each) in _ids(path, data)), {})
            found.append(before | row(root, path, data))
    return found


def _load(root: Path) -> Document:
    """Return the list's file. Raises SchemaMismatch if it is another program's."""
    path = paths.index(root)
    statefile.guard(root, path)
    found = document.load(path, statefile.LIMIT_BYTES)
    if not isinstance(found.data.get(_LISTED), list):
        raise SchemaMismatch(path, f'has no list "{_LISTED}"; it is left alone')
    return found


def _ids(path: Path, data: Mapping[str, Any]) -> set[str]:
    """Return the ids under which a workflow may be listed: its file's name, and its own id if that differs (I004-1)."""
    return {path.stem, values.text(values.members(data.get("workflow")).get("id"))} - {""}


def _rows(found: Document) -> _Rows:
    return values.objects(found.data[_LISTED])


def _id(row: Mapping[str, Any]) -> str:
    return values.text(row.get("id"))
