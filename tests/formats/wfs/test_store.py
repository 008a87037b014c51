"""The state of a `wfs` session is decided under its own lock, whoever else is working on it."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.errors import StateError, TransitionError
from holdfast.files import document, file_memo
from holdfast.files.lock import locked
from holdfast.formats.wfs import adapter as wfs
from holdfast.formats.wfs import change as wfs_change
from holdfast.formats.wfs import index, markers, places, store, transitions
from holdfast.formats.wfs import session as wfs_session
from holdfast.formats.wfs.board import Board
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


def test_a_session_is_not_completed_in_the_middle_of_a_change(project: Workspace) -> None:
    """What counts is how its tasks are when the change is over."""
    session = store.get(project, NAME)
    transitions.complete(project, session, "IMPL-1")
    said: list[str] = []

    def end() -> None:
        other = Workspace.open(project.root)
        try:
            said.append(store.complete(other, NAME).raw_status)
        except TransitionError as error:
            said.append(str(error))
        finally:
            other.close()

    with wfs_change.changing(project, session, why="test") as change:
        ending = threading.Thread(target=end)
        ending.start()
        ending.join(0.1)
        assert said == []
        change.edit("IMPL-2", lambda data: data.update(status="completed"))
    ending.join(20)
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


def test_a_session_in_review_stays_there_without_tasks() -> None:
    """Only a task that is not completed takes it back."""
    assert wfs_change.followed({"current_phase": "REVIEW"}, Board())["current_phase"] == "REVIEW"


def test_before_anything_was_written_a_change_that_breaks_off_writes_nothing(project: Workspace) -> None:
    """Not the list either, which somebody may have edited."""
    session = store.get(project, NAME)
    (session.folder / places.LIST).write_text("# Tasks: mine\n")
    with pytest.raises(ZeroDivisionError), wfs_change.changing(project, session, why="test"):
        raise ZeroDivisionError
    assert (session.folder / places.LIST).read_text() == "# Tasks: mine\n"


def test_a_session_that_is_opened_again_says_nothing_of_its_end(project: Workspace) -> None:
    """Only the moment at which it was resumed; at its next end the next moment."""
    ended = store.complete(project, NAME, anyway=True)
    assert "completed_at" in ended.file.data
    resumed = store.resume(project, NAME).file.data
    assert "completed_at" not in resumed
    assert "resumed_at" in resumed


def test_nothing_is_changed_in_a_session_that_has_gone(project: Workspace) -> None:
    """Its folder is not made again by whoever comes late."""
    session = store.get(project, NAME)
    session.folder.rename(project.root / "elsewhere")
    with pytest.raises(StateError, match="moved or removed"):
        transitions.complete(project, session, "IMPL-1")
    assert not session.folder.exists()


def test_a_link_is_no_session(project: Workspace) -> None:
    """It neither can be worked on nor wins over a real one where both are marked."""
    places.top(project).joinpath("WFS-link").symlink_to(places.top(project) / NAME)
    assert [each.name for each in store.folders(project)] == [NAME]
    with pytest.raises(Exception, match="there is no session 'WFS-link'"):
        store.get(project, "WFS-link")


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


def test_within_a_moment_of_an_event_tasks_are_looked_at_once(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except under the lock of a change, before it writes. What this process writes counts at once."""
    session = store.get(project, NAME)
    path, now = places.task(session.folder, "IMPL-1"), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def title() -> str:
        return index.board(project, session.folder).find("IMPL-1").title

    def edit(text: str) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"title": text}))

    assert title() == "Implement one"
    edit("edited")
    assert title() == "edited", "no event: each look is a look"
    with file_memo.one_moment():
        edit("in the event")
        assert title() == "edited"
        now[0] += file_memo.MOMENT_S
        assert title() == "in the event"
        edit("again")
        transitions.begin(project, session, "IMPL-1")
        assert title() == "again"
        assert json.loads(path.read_text())["title"] == "again"
        assert index.board(project, session.folder).find("IMPL-1").status == "active"
    edit("afterwards")
    assert title() == "afterwards"


