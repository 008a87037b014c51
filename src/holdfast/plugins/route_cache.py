"""A cache of handler files' routes, so that an event reads only the files that are for it."""

from __future__ import annotations

import marshal
import os
import signal
import time
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import StateError
from holdfast.files import cache, document, trust
from holdfast.files.file_memo import Kept, Stamp, settled, stamp
from holdfast.plugins import bytecode_cache, deadlines, scan
from holdfast.process.child import Child, write

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from holdfast.plugins.hooks import Hooks

SIZE_LIMIT_BYTES = 32 * 1024  # parsing time grows with the square of the size
COUNT_LIMIT = 200  # handler files per folder
LIST_LIMIT = 10_000  # names per folder that are looked at
PARSE_CPU_S = 0.3  # processor time for parsing one file; 32 KB of ordinary code take about a tenth of it
PARSE_TIMEOUT_S = 1.0  # wall time for parsing all files of a project's folder at one event
OWN_PARSE_TIMEOUT_S = 15.0  # the same for a user's folder: a busy machine must not keep a guard out of its first event
_FORMAT = 2


class Found(NamedTuple):
    """A handler file: its digest, its scan, and its bytes if they were just read."""

    digest: str
    scan: scan.Scan
    source: bytes | None = None


class Entry(NamedTuple):
    """The cached entry of a file, in types that `marshal` can write.

    Attributes:
        stamp: the file's status when it was read.
        digest: SHA-256 of its bytes.
        wishes: the events it wants, with their matchers.
        heeded: whether it matters for every event, because it is strict or has a fault.
        scan: its scan; None if it was hashed but not parsed.
    """

    stamp: Stamp
    digest: str
    wishes: dict[str, str | None]
    heeded: bool
    scan: tuple[Any, ...] | None


Shelf = tuple[tuple[Any, ...], dict[str, Entry]]
"""The cache of a folder: the rules by which its files were scanned (`_rules`), and the entries by file name."""


def _everything(name: str, digest: str) -> bool:
    return True


def _nothing() -> frozenset[str]:
    return frozenset()


class Rules(NamedTuple):
    """How to read a folder.

    Attributes:
        hooks: the client's hooks, which the files may answer.
        within: the folder that links may not lead out of; None lets links lead anywhere.
        apart: parse in a child process, because only killing it ends a parser that takes too long.
        parsed: tells by a file's name and digest whether to parse it; a file that won't run need not be.
        first: returns the names that come first if there are too many files.
        timeout_s: wall time for parsing all files of the folder.
    """

    hooks: Hooks
    within: Path | None = None
    apart: bool = True
    parsed: Callable[[str, str], bool] = _everything
    first: Callable[[], frozenset[str]] = _nothing
    timeout_s: float = PARSE_TIMEOUT_S


@dataclass
class Folder:
    """The present handler files of one folder.

    Attributes:
        path: the folder.
        known: name → entry of each file that didn't change since an earlier event read it.
        fresh: name → each file that was just read.
        unreadable: name → why the file couldn't be read.
        fault: what is wrong with the folder itself; empty if nothing is.
    """

    path: Path
    known: dict[str, Entry] = field(default_factory=dict)
    fresh: dict[str, Found] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    fault: str = ""

    def names(self) -> Iterator[str]:
        """Yield the names of all files, in no particular order."""
        yield from self.known
        yield from self.fresh
        yield from self.unreadable

    def digests(self) -> dict[str, str]:
        """Return name → SHA-256 of each file; empty for one that can't be read."""
        read = {name: each.digest for name, each in (self.known | self.fresh).items()}
        return read | dict.fromkeys(self.unreadable, "")

    def concerned(self, event: str, value: str | None, strict: Container[str], hooks: Hooks) -> Iterator[str]:
        """Yield the names of the files that an event may concern.

        Args:
            event: the event's name.
            value: the value of its matcher field; None for every value.
            strict: paths of handler files known to be strict.
            hooks: the client's hooks.
        """
        yield from self.fresh
        yield from self.unreadable
        top = f"{self.path}/"
        for name, entry in self.known.items():
            wants = event in entry.wishes and hooks.matches(entry.wishes[event], value, event)
            if wants or entry.heeded or top + name in strict:
                yield name

    def found(self, name: str) -> Found:
        """Return one file by its name. Raises StateError if it can't be read."""
        if name in self.unreadable:
            raise StateError(self.path / name, self.unreadable[name])
        return self.fresh.get(name) or _from(self.known[name])


