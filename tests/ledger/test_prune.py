"""The oldest rows of a table are deleted, a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.config import Config
from holdfast.ledger import database
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with a table of ten things, and one thing of another project's."""
    made = Workspace(tmp_path, Config())
    made.ledger.run("CREATE TABLE things (project TEXT, name TEXT, at TEXT, PRIMARY KEY (project, name))")
    made.ledger.run("CREATE INDEX things_at ON things (project, at)")
    for number in range(10):
        made.ledger.run("INSERT INTO things VALUES (?, ?, ?)", made.key, f"t{number}", f"2026-01-{number + 10}")
    made.ledger.run("INSERT INTO things VALUES ('other', 't', '2025')")
    return made


def left(project: Workspace) -> list[str]:
    """Return the names of this project's things."""
    rows = project.ledger.rows("SELECT name FROM things WHERE project = ? ORDER BY at", project.key)
    return [row["name"] for row in rows]


def test_the_newest_stay(project: Workspace) -> None:
    """As many as are kept; another project's are not touched."""
    project.ledger.prune(project.key, "things", "at", 3, key="project, name")
    assert left(project) == ["t7", "t8", "t9"]
    assert project.ledger.one("SELECT name FROM things WHERE project = 'other'")


def test_a_few_go_at_once(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much for one event goes with the next ones."""
    monkeypatch.setattr(database, "PRUNED", 4)
    for kept in (6, 3, 3):
        project.ledger.prune(project.key, "things", "at", 3, key="project, name")
        assert len(left(project)) == kept
    assert left(project) == ["t7", "t8", "t9"]


def test_an_index_finds_them(project: Workspace) -> None:
    """Neither is the table read whole nor are its rows sorted."""
    seen: list[str] = []
    project.ledger._connection.set_trace_callback(seen.append)
    project.ledger.prune(project.key, "things", "at", 3, key="project, name")
    project.ledger._connection.set_trace_callback(None)
    plan = [row["detail"] for row in project.ledger.rows(f"EXPLAIN QUERY PLAN {seen[0]}")]
    assert not [step for step in plan if step.startswith("SCAN") or "TEMP B-TREE" in step]
