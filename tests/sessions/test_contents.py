"""Earlier contents of state files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import log
from holdfast.sessions import contents

if TYPE_CHECKING:
    import pytest

    from holdfast.sessions.workspace import Workspace


def test_contents_are_kept_verbatim_and_the_latest_is_found(project: Workspace) -> None:
    """Whatever the bytes, they come back as they were; secrets too, for a generation is no report."""
    path = project.root / "state.json"
    for raw in (b"\xff\x00 not json", b'{"token": "sk-ant-api03-secret"}'):
        assert contents.keep(project, path, raw, why="test")
        assert contents.latest(project, path) == raw
    assert [row.why for row in contents.list_versions(project, path)] == ["test", "test"]


def test_the_same_content_is_kept_once(project: Workspace) -> None:
    """A content that is already the latest is not kept again; one that returns after another is."""
    path = project.root / "state.json"
    assert contents.keep(project, path, b"a", why="1")
    assert not contents.keep(project, path, b"a", why="2")
    assert contents.keep(project, path, b"b", why="3")
    assert contents.keep(project, path, b"a", why="4")
    assert [row.why for row in contents.list_versions(project, path)] == ["4", "3", "1"]


def test_latest_version_is_found_though_the_clock_jumps_back(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that jumps back does not make an older content the latest."""
    path = project.root / "state.json"
    for year in (2030, 2020):
        monkeypatch.setenv("HOLDFAST_NOW", f"{year}-01-01T00:00:00Z")
        contents.keep(project, path, str(year).encode(), why="test")
    assert contents.latest(project, path) == b"2020"


def test_at_most_two_hundred_are_kept(project: Workspace) -> None:
    """The oldest generations of a path go first."""
    path = project.root / "state.json"
    for number in range(contents.MOST + 5):
        contents.keep(project, path, str(number).encode(), why=str(number))
    rows = contents.list_versions(project, path)
    assert len(rows) == contents.MOST
    assert (rows[0].why, rows[-1].why) == (str(contents.MOST + 4), "5")


def test_generations_of_another_worktree_or_file_stay(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each checkout counts its own, though the path is the same, and each file its own."""
    monkeypatch.setattr(contents, "MOST", 2)
    path = project.root / "state.json"
    contents.keep(project, path, b"there", why="there")
    project.ledger.run("UPDATE contents SET worktree = '/elsewhere'")
    contents.keep(project, project.root / "other.json", b"other", why="other")
    for number in range(4):
        contents.keep(project, path, str(number).encode(), why="here")
    rows = project.ledger.rows("SELECT why FROM contents ORDER BY why")
    assert [row["why"] for row in rows] == ["here", "here", "other", "there"]


def test_the_last_change_of_content_is_known(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """I001-10: freshness counts from when the ledger saw the content first, not from a touch."""
    path = project.root / "state.json"
    monkeypatch.setenv("HOLDFAST_NOW", "2026-01-01T00:00:00Z")
    contents.keep(project, path, b"a", why="first")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-02-01T00:00:00Z")
    contents.keep(project, path, b"a", why="second")
    assert contents.changed_at(project, path, b"a") == "2026-01-01T00:00:00.000000Z"
    assert contents.changed_at(project, path, b"b") is None

    contents.keep(project, path, b"b", why="third")
    assert contents.changed_at(project, path, b"a") is None, "it is another content now"
    contents.keep(project, path, b"a", why="fourth")
    assert contents.changed_at(project, path, b"a") == "2026-02-01T00:00:00.000000Z"


def test_failing_ledger_doesnt_stop_a_save(project: Workspace) -> None:
    """Keeping fails quietly, with a line in the log."""
    contents.keep(project, project.root / "state.json", b"a", why="test")
    assert project.ledger.file is not None
    project.ledger.close()
    assert not contents.keep(project, project.root / "state.json", b"b", why="test")
    assert "was stored: " in log.tail(1)[0]
