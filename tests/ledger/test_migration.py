"""A ledger of the version before this one is migrated, and an earlier version beside this one goes on working."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.ledger import schema
from holdfast.ledger.database import Ledger

RECORDED = Path(__file__).with_name("version_1.sql")
"""What version 1 wrote in a session with two workflows, agents, to-do lists and compactions; never edited."""
FROZEN = {
    2: "e91d97e3da07c956570ee6d92bcd2e4f0ca0e529857d26ecdbfb257a23272b6b",
    3: "8d9ffed809e11d226c70963294dee40a88c14deda25157587c5e39ae29dfaeb5",
    4: "b71615f41b5f58aa5d2892cf8c894b098a5fc3ef4bb64aeff0421310851b6f0e",
    5: "44b911c80d0d48c25491befe8d16064c9cd8b735f5debabd1cb072715e832ce0",
    6: "55d6b7a9ce131d44f69308e646fa0f1afd9062746ffcd8c3af9de410d49609aa",
    7: "b2c499eb4bb0ffbf68c1ad922736716d2ebe221b6b7125be0740a5cfeb6212cf",
}
"""The SHA-256 of each migration's statements: once on main it is never edited."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The recorded ledger."""
    made = tmp_path / "ledger.db"
    with closing(sqlite3.connect(made)) as raw:
        raw.executescript(RECORDED.read_text("utf-8"))
    return made


def rows(file: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(file)) as raw:
        return {name: raw.execute(f"SELECT * FROM {name}").fetchall() for name in schema.columns(raw)}


def shape(file: Path) -> dict[str, list[Any]]:
    """Return the columns of each table and of each index."""
    with closing(sqlite3.connect(file)) as raw:
        found = raw.execute("SELECT type, name FROM sqlite_master").fetchall()
        return {name: raw.execute(f"PRAGMA {kind}_info({name})").fetchall() for kind, name in found}


def test_a_recorded_ledger_is_migrated_and_loses_nothing(file: Path, tmp_path: Path) -> None:
    """It has the same tables, columns and indexes as one that is begun now."""
    before = rows(file)
    assert sum(map(bool, before.values())) >= 14
    assert "archive" not in before

    with Ledger.open(file) as opened:
        assert opened.problem is None
    Ledger.open(tmp_path / "fresh.db").close()

    after = rows(file)
    width = {name: len(found[0]) for name, found in before.items() if found}
    assert {name: [row[: width.get(name)] for row in after[name]] for name in before} == before
    assert {name: found for name, found in after.items() if name not in before and found} == {
        "migrations": [(number,) for number in range(2, schema.NEWEST + 1)]
    }
    assert shape(file) == shape(tmp_path / "fresh.db")


def test_a_table_gets_the_columns_it_lacks(file: Path, tmp_path: Path) -> None:
    """With their defaults, before the indexes that need them are made."""
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("DROP INDEX runs_consumed")
        raw.execute("ALTER TABLE runs DROP COLUMN consumed_at")
    with Ledger.open(file) as opened:
        assert opened.rows("SELECT DISTINCT consumed_at FROM runs") == [{"consumed_at": "unknown"}]
    Ledger.open(tmp_path / "fresh.db").close()
    assert shape(file).keys() == shape(tmp_path / "fresh.db").keys()


def test_what_cannot_be_migrated_is_read_from_a_copy(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without write permission: all tables are there for this run, and the file stays as it is."""
    before = file.read_bytes()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with Ledger.open(file) as opened:
        assert "its folder is read-only" in str(opened.problem)
        assert opened.whole
        assert opened.one("SELECT count(*) AS number FROM seals") == {"number": 4}
        assert opened.rows("SELECT * FROM archive") == []
    assert file.read_bytes() == before


def test_half_an_upgrade_changes_no_ledger(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new `schema.py` is there before the new `schema.sql`, the ledger is in memory and the file as it was."""
    monkeypatch.setattr(schema, "NEWEST", schema.NEWEST + 1)
    with Ledger.open(file) as opened:
        assert f"has no migration {schema.NEWEST}" in str(opened.problem)
        assert opened.one("SELECT count(*) AS number FROM seals") == {"number": 4}
    assert "migrations" not in rows(file)


@pytest.mark.parametrize("earlier", [1, 2])
def test_an_earlier_version_goes_on_beside_this_one(file: Path, monkeypatch: pytest.MonkeyPatch, earlier: int) -> None:
    """What has the ledger open while it is migrated, and what opens it after that: both write, and nothing is lost."""
    summary = "INSERT INTO summaries VALUES ('p', ?, '', '')"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "NEWEST", earlier)
        before = Ledger.open(file)
        before.run(summary, "before")
    with Ledger.open(file) as migrated, before:
        assert migrated.rows("SELECT * FROM archive") == []
        before.run(summary, "while")
        assert migrated.one("SELECT count(*) AS number FROM summaries WHERE project = 'p'") == {"number": 2}
    with monkeypatch.context() as patch:
        patch.setattr(schema, "NEWEST", earlier)
        patch.delattr(schema, "statements")
        with Ledger.open(file) as after:
            assert after.problem is None
            after.run("CREATE TABLE IF NOT EXISTS archive (made TEXT)")  # as version 1 did before it used a table
            after.run(summary, "after")
    with Ledger.open(file) as opened:
        found = opened.rows("SELECT session FROM summaries WHERE project = 'p' ORDER BY rowid")
    assert [row["session"] for row in found] == ["before", "while", "after"]
    assert rows(file)["migrations"] == [(number,) for number in range(2, schema.NEWEST + 1)]


def test_a_migration_is_never_edited() -> None:
    """Each is on some ledgers already, which do not get it again. `schema.py` knows how many there are."""
    numbers = [
        int(number) for number in re.findall(r"^-- migration (\d+): ", _schema().read_text("utf-8"), re.MULTILINE)
    ]
    assert numbers == [*range(2, schema.NEWEST + 1)] == [*FROZEN]
    assert schema.VERSION in (1, *numbers)
    for number, digest in FROZEN.items():
        text = "\n".join(" ".join(each.split()) for each in schema.statements(f"migration {number}"))
        assert hashlib.sha256(text.encode()).hexdigest() == digest


def _schema() -> Path:
    return Path(str(schema.__file__)).with_name("schema.sql")
