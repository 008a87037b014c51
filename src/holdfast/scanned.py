"""What was found in handler files, kept so that an event reads none of those that are not for it."""

from __future__ import annotations

import marshal
import os
import stat
import time
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import compiled, deadlines, events, matching, scan, trust
from holdfast.state import cache
from holdfast.state.unchanged import Kept, Stamp, settled, stamp

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

SIZE_LIMIT = 1_000_000  # bytes; a handler file larger than this is somebody's data
_FORMAT = 2


class Found(NamedTuple):
    """A handler file: its digest, what its text says, and its bytes if they were read just now."""

    digest: str
    scan: scan.Scan
    source: bytes | None = None


class Entry(NamedTuple):
    """What is kept of a file, in types that `marshal` writes.

    `wishes` are the events it wants with their matchers; `heeded`: it counts on every event, being strict or at fault.
    """

    stamp: Stamp
    digest: str
    wishes: dict[str, str | None]
    heeded: bool
    scan: tuple[Any, ...]


@dataclass
class Folder:
    """The handler files of one folder as they are now.

    Attributes:
        path: the folder.
        known: by name, the files that did not change since they were read at an earlier event.
        fresh: by name, the files that were read just now.
        unreadable: by name, why a file could not be read.
    """

    path: Path
    known: dict[str, Entry] = field(default_factory=dict)
    fresh: dict[str, Found] = field(default_factory=dict)
    unreadable: dict[str, OSError] = field(default_factory=dict)

    def names(self) -> Iterator[str]:
        """Yield the names of all files, in no order."""
        yield from self.known
        yield from self.fresh
        yield from self.unreadable

    def concerned(self, event: str, value: str | None, strict: Container[str]) -> Iterator[str]:
        """Yield the names of the files that an event may concern.

        Args:
            event: the event's name.
            value: what its matcher field holds; None for every value.
            strict: paths that are known to have been strict.
        """
        yield from self.fresh
        yield from self.unreadable
        top = f"{self.path}/"
        for name, entry in self.known.items():
            wants = event in entry.wishes and matching.matches(entry.wishes[event], value, event)
            if wants or entry.heeded or top + name in strict:
                yield name

    def found(self, name: str) -> Found:
        """Return what is known of one file. Raises OSError where it cannot be read."""
        if name in self.unreadable:
            raise self.unreadable[name]
        return self.fresh.get(name) or _from(self.known[name])


def look(path: Path) -> Folder:
    """List a handlers folder, reading only the files that are new or changed.

    A file is taken for unchanged when its status is what it was, to the last change of anything in it, and was old
    enough then. Where nothing can be kept every file is read every time.

    Returns:
        The folder; an empty one if there is none.
    """
    folder = Folder(path)
    now, file = time.time_ns(), _file(path)
    kept = _shelves.get(file)
    new: dict[str, Entry] = {}
    with suppress(OSError), os.scandir(path) as listed:
        for each in listed:
            name = each.name
            if not name.endswith(".py") or name[0] in "_.":
                continue
            entry = kept.get(name)
            try:
                info = each.stat()
                if entry and entry.stamp == (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns):
                    folder.known[name] = entry
                    continue
                read = folder.fresh[name] = _read(path / name)
                if settled(stamp(info), now) and read.source is not None and info.st_size == len(read.source):
                    new[name] = _entry(stamp(info), read)
            except (OSError, ValueError) as error:
                folder.unreadable[name] = error if isinstance(error, OSError) else OSError(str(error))
    if new:
        _keep(file, path, folder.known | new)
    return folder


def read_anew(path: Path) -> Found:
    """Read and scan one file, whatever is known of it. Raises OSError."""
    return _read(path)


def preload(path: Path) -> None:
    """Take what is known of a folder's files into memory, with their code: what is forked from here has it then."""
    shelf = _shelves.get(_file(path))
    try:
        seen = (id(shelf), cache.folder().stat().st_mtime_ns)
    except OSError:
        return
    if _preloaded.get(path) != seen:
        _preloaded[path] = seen
        for name, entry in shelf.items():
            compiled.preload(entry.digest, path / name)


def _read(path: Path) -> Found:
    """Read a regular file of reasonable size; a fifo or device in the folder must not hang the session."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path}: is not a regular file")
    if status.st_size > SIZE_LIMIT:
        raise OSError(f"{path}: is larger than {SIZE_LIMIT} bytes")
    source = path.read_bytes()
    return Found(trust.digest(source), scan.scan(source), source)


def _entry(seen: Stamp, found: Found) -> Entry:
    read = found.scan
    routes = tuple(astuple(route) for route in read.routes)
    heeded = bool(read.faults) or any(route.strict for route in read.routes)
    kept = (routes, tuple(read.faults.items()), read.off_by_default, read.runs_when, read.doubts)
    return Entry(seen, found.digest, {route.event: route.match for route in read.routes}, heeded, kept)


def _from(entry: Entry) -> Found:
    routes, faults, *rest = entry.scan
    return Found(entry.digest, scan.Scan(tuple(scan.Route(*values) for values in routes), dict(faults), *rest))


def _shelf(file: Path) -> dict[str, Entry]:
    """Read what is kept of a folder; nothing where it is broken, of another folder, or by other rules than ours."""
    body = cache.read(file)
    if body is None:
        return {}
    try:
        name, rules, entries = marshal.loads(body)
        ours = (name, rules) == (file.name, _rules())
        return {name: Entry(*values) for name, values in entries.items()} if ours else {}
    except (ValueError, EOFError, TypeError, AttributeError):
        return {}


def _keep(file: Path, path: Path, entries: dict[str, Entry]) -> None:
    """Keep what was found, with what another process kept meanwhile; the files that are gone are left out."""
    merged = {name: entry for name, entry in _shelf(file).items() if os.path.lexists(path / name)} | entries
    cache.write(file, marshal.dumps((file.name, _rules(), {name: tuple(entry) for name, entry in merged.items()})))


def _rules() -> tuple[Any, ...]:
    """Return by what rules a scan is made: the form it is kept in, the interpreter, and this very code."""
    global _known_rules
    if _known_rules is None:
        sources = [Path(each) for each in (scan.__file__, matching.__file__, deadlines.__file__, __file__)]
        sources.append(Path(str(events.__file__)))
        sources.append(sources[0].with_name("matchable.py"))  # not imported: only the scan of a matcher needs it
        _known_rules = (_FORMAT, compiled.INTERPRETER, *(stamp(each.stat()) for each in sources))
    return _known_rules


def _file(path: Path) -> Path:
    return cache.folder() / f"{trust.digest(os.fsencode(path))[:32]}.scan"


_known_rules: tuple[Any, ...] | None = None
_preloaded: dict[Path, tuple[int, int]] = {}
_shelves: Kept[dict[str, Entry]] = Kept(_shelf)
