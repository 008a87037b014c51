"""State files with their generations behind them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import MissingError, StateError
from holdfast.survival import generations
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.project import Project
    from tests.workflow.conftest import Put


def test_a_write_keeps_the_content_before_and_after(project: Project, put: Put) -> None:
    """A hand-made content is a generation before we change it, ours after it."""
    path = put("state.json", {"a": 1})
    by_hand = path.read_bytes()
    statefile.write(project, path, {"a": 2}, statefile.read(project, path), why="test")
    rows = generations.all(project, path)
    assert [row["why"] for row in rows] == ["test", "before test"]
    assert generations.content(project, rows[1]["id"]) == by_hand


def test_unchanged_content_is_not_rewritten(project: Project, put: Put) -> None:
    """A rewrite of the same would break the model's next edit."""
    path = put("state.json", '{"a":1,\r\n   "b": [1,2]}')
    before = path.stat()
    statefile.write(project, path, {"a": 1, "b": [1, 2]}, statefile.read(project, path), why="test")
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("broken", [b"", b'{"a": ', b"\xff\xfe{", b"[]", b'{"a": 1, "a": 2}'])
def test_a_broken_file_reads_as_its_last_generation(project: Project, put: Put, broken: bytes) -> None:
    """Reading says what is wrong, takes the last good content and never touches the file."""
    path = put("state.json", {"a": 1})
    generations.keep(project, path, path.read_bytes(), why="test")
    path.write_bytes(broken)
    file = statefile.read(project, path)
    assert file.data == {"a": 1}
    assert file.broken
    assert path.read_bytes() == broken


def test_a_broken_file_without_a_generation_is_an_error(project: Project, put: Put) -> None:
    """There is nothing to fall back to, and the reason names the place."""
    path = put("state.json", '{"a": }')
    with pytest.raises(StateError, match="line 1 column 7"):
        statefile.read(project, path)


def test_a_removed_file_stays_removed(project: Project, put: Put) -> None:
    """Removal is how a workflow ends: no generation brings it back."""
    path = put("state.json", {"a": 1})
    generations.keep(project, path, path.read_bytes(), why="test")
    path.unlink()
    with pytest.raises(MissingError):
        statefile.read(project, path)


def test_our_own_write_sets_a_broken_file_aside(project: Project, put: Put) -> None:
    """Nothing that was on disk is lost, not even what nobody could read."""
    path = put("state.json", {"a": 1})
    generations.keep(project, path, path.read_bytes(), why="test")
    path.write_bytes(b"{broken")
    after = statefile.write(project, path, {"a": 2}, statefile.read(project, path), why="test")
    assert json.loads(path.read_bytes()) == after.data == {"a": 2}
    assert [each.read_bytes() for each in path.parent.glob("state.json.corrupt-*")] == [b"{broken"]


@pytest.mark.parametrize("link", ["a", "a/b", "a/b/state.json"])
def test_links_out_of_the_project_are_never_followed(project: Project, tmp_path: Path, link: str) -> None:
    """A linked folder or file on the way refuses reading and writing."""
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "state.json").write_text('{"a": 1}')
    place = project.root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside / "state.json" if link.endswith(".json") else outside)
    path = project.root / "a/b/state.json"
    with pytest.raises(StateError, match="symbolic link"):
        statefile.read(project, path)
    with pytest.raises(StateError, match="symbolic link"):
        statefile.write(project, path, {"a": 2}, None, why="test")
    assert (outside / "state.json").read_text() == '{"a": 1}'


def test_paths_outside_the_project_are_refused(project: Project, tmp_path: Path) -> None:
    """State never leaves the root."""
    with pytest.raises(StateError, match="outside the project"):
        statefile.guard(project.root, tmp_path / "state.json")


def test_discarding_keeps_a_generation(project: Project, put: Put) -> None:
    """A removed file's content can still be found; a broken one is set aside instead."""
    good, bad = put("good.json", {"a": 1}), put("bad.json", "{")
    raw = good.read_bytes()
    for path in (good, bad, project.root / "nothing.json"):
        statefile.discard(project, path, why="test")
    assert generations.latest(project, good) == raw
    assert sorted(each.name.split("-")[0] for each in project.root.iterdir()) == ["bad.json.corrupt"]
