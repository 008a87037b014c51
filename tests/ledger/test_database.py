"""The ledger works, or works in memory and says why."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import LedgerError
from holdfast.ledger import connection
from holdfast.ledger.database import Ledger, new_id
from holdfast.ledger.patience import Patience
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import RunPython

LOCKED = "another process has locked the ledger, so nothing of this run is remembered"
NOTES = "CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, n INTEGER, data BLOB)"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "state/ledger.db") as opened:
        assert opened.problem is None
        opened.run(NOTES)
        yield opened


def _ids(ledger: Ledger) -> list[str]:
    return [row["id"] for row in ledger.rows("SELECT id FROM notes ORDER BY id")]


def test_rows_one_and_run(ledger: Ledger) -> None:
    """Statements take values, return rows by column name and say how many rows they changed."""
    assert ledger.run("INSERT INTO notes VALUES (?, ?, ?)", "a", 1, b"\x00") == 1
    assert ledger.run("INSERT INTO notes VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", "a", 2, None) == 0
    assert ledger.run("INSERT INTO notes VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET n = 5", "a", 2, None) == 1

    assert ledger.rows("SELECT * FROM notes") == [{"id": "a", "n": 5, "data": b"\x00"}]
    assert ledger.one("SELECT n FROM notes WHERE id = ?", "a") == {"n": 5}
    assert ledger.one("SELECT n FROM notes WHERE id = ?", "b") is None


def test_a_claim_is_won_once(ledger: Ledger) -> None:
    """A conditional update changes a row for the first comer only."""
    ledger.run("INSERT INTO notes VALUES ('snapshot', 0, NULL)")

    claims = [ledger.run("UPDATE notes SET n = ? WHERE id = 'snapshot' AND n = 0", who) for who in (7, 8)]

    assert claims == [1, 0]
    assert ledger.one("SELECT n FROM notes") == {"n": 7}


def test_file_and_folder_are_private(ledger: Ledger) -> None:
    """The file and its write-ahead files are 0600 in a 0700 folder."""
    assert ledger.file is not None
    ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")

    folder = ledger.file.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert (folder / "ledger.db-wal").exists()


@each_row("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_file_open_to_others_is_closed_to_them(tmp_path: Path, mode: int) -> None:
    """An existing ledger with a wider mode becomes 0600."""
    file = tmp_path / "ledger.db"
    file.touch()
    file.chmod(mode)

    Ledger.open(file).close()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_written_stays(tmp_path: Path) -> None:
    """A second ledger on the same file sees what the first one wrote, at once and later."""
    with Ledger.open(tmp_path / "l.db") as first, Ledger.open(tmp_path / "l.db") as second:
        first.run(NOTES)
        first.run("INSERT INTO notes VALUES ('a', 1, NULL)")
        assert _ids(second) == ["a"]
    with Ledger.open(tmp_path / "l.db") as third:
        assert _ids(third) == ["a"]


def test_a_transaction_is_all_or_nothing(ledger: Ledger) -> None:
    """A block that fails leaves nothing, one that succeeds leaves everything."""
    with pytest.raises(ZeroDivisionError), ledger.transaction():
        ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")
        _ = 1 / 0
    assert _ids(ledger) == []

    with ledger.transaction():
        ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")
        ledger.run("INSERT INTO notes VALUES ('b', 1, NULL)")
    assert _ids(ledger) == ["a", "b"]


def test_transactions_nest(ledger: Ledger) -> None:
    """An inner block undoes only itself; the outer one decides about all."""
    with ledger.transaction():
        ledger.run("INSERT INTO notes VALUES ('outer', 1, NULL)")
        with pytest.raises(ZeroDivisionError), ledger.transaction():
            ledger.run("INSERT INTO notes VALUES ('undone', 1, NULL)")
            _ = 1 / 0
        with ledger.transaction():
            ledger.run("INSERT INTO notes VALUES ('inner', 1, NULL)")
    assert _ids(ledger) == ["inner", "outer"]

    with pytest.raises(ZeroDivisionError), ledger.transaction():
        with ledger.transaction():
            ledger.run("INSERT INTO notes VALUES ('gone', 1, NULL)")
        _ = 1 / 0
    assert _ids(ledger) == ["inner", "outer"]


def test_a_transaction_holds_the_write_lock_from_its_start(ledger: Ledger) -> None:
    """While one process reads and decides, no other one can write; that one goes on in memory with what it knows."""
    assert ledger.file is not None
    ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")
    told: list[str] = []
    with Ledger.open(ledger.file, Patience(0.0), told.append) as other, ledger.transaction():
        other.run("INSERT INTO notes VALUES ('b', 1, NULL)")
        assert _ids(other) == ["a", "b"]
        assert told == [other.problem]
        assert other.problem == f"{ledger.file}: {LOCKED}"
        assert other.whole
    assert _ids(ledger) == ["a"]


def test_what_another_process_keeps_for_itself_is_not_read_past_its_lock(ledger: Ledger) -> None:
    """The file alone, without the write-ahead log, is not what is remembered: an empty ledger says that it isn't."""
    assert ledger.file is not None
    with closing(sqlite3.connect(ledger.file, isolation_level=None)) as owner:
        ledger.close()
        owner.execute("PRAGMA locking_mode = EXCLUSIVE")
        owner.execute("INSERT INTO notes VALUES ('a', 1, NULL)")
        with Ledger.open(ledger.file, Patience(0.0)) as other:
            assert other.problem == f"{ledger.file}: {LOCKED}"
            assert not other.whole
            other.run(NOTES)
            assert _ids(other) == []


