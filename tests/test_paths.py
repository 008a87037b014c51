"""The paths of Holdfast's and a project's files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from holdfast import paths

if TYPE_CHECKING:
    from pathlib import Path


def test_folders_follow_the_user_s_choice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The XDG variables decide where configuration, state, cache and data lie."""
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    assert paths.user_config() == tmp_path / "CONFIG/holdfast/holdfast.toml"
    assert paths.user_handlers() == tmp_path / "CONFIG/holdfast/handlers"
    assert paths.log_file() == tmp_path / "STATE/holdfast/log/holdfast.log"


def test_the_registered_command_s_place_is_fixed(monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path) -> None:
    """The launcher lies where settings.json names it literally, wherever data folders point."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert paths.launcher() == home / ".local/share/holdfast/run"
    assert paths.command_dir() == home / ".local/share/holdfast/bin"


def test_shipped_prefers_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a checkout the top-level folders are used, in a wheel those inside the package."""
    (tmp_path / "handlers").mkdir()
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "src/holdfast")
    assert paths.shipped("handlers") == tmp_path / "handlers"
    assert paths.shipped("skills") == tmp_path / "src/holdfast/_shipped/skills"

    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "site-packages/holdfast")
    assert paths.shipped("handlers") == tmp_path / "site-packages/holdfast/_shipped/handlers"


def test_private_folders_are_the_owner_s_alone(tmp_path: Path) -> None:
    """Every folder that is created is 0700; one that was there keeps its mode."""
    tmp_path.chmod(0o755)

    folder = paths.ensure_private(tmp_path / "a/b/c")

    modes = [stat.S_IMODE(place.stat().st_mode) for place in (folder, folder.parent, folder.parent.parent, tmp_path)]
    assert modes == [0o700, 0o700, 0o700, 0o755]
    assert paths.ensure_private(folder) == folder


def test_private_folder_with_a_file_in_the_way(tmp_path: Path) -> None:
    """A file where the folder should be is an OSError, not a silent success."""
    (tmp_path / "a").write_text("")

    with pytest.raises(OSError, match="a"):
        paths.ensure_private(tmp_path / "a/b")


def _tree(root: Path, *folders: str) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True)


def test_root_from_the_nearest_marker_upward(tmp_path: Path) -> None:
    """Without any name given, the nearest folder with .claude or .git is the project."""
    _tree(tmp_path, "repo/.git", "repo/sub/.claude", "repo/sub/deep/er", "repo/other")

    assert paths.find_root(None, {}, tmp_path / "repo/sub/deep/er") == tmp_path / "repo/sub"
    assert paths.find_root(None, {}, tmp_path / "repo/other") == tmp_path / "repo"
    assert paths.find_root(None, {}, tmp_path / "repo/sub/.claude") == tmp_path / "repo/sub"


def test_a_worktree_s_git_file_marks_a_root(tmp_path: Path) -> None:
    """In a worktree .git is a file, which marks the root just the same."""
    _tree(tmp_path, "tree/inner")
    (tmp_path / "tree/.git").write_text("gitdir: elsewhere\n")

    assert paths.find_root(None, {}, tmp_path / "tree/inner") == tmp_path / "tree"


def test_the_home_folder_is_no_project(home: Path) -> None:
    """The user's own ~/.claude does not make the home folder a project; its .git would."""
    _tree(home, ".claude", "notes/today")
    assert paths.find_root(None, {}, home / "notes/today") == home / "notes/today"

    _tree(home, ".git")
    assert paths.find_root(None, {}, home / "notes/today") == home


def test_roots_are_real_paths(tmp_path: Path) -> None:
    """A root reached through a link is named by its real path, so that its state is found again."""
    _tree(tmp_path, "real/.git")
    (tmp_path / "link").symlink_to("real")

    assert paths.find_root(str(tmp_path / "link"), {}, tmp_path) == tmp_path / "real"
    assert paths.find_root(None, {}, tmp_path / "link") == tmp_path / "real"


def test_a_root_that_is_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is looked for on disk; one that a system takes is followed."""
    longest = "/" + "ä" * 2_047
    with monkeypatch.context() as changed:
        changed.setattr(os.path, "realpath", lambda path: f"real {path}")
        found = [paths.real_root(longest), paths.real_root(longest + "x")]
    assert found == [f"real {longest}", ""]


def test_what_people_read_has_short_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Relative to the working folder, or with ~; nothing else of a text changes, and quotes keep what a shell needs."""
    home, here = tmp_path / "home", tmp_path / "home" / "work"
    here.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)

    for text, short in (
        (f"{here}/a.md: broken", "a.md: broken"),
        (f"in {home}/.claude/x and {here}/y", "in ~/.claude/x and y"),
        (f"rm '{home}/a b'", f"rm '{home}/a b'"),
        (f"rm '{here}/a b'", "rm 'a b'"),
        (f"rm {here}/-r {here}/~root", "rm ~/work/-r ~/work/~root"),
        (f"x --settings={home}/a --settings={here}/b", f"x --settings={home}/a --settings=b"),
        (f"({home}/x)", "(~/x)"),
        (f"{home}ward/x", f"{home}ward/x"),
        (f"/mnt{home}/x", f"/mnt{home}/x"),
        (f"{here}", "~/work"),
        ("no path", "no path"),
    ):
        assert paths.shown(text) == short
