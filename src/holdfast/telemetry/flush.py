"""Send what waits in the logs of all projects, and go on where the last run stopped.

A record that was sent and not yet counted is sent again by the next run, with the same `log.record.uid`.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock, log, paths
from holdfast.clients.claude import claude
from holdfast.errors import HoldfastError, LedgerError, StateError
from holdfast.files import document, lock, trust
from holdfast.memory import SCHEMA_VERSION
from holdfast.memory.patience import COMMAND_WAIT_S, Patience
from holdfast.memory.rows import Event, SessionId
from holdfast.memory.store import Ledger
from holdfast.plugins import activity, discovery
from holdfast.project import Project
from holdfast.telemetry import position, records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from holdfast.config import TelemetrySection
    from holdfast.plugins.loader import Call
    from holdfast.telemetry.position import Position
    from holdfast.telemetry.records import Record
    from holdfast.telemetry.sender import Sender

BACKLOG_LIMIT = 5_000
"""Records of a project that wait at most; the oldest are dropped. The log itself keeps 10,000 events of each kind."""
WHY_DROPPED = f"more than {BACKLOG_LIMIT:,} waited, or the endpoint called them bad"
BATCH = 500
"""Records in one request."""
TIME_LIMIT_S = 60.0
"""Time after which no further request is begun, so that a slow endpoint holds the next run up no longer."""
FIRST = timedelta(days=1)
"""How far back the first run that finds a ledger looks."""
ACTIVE = timedelta(days=7)
"""The guards of a project are reported if anything happened in it within this time."""
_WAITS = f"id > ? AND kind IN ({', '.join('?' * len(records.KINDS))})"
_ENV_FILE_LIMIT_BYTES = 64 * 1024


class Flushed(NamedTuple):
    """What a run sent and dropped, and why it stopped early; empty if it didn't."""

    sent: int
    dropped: int
    failure: str


def flush(settings: TelemetrySection) -> Flushed | None:
    """Send what waits; None if another process does so.

    Args:
        settings: the configuration, with an endpoint.

    Raises:
        HoldfastError: OpenTelemetry isn't installed, or a file can't be read or written.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.locked(paths.ensure_own(position.folder()), timeout=0))
        except StateError:
            return None
        return _Run(settings).all()


def waiting() -> int:
    """Return how many records wait to be sent."""
    at = position.load()
    total = 0
    for file in _ledgers():
        with Ledger.open(file, Patience(COMMAND_WAIT_S)) as ledger:
            total += _count(ledger, at, file)
    return total


def sender(settings: TelemetrySection, timeout: float | None = None) -> Sender:
    """Return a sender to the configured endpoint.

    Raises:
        HoldfastError: OpenTelemetry isn't installed, or the file with the variables can't be read.
    """
    if settings.env_file:
        _read_variables(paths.config_dir() / Path(settings.env_file).expanduser())
    try:
        from holdfast.telemetry.sender import Sender
    except ImportError as error:
        text = f"telemetry needs OpenTelemetry, which can't be loaded ({error})"
        raise HoldfastError(f"{text}; install Holdfast with its extra: '.[otel]' in place of '.'") from error
    return Sender(settings.endpoint, timeout)


def _read_variables(file: Path) -> None:
    """Set the environment variables in a file of `NAME=value` lines that this process lacks. Raises StateError."""
    for line in document.read(file, _ENV_FILE_LIMIT_BYTES)[0].decode("utf-8", "replace").splitlines():
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        if sign and not name.startswith("#"):
            os.environ.setdefault(name.strip(), value.strip().strip("\"'"))


class _Run:
    """One run of `flush`."""

    def __init__(self, settings: TelemetrySection) -> None:
        self._settings = settings
        self._at = position.load()
        self._ends = time.monotonic() + TIME_LIMIT_S
        self._sender: Sender | None = None  # it takes a moment to load, and mostly nothing waits
        self._sent = self._dropped = 0

    def all(self) -> Flushed:
        """Send what waits in all ledgers, then the day's report on guards. Stop at the first failure."""
        before, files = self._at.failure, _ledgers()
        self._at.sent_up_to = {file.name: _since(self._at, file) for file in files}
        self._save()  # so that what waits now stays, and nothing is sent again and again where nothing can be written
        self._at.failure = next(filter(None, (self._ledger(file) for file in files)), "") or self._guards(files)
        self._save()
        if self._at.failure and self._at.failure != before:
            log.write("warning", f"telemetry couldn't be sent: {self._at.failure}")
        return Flushed(self._sent, self._dropped, self._at.failure)

    def _ledger(self, file: Path) -> str:
        """Send what waits in a ledger's log; return why that failed."""
        try:
            with Ledger.open(file, Patience(COMMAND_WAIT_S)) as ledger:
                self._drop_oldest(ledger, file)
                while rows := _next(ledger, _since(self._at, file), BATCH):
                    if failure := self._send(_records(ledger, rows, reasons=self._settings.content == "reasons")):
                        return failure
                    self._at.sent_up_to[file.name] = rows[-1].id
                    self._save()
        except LedgerError as error:
            return str(error)
        return ""

    def _drop_oldest(self, ledger: Ledger, file: Path) -> None:
        if (surplus := _count(ledger, self._at, file) - BACKLOG_LIMIT) > 0:
            self._at.sent_up_to[file.name] = _next(ledger, _since(self._at, file), surplus)[-1].id
            self._drop(surplus)
            self._save()

    def _drop(self, number: int) -> None:
        self._at.dropped += number
        self._dropped += number

    def _guards(self, files: Iterable[Path]) -> str:
        """Report once a day which guards this machine has and when each last ran; return why that failed."""
        if self._at.guards_on == (today := f"{clock.now():%Y-%m-%d}"):
            return ""
        host = os.uname().nodename
        found = {call.file.path: records.of_guard(call, activity.last_run(call), host) for call in _guards(files)}
        failure = self._send(list(found.values())) if found else ""
        self._at.guards_on = self._at.guards_on if failure else today
        return failure

    def _send(self, batch: Sequence[Record]) -> str:
        if time.monotonic() > self._ends:
            return f"the endpoint is so slow that {TIME_LIMIT_S:.0f} seconds weren't enough; the rest is sent later"
        self._sender = self._sender or sender(self._settings)
        failure = self._sender.send(batch)
        if failure and self._sender.refused:
            log.write("warning", f"{len(batch)} telemetry records dropped: {failure}")
            self._drop(len(batch))
            return ""
        if failure:
            return failure
        self._at.sent += len(batch)
        self._at.sent_at = clock.stamp()
        self._sent += len(batch)
        return ""

    def _save(self) -> None:
        position.save(self._at)


