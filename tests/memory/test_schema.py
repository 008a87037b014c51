"""A ledger records its version; other programs' files are left alone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.memory import SCHEMA_VERSION, schema
from holdfast.memory.store import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython

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


def contents(file: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in file.parent.glob(f"{file.name}*")}


ADOPT = """
import os, sys
from pathlib import Path
from holdfast.memory.store import Ledger
from holdfast.memory.patience import Patience
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
    """Whoever comes second finds it done."""
    run_python(ADOPT, file)
    assert marks(file) == (schema.APPLICATION_ID, SCHEMA_VERSION)


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
