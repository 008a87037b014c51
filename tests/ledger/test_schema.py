"""A ledger records its version; later ledgers and other programs' files are left alone."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.ledger import schema
from holdfast.ledger.database import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RunPython

NEWEST = schema.NEWEST
SESSIONS = "CREATE TABLE IF NOT EXISTS sessions (id TEXT, project TEXT)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a ledger is to be."""
    return tmp_path / "ledger.db"


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as raw:
        for statement in statements:
            raw.execute(statement)


def marks(file: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(file)) as raw:
        return tuple(raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))


def migrations(file: Path) -> list[int]:
    with closing(sqlite3.connect(file)) as raw:
        return [row[0] for row in raw.execute("SELECT number FROM migrations ORDER BY number")]


def contents(file: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in file.parent.glob(f"{file.name}*")}


ADOPT = """
import os, sys
from pathlib import Path
from holdfast.ledger import connection, schema
from holdfast.ledger.database import Ledger
from holdfast.ledger.patience import Patience
schema.NEWEST += 1
sound = schema.statements
schema.statements = lambda section: MIGRATION if section == f"migration {schema.NEWEST}" else sound(section)
MIGRATION = ["INSERT INTO summaries VALUES ('p', 'migrated', '', '')"]
ready, go = os.pipe()
children = []
for number in range(12):
    if not (child := os.fork()):
        os.close(go)
        os.read(ready, 1)  # all at once
        opened = Ledger.open(Path(sys.argv[1]), Patience(60.0))
        os._exit(opened.problem is not None)
    children.append(child)
os.close(ready)
os.close(go)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


def test_many_processes_adopt_a_ledger_once(file: Path, run_python: RunPython) -> None:
    """Whoever comes second finds it done, so no migration runs twice."""
    run_python(ADOPT, file)
    with closing(sqlite3.connect(file)) as raw:
        assert raw.execute("SELECT session FROM summaries").fetchall() == [("migrated",)]
    assert marks(file) == (schema.APPLICATION_ID, schema.VERSION)
    assert migrations(file) == [*range(2, NEWEST + 2)]


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Append migrations, each a list of statements, to those there are."""
    sound = schema.statements

    def append(*more: list[str]) -> None:
        sections = {f"migration {number}": each for number, each in enumerate(more, NEWEST + 1)}
        monkeypatch.setattr(schema, "statements", lambda name: sections[name] if name in sections else sound(name))
        monkeypatch.setattr(schema, "NEWEST", NEWEST + len(more))

    return append


def test_migrations_run_in_order_from_where_a_ledger_is(file: Path, appended: Callable[..., None]) -> None:
    """One that fails leaves the ledger as it was."""
    note, noted = "INSERT INTO summaries VALUES ('p', '{}', '', '')", "SELECT session FROM summaries ORDER BY rowid"
    appended([note.format("a")])
    Ledger.open(file).close()
    assert migrations(file) == [*range(2, NEWEST + 2)]

    appended(["nonsense"], [note.format("b")], ["nonsense"])
    with Ledger.open(file) as opened:
        assert "nonsense" in str(opened.problem)
    assert migrations(file) == [*range(2, NEWEST + 2)]

    appended(["nonsense"], [note.format("b"), note.format("c")], [note.format("d")])
    with Ledger.open(file) as opened:
        assert [row["session"] for row in opened.rows(noted)] == ["a", "b", "c", "d"]
    assert migrations(file) == [*range(2, NEWEST + 4)]


CRASH = """
import os, sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("PRAGMA journal_mode = WAL")
raw.execute(f"PRAGMA application_id = {sys.argv[2]}")
raw.execute(f"PRAGMA user_version = {sys.argv[3]}")
raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
raw.execute("CREATE TABLE places (x)")
os.kill(os.getpid(), 9)
"""


def crashed(file: Path, application: int, version: int) -> None:
    """Leave a database whose program died, with what it wrote last beside it."""
    subprocess.run([sys.executable, "-c", CRASH, str(file), str(application), str(version)], check=False)
    assert file.with_name(f"{file.name}-wal").stat().st_size > 0


def later(file: Path) -> None:
    Ledger.open(file).close()
    change(file, "PRAGMA user_version = 99")


def later_and_unreadable(file: Path) -> None:
    """Its tables say what our SQLite does not understand, which it calls malformed."""
    later(file)
    change(
        file,
        SESSIONS,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE sessions (id TEXT) FUTURE'",
    )


def negative(file: Path) -> None:
    Ledger.open(file).close()
    change(file, "PRAGMA user_version = -1")


def later_that_crashed(file: Path) -> None:
    crashed(file, schema.APPLICATION_ID, 99)


@pytest.mark.parametrize("made", [later, later_and_unreadable, later_that_crashed, negative])
def test_a_later_ledger_is_left_as_it_is(file: Path, made: object) -> None:
    """One sentence names the file, both versions and what to do; the run goes on in memory."""
    assert callable(made)
    made(file)
    before = contents(file)
    told: list[str] = []
    with Ledger.open(file, tell=told.append) as opened:
        opened.run(
            "INSERT INTO sessions (id, project, worktree, host, client, first_seen, last_seen)"
            " VALUES ('new', 'p', '', '', '', '', '')"
        )
        assert opened.rows("SELECT id FROM sessions") == [{"id": "new"}]
        assert not opened.whole
    assert contents(file) == before
    version = marks(file)[1]
    assert told == [
        f"{file} has schema version {version} and this Holdfast knows versions up to 1, so nothing is remembered until "
        "you upgrade Holdfast"
    ]


def of_another_program(file: Path) -> None:
    change(file, "CREATE TABLE places (x)", "PRAGMA application_id = 77")


def of_another_program_with_our_tables(file: Path) -> None:
    change(file, SESSIONS, "PRAGMA application_id = 77")


def without_any_id(file: Path) -> None:
    change(file, "CREATE TABLE places (x)", "CREATE TABLE sessions (id)", "PRAGMA user_version = 5")


def of_another_program_that_crashed(file: Path) -> None:
    """What was left beside it is for that program to put in order."""
    crashed(file, 77, 0)


@pytest.mark.parametrize(
    "made",
    [of_another_program, of_another_program_with_our_tables, without_any_id, of_another_program_that_crashed],
)
def test_another_programs_database_is_never_written(file: Path, made: object) -> None:
    """Neither its content nor its mode, nor what lies beside it."""
    assert callable(made)
    made(file)
    file.chmod(0o644)
    before = contents(file)
    with Ledger.open(file) as opened:
        assert "so nothing is remembered until you move it away" in str(opened.problem)
        assert not opened.whole
    assert contents(file) == before
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_file_that_became_another_is_noticed_in_its_log(file: Path) -> None:
    """The write-ahead log may know better than the file which version it is."""
    Ledger.open(file).close()
    raw = sqlite3.connect(file, isolation_level=None)
    raw.execute("PRAGMA user_version = 99")
    aside = file.with_name("aside")
    aside.mkdir()
    for name in contents(file):
        shutil.copyfile(file.with_name(name), aside / name)
    raw.close()
    copy = aside / file.name
    assert int.from_bytes(copy.read_bytes()[60:64], "big") == 1
    with Ledger.open(copy) as opened:
        assert "has schema version 99" in str(opened.problem)
    assert os.path.lexists(copy)
