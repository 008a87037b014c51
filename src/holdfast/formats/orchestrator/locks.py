"""Locks on files that agents edit at the same time, `.claude/locks.json` (R003-27); off until `locks = "on"`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock, log
from holdfast.errors import MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.orchestrator import schema
from holdfast.formats.orchestrator.run import stamp
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from holdfast.workflow.records import Records

EXPIRY_S = 600
"""Seconds after an agent's last edit of a file at which its lock ends."""
LIMIT_BYTES = 1024 * 1024


class Lock(NamedTuple):
    """A lock on a file: its path relative to the root, the agent's id, and from when to when it holds (stamps)."""

    path: str
    owner: str
    acquired: str
    expires: str


def read(project: Records) -> tuple[list[Lock], bytes | None]:
    """Return all locks, those that ended too, and the file's bytes.

    Raises SchemaMismatch for whatever holds no locks (a folder, another program's file), StateError for a link.
    """
    path = _path(project)
    statefile.guard(project.root, path)
    try:
        content = document.load(path, LIMIT_BYTES)
    except MissingError:
        return [], None
    except StateError as error:
        raise SchemaMismatch(path, f"{error.reason}, so no file is locked; move it away") from error
    entries = content.data.get("locks")
    fields = [[values.text(each.get(name)) for name in Lock._fields] for each in values.objects(entries)]
    if set(content.data) != {"locks"} or not schema.only_objects(entries) or not all(map(all, fields)):
        raise SchemaMismatch(path, "is another program's file; it is left alone, and no file is locked")
    return [Lock(*each) for each in fields], content.raw


def lock(project: Records, place: str, owner: str, alive: Collection[str]) -> str:
    """Lock a file for an agent, and return an empty text; or say which other agent has locked it.

    What is wrong with the file of locks holds up no edit; `holdfast doctor` names it.
    """
    now = clock.now()
    others = list[Lock]()

    def edit(locks: list[Lock]) -> list[Lock]:
        valid = [each for each in locks if each.owner in {*alive, owner} and (clock.parse(each.expires) or now) > now]
        others[:] = [each for each in valid if each.path == place and each.owner != owner]
        if others or not owner:
            return valid
        mine = next((each for each in valid if each.path == place), None)
        acquired = mine.acquired if mine else stamp(now)
        new = Lock(place, owner, acquired, stamp(now + timedelta(seconds=EXPIRY_S)))
        return [*(each for each in valid if each is not mine), new]

    try:
        _change(project, edit)
    except StateError as error:
        log.write("warning", f"{place} was not locked: {error}")
    if not others:
        return ""
    return (
        f"Agent {others[0].owner} is editing {place}; it has locked the file until {others[0].expires}. Wait until "
        "that agent has ended, or work on another file."
    )


def unlock(project: Records, owner: str) -> None:
    """Free all files that an agent has locked."""
    try:
        if any(each.owner == owner for each in read(project)[0]):
            _change(project, lambda locks: [each for each in locks if each.owner != owner])
    except StateError as error:
        log.write("warning", f"the locks of agent {owner} were not freed: {error}")


def _change(project: Records, edit: Callable[[list[Lock]], list[Lock]]) -> None:
    path = _path(project)
    statefile.guard(project.root, path)

    def attempt() -> None:
        locks, raw = read(project)
        after = edit(locks)
        if after != locks:
            text = json.dumps({"locks": [each._asdict() for each in after]}, indent=2, ensure_ascii=False)
            atomic.replace(path, f"{text}\n".encode("utf-8", "backslashreplace"), raw)

    with locked(path.parent):
        statefile.insist(attempt)


def _path(project: Records) -> Path:
    return schema.state_path(project.root).with_name("locks.json")