def look(path: Path, rules: Rules) -> Folder:
    """List a handlers folder, and read only the files that are new or changed.

    A file counts as unchanged if its status (including its change time) is the same as in the cache, and was old enough
    when it was cached. If nothing can be cached, every file is read every time.

    Returns:
        The folder; an empty one if there is none.
    """
    folder = Folder(path)
    now, file = time.time_ns(), _file(path)
    rules_of_scan = _rules(rules.hooks.SOURCES)
    kept = _known(file, rules_of_scan)
    stamps: dict[str, Stamp] = {}
    top = f"{path}/"
    for name in _names(folder, rules):
        entry = kept.get(name)
        try:
            stamps[name] = seen = stamp(os.stat(top + name))  # noqa: PTH116 - quicker, and each event looks at all files
            if entry and entry.stamp == seen and (entry.scan is not None or not rules.parsed(name, entry.digest)):
                folder.known[name] = entry
            else:
                folder.fresh[name] = _read(path / name, rules.within)
        except (OSError, ValueError) as error:
            folder.unreadable[name] = getattr(error, "strerror", None) or str(error)
        except StateError as error:
            folder.unreadable[name] = error.reason
    wanted = {name: found for name, found in folder.fresh.items() if rules.parsed(name, found.digest)}
    lasting = _parse(wanted, rules) if wanted else {}
    folder.fresh |= wanted
    new = {
        name: _entry(stamps[name], found, parsed=name in wanted)
        for name, found in folder.fresh.items()
        if settled(stamps[name], now) and stamps[name][1] == len(found.source or b"") and lasting.get(name, True)
    }
    if new:
        _keep(file, path, rules_of_scan, folder.known | new)
    return folder


def read_anew(path: Path, rules: Rules) -> Found:
    """Read and parse one file, ignoring the cache. Raises StateError."""
    found = _read(path, rules.within)
    if not rules.parsed(path.name, found.digest):
        return found
    wanted = {path.name: found}
    _parse(wanted, rules)
    return wanted[path.name]


def preload(path: Path) -> None:
    """Load the cache of a folder into memory, with its files' code, for processes forked from this one."""
    _, shelf = _shelves.get(_file(path))
    try:
        seen = (id(shelf), cache.folder().stat().st_mtime_ns)
    except OSError:
        return
    if _preloaded.get(path) != seen:
        _preloaded[path] = seen
        for name, entry in shelf.items():
            bytecode_cache.preload(entry.digest, path / name)
            _from(entry)


def _names(folder: Folder, rules: Rules) -> list[str]:
    """Return the names of the handler files, at most COUNT_LIMIT; set `folder.fault` if something is wrong."""
    if rules.within and document.leads_out(folder.path, rules.within):
        folder.fault = f"leads out of {rules.within} through a symbolic link, so no handler in it runs"
        return []
    try:
        with os.scandir(folder.path) as listed:
            listing = [each.name for each in islice(listed, LIST_LIMIT)]
    except NotADirectoryError:
        folder.fault = "is not a folder, so there are no handlers in it"
        return []
    except OSError:
        return []
    names = [name for name in listing if _is_handler(name)]
    cut = len(listing) == LIST_LIMIT
    if cut or len(names) > COUNT_LIMIT:
        there = set(names)
        first = {name for name in rules.first() if name in there or (cut and (folder.path / name).exists())}
        names = [*sorted(first), *sorted(there - first)]
        held = f"at least {LIST_LIMIT} files" if cut else f"{len(names)} handler files"
        order = "those known before, then the first by name"
        order += f" among the {LIST_LIMIT} that the system lists first" if cut else ""
        folder.fault = f"holds {held}: only {COUNT_LIMIT} handlers run, {order}"
    return names[:COUNT_LIMIT]


def _is_handler(name: str) -> bool:
    return name.endswith(".py") and name[0] not in "_."


def _read(path: Path, within: Path | None) -> Found:
    """Read and hash a file without parsing it. Raises StateError."""
    try:
        source, _ = document.read(path, SIZE_LIMIT_BYTES, within=within)
    except StateError as error:
        if error.reason == f"is larger than {SIZE_LIMIT_BYTES} bytes":
            raise StateError(path, f"{error.reason}: split it") from error
        raise
    return Found(trust.digest(source), scan.Scan(), source)


def _parse(files: dict[str, Found], rules: Rules) -> dict[str, bool]:
    """Set each file's scan in `files`. Return for each file whether its scan may be cached."""
    if not rules.apart:
        for name, found in files.items():
            files[name] = found._replace(scan=scan.scan(found.source or b"", rules.hooks))
        return dict.fromkeys(files, True)
    until = time.monotonic() + rules.timeout_s
    rest, lasting = dict(files), dict[str, bool]()
    while rest and time.monotonic() < until:
        try:
            child = Child.fork(lambda report, captured, heard: _be_parser(rest.items(), rules.hooks, report))
        except OSError:  # no process can be started; these files may be guards, and their code may run here anyway
            for name, found in rest.items():
                files[name] = found._replace(scan=scan.scan(found.source or b"", rules.hooks))
            return lasting | dict.fromkeys(rest, True)
        try:
            while rest and (message := child.receive(until, bytearray())) is not None:
                name, plain = message["name"], message["scan"]
                files[name], lasting[name] = rest.pop(name)._replace(scan=_thawed(plain)), True
        finally:
            child.kill()
        if rest and time.monotonic() < until:  # the child died while parsing the first of the rest
            name = next(iter(rest))
            files[name], lasting[name] = rest.pop(name)._replace(scan=_at_fault(_TOO_SLOW)), True
    for name, found in rest.items():
        files[name], lasting[name] = found._replace(scan=_at_fault(_NO_TIME)), False
    return lasting