def test_errors_name_the_file(ledger: Ledger) -> None:
    """A statement that fails is a LedgerError with file and reason, in and outside a transaction."""
    with pytest.raises(LedgerError, match=r"ledger\.db: no such table: nowhere"):
        ledger.run("INSERT INTO nowhere VALUES (1)")
    with pytest.raises(LedgerError, match="UNIQUE"), ledger.transaction():
        ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")
        ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")
    assert _ids(ledger) == []


def test_a_disk_that_fills_up_undoes_the_block_and_costs_no_event(ledger: Ledger) -> None:
    """When the disk fills in mid-transaction nothing of it stays in the file; the rest of the run is in memory."""
    file = ledger.file
    pages = ledger.rows("PRAGMA page_count")[0]["page_count"]
    ledger.run(f"PRAGMA max_page_count = {pages}")
    with ledger.transaction():
        ledger.run("INSERT INTO notes VALUES ('small', 1, NULL)")
        ledger.run("INSERT INTO notes VALUES ('big', 1, ?)", b"x" * 1_000_000)

    assert "full" in str(ledger.problem)
    assert _ids(ledger) == ["big"]
    with Ledger.open(file) as again:
        assert _ids(again) == []


def test_closing_twice_is_fine(tmp_path: Path) -> None:
    """Closing is safe to repeat, and a closed ledger says so in a LedgerError."""
    opened = Ledger.open(tmp_path / "l.db")
    opened.close()
    opened.close()

    with pytest.raises(LedgerError, match="closed"):
        opened.rows("SELECT 1")


def _usable_in_memory(opened: Ledger) -> None:
    assert opened.file is None
    opened.run(NOTES)
    with opened.transaction():
        opened.run("INSERT INTO notes VALUES ('a', 1, NULL)")
    assert _ids(opened) == ["a"]
    opened.close()


def test_no_file_means_memory() -> None:
    """Without a file the ledger works for this run and says that it forgets."""
    opened = Ledger.open(None)

    assert opened.problem == "the ledger has no file, so nothing is remembered after this run"
    _usable_in_memory(opened)


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    """With a file where the folder should be, everything works in memory and the problem names the path."""
    (tmp_path / "state").write_text("in the way")

    opened = Ledger.open(tmp_path / "state/ledger.db")

    assert opened.problem is not None
    assert opened.problem.startswith(f"{tmp_path}/state/ledger.db: the ledger cannot be used (")
    _usable_in_memory(opened)
    assert (tmp_path / "state").read_text() == "in the way"


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    """A folder named like the ledger is left alone."""
    (tmp_path / "ledger.db").mkdir()

    opened = Ledger.open(tmp_path / "ledger.db")

    assert opened.problem is not None
    assert "not a regular file" in opened.problem
    _usable_in_memory(opened)


def test_a_device_in_place_of_the_file(tmp_path: Path) -> None:
    """A ledger that is a link to a full device is refused, and the device keeps its mode."""
    (tmp_path / "ledger.db").symlink_to("/dev/full")
    before = Path("/dev/full").stat().st_mode

    opened = Ledger.open(tmp_path / "ledger.db")

    assert opened.problem is not None
    _usable_in_memory(opened)
    assert Path("/dev/full").stat().st_mode == before


def test_a_place_where_nothing_can_be_made() -> None:
    """A folder that the system lets nobody create costs nothing but memory."""
    opened = Ledger.open(Path("/proc/holdfast/ledger.db"))

    assert opened.problem is not None
    _usable_in_memory(opened)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
