"""Sessions of `wfs` are changed under their own lock, and tasks read again where they may have changed."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import StateError, TransitionError
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats.wfs import adapter as wfs
from holdfast.formats.wfs import change as wfs_change
from holdfast.formats.wfs import index, markers, places, store, transitions
from holdfast.formats.wfs import task as wfs_task
from holdfast.formats.wfs.task import New
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.formats.wfs.session import Session


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    """A project with a session of two tasks, one of them completed."""
    (tmp_path / "project").mkdir()
    opened = Workspace.open(tmp_path / "project")
    session = store.create(opened, "User Auth")
    for title in ("Implement one", "Implement two"):
        transitions.add(opened, session, New(title))
    yield opened
    opened.close()


NAME = "WFS-user-auth"


def test_a_session_is_not_completed_in_the_middle_of_a_change(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is how its tasks are when the change is over."""
    session = store.get(project, NAME)
    transitions.complete(project, session, "IMPL-1")
    said, asks = list[str](), threading.Event()

    def end() -> None:
        other = Workspace.open(project.root)
        try:
            said.append(store.complete(other, NAME).raw_status)
        except TransitionError as error:
            said.append(str(error))
        finally:
            other.close()

    def noted(folder: Path) -> object:
        asks.set()
        return locked(folder)

    with wfs_change.changing(project, session, why="test") as change:
        monkeypatch.setattr(store, "locked", noted)
        ending = threading.Thread(target=end)
        ending.start()
        assert asks.wait(60)
        assert said == []
        change.edit("IMPL-2", lambda data: data.update(status="completed"))
    ending.join(60)
    assert said == ["completed"]
    assert markers.active(project) == []


@pytest.mark.parametrize("move", [store.switch, store.pause])
def test_what_was_completed_meanwhile_stays_so(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, move: Callable[[Workspace, str], object]
) -> None:
    """Somebody completes the session between the look at its name and the lock."""
    ended: list[Path] = []

    def late(folder: Path) -> object:
        if not ended:
            ended.append(folder)
            store.complete(project, NAME, anyway=True)
        return locked(folder)

    monkeypatch.setattr(store, "locked", late)
    with pytest.raises(TransitionError, match="is completed"):
        move(project, NAME)
    assert ended
    assert store.get(project, NAME).raw_status == "completed"
    assert markers.active(project) == []


