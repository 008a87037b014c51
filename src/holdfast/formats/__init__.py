"""The formats that a workflow can be stored in: one folder each, which other code knows by its record alone."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from holdfast import paths
from holdfast.formats.record import completed, listed, packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from holdfast.formats.record import Record

DESCRIPTIONS = "formats"
"""The folder of the descriptions of formats without code, in `.claude/` and in the user's config folder."""


class _Records(dict[str, "Record"]):
    def __missing__(self, name: str) -> Record:
        """Return a record for a format that is gone, so that its workflows in the ledger can still be shown."""
        return completed({"NAME": name})


def _records() -> _Records:
    folders = [each.parent.name for each in Path(__path__[0]).glob("*/record.py")]
    found = [completed(vars(import_module(f"{__name__}.{name}.record"))) for name in folders]
    return _Records({each.NAME: each for each in sorted(found, key=lambda record: record.RANK)})


def index() -> bytes:
    """Return the index of the formats that other packages bring; empty without one."""
    try:
        return paths.format_index().read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder, which the command reports
        return b""


def brought() -> dict[str, Record]:
    """Return the records of the formats that other packages bring, as `holdfast install` found them, by name."""
    raw = index()
    if not raw:
        return {}
    return {each.NAME: each for each in listed(raw) if each.NAME not in OURS}


RECORDS = _records()
"""Every format's record by name: Holdfast's own in the order of their ranks, then those of other packages."""
OURS = tuple(RECORDS)
"""The formats that come with Holdfast."""
RECORDS.update(brought())
NAMES = tuple(RECORDS)
WITH_AGENTS = tuple(name for name, record in RECORDS.items() if record.AGENTS)
"""The formats whose units agents work on."""
DESCRIBED: dict[str, Any] = {}
"""The formats of the open project that are described without code (`workflow.format.Format`), by name."""


def describe(records: Mapping[str, Record], made: Mapping[str, Any]) -> None:
    """Make formats without code known, in place of those that were known before."""
    global NAMES, WITH_AGENTS
    for name in DESCRIBED:
        del RECORDS[name]
    DESCRIBED.clear()
    DESCRIBED.update(made)
    RECORDS.update(records)
    NAMES = tuple(RECORDS)
    WITH_AGENTS = tuple(name for name, record in RECORDS.items() if record.AGENTS)


def definition_kinds() -> tuple[str, ...]:
    """Return the kinds of definitions, which are the names of their folders: formats without code, machines."""
    return (DESCRIPTIONS, *(each.DEFINITIONS for each in RECORDS.values() if each.DEFINITIONS))


def may_be_described(root: Path) -> bool:
    """Return whether there is a folder that may describe formats without code, or whether some are known."""
    folders = (f"{paths.config_dir()}/{DESCRIPTIONS}", f"{root}/.claude/{DESCRIPTIONS}")  # as text: an event asks often
    return bool(DESCRIBED) or any(map(os.path.isdir, folders))


def module(name: str, part: str) -> str:
    """Return the name of a module in a format's folder, such as its `commands`."""
    return f"{RECORDS[name].MODULE.rpartition('.')[0]}.{part}"


def parts(part: str, names: Iterable[str]) -> dict[str, ModuleType]:
    """Import a module of each of these formats and return the modules by format. Broken packages are left out."""
    found = {}
    for name in names:
        try:
            with off_stdout():
                found[name] = import_module(module(name, part))
        except Exception:
            if name in OURS:
                raise
    return found


def off_stdout() -> redirect_stdout[TextIO]:
    """Return a context in which what another package's code prints goes to stderr, because stdout is for answers."""
    return redirect_stdout(sys.stderr)


def package(name: str) -> str:
    """Return the package that brings a format, with its version, as the index says; "another package" if it doesn't."""
    return packages(index()).get(name) or "another package"
