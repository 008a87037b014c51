"""Check that the project's ledger opens and is undamaged."""

from __future__ import annotations

import os
import shlex
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

from holdfast.checks import notice, ok, problem
from holdfast.files import access, document
from holdfast.files.lock import locked
from holdfast.memory import connection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_BESIDE = ("-wal", "-shm")  # suffixes of the files that SQLite's write-ahead log needs


def findings(project: Workspace) -> Iterator[Finding]:
    """Read the ledger without changing it."""
    file = project.ledger_file
    parts = [file.parent, file, *(file.with_name(file.name + suffix) for suffix in _BESIDE)]
    if shut := dict.fromkeys(place for each in parts if (place := access.closed(each, write=True))):
        for place in shut:
            text = f"{place} can't be read and written, so Holdfast can't remember anything in {file}"
            fix = access.opener(place) if place.is_file() else None  # the folders check repairs a folder
            yield problem(text, access.opening(place), fix)
        return
    yield from _left_over(file)
    for former in project.former_ledgers:
        text = f"{former} is another version's ledger; nothing reads it, and `holdfast forget` deletes it too"
        yield notice(text, f"rm {shlex.quote(str(former))}*")
    if not os.path.lexists(file):
        yield ok(f"no ledger yet; the first event creates {file}")
        return
    name = shlex.quote(str(file))
    if not file.is_file():
        yield problem(f"{file} isn't a regular file, so Holdfast can't remember anything", f"mv {name} {name}.aside")
    else:
        yield from _content(file)


def _content(file: Path) -> Iterator[Finding]:
    try:
        damage = connection.examine(file)
    except sqlite3.Error as error:
        fault = connection.fault(error)
        if fault == "damaged":
            yield _damaged(file, str(error))
        elif fault == "lost":
            folder = shlex.quote(str(file.parent))
            text = f"{file} can't be used now ({error}), so Holdfast can't remember anything"
            yield problem(text, f"look at the disk of its folder: df -h {folder}")
        else:
            yield notice(f"{file} couldn't be checked now: {error}", "holdfast doctor")
    else:
        yield _damaged(file, damage) if damage else ok(f"{file} is sound")


def _damaged(file: Path, why: str) -> Finding:
    text = f"{file} is damaged ({' '.join(why.split())}), so Holdfast can't remember anything"
    return problem(text, "holdfast doctor --fix", partial(_set_aside, file))


def _set_aside(file: Path) -> str:
    """Rename a damaged ledger with all its files; the next event begins a new one."""
    with locked(file.parent):
        if not any(found.fix is not None and found.level == "problem" for found in _content(file)):
            return ""  # repaired in the meantime
        aside = document.set_aside(file)
        for suffix in _BESIDE:
            part = file.with_name(file.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
    return f"set {file} aside as {aside.name}; the next event creates a new ledger"


def _left_over(file: Path) -> Iterator[Finding]:
    for each in sorted(file.parent.glob(f"{file.name}.corrupt-*")):
        if not each.name.endswith(_BESIDE):
            text = f"{each} is a damaged ledger that was set aside; nothing reads it"
            yield notice(text, f"rm {shlex.quote(str(each))}*")
