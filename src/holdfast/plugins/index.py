"""The index of handler files: what each file declares, read from its text once for each content.

It is one JSON file in your state folder: path → digest and what `scan` found. An event reads and hashes every handler
file, and parses only those whose content isn't in the index.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import LargeError, StateError
from holdfast.files import cache, document, trust
from holdfast.files.file_memo import Kept, stamp
from holdfast.plugins import kinds, scan
from holdfast.plugins.scan import Route, Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.plugins.hooks import Hooks

SIZE_LIMIT_BYTES = 32 * 1024  # parsing time grows with the square of the size
COUNT_LIMIT = 200  # handler files per folder


class Content(NamedTuple):
    """A handler file's present content: its bytes, their digest, and what they declare."""

    source: bytes
    digest: str
    scan: Scan


NO_CONTENT = Content(b"", "", Scan())
"""The content of a file that is gone or can't be read."""


@dataclass
class Folder:
    """The present handler files of one folder.

    Attributes:
        path: the folder.
        files: name → content of each file.
        helpers: name → content of the `_name.py` files, which handlers may import.
        unreadable: name → why the file can't be read.
        fault: what is wrong with the folder itself; empty if nothing is.
    """

    path: Path
    files: dict[str, Content] = field(default_factory=dict)
    helpers: dict[str, Content] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    fault: str = ""


def read_folder(
    path: Path,
    hooks: Hooks,
    *,
    within: Path | None = None,
    parsed: Callable[[str, str], bool] = lambda name, digest: True,
) -> Folder:
    """Read the handler files of a folder, and index the content that is new.

    Args:
        path: the folder; it need not exist.
        hooks: the client's hooks, which the files may answer.
        within: the folder that links may not lead out of; None lets links lead anywhere.
        parsed: tells by a file's name and digest whether to parse it; otherwise it declares nothing.
    """
    folder = Folder(path)
    index = _file(hooks)
    known = _index.get(index)
    new: dict[str, tuple[str, Scan]] = {}
    for name in _names(folder, within):
        file = path / name
        try:
            source, _ = document.read(file, SIZE_LIMIT_BYTES, within=within)
        except LargeError as error:
            folder.unreadable[name] = f"{error.reason}: split it"
            continue
        except StateError as error:
            folder.unreadable[name] = error.reason
            continue
        digest = trust.digest(source)
        indexed, found = known.get(str(file), ("", Scan()))
        if not parsed(name, digest):
            found = Scan()
        elif indexed != digest:
            try:
                found = scan.scan_helper(source) if name.startswith("_") else kinds.declares(name, source, hooks)
            except Exception as error:  # noqa: BLE001 - a file that nobody foresaw costs itself, not the event
                found = Scan(faults={"": f"cannot be read ({type(error).__name__}: {str(error)[:200]})"})
            new[str(file)] = digest, found
        (folder.helpers if name.startswith("_") else folder.files)[name] = Content(source, digest, found)
    if new:
        _write(index, new)
    return folder


def preload(hooks: Hooks) -> None:
    """Load the index into memory, for processes forked from this one."""
    _index.get(_file(hooks))


def _names(folder: Folder, within: Path | None) -> list[str]:
    """Return the names of helpers and handler files, at most COUNT_LIMIT each.

    If something is wrong with the folder, set `folder.fault`.
    """
    if within and document.leads_out(folder.path, within):
        folder.fault = f"leads out of {within} through a symbolic link, so no handler in it runs"
        return []
    try:
        listing = os.listdir(folder.path)  # noqa: PTH208 - for each event
    except NotADirectoryError:
        folder.fault = "is not a folder, so there are no handlers in it"
        return []
    except OSError:
        return []
    helpers = sorted(name for name in listing if kinds.is_helper(name))[:COUNT_LIMIT]
    names = sorted(name for name in listing if kinds.is_handler(folder.path / name))
    if len(names) > COUNT_LIMIT:
        folder.fault = f"holds {len(names)} handler files: only {COUNT_LIMIT} handlers run, the first by name"
    return [*helpers, *names[:COUNT_LIMIT]]


def _read(file: Path) -> Mapping[str, tuple[str, Scan]]:
    """Return path → digest and scan; empty if there is no index or it is broken."""
    body = cache.read(file)
    try:
        return {path: (each["digest"], _scan(each["declares"])) for path, each in json.loads(body or "{}").items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _write(file: Path, new: Mapping[str, tuple[str, Scan]]) -> None:
    """Add files to the index, and remove those that are gone."""
    entries = {path: entry for path, entry in _read(file).items() if os.path.lexists(path)} | dict(new)
    plain = {path: {"digest": digest, "declares": asdict(found)} for path, (digest, found) in entries.items()}
    cache.write(file, json.dumps(plain).encode())


def _scan(plain: dict[str, Any]) -> Scan:
    return Scan(
        tuple(Route(**route) for route in plain["routes"]),
        plain["faults"],
        plain["off_by_default"],
        tuple((key, tuple(values)) for key, values in plain["runs_when"]),
        tuple(plain["doubts"]),
        tuple(plain["helpers"]),
    )


def _file(hooks: Hooks) -> Path:
    return cache.folder() / f"{_reader(hooks.SOURCES)}.index"


@lru_cache
def _reader(sources: tuple[str, ...]) -> str:
    """Return a digest of what reads handler files: the interpreter, this code and the client's. Each has an index."""
    own = [Path(__file__).with_name(f"{name}.py") for name in ("scan", "rules", "executables", "kinds", "deadlines")]
    files = (Path(__file__), *own, *map(Path, sources))
    reader = (sys.implementation.cache_tag, *(stamp(each.stat()) for each in files))
    return trust.digest(repr(reader).encode())[:32]


_index: Kept[Mapping[str, tuple[str, Scan]]] = Kept(_read)