def test_corrupt_bytes_are_kept_and_memory_used(tmp_path: Path, content: bytes) -> None:
    """A damaged ledger is neither used nor overwritten."""
    file = tmp_path / "ledger.db"
    file.write_bytes(content)

    opened = Ledger.open(file)

    assert opened.problem is not None
    assert "a new one is begun" in opened.problem
    _usable_in_memory(opened)
    assert file.read_bytes() == content


SUMMARY = "INSERT INTO summaries VALUES ('p', ?, ?, '2026')"


def _damaged(file: Path) -> bytes:
    """Fill a ledger and damage its later pages; return the bytes it has now."""
    with Ledger.open(file) as opened:
        for number in range(200):
            opened.run(SUMMARY, f"{number:03}", "x" * 4000)
    raw = file.read_bytes()
    half = len(raw) // 2 // 4096 * 4096
    damaged = raw[:half] + b"\xff" * (len(raw) - half)
    file.write_bytes(damaged)
    return damaged


def test_damage_inside_is_survived_when_met(tmp_path: Path) -> None:
    """A ledger whose later pages are damaged opens; where the damage is met the run goes on in memory, and says so."""
    file = tmp_path / "ledger.db"
    damaged = _damaged(file)

    with Ledger.open(file) as opened:
        assert opened.problem is None
        assert opened.rows("SELECT * FROM summaries") == []
        assert "malformed" in str(opened.problem)
        assert opened.run(SUMMARY, "new", "") == 1
    assert file.read_bytes() == damaged


def test_the_damage_is_survived_in_a_transaction(tmp_path: Path) -> None:
    """Nested blocks go on in memory as they were begun."""
    file = tmp_path / "ledger.db"
    _damaged(file)

    with Ledger.open(file) as opened:
        with opened.transaction(), opened.transaction():
            opened.run("UPDATE summaries SET said = 'y'")
            opened.run(SUMMARY, "new", "")
        assert opened.rows("SELECT session FROM summaries") == [{"session": "new"}]


def test_a_wrong_column_is_still_an_error(ledger: Ledger) -> None:
    """A mistake in a statement is nothing to be mended."""
    with pytest.raises(LedgerError, match="no such column"):
        ledger.rows("SELECT nonsense FROM notes")


def _filled(file: Path) -> None:
    with Ledger.open(file) as opened:
        opened.run(NOTES)
        opened.run("INSERT INTO notes VALUES ('remembered', 1, NULL)")


def test_a_full_disk_forgets_nothing_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the disk full the ledger is in memory, beginning with what the file holds."""
    _filled(tmp_path / "l.db")
    real = os.statvfs

    def full(path: Path) -> os.statvfs_result:
        values = list(real(path))
        values[4] = 0  # f_bavail
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "statvfs", full)
    opened = Ledger.open(tmp_path / "l.db")

    assert opened.problem is not None
    assert "its disk is full" in opened.problem
    assert _ids(opened) == ["remembered"]
    opened.run("INSERT INTO notes VALUES ('new', 1, NULL)")
    assert _ids(opened) == ["new", "remembered"]
    opened.close()
    monkeypatch.undo()
    with Ledger.open(tmp_path / "l.db") as later:
        assert _ids(later) == ["remembered"]


_WITHOUT_PRIVILEGE = """
import ctypes, os, sys
from pathlib import Path
from holdfast.ledger.database import Ledger
if os.getuid() == 0 and len(sys.argv) == 2:  # give up root's right to write everywhere, for good
    drop, override = 24, 1
    if ctypes.CDLL(None).prctl(drop, override, 0, 0, 0):
        sys.exit("root cannot be bound by file modes here")
    os.execv(sys.executable, [*sys.orig_argv, "again"])
