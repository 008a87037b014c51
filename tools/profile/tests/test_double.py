"""The double has the files that handlers look at, and none of the original's paths."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.files import trust
from holdfast.formats import RECORDS
from holdfast.ledger.database import Ledger
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tools.profile import double as doubles
from tools.profile.relocation import Move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from tools.profile.double import Double

HANDLER = "from holdfast import *\n@hookimpl\ndef on_stop(event): ...\n"
FILES = {
    ".claude/handlers/own.py": HANDLER,
    ".claude/settings.json": "{}",
    ".claude/state/workflow.json": "{}",
    ".claude/worktrees/other/big": "a checkout",
    "CLAUDE.local.md": "memory",
    "CLAUDE/Plan/001/PLAN.md": "plan",
    "untracked/workflow-state/w/state-w-1.json": "{}",
    ".workflow/.active-WFS-w": "",
    ".workflow/WFS-w/workflow-session.json": "{}",
    ".workflow/WFS-w/.task/IMPL-1.json": "{}",
    "src/main.py": "print()",
    "src/other.py": "print()",
    ".git/HEAD": "ref: refs/heads/topic\n",
}


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> Iterator[Workspace]:
    """A project with a ledger, in which files are named."""
    made = holdfast_project(FILES)
    made.trust()
    opened = Workspace.open(made.root, trusted=True)
    opened.ledger.run("CREATE TABLE places (id TEXT PRIMARY KEY, place TEXT, n INTEGER)")
    rows = [("a", f"{made.root}/CLAUDE.local.md", 1), ("b", f"{made.root}-other/x", 2), ("c", str(made.root), 3)]
    for row in rows:
        opened.ledger.run("INSERT INTO places VALUES (?, ?, ?)", *row)
    yield opened
    opened.close()


@pytest.fixture
def double(project: Workspace) -> Iterator[Double]:
    with doubles.opened(project, [record.TOP for record in RECORDS.values()]) as place:
        yield place


def everything(*folders: Path) -> dict[Path, tuple[int, bytes]]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".db-shm"]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_it_has_the_projects_state_and_not_its_sources(project: Workspace, double: Double) -> None:
    """With the times of their last changes; a worktree is left out, the branch is known."""
    there = {path.relative_to(double.root).as_posix() for path in double.root.rglob("*") if path.is_file()}
    assert there == {name for name in FILES if not name.startswith(("src", ".claude/worktrees"))}
    original, copied = project.root / "CLAUDE.local.md", double.root / "CLAUDE.local.md"
    assert copied.stat().st_mtime_ns == original.stat().st_mtime_ns
    assert Workspace(double.root, project.config).branch == "topic"
    assert double.left_out == []


def test_the_ledger_names_the_doubles_folder(project: Workspace, double: Double) -> None:
    """Wherever it named the project's; a folder whose name only begins like it stays what it is."""
    with Ledger.open(double.ledger) as ledger:
        found = {row["id"]: row["place"] for row in ledger.rows("SELECT * FROM places")}
    assert found == {
        "a": f"{double.root}/CLAUDE.local.md",
        "b": f"{project.root}-other/x",
        "c": str(double.root),
    }
    assert double.environ(double.root)["XDG_STATE_HOME"] in str(double.ledger)


def test_a_trusted_handler_is_trusted_there(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the user's configuration, handlers and launcher are in its home."""
    for name, value in double.environ(double.root).items():
        if name == "HOME" or name.startswith("XDG_"):
            monkeypatch.setenv(name, value)
    assert trust.trusted(double.root, ".claude/handlers/own.py", trust.digest(HANDLER.encode()))
    assert os.access(paths.launcher(), os.X_OK)
    assert paths.launcher() == double.launcher
    assert paths.state_dir() == double.servers.parent


def test_a_payload_comes_from_there_with_the_files_it_names(project: Workspace, double: Double) -> None:
    """Its folder exists; one outside the project becomes the project's."""
    names: dict[str, Any] = {"file_path": f"{project.root}/src/main.py", "old_string": "", "new_string": ""}
    named = recorded.load("PreToolUse-Edit", cwd=f"{project.root}/src/deep", tool_input=names)
    taken = double.take(named)
    assert taken["tool_input"]["file_path"] == f"{double.root}/src/main.py"
    assert (double.root / "src" / "main.py").read_text() == FILES["src/main.py"]
    assert not (double.root / "src" / "other.py").exists()
    assert taken["cwd"] == f"{double.root}/src/deep"
    assert (double.root / "src" / "deep").is_dir()
    outside = ("/", str(project.root.parent), f"{project.root}/../..", "\0")
    for folder in (*outside, f"{project.root}/\0", f"{project.root}/CLAUDE.local.md"):
        assert double.take(named | {"cwd": folder})["cwd"] == str(double.root)
    odd = double.take({"hook_event_name": "Stop", "x": f"{project.root}/../outside", "y": f"{project.root}/\0"})
    assert set(odd) == {"hook_event_name", "x", "y", "cwd"}


def test_each_round_begins_as_the_first_did(double: Double) -> None:
    """Whatever happened to files and ledger."""
    double.keep()
    before = everything(double.root)
    with Ledger.open(double.ledger) as ledger:
        ledger.run("DELETE FROM owners")
    (double.root / "new").write_text("x")
    (double.root / "CLAUDE.local.md").unlink()
    double.reset()
    assert everything(double.root) == before
    with Ledger.open(double.ledger) as ledger:
        assert len(ledger.rows("SELECT * FROM places")) == 3


def test_the_originals_are_only_read(project: Workspace, home: Path) -> None:
    """And nothing is left."""
    before = everything(project.root, home, project.root.parent)
    with doubles.opened(project) as place:
        place.take(recorded.load("Stop", cwd=str(project.root)))
        place.keep()
        place.reset()
    assert everything(project.root, home, project.root.parent) == before
    assert not place.top.exists()


def test_what_is_too_large_or_too_much_stays_out(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted; a linked folder is not followed, a linked file is copied."""
    monkeypatch.setattr(doubles, "FILE_LIMIT_BYTES", 100)
    (project.root / ".claude" / "big").write_text("x" * 101)
    (project.root / ".claude" / "folder").symlink_to(project.root / "src")
    (project.root / ".claude" / "file").symlink_to(project.root / "src" / "main.py")
    with doubles.opened(project) as place:
        assert [path.name for path in place.left_out] == ["big"]
        assert not (place.root / ".claude" / "folder").exists()
        assert not (place.root / ".claude" / "file").is_symlink()
        assert (place.root / ".claude" / "file").read_text() == FILES["src/main.py"]
    monkeypatch.setattr(doubles, "MAX_FILES", 1)
    with doubles.opened(project) as place:
        assert len(place.left_out) > 1


def test_the_environment_names_nothing_of_the_users_own_places(
    double: Double, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """What else is in it, a handler may need."""
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    monkeypatch.setenv("HOLDFAST_PROJECT_DIR", str(home))
    monkeypatch.setenv("PWD", str(home))
    environ = double.environ(double.root)
    assert environ["EDITOR"] == "ed"
    assert not [name for name, value in environ.items() if str(home) in value]


def test_a_folder_is_renamed_wherever_it_is_named() -> None:
    """In texts, lists, objects and their names; other values stay."""
    from pathlib import Path

    move = Move(Path("/a/b"), Path("/x"))
    assert move.value({"/a/b": ["/a/b/c", "cd /a/b && ls", 1, None], "k": "/a/bc /a/b.d /a/b"}) == {
        "/x": ["/x/c", "cd /x && ls", 1, None],
        "k": "/a/bc /a/b.d /x",
    }
