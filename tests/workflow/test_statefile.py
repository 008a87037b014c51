"""State files that somebody else saves, breaks or removes while Holdfast writes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import ChangedError, LargeError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.sessions import contents
from holdfast.workflow import search, statefile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.statefile import StateFile
    from tests.workflow.conftest import Put


@pytest.mark.parametrize("foreign", ["[]", '["a"]', "null", '"text"', "7"])
def test_json_of_another_kind_is_another_tools_and_stays(project: Workspace, put: Put, foreign: str) -> None:
    """I000-20: even where a file of ours was before; what that said is read, and nothing is written or moved."""
    path = put("state.json", foreign)
    with pytest.raises(SchemaMismatch, match="where an object is expected"):
        statefile.read(project, path)
    contents.keep(project, path, b'{"a": 1}', why="test")
    assert statefile.read(project, path).data == {"a": 1}

    with pytest.raises(SchemaMismatch, match="where an object is expected, so it is not overwritten"):
        statefile.rewrite(project, path, lambda _: {"a": 2}, why="test")
    with pytest.raises(SchemaMismatch):
        statefile.rewrite(project, path, lambda file: dict(file.data), why="test", repair=True)
    with pytest.raises(SchemaMismatch):
        statefile.set_aside(project, path)
    statefile.discard(project, path, why="test")

    assert path.read_text() == foreign
    assert [each.name for each in project.root.iterdir()] == ["state.json"]


def test_paths_outside_the_project_are_refused(project: Workspace, tmp_path: Path) -> None:
    """State never leaves the root."""
    with pytest.raises(StateError, match="outside the project"):
        statefile.guard(project.root, tmp_path / "state.json")


class Pauses:
    """Counts the pauses of a process that waits, and lets somebody do something in one of them."""

    def __init__(self) -> None:
        self.count = 0
        self.acts: dict[int, Callable[[], object]] = {}

    def __call__(self, _: float) -> None:
        self.count += 1
        self.acts.pop(self.count, lambda: None)()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """The pauses while a state file is watched; time passes all the same, ten milliseconds each."""
    made = Pauses()
    monkeypatch.setattr(time, "sleep", made)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + made.count / 100)
    return made


def save(path: Path, content: str) -> None:
    """Save as an editor does, with the time of now."""
    beside = path.with_name("editor's")
    beside.write_text(content)
    beside.replace(path)


def test_what_is_saved_during_an_update_is_never_lost(project: Workspace, put: Put) -> None:
    """An edit that somebody saves between our reading and our writing is what our own edit is then made to."""
    path = put("state.json", '{"a": 1}')
    asked: list[dict[str, Any]] = []

    def edit(file: StateFile) -> dict[str, Any]:
        asked.append(file.data)
        if len(asked) < 4:
            save(path, f'{{"a": {len(asked) + 1},  "theirs": {len(asked)}}}')
        return {**file.data, "ours": len(asked)}

    after, changed = statefile.rewrite(project, path, edit, why="test")

    assert changed
    assert asked == [{"a": 1}, *({"a": n + 1, "theirs": n} for n in (1, 2, 3))]
    assert after.data == {"a": 4, "theirs": 3, "ours": 4}
    assert path.read_text() == '{"a": 4, "theirs": 3, "ours": 4}'
    kept = [contents.content(project, path, each.number) for each in contents.list_versions(project, path)]
    assert len(set(kept)) == 5, "each content that was read, and ours, is a generation"


def test_somebody_who_saves_over_and_over_wins(project: Workspace, put: Put, pauses: Pauses) -> None:
    """The number of tries is bounded, and then the message says what to do."""
    path = put("state.json", {"a": 0})
    saved: list[int] = []

    def edit(file: StateFile) -> dict[str, Any]:
        saved.append(len(saved))
        save(path, f'{{"a": "{len(saved)}"}}')
        return {**file.data, "ours": 1}

    with pytest.raises(ChangedError, match=r"state.json: was saved by somebody else meanwhile.*try again"):
        statefile.rewrite(project, path, edit, why="test")

    assert json.loads(path.read_text()) == {"a": str(statefile.TRIES)}
    assert pauses.count == statefile.TRIES - 1


def test_a_file_removed_during_an_update_stays_removed(project: Workspace, put: Put) -> None:
    """Somebody else completed the workflow meanwhile."""
    path = put("state.json", {"a": 1})

    def edit(file: StateFile) -> dict[str, Any]:
        path.unlink()
        return {**file.data, "ours": 1}

    with pytest.raises(MissingError):
        statefile.rewrite(project, path, edit, why="test")

    assert not path.exists()


@pytest.mark.parametrize("half", ["", '{"a": 1, "th'])
@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_is_being_saved_is_waited_for(
    project: Workspace, put: Put, pauses: Pauses, half: str, known: bool
) -> None:
    """An editor that empties the file before it fills it is seen in between: nothing is set aside, nothing is lost."""
    path = put("state.json", {"a": 1})
    if known:
        contents.keep(project, path, path.read_bytes(), why="test")
    path.write_text(half)
    pauses.acts = {3: lambda: path.write_text('{"a": 1, "theirs":'), 5: lambda: save(path, '{"a": 1, "theirs": 2}')}

    after, changed = statefile.rewrite(project, path, lambda file: {**file.data, "ours": 3}, why="test")

    assert (after.data, changed) == ({"a": 1, "theirs": 2, "ours": 3}, True)
    assert json.loads(path.read_text()) == after.data
    assert [each.name for each in project.root.iterdir()] == ["state.json"]


def test_a_file_that_stays_broken_is_set_aside(project: Workspace, put: Put, pauses: Pauses) -> None:
    """Once nobody has touched it for a moment; what it held lies beside it, the last generation is gone on with."""
    path = put("state.json", {"a": 1})
    contents.keep(project, path, path.read_bytes(), why="test")
    path.write_text('{"a": 2')

    after, _ = statefile.rewrite(project, path, lambda file: {**file.data, "ours": 1}, why="test")

    assert after.data == {"a": 1, "ours": 1}
    assert pauses.count > 10
    assert [each.read_text() for each in path.parent.glob("state.json.corrupt-*")] == ['{"a": 2']


def test_a_file_that_is_changed_for_ever_is_not_waited_for_for_ever(
    project: Workspace, put: Put, pauses: Pauses
) -> None:
    """Whoever writes nonsense all the time is not overwritten while at it."""
    path = put("state.json", {"a": 1})
    contents.keep(project, path, path.read_bytes(), why="test")
    path.write_text("{")
    pauses.acts = {number: lambda: path.write_text(path.read_text() + "{") for number in range(1, 10_000)}

    with pytest.raises(StateError, match="somebody is saving it over and over"):
        statefile.rewrite(project, path, lambda file: {**file.data, "ours": 1}, why="test")

    assert set(path.read_text()) == {"{"}
    assert pauses.count < 1000


def test_what_nobody_can_look_at_is_never_moved(project: Workspace, put: Put) -> None:
    """A folder at our path is refused, by name, by every way of writing."""
    path = put("state.json", {"a": 1})
    contents.keep(project, path, path.read_bytes(), why="test")
    path.unlink()
    (path / "theirs").mkdir(parents=True)

    with pytest.raises(StateError, match=r"state\.json: is a folder, so it is not overwritten"):
        statefile.rewrite(project, path, lambda _: {"a": 2}, why="test")
    with pytest.raises(StateError, match="is a folder"):
        statefile.set_aside(project, path)

    assert (path / "theirs").is_dir()


def test_a_new_file_never_takes_anothers_place(project: Workspace, put: Put) -> None:
    """What came first stands, and trying again is up to the caller."""
    path = put("state.json", {"a": 1})

    with pytest.raises(ChangedError):
        statefile.write(project, path, {"a": 2}, None, why="test")

    assert json.loads(path.read_text()) == {"a": 1}


def test_a_broken_file_saved_before_it_is_written_stands(
    project: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing lies aside then: what was broken was somebody's content in the making."""
    path = put("state.json", {"a": 1})
    contents.keep(project, path, path.read_bytes(), why="test")
    before = statefile.read(project, put("state.json", "{"))
    real = document.copy_aside

    def and_then_saved(path: Path, raw: bytes) -> Path:
        copy = real(path, raw)
        save(path, '{"a": 3}')
        return copy

    monkeypatch.setattr(document, "copy_aside", and_then_saved)
    with pytest.raises(ChangedError):
        statefile.write(project, path, {"a": 2}, before, why="test")

    assert path.read_text() == '{"a": 3}'
    assert [each.name for each in project.root.iterdir()] == ["state.json"]