folder = Path(sys.argv[1])
opened = Ledger.open(folder / "state/ledger.db")
print(opened.problem)
print(opened.rows("SELECT id FROM notes"))
print(opened.run("INSERT INTO notes VALUES ('new', 1, NULL)"))
fresh = Ledger.open(folder / "state/sub/ledger.db")
print(fresh.problem)
"""


def test_a_read_only_folder(tmp_path: Path, run_python: RunPython) -> None:
    """In a folder that may only be read, old rows are there, new ones last for the run, and the file stays."""
    file = tmp_path / "state/ledger.db"
    _filled(file)
    before = file.read_bytes()
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        problem, rows, changed, fresh = run_python(_WITHOUT_PRIVILEGE, tmp_path).splitlines()
    finally:
        file.parent.chmod(0o755)

    assert "the ledger cannot be used" in problem
    assert rows == "[{'id': 'remembered'}]"
    assert changed == "1"
    assert "Permission denied" in fresh
    assert file.read_bytes() == before


_OPEN_TOGETHER = """
import os, sys
from pathlib import Path
from holdfast.ledger.database import Ledger
from holdfast.ledger.patience import Patience
import sqlite3
file, processes = Path(sys.argv[1]), int(sys.argv[2])
ready, go = os.pipe()
children = []
for number in range(processes):
    if not (child := os.fork()):
        os.close(go)
        os.read(ready, 1)  # all at once
        try:
            for turn in range(3):
                with Ledger.open(file, Patience(60.0)) as ledger:
                    assert ledger.problem is None, ledger.problem
                    ledger.run("CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, n INTEGER)")
                    ledger.run("CREATE INDEX IF NOT EXISTS notes_n ON notes (n)")
                    with ledger.transaction():
                        row = ledger.one("SELECT n FROM notes WHERE id = 'sum'") or {"n": 0}
                        ledger.run(
                            "INSERT INTO notes VALUES ('sum', ?) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
                            row["n"] + 1,
                        )
                    ledger.run("INSERT INTO notes VALUES (?, 0)", f"{number}-{turn}")
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(ready)
os.close(go)
failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
sys.exit(1 if failed else 0)
"""


def test_many_processes_open_a_new_ledger_at_once(tmp_path: Path, run_python: RunPython) -> None:
    """Thirty processes that all create, open and close the ledger together lose no row and meet no problem."""
    run_python(_OPEN_TOGETHER, tmp_path / "state/ledger.db", 30)

    with Ledger.open(tmp_path / "state/ledger.db") as opened:
        assert opened.one("SELECT n FROM notes WHERE id = 'sum'") == {"n": 90}
        assert opened.one("SELECT count(*) AS c FROM notes") == {"c": 91}
        assert opened.one("PRAGMA journal_mode") == {"journal_mode": "wal"}


def test_opening_again_keeps_the_locks_of_this_process(tmp_path: Path, run_python: RunPython) -> None:
    """Opening the ledger a second time in a process does not let others take the log away under the first."""
    script = """
import sys
from pathlib import Path
from holdfast.ledger.database import Ledger
with Ledger.open(Path(sys.argv[1])) as opened:
    opened.run("INSERT INTO notes VALUES (?, 1, NULL)", sys.argv[2])
    print([row["id"] for row in opened.rows("SELECT id FROM notes ORDER BY id")])
"""
    file = tmp_path / "l.db"
    with Ledger.open(file) as first:
        first.run(NOTES)
        first.run("INSERT INTO notes VALUES ('a', 1, NULL)")
        Ledger.open(file).close()
        assert run_python(script, file, "b") == "['a', 'b']\n"
        first.run("INSERT INTO notes VALUES ('c', 1, NULL)")
        assert run_python(script, file, "d") == "['a', 'b', 'c', 'd']\n"


def test_a_ledger_busy_at_its_birth_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switching to write-ahead logging fails at once while another process does it; then it is simply done again."""
    real, failures = connection._configure, list[str]()

    def busy_twice(opened: sqlite3.Connection, file: Path, *, known: bool) -> None:
        if len(failures) < 2:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorname = "SQLITE_BUSY"
            failures.append(error.sqlite_errorname)
            raise error
        real(opened, file, known=known)

    monkeypatch.setattr(connection, "_configure", busy_twice)
    with Ledger.open(tmp_path / "l.db", Patience(60.0)) as opened:
        assert (opened.problem, len(failures)) == (None, 2)


def test_the_file_is_plain_sqlite(ledger: Ledger) -> None:
    """Anybody can look into the ledger with SQLite's own tools."""
    ledger.run("INSERT INTO notes VALUES ('a', 1, NULL)")
    assert ledger.file is not None

    with closing(sqlite3.connect(ledger.file)) as plain:
        assert plain.execute("SELECT id FROM notes").fetchall() == [("a",)]


def test_ids_are_unique_and_plain() -> None:
    """Ids are 32 hexadecimal digits, never the same twice."""
    ids = {new_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert all(len(one) == 32 and int(one, 16) >= 0 for one in ids)


def test_a_connection_never_waits_by_itself(tmp_path: Path) -> None:
    """All waits of an event are counted together, and SQLite's own would not be."""
    with closing(connection.connect(tmp_path / "ledger.db", Patience())) as made:
        assert list(made.execute("PRAGMA busy_timeout").fetchone().values()) == [0]


@pytest.mark.parametrize("closed", ["ledger.db", ""])
def test_what_cannot_be_written_is_not_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    """Neither a file nor, since the log lies beside it, one in such a folder."""
    connection.connect(tmp_path / "ledger.db", Patience()).close()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / closed)
    with pytest.raises(PermissionError):
        connection.connect(tmp_path / "ledger.db", Patience())


