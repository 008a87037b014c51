"""An earlier content comes back into a state file, and what the file held last isn't lost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from holdfast.config import Config
from holdfast.errors import TransitionError
from holdfast.workflow.restore import restore
from tests.formats.memory import Memory
from tests.handmade import workflow

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Restored, Workflow
    from holdfast.workflow.statefile import StateFile


@dataclass
class Scene:
    """A state file, and what a restore of it did.

    Attributes:
        project: the project.
        path: the state file.
        seen: the contents of which the project was told, each with whether it was told when they were written.
        followed: the contents from which something was generated.
    """

    project: Memory
    path: Path
    seen: list[tuple[bytes, bool]] = field(default_factory=list)
    followed: list[bytes] = field(default_factory=list)

    def workflow(self, raw: bytes) -> Workflow:
        name = json.loads(raw)["name"]
        finished = {"status": "completed"} if "done" in raw.decode() else {}
        return workflow(self.project.root, name, path=self.path, raw=raw, **finished)

    def restore(self, raw: bytes, *, replace: bool = False) -> Restored:
        def follow(file: StateFile) -> None:
            self.followed.append(file.document.raw)

        return restore(
            self.project,
            self.workflow(raw),
            why="test",
            replace=replace,
            read=lambda file: self.workflow(file.document.raw),
            follow=follow,
        )


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A project that notes what it's told."""
    made = Scene(Memory(tmp_path, Config()), tmp_path / "state.json")

    def observe(self: Memory, told: Workflow, *, error: str = "", at: str | None = None) -> None:
        made.seen.append((told.raw, at is not None))

    monkeypatch.setattr(Memory, "observe", observe)
    return made


FIRST, LATER, OTHER = b'{"name": "A"}', b'{"name": "A", "at": 2}', b'{"name": "B"}'


def test_what_was_moved_by_hand_is_noted_before_it_goes(scene: Scene) -> None:
    """With its own time; only what the restore wrote has the present one."""
    scene.path.write_bytes(LATER)

    assert scene.restore(FIRST).changed

    assert scene.path.read_bytes() == FIRST
    assert scene.seen == [(LATER, False), (FIRST, True)]
    assert scene.followed == [FIRST]
    assert [raw for raw, _ in scene.project.kept[scene.path]] == [LATER, FIRST]


def test_a_removed_file_comes_back(scene: Scene) -> None:
    """Nothing is in its way."""
    assert scene.restore(FIRST).changed
    assert scene.path.read_bytes() == FIRST


def test_a_content_that_is_there_is_not_written_again(scene: Scene) -> None:
    """What is generated from it is: a killed writer may have left that outdated."""
    scene.path.write_bytes(FIRST)

    assert not scene.restore(FIRST).changed

    assert scene.seen == []
    assert scene.followed == [FIRST]


def test_another_workflow_gives_way_if_it_is_finished_or_on_purpose(scene: Scene) -> None:
    """It goes to the archive."""
    scene.path.write_bytes(OTHER)
    with pytest.raises(TransitionError, match=r'"B" \(b\) is in the way: it is active at phase 2/5 in state.json; end'):
        scene.restore(FIRST)
    assert scene.path.read_bytes() == OTHER

    scene.restore(FIRST, replace=True)
    assert [each.title for each in scene.project.archived.values()] == ["B"]

    scene.path.write_bytes(b'{"name": "C", "done": true}')
    scene.restore(FIRST)
    assert [each.title for each in scene.project.archived.values()] == ["B", "C"]