_TOO_SLOW = f"cannot be parsed: that takes over {PARSE_CPU_S} s of processor time, or crashes Python; write it simpler"
_NO_TIME = "was not parsed: all new files of its folder together took too long; the next event goes on with it"


def _at_fault(reason: str) -> scan.Scan:
    return scan.Scan(faults={"": reason})


def _be_parser(files: Iterable[tuple[str, Found]], hooks: Hooks, report: int) -> None:
    """Run the parsing process: report each file's scan, until the kernel ends it for a file that takes too long."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    for name, found in files:
        signal.setitimer(signal.ITIMER_PROF, PARSE_CPU_S)  # its default action ends any parser
        try:
            said = scan.scan(found.source or b"", hooks)
        except Exception as error:  # noqa: BLE001 - any exception is a fault of the file's text
            said = _at_fault(f"cannot be read as Python ({type(error).__name__}: {str(error)[:200]})")
        write(report, {"name": name, "scan": _frozen(said)})


def _entry(seen: Stamp, found: Found, *, parsed: bool) -> Entry:
    if not parsed:
        return Entry(seen, found.digest, {}, heeded=False, scan=None)
    read = found.scan
    heeded = bool(read.faults) or any(route.strict for route in read.routes)
    wishes: dict[str, str | None] = {}
    for route in read.routes:  # two functions may answer one event
        wishes[route.event] = route.match if wishes.get(route.event, route.match) == route.match else None
    return Entry(seen, found.digest, wishes, heeded, _frozen(read))


def _from(entry: Entry) -> Found:
    return Found(entry.digest, _cached(entry.scan) if entry.scan is not None else scan.Scan())


def _frozen(read: scan.Scan) -> tuple[Any, ...]:
    routes = tuple(astuple(route) for route in read.routes)
    return (routes, tuple(read.faults.items()), read.off_by_default, read.runs_when, read.doubts)


@lru_cache(maxsize=4 * COUNT_LIMIT)  # of the three folders, and of what is edited
def _cached(plain: tuple[Any, ...]) -> scan.Scan:
    """Return the scan that an entry of the cache holds; processes forked from this one find it made."""
    return _thawed(plain)


def _thawed(plain: Sequence[Any]) -> scan.Scan:
    routes, faults, off_by_default, runs_when, doubts = plain
    conditions = tuple((key, tuple(values)) for key, values in runs_when)
    kept = tuple(scan.Route(*values) for values in routes)
    return scan.Scan(kept, dict(faults), off_by_default, conditions, tuple(doubts))


def _shelf(file: Path) -> Shelf:
    """Read a folder's cache; empty if it is broken, or from another folder, version or interpreter."""
    body = cache.read(file)
    if body is None:
        return (), {}
    try:
        name, rules, entries = marshal.loads(body)
        ours = (name, rules[:2]) == (file.name, (_FORMAT, bytecode_cache.INTERPRETER))
        return (rules, {name: Entry(*values) for name, values in entries.items()}) if ours else ((), {})
    except (ValueError, EOFError, TypeError, AttributeError):
        return (), {}


def _keep(file: Path, path: Path, rules: tuple[Any, ...], entries: dict[str, Entry]) -> None:
    """Write a folder's cache, merged with what another process cached meanwhile, without files that are gone."""
    by, known = _shelf(file)
    merged = {name: entry for name, entry in known.items() if by == rules and os.path.lexists(path / name)} | entries
    cache.write(file, marshal.dumps((file.name, rules, {name: tuple(entry) for name, entry in merged.items()})))


def _known(file: Path, rules: tuple[Any, ...]) -> dict[str, Entry]:
    """Return a folder's cached entries if they were scanned by these rules, else none."""
    by, entries = _shelves.get(file)
    return entries if by == rules else {}


@lru_cache
def _rules(sources: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what a scan depends on: cache format, interpreter, and the stamps of this code and the client's files."""
    files = (scan.__file__, deadlines.__file__, __file__, *sources)
    return (_FORMAT, bytecode_cache.INTERPRETER, *(stamp(Path(each).stat()) for each in files))


def _file(path: Path) -> Path:
    return cache.folder() / f"{trust.digest(os.fsencode(path))[:32]}.scan"


_preloaded: dict[Path, tuple[int, int]] = {}
_shelves: Kept[Shelf] = Kept(_shelf)