def test_an_event_that_runs_out_of_time_leaves_the_next_one_less_to_read(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has read of very many tasks is kept, in portions."""
    session = store.get(project, NAME)
    transitions.decompose(project, session, "IMPL-1", [New(f"Implement part {number}") for number in range(60)])
    monkeypatch.setattr(index, "settled", lambda seen: True)
    monkeypatch.setattr(index, "_PORTION", 20)
    read: list[str] = []
    load = document.load

    def interrupted(path: Path, **options: Any) -> object:
        read.append(path.stem)
        if len(read) == 50:
            raise KeyboardInterrupt
        return load(path, **options)

    monkeypatch.setattr(document, "load", interrupted)
    index._last.clear()
    with pytest.raises(KeyboardInterrupt):
        index.board(project, session.folder)
    assert len(index.board(project, session.folder).tasks) == 62
    assert len(read) == 50 + 62 - 40


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


def test_few_large_tasks_are_not_read_again(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they say is kept, as that of many small ones is."""
    monkeypatch.setattr(index, "settled", lambda seen: True)
    paths.ensure_private(paths.state_dir())
    session = store.get(project, NAME)
    for name in ("IMPL-1", "IMPL-2"):
        task = places.task(session.folder, name)
        task.write_text(json.dumps({**json.loads(task.read_bytes()), "pad": "x" * 3_000_000}))
    index._last.clear()
    index.board(project, session.folder)
    index._last.clear()
    monkeypatch.setattr(document, "load", None)

    assert [each.title for each in index.board(project, session.folder).tasks] == ["Implement one", "Implement two"]


def test_a_session_that_is_ended_early_says_of_no_phase_that_it_is_over(project: Workspace) -> None:
    """Nothing is said to be done that is not; all is where all tasks are."""
    for last, phases in (("block", ()), ("complete", ("PLAN", "IMPLEMENT", "REVIEW"))):
        session = store.create(project, f"To {last}")
        transitions.add(project, session, New("Implement login"))
        if last == "complete":
            transitions.complete(project, session, "IMPL-1")
        ended = store.complete(project, session.name, anyway=True)
        assert wfs_session.completed_phases(ended.file.data) == phases
        assert store.complete(project, session.name).file.data == ended.file.data, "twice is no error"


def test_only_what_was_paused_is_resumed(project: Workspace) -> None:
    """A session that was never worked on has no such moment, and one that is over none of its end."""
    first, second = store.create(project, "One"), store.create(project, "Two")

    assert "resumed_at" not in store.switch(project, second.name).file.data
    again = store.switch(project, first.name).file.data
    assert "paused_at" in again and "resumed_at" in again
    path = places.state(second.folder)
    data = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in data.items() if key != "paused_at"} | {"status": "new"}))
    assert "resumed_at" not in store.switch(project, second.name).file.data


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


def test_a_marker_that_names_nothing_marks_nothing(project: Workspace) -> None:
    """Neither does another file."""
    for name in (places.MARKER, ".active", "active-WFS-x"):
        (places.top(project) / name).touch()

    assert markers.active(project) == [NAME]


def test_a_session_whose_tasks_were_completed_by_hand_ends_with_nothing_to_do(project: Workspace) -> None:
    """Its file says so, though it lagged behind till then."""
    session = store.get(project, NAME)
    for name in ("IMPL-1", "IMPL-2"):
        path = places.task(session.folder, name)
        path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "completed"}))

    progress = store.complete(project, NAME).file.data["progress"]

    assert progress == {"completed_phases": ["PLAN", "IMPLEMENT", "REVIEW"], "current_tasks": []}


def test_a_task_that_cannot_be_read_keeps_its_session_from_its_end(project: Workspace) -> None:
    """Nobody knows whether it is completed; who says so ends it all the same."""
    session = store.get(project, NAME)
    for name in ("IMPL-1", "IMPL-2"):
        transitions.complete(project, session, name)
    places.task(session.folder, "IMPL-7").write_text("{")

    with pytest.raises(TransitionError, match=r"1 task of \S+ is not completed \(IMPL-7\.json, which cannot be read\)"):
        store.complete(project, NAME)
    assert store.complete(project, NAME, anyway=True).raw_status == "completed"


@pytest.mark.parametrize("folder", ["archives", "active"])
def test_the_name_of_a_session_that_lies_elsewhere_is_not_given_again(project: Workspace, folder: str) -> None:
    """It may be moved back, or asked for by its name."""
    beside = places.top(project) / folder
    beside.mkdir()
    (places.top(project) / NAME).rename(beside / NAME)

    assert store.create(project, "User Auth").name not in ("", NAME)


def test_tasks_behind_a_link_are_not_read(project: Workspace, tmp_path: Path) -> None:
    """The link is told; nothing is taken for done or left because of what lies there."""
    folder = places.top(project) / NAME
    (folder / places.TASKS).rename(tmp_path / "moved")
    (folder / places.TASKS).symlink_to(tmp_path / "moved")

    board = index.board(project, folder)

    assert board.tasks == ()
    assert [(each.path.name, each.reason) for each in board.problems] == [
        (places.TASKS, "is a symbolic link, which is not followed")
    ]


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


def test_of_markers_of_one_moment_the_last_name_is_the_newest(project: Workspace) -> None:
    """I002-11: a checkout gives all of them one time."""
    names = [NAME, "WFS-a", "WFS-z"]
    for name in names:
        places.marker(project, name).touch()
        os.utime(places.marker(project, name), (1_700_000_000, 1_700_000_000))

    assert markers.newest_first(project, names) == ["WFS-z", NAME, "WFS-a"]


def test_what_every_session_is_called_need_not_be_typed(project: Workspace) -> None:
    """The name without `WFS-` is the same session's."""
    assert store.get(project, "user-auth").name == store.get(project, NAME).name == NAME
