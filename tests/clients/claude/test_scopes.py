"""Which scope a settings file belongs to, however it is named."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import scopes

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project's folder."""
    folder = tmp_path / "it's a project"
    (folder / ".claude").mkdir(parents=True)
    return folder


def test_what_is_named_from_here_is_found_from_everywhere(
    root: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file given by hand and the client's folder; an empty variable names none."""
    monkeypatch.chdir(root)
    relative = scopes.target("local", root, type(root)("mine.json"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "config")
    folder = scopes.claude_dir()
    monkeypatch.chdir(tmp_path)
    assert relative.settings == root / "mine.json"
    assert folder == root / "config"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    assert scopes.claude_dir() == home / ".claude"


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_the_commands_that_undo_and_redo_name_what_is_not_usual(root: Path, scope: Scope) -> None:
    """A shell takes them as they stand, from any folder."""
    usual, named = scopes.target(scope, root), scopes.target(scope, root, root / "a b.json")
    project = [] if scope == "user" else ["--project", str(root)]
    for target, words in ((usual, []), (named, ["--settings", str(root / "a b.json")])):
        for verb, command in (("install", target.redo), ("uninstall", target.undo)):
            assert shlex.split(command) == ["holdfast", verb, "--scope", scope, *words, *project]
