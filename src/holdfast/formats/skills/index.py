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
from holdfast.workflow import search, statefile, values

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


def ids(path: Path, data: Mapping[str, Any]) -> set[str]:
    """Return the ids under which a workflow may be listed: its file's name, and its own id if that differs (I004-1)."""
    return {path.stem, values.text(values.members(data.get("workflow")).get("id"))} - {""}


def put(root: Path, path: Path, data: Mapping[str, Any]) -> None:
    """List an unfinished workflow as it is now, once. Hold the lock on the top folder."""
    own, wanted = ids(path, data), row(root, path, data)

    def edit(rows: _Rows) -> _Rows:
        at = next((number for number, each in enumerate(rows) if _id(each) in own), len(rows))
        before = rows[at] if at < len(rows) else {}
        others = [each for each in rows if _id(each) not in own]
        return [*others[:at], before | wanted, *others[at:]]

    _change(root, edit)


def drop(root: Path, path: Path, data: Mapping[str, Any]) -> None:
    """Take a workflow off the list. Hold the lock on the top folder."""
    own = ids(path, data)
    _change(root, lambda rows: [each for each in rows if _id(each) not in own])


def rebuild(root: Path, unfinished: Mapping[Path, Mapping[str, Any]]) -> None:
    """Make the list agree with the unfinished workflows' files. A row that was right stays as it is."""
    _change(root, lambda rows: _agreeing(root, rows, unfinished)[0])


def differences(root: Path, unfinished: Mapping[Path, Mapping[str, Any]]) -> tuple[list[str], bool]:
    """Return the list's errors, a line each, and whether `rebuild` fixes them.

    Nothing is wrong with one that is another program's.
    """
    try:
        return _agreeing(root, _rows(_load(root)), unfinished)[1], True
    except MissingError:
        return (["index.json is missing"] if unfinished else []), True
    except SchemaMismatch:
        return [], True
    except StateError as error:
        return [f"index.json {error.reason}"], isinstance(error, BrokenError)


def _agreeing(root: Path, rows: _Rows, unfinished: Mapping[Path, Mapping[str, Any]]) -> tuple[_Rows, list[str]]:
    """Return the rows as they should be, and a line for each that is wrong or missing."""
    stems = {id_: path.stem for path, data in unfinished.items() for id_ in ids(path, data)}
    right: dict[str, dict[str, Any]] = {}
    lines: list[str] = []
    for each in rows:
        stem = stems.get(_id(each))
        if stem is None:
            lines.append(f"{_id(each)} is listed, but has no state file")
        elif stem in right:
            lines.append(f"{stem} is listed more than once")
        else:
            right[stem] = each
    new = [row(root, path, data) for path, data in unfinished.items() if path.stem not in right]
    return [*right.values(), *new], [*lines, *(f"{each['id']} is not listed" for each in new)]


def _change(root: Path, edit: Callable[[_Rows], _Rows]) -> None:
    """Change the list, unless it is another program's. A broken or missing one is rebuilt from the files.

    It is never the only source, so what makes it unreadable or unwritable stops no workflow: `doctor` names it.
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
        rows = edit(_rows(before) if before else _from_files(root))
        data = dict(before.data) if before else {"schema_version": schema.VERSION, "updated_at": "", _LISTED: []}
        if before is None or rows != data[_LISTED]:
            data |= {"updated_at": schema.stamp(), _LISTED: rows}
            document.replace(path, data, before.raw if before else None, like=before, limit=search.LIMIT_BYTES)

    try:
        statefile.insist(attempt)
    except StateError as error:
        log.write("warning", f"the list of workflows was not brought up to date: {error}")


def _from_files(root: Path) -> _Rows:
    rows: _Rows = []
    for path in sorted(paths.active(root).glob("*.json")):
        try:
            data = document.load(path, search.LIMIT_BYTES).data
        except StateError:
            continue
        if paths.is_state(data) and schema.status_of(data["workflow"]) not in schema.FINAL:
            rows.append(row(root, path, data))
    return rows


def _load(root: Path) -> Document:
    """Return the list's file. Raises SchemaMismatch if it is another program's."""
    path = paths.index(root)
    statefile.guard(root, path)
    found = document.load(path, search.LIMIT_BYTES)
    if not isinstance(found.data.get(_LISTED), list):
        raise SchemaMismatch(path, f'has no list "{_LISTED}"; it is left alone')
    return found


def _rows(found: Document) -> _Rows:
    return values.objects(found.data[_LISTED])


def _id(row: Mapping[str, Any]) -> str:
    return values.text(row.get("id"))
