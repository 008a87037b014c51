"""The ledger works, or works in memory and says why."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.memory.patience import Patience
from holdfast.memory.store import Ledger
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


def _usable_in_memory(opened: Ledger) -> None:
    assert opened.file is None
    opened.run(NOTES)
    with opened.transaction():
        opened.run("INSERT INTO notes VALUES ('a', 1, NULL)")
    assert _ids(opened) == ["a"]
    opened.close()


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    """With a file where the folder should be, everything works in memory and the problem names the path."""
    (tmp_path / "state").write_text("in the way")

    opened = Ledger.open(tmp_path / "state/ledger.db")

    assert opened.problem is not None
    assert opened.problem.startswith(f"{tmp_path}/state/ledger.db: the ledger cannot be used (")
    _usable_in_memory(opened)
    assert (tmp_path / "state").read_text() == "in the way"


def test_a_device_in_place_of_the_file(tmp_path: Path) -> None:
    """A ledger that is a link to a full device is refused, and the device keeps its mode."""
    (tmp_path / "ledger.db").symlink_to("/dev/full")
    before = Path("/dev/full").stat().st_mode

    opened = Ledger.open(tmp_path / "ledger.db")

    assert opened.problem is not None
    _usable_in_memory(opened)
    assert Path("/dev/full").stat().st_mode == before


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


TASK = "INSERT INTO todo_tasks VALUES ('c', ?, ?, '2026')"


def _damaged(file: Path) -> bytes:
    """Fill a ledger and damage its later pages; return the bytes it has now."""
    with Ledger.open(file) as opened:
        for number in range(200):
            opened.run(TASK, f"{number:03}", "x" * 4000)
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
        assert opened.rows("SELECT * FROM todo_tasks") == []
        assert "malformed" in str(opened.problem)
        assert opened.run(TASK, "new", "") == 1
    assert file.read_bytes() == damaged


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

    with monkeypatch.context() as disk:
        disk.setattr(os, "statvfs", full)
        opened = Ledger.open(tmp_path / "l.db")

        assert opened.problem is not None
        assert "its disk is full" in opened.problem
        assert _ids(opened) == ["remembered"]
        opened.run("INSERT INTO notes VALUES ('new', 1, NULL)")
        assert _ids(opened) == ["new", "remembered"]
        opened.close()
    with Ledger.open(tmp_path / "l.db") as later:
        assert _ids(later) == ["remembered"]


_WITHOUT_PRIVILEGE = """
import ctypes, os, sys
from pathlib import Path
from holdfast.memory.store import Ledger
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
from holdfast.memory.store import Ledger
from holdfast.memory.patience import Patience
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
from holdfast.memory.store import Ledger
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