@pytest.mark.parametrize(("last", "aside"), [('{"a": 2}', []), ('{"a": 2', ['{"a": 2'])])
def test_what_is_saved_at_the_very_end_is_kept(
    project: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch, last: str, aside: list[str]
) -> None:
    """A file saved between its last reading and its removal is a generation too, or lies aside if it is broken."""
    path = put("state.json", {"a": 1})
    real = atomic.take

    def take(path: Path) -> bytes:
        save(path, last)
        return real(path)

    monkeypatch.setattr(atomic, "take", take)
    statefile.discard(project, path, why="test")

    kept = [contents.content(project, path, each.number) for each in contents.list_versions(project, path)]
    assert (last.encode() in kept) == (not aside)
    assert [each.read_text() for each in path.parent.iterdir()] == aside


def test_nothing_is_written_that_would_not_be_read(project: Workspace) -> None:
    """So that no change costs the workflow."""
    path = project.root / "state.json"
    long = {"pad": "x" * search.LIMIT_BYTES}
    with pytest.raises(LargeError, match=f"would be larger than {search.LIMIT_BYTES} bytes, so it stays as it was"):
        statefile.write(project, path, long, None, why="test")
    assert not path.exists()
    path.write_text('{"a": 1}')
    with pytest.raises(LargeError, match="would be larger"):
        statefile.rewrite(project, path, lambda file: long, why="test")
    assert path.read_text() == '{"a": 1}'