def _ledgers() -> list[Path]:
    return sorted((paths.state_dir() / "projects").glob(f"*-{SCHEMA_VERSION}.db"))


def _since(at: Position, file: Path) -> str:
    """Return the id behind which a ledger's log is still to be sent; ids begin with the time."""
    first = int((clock.now() - FIRST).timestamp() * 1e9)
    return at.sent_up_to.get(file.name) or f"{first:016x}"


def _next(ledger: Ledger, since: str, most: int) -> list[Event]:
    return ledger.table(Event).where(_WAITS, since, *records.KINDS, order="id", limit=most)


def _count(ledger: Ledger, at: Position, file: Path) -> int:
    return ledger.table(Event).count(_WAITS, _since(at, file), *records.KINDS)


def _records(ledger: Ledger, rows: Sequence[Event], *, reasons: bool) -> list[Record]:
    """Return the telemetry records of events, each with the session id that its conversation had then."""
    found = []
    for row in rows:
        latest = ledger.table(SessionId).one("since <= ?", row.at, conversation=row.conversation, order="since DESC")
        found.append(records.of_event(row, latest.id if latest else row.conversation, reasons=reasons))
    return found


def _guards(files: Iterable[Path]) -> Iterator[Call]:
    """Yield the guards of all projects in which anything happened lately; yours are in each of them."""
    since = clock.stamp(clock.now() - ACTIVE)
    roots = set[str]()
    for file in files:
        with Ledger.open(file, Patience(COMMAND_WAIT_S)) as ledger:
            rows = ledger.rows("SELECT DISTINCT worktree FROM events WHERE at >= ?", since)
            roots |= {row["worktree"] for row in rows}
    for root in map(Path, sorted(roots)):
        if root.is_dir():
            project = Project.open(root, trusted=trust.config_trusted(root), tell=False)
            yield from activity.guards(discovery.find(claude, project), claude.CALL_EVENT)