def test_who_loses_the_marker_is_paused_unless_it_ended_meanwhile(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A completed one does not become paused by another that starts."""

    def late(folder: Path) -> object:
        if folder.name == NAME and store.get(project, NAME).raw_status == "active":
            monkeypatch.setattr(store, "locked", locked)
            store.complete(project, NAME, anyway=True)
        return locked(folder)

    monkeypatch.setattr(store, "locked", late)
    store.create(project, "Another")
    assert store.get(project, NAME).raw_status == "completed"
    assert markers.active(project) == ["WFS-another"]


def test_after_half_of_a_change_state_and_list_follow_what_was_written(project: Workspace) -> None:
    """What broke off cannot be taken back, so nothing that is generated may say otherwise."""
    session = store.get(project, NAME)
    with pytest.raises(ZeroDivisionError), wfs_change.changing(project, session, why="test") as change:
        change.edit("IMPL-1", lambda data: data.update(status="active"))
        raise ZeroDivisionError
    now = store.get(project, NAME)
    assert (now.phase, now.file.data["progress"]["current_tasks"]) == ("IMPLEMENT", ["IMPL-1"])


def test_before_anything_was_written_a_change_that_breaks_off_writes_nothing(project: Workspace) -> None:
    """Not the list either, which somebody may have edited."""
    session = store.get(project, NAME)
    (session.folder / places.LIST).write_text("# Tasks: mine\n")
    with pytest.raises(ZeroDivisionError), wfs_change.changing(project, session, why="test"):
        raise ZeroDivisionError
    assert (session.folder / places.LIST).read_text() == "# Tasks: mine\n"


def test_a_session_that_cannot_be_filled_is_not_there(project: Workspace) -> None:
    """Nothing of it stays, and the one before is active still."""
    before = store.create(project, "One")

    def fail(session: Session) -> None:
        raise StateError(session.folder, "no space left on device")

    with pytest.raises(StateError, match="no space left"):
        store.create(project, "Two", fill=fail)

    assert [each.name for each in store.folders(project)] == [before.name, NAME]
    assert store.current(project).name == before.name


@pytest.mark.parametrize("move", [store.switch, store.pause, store.resume, store.say_standing])
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

    monkeypatch.setattr(store, "locked", hold)

    move(project, NAME)

    assert held[:2] == [places.top(project), places.top(project) / NAME]


def test_no_new_task_is_written_over_a_file(project: Workspace) -> None:
    """Somebody may have made it in this moment."""
    session = store.get(project, NAME)
    before = places.task(session.folder, "IMPL-1").read_bytes()
    with (
        pytest.raises(StateError, match="is there already"),
        wfs_change.changing(project, session, why="test") as change,
    ):
        change.create("IMPL-1", wfs_task.fresh("IMPL-1", New("Another")))

    assert places.task(session.folder, "IMPL-1").read_bytes() == before


def test_many_tasks_are_read_again_only_where_they_changed(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """By this process, and by the next from what this one kept; a few files more are not worth keeping anew."""
    session = store.get(project, NAME)
    transitions.decompose(project, session, "IMPL-1", [New(f"Implement part {number}") for number in range(60)])
    monkeypatch.setattr(index, "settled", lambda seen: True)
    read: list[str] = []
    load = document.load

    def noted(path: Path, **options: Any) -> object:
        read.append(path.stem)
        return load(path, **options)

    monkeypatch.setattr(document, "load", noted)
    index._last.clear()
    first = index.board(project, session.folder)
    assert len(read) == len(first.tasks) == 62
    read.clear()
    assert index.board(project, session.folder) is first
    index._last.clear()
    assert index.board(project, session.folder) == first
    assert read == []
    path = places.task(session.folder, "IMPL-2")
    path.write_text(path.read_text().replace("Implement two", "Implement II"))
    changed = index.board(project, session.folder)
    assert (read, changed.find("IMPL-2").title) == (["IMPL-2"], "Implement II")
    path.unlink()
    assert index.board(project, session.folder).get("IMPL-2") is None


def test_a_task_that_was_just_written_and_is_gone_is_no_task(project: Workspace) -> None:
    """It has no stamp yet, so nothing else tells."""
    folder = store.get(project, NAME).folder
    assert index.board(project, folder).names == {"IMPL-1", "IMPL-2"}
    for name in ("IMPL-1", "IMPL-2"):
        places.task(folder, name).unlink()
        assert name not in index.board(project, folder).names


def test_a_task_that_may_be_changing_still_is_read_again(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another change in the same moment would leave no trace in its file's time."""
    folder = places.top(project) / NAME
    monkeypatch.setattr(index, "settled", lambda seen: False)
    index._last.clear()
    index.board(project, folder)
    path = places.task(folder, "IMPL-1")
    seen, text = path.stat(), path.read_text()
    path.write_text(text.replace("Implement one", "Implement six"))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    assert index.board(project, folder).find("IMPL-1").title == "Implement six"


def test_the_sessions_own_tasks_come_first_in_what_an_event_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks are read whatever they take; of other sessions what there is room for, and the rest is counted."""
    monkeypatch.setattr(index, "settled", lambda seen: False)  # on a busy machine the first files are old already
    project = Workspace.open(tmp_path)
    for name in "abcd":
        session = store.create(project, name)
        for number in (1, 2, 3):
            transitions.add(project, session, New(f"Implement part {number}"))
            task = places.task(session.folder, f"IMPL-{number}")
            data = json.loads(task.read_bytes())
            size = statefile.LIMIT_BYTES - 1000 if name in "ab" else 1_000_000
            task.write_text(json.dumps({**data, "pad": "x" * (size - 1000)}))
    own = next(each for each in wfs.find(project).workflows if each.title == "a")
    index._last.clear()
    read: list[Path] = []
    load = document.load

    def noted(path: Path, **options: Any) -> object:
        read.append(path)
        return load(path, **options)

    monkeypatch.setattr(document, "load", noted)
    found = wfs.candidates(project, [own.key])

    assert {each.title for each in found.workflows} == {"a", "c", "d"}
    assert found.left == 1
    assert len(read) == 9
    assert wfs.find(project).left == 0
    project.close()
