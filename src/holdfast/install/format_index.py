"""The index of formats from other packages, built at install time so that events only read it."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import formats, paths
from holdfast.files import atomic
from holdfast.formats.record import Record, completed, listed, misshapen

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "holdfast.formats"
"""The entry point group in which a package names the module of its format's record."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")

_ASKED = ("find", "candidates", "start", "change", "restore", "findings")  # of the base class of formats


class Brought(NamedTuple):
    """A format that a package brings.

    Attributes:
        name: the entry point's name.
        package: the package's name and version.
        record: the record's constants.
        fault: why the format can't be used; empty if it can.
    """

    name: str
    package: str
    record: dict[str, Any]
    fault: str = ""


def find() -> list[Brought]:
    """Find and load the formats of installed packages: the usable ones in order of rank, then those with a fault."""
    found = dict[str, Brought]()
    refused = list[Brought]()
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        each = _loaded(entry)
        if not each.fault and each.name in found:
            each = each._replace(fault=f"{found[each.name].package} brings a format of this name too")
        if each.fault:
            refused.append(each)
        else:
            found[each.name] = each
    ranked = sorted(found.values(), key=lambda each: (each.record.get("RANK", 0), each.name))
    return [*ranked, *refused]


def refresh() -> list[str]:
    """Bring the index up to date with the installed packages.

    Returns:
        Nothing if it was up to date; else a line for each format in it, and for each that is gone.

    Raises:
        StateError: the index can't be written.
    """
    usable = [each for each in find() if not each.fault]
    raw = render(usable)
    if raw == formats.index():
        return []
    before = {each.NAME for each in listed(formats.index())}
    if usable:
        atomic.write(paths.ensure_private(paths.state_dir()) / paths.format_index().name, raw, mode=0o600)
    else:
        paths.format_index().unlink(missing_ok=True)
    gone = sorted(before - {each.name for each in usable})
    lines = [f"Format {each.name}: {each.package}" for each in usable]
    return [*lines, *(f"Format {name}: removed" for name in gone)] or [f"Removed {paths.format_index()}"]


def render(found: list[Brought]) -> bytes:
    """Return the content of an index of these formats; empty if there are none."""
    entries = [{"name": each.name, "package": each.package, "record": each.record} for each in found]
    return (json.dumps({"formats": entries}, indent=1, sort_keys=True) + "\n").encode() if entries else b""


def _loaded(entry: EntryPoint) -> Brought:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "a package"
    try:
        with formats.off_stdout():
            module = entry.load()
            constants = {key: getattr(module, key) for key in Record.__annotations__ if hasattr(module, key)}
            fault = _fault(entry.name, constants)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a foreign package may raise anything
        return Brought(entry.name, package, {}, " ".join(f"{type(error).__name__}: {error}".split()))
    return Brought(entry.name, package, constants, fault)


def _fault(name: str, constants: dict[str, Any]) -> str:
    """Return the first problem of a package's format, its record's before its modules'; empty if it can be used."""
    if fault := next(iter(misshapen(constants)), ""):
        return fault
    record = completed(constants)
    if name != record.NAME or not _NAME.fullmatch(name):
        return f"its record calls it {record.NAME!r}; a name has small letters, digits, - and _"
    if name in formats.OURS or name in paths.modules("commands"):
        return "Holdfast has a format or command of this name"
    if not record.PRESENCE or not record.STATES:
        return "its record names no file"
    package = record.MODULE.rpartition(".")[0]
    wanted: dict[str, tuple[str, ...]] = {record.MODULE: ("FORMAT",)}
    wanted |= {f"{package}.detector": ("save", "waiting", "report")} if record.SOURCES else {}
    wanted |= {f"{package}.verbs": ("VERBS",)} if record.COMMANDS else {}
    for module, names in wanted.items():
        try:
            loaded = import_module(module)
        except Exception as error:  # noqa: BLE001 - a foreign package may raise anything
            return f"its module {module!r} can't be loaded ({' '.join(f'{type(error).__name__}: {error}'.split())})"
        if missing := [each for each in names if not hasattr(loaded, each)]:
            return f"{module} has no {missing[0]}"
        if module == record.MODULE and not all(hasattr(loaded.FORMAT, each) for each in _ASKED):
            return f"{module}.FORMAT is no instance of a subclass of holdfast.workflow.format.Format"
    return ""
