"""Tasks are kept for later events, and read again where they may have changed."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files import document, file_memo
from holdfast.formats.wfs import adapter as wfs
from holdfast.formats.wfs import index, places, store, transitions
from holdfast.formats.wfs.task import New
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
