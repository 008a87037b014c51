"""A ledger records its version, whoever creates it."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

import pytest

from holdfast.memory import SCHEMA_VERSION, rows, schema

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a ledger is to be."""
    return tmp_path / "ledger.db"


def marks(file: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(file)) as raw:
        return tuple(raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))


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


def test_another_schema_has_another_number() -> None:
    """Else a ledger that is there lacks a column, and nothing is saved. Change both, and never take a number again."""
    digest = hashlib.sha256("\n".join(schema.statements()).encode()).hexdigest()
    assert (SCHEMA_VERSION, digest[:16]) == (6, "174fb1b18533bb3d")


def test_what_is_not_known_is_empty() -> None:
    """An export shows it, too. Only a new agent's kind and state are words."""
    empty = (MISSING, "", b"", 0, None)
    defaults = [(each.name, each.default) for row in rows.TABLES for each in fields(row)]
    assert sorted((name, default) for name, default in defaults if default not in empty) == [
        ("data", "{}"),
        ("kind", "agent"),
        ("open", True),
        ("state", "called"),
    ]
