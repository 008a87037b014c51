"""Sessions of `wfs` are changed under their own lock, and tasks read again where they may have changed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.wfs import moves, paths, session
from holdfast.formats.wfs.moves import NewTask
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.formats.wfs.session import Session


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    """A project with a session of two tasks, one of them completed."""
    (tmp_path / "project").mkdir()
    opened = Workspace.open(tmp_path / "project")
    wanted = session.create(opened, "User Auth")
    with moves.changing(opened, wanted, why="test") as change:
        moves.chain(change, [NewTask("Implement one")])
        moves.chain(change, [NewTask("Implement two")])
    yield opened
    opened.close()


NAME = "WFS-user-auth"


def test_a_session_is_not_completed_in_the_middle_of_a_change(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is how its tasks are when the change is over."""
    wanted = session.get(project, NAME)
    with moves.changing(project, wanted, why="test") as change:
        moves.complete(change, "IMPL-1")
    said, asks = list[str](), threading.Event()

    def end() -> None:
        other = Workspace.open(project.root)
        try:
            said.append(session.complete(other, NAME).raw_status)
        except TransitionError as error:
            said.append(str(error))
        finally:
            other.close()

    def noted(folder: Path) -> object:
        asks.set()
        return locked(folder)

    with moves.changing(project, wanted, why="test") as change:
        monkeypatch.setattr(session, "locked", noted)
        ending = threading.Thread(target=end)
        ending.start()
        assert asks.wait(60)
        assert said == []
        change.edit(change.tree.find("IMPL-2"), lambda data: data.update(status="completed"))
    ending.join(60)
    assert said == ["completed"]
    assert session.marked(project) == []


@pytest.mark.parametrize("move", [session.pause])
def test_what_was_completed_meanwhile_stays_so(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, move: Callable[[Workspace, str], object]
) -> None:
    """Somebody completes the session between the look at its name and the lock."""
    ended: list[Path] = []

    def late(folder: Path) -> object:
        if not ended:
            ended.append(folder)
            session.complete(project, NAME)
        return locked(folder)

    monkeypatch.setattr(session, "locked", late)
    with pytest.raises(TransitionError, match="is completed"):
        move(project, NAME)
    assert ended
    assert session.get(project, NAME).raw_status == "completed"
    assert session.marked(project) == []


def test_who_loses_the_marker_is_paused_unless_it_ended_meanwhile(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A completed one does not become paused by another that starts."""

    def late(folder: Path) -> object:
        if folder.name == NAME and session.get(project, NAME).raw_status == "active":
            monkeypatch.setattr(session, "locked", locked)
            session.complete(project, NAME)
        return locked(folder)

    monkeypatch.setattr(session, "locked", late)
    session.create(project, "Another")
    assert session.get(project, NAME).raw_status == "completed"
    assert session.marked(project) == ["WFS-another"]


def test_after_half_of_a_change_state_and_list_follow_what_was_written(project: Workspace) -> None:
    """What broke off cannot be taken back, so nothing that is generated may say otherwise."""
    wanted = session.get(project, NAME)
    with pytest.raises(ZeroDivisionError), moves.changing(project, wanted, why="test") as change:
        change.edit(change.tree.find("IMPL-1"), lambda data: data.update(status="active"))
        raise ZeroDivisionError
    now = session.get(project, NAME)
    assert (now.phase, now.file.data["progress"]["current_tasks"]) == ("IMPLEMENT", ["IMPL-1"])


def test_before_anything_was_written_a_change_that_breaks_off_writes_nothing(project: Workspace) -> None:
    """Not the list either, which somebody may have edited."""
    wanted = session.get(project, NAME)
    (wanted.folder / paths.LIST).write_text("# Tasks: mine\n")
    with pytest.raises(ZeroDivisionError), moves.changing(project, wanted, why="test"):
        raise ZeroDivisionError
    assert (wanted.folder / paths.LIST).read_text() == "# Tasks: mine\n"


def test_a_session_that_cannot_be_filled_is_not_there(project: Workspace) -> None:
    """Nothing of it stays, and the one before is active still."""
    before = session.create(project, "One")

    def fail(session: Session) -> None:
        raise StateError(paths.top(project), "no space left on device")

    with pytest.raises(StateError, match="no space left"):
        session.create(project, "Two", fill=fail)

    assert [each.name for each in paths.folders(project)] == [before.name, NAME]
    assert session.current(project).name == before.name


@pytest.mark.parametrize("move", [session.activate, session.pause, session.complete])
def test_who_changes_which_session_is_active_keeps_others_from_it(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, move: Callable[[Workspace, str], object]
) -> None:
    """Else two switches at once could leave two marked, or none; the session's tasks wait as well."""
    held = list[Path]()

    @contextmanager
    def hold(folder: Path) -> Iterator[None]:
        held.append(folder)
        with locked(folder):
            yield

    monkeypatch.setattr(session, "locked", hold)

    move(project, NAME)

    assert held[:2] == [paths.top(project), paths.top(project) / NAME]


def test_no_new_task_is_written_over_a_file(project: Workspace) -> None:
    """Somebody may have made it in this moment."""
    wanted = session.get(project, NAME)
    before = paths.task(wanted.folder, "IMPL-1").read_bytes()
    with (
        pytest.raises(StateError, match="is there already"),
        moves.changing(project, wanted, why="test") as change,
    ):
        change.create("IMPL-1", moves.content("IMPL-1", NewTask("Another")))

    assert paths.task(wanted.folder, "IMPL-1").read_bytes() == before
