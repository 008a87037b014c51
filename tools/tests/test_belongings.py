"""A user's files are copied, never written to, and nothing untrusted runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import clock, paths
from holdfast.clients.claude import claude
from holdfast.files import trust
from holdfast.plugins import discovery
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import place
from tools import belongings

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = "from holdfast import hookimpl\n\n\n@hookimpl\ndef on_stop(event):\n    pass\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A project with a trusted and an untrusted handler, and a user with configuration, a handler and a template."""
    root = tmp_path / "mine"
    (root / ".claude" / "handlers").mkdir(parents=True)
    for name in ("known", "unknown"):
        (root / ".claude" / "handlers" / f"{name}.py").write_text(HANDLER)
    (root / ".claude" / "holdfast.toml").write_text("freshness_days = 3\n")
    trust.grant(root, {".claude/handlers/known.py": trust.digest(HANDLER.encode())})
    for name, text in (("handlers/own.py", HANDLER), ("templates/t.toml", "phases = []\n"), ("holdfast.toml", "")):
        (paths.config_dir() / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.config_dir() / name).write_text(text)
    return root


def everything(*folders: Path) -> dict[Path, tuple[int, bytes]]:
    """Return all files with when they changed and what they hold."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_configuration_and_handlers_are_copied(here: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the stage they are what they are at home; an untrusted handler, and one's own file, stay behind."""
    before = everything(here, home)
    with place.opened() as made:
        belongings.take_along(here, made.root, made.home)
        for name, folder in (("HOME", ""), ("XDG_CONFIG_HOME", ".config"), ("XDG_STATE_HOME", ".local/state")):
            monkeypatch.setenv(name, str(made.home / folder))
        files = {file.name: file for file in discovery.find(claude, Workspace.open(made.root))}
        assert files["own"].place == "user"
        assert files["known"].active
        assert "unknown" not in files
        assert (paths.user_templates() / "t.toml").exists()
        assert not paths.project_config(made.root).exists()  # which is not trusted either
        monkeypatch.undo()
    assert everything(here, home) == before


def test_without_it_the_stage_is_clean(here: Path) -> None:
    """Nothing of the user's is there, and a process is told the time only where the place has one of its own."""
    with place.opened() as made:
        assert list(made.home.iterdir()) == []
        assert list(made.root.iterdir()) == []
        environ = made.environ(made.root)
        made.now = clock.now()
        assert set(made.environ(made.root)) - set(environ) == {"HOLDFAST_NOW"}
    assert environ["HOME"] == str(made.home)
    assert not made.top.exists()
    assert set(environ) == {"HOME", "PATH", "LANG", "CLAUDE_PROJECT_DIR", "HOLDFAST_SERVER", "HOLDFAST_RELAY"}


def test_a_user_without_anything_takes_nothing_along(tmp_path: Path) -> None:
    """No folder of the user's needs to be there."""
    (tmp_path / "root").mkdir()
    belongings.take_along(tmp_path, tmp_path / "root", tmp_path / "home")
    assert {path.name for path in (tmp_path / "home" / ".config" / "holdfast").iterdir()} == {"trust.json"}