def test_a_marked_ledger_is_recognized_by_its_header(tmp_path: Path, run_python: RunPython) -> None:
    """An event opens its ledger once: to have SQLite look first whose it is takes almost as long again."""
    script = """
import sys
from pathlib import Path
from holdfast.ledger import connection
from holdfast.ledger.patience import Patience
names, dial = [], connection._dial
connection._dial = lambda name, **options: names.append(name) or dial(name, **options)
connection.connect(Path(sys.argv[1]), Patience())
print(names == [sys.argv[1]])
"""
    file = tmp_path / "ledger.db"
    Ledger.open(file).close()

    assert run_python(script, file) == "True\n"


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A ledger that a process has connected to in advance, as a new one does."""
    file = tmp_path / "ledger.db"
    with Ledger.open(file) as opened:
        opened.run(NOTES)
    monkeypatch.setattr(connection, "_connected", set())
    monkeypatch.setattr(connection, "_held", {})
    connection.hold(file)
    yield file
    for made, _ in connection._held.values():
        made.close()


def test_a_connection_made_in_advance_is_taken_once(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read the log and the schema, and sees what others have changed since."""
    with Ledger.open(held) as other:
        with Ledger.open(held) as third:
            third.run("INSERT INTO notes VALUES ('a', 1, NULL)")
            third.run("CREATE TABLE more (x)")
        assert _ids(other) == ["a"]
        assert other.rows("SELECT x FROM more") == []
        assert other.problem is None
    assert not connection._held


def test_nothing_is_connected_to_when_it_was_in_advance(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection reads the schema anew."""
    monkeypatch.delattr(connection, "_dial")

    with Ledger.open(held) as opened:
        assert (opened.problem, _ids(opened)) == (None, [])


def test_a_connection_made_in_advance_locks_nothing(held: Path) -> None:
    """Whoever works with the ledger meanwhile doesn't notice it."""
    for journal in ("", "-wal"):
        assert held.with_name(held.name + journal).exists()
    with closing(connection._dial(str(held))) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("INSERT INTO notes VALUES ('a', 1, NULL)")
        other.execute("COMMIT")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()["busy"] == 0
        other.execute("VACUUM")

    with Ledger.open(held) as opened:
        assert _ids(opened) == ["a"]


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_ledger_in_the_place_of_the_one_connected_to_is_used(held: Path, how: str) -> None:
    """What is written goes into it, and its log stays where it is."""
    if how == "replaced":
        with Ledger.open(held.with_name("new.db")) as new:
            new.run(NOTES)
            new.run("INSERT INTO notes VALUES ('new', 1, NULL)")
    for each in ("", "-wal", "-shm"):
        held.with_name(held.name + each).unlink()
    if how == "replaced":
        held.with_name("new.db").rename(held)

    with Ledger.open(held) as opened:
        assert opened.problem is None
        opened.run(NOTES)
        opened.run("INSERT INTO notes VALUES ('mine', 1, NULL)")
        assert _ids(opened) == (["mine", "new"] if how == "replaced" else ["mine"])
        with closing(sqlite3.connect(held)) as other:
            assert len(other.execute("SELECT id FROM notes").fetchall()) == len(_ids(opened))


def test_only_a_ledger_of_this_version_is_connected_to_in_advance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made or mended for an event that may never come."""
    monkeypatch.setattr(connection, "_held", {})
    with pytest.raises(FileNotFoundError):
        connection.hold(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("SQLite format 3, or not")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE t (x)")
    for name in ("text.db", "other.db"):
        before = (tmp_path / name).read_bytes()
        connection.hold(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    assert not connection._held
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.db", "text.db"]


def test_the_log_stays_short_although_nobody_closes(tmp_path: Path) -> None:
    """Events end without closing; each would read more of a log that is never begun anew."""
    file = tmp_path / "ledger.db"
    longest = 0
    for _ in range(8):
        child = os.fork()
        if not child:
            made = connection.connect(file, Patience())
            made.execute(NOTES)
            made.execute("INSERT INTO notes VALUES (hex(randomblob(8)), 1, zeroblob(262144))")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        longest = max(longest, file.with_name("ledger.db-wal").stat().st_size)

    assert longest < 2**20
    with Ledger.open(file) as opened:
        assert opened.one("SELECT count(*) AS c FROM notes") == {"c": 8}
