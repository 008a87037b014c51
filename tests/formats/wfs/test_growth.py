"""How much an agent's events do, counted in calls, does not follow from how many tasks a session has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.files import atomic, document
from holdfast.formats.wfs import adapter, brief, index, places, store, todo
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EDITED = "IMPL-7"
AGENTS = "IMPL-5"


def work(root: Path, tasks: int, patch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return how often each thing is done while an agent completes one of so many tasks, and the session is read."""
    root.mkdir()
    todo.generate.cache_clear()
    project = Workspace.open(root)
    session = store.create(project, "Many tasks")
    for number in range(1, tasks + 1):
        id_ = f"IMPL-{number}"
        data = {"id": id_, "title": f"Task {number}", "status": "pending", "meta": {"type": "feature"}}
        places.task(session.folder, id_).write_text(json.dumps(data))
    (found,) = adapter.candidates(project, []).workflows
    adapter.judge(project, found, "IMPL-1", "completed", "Done")  # writes the list, and makes all that is kept
    index._last.clear()

    done: dict[str, int] = {}

    def count(owner: Any, name: str) -> None:
        known = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            done[name] = done.get(name, 0) + 1
            return known(*given, **named)

        patch.setattr(owner, name, counted)

    for owner, name in ((index, "_files"), (index, "_kept"), (document, "load"), (atomic, "write"), (brief, "of")):
        count(owner, name)
    (found,) = adapter.candidates(project, []).workflows
    adapter.judge(project, found, AGENTS, "active", "")
    adapter.judge(project, found, AGENTS, "completed", "It is done")
    (found,) = adapter.candidates(project, []).workflows
    assert [phase.status for phase in found.phases if phase.id == AGENTS] == ["completed"]

    task = places.task(session.folder, EDITED)
    task.write_text(task.read_text().replace("Task 7", "Task VII"))
    (found,) = adapter.candidates(project, []).workflows
    assert [phase.title for phase in found.phases if phase.id == EDITED] == ["Task VII"], "edited in place"
    project.close()
    return done


def test_a_thousand_tasks_are_as_much_work_as_a_hundred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's task is read and written; of the others only the files' status is looked at, as often."""
    monkeypatch.setattr(index, "settled", lambda seen: True)
    with monkeypatch.context() as patch:
        few = work(tmp_path / "few", 100, patch)
    with monkeypatch.context() as patch:
        many = work(tmp_path / "many", 1_000, patch)

    assert few == many
    assert few["_files"] == 5, "three readings, and under the lock of each change"


def test_what_changed_since_it_was_cached_is_read_again_only_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each event would read all tasks that agents have completed since the first one."""
    monkeypatch.setattr(index, "settled", lambda seen: True)
    project = Workspace.open(tmp_path)
    folder = store.create(project, "Many tasks").folder

    def write(numbers: range, status: str) -> None:
        for number in numbers:
            said = json.dumps({"id": f"IMPL-{number}", "title": "Task", "status": status})
            places.task(folder, f"IMPL-{number}").write_text(said)

    def read() -> int:
        """Return how many files an event reads."""
        index._last.clear()  # another process
        made, said = list[str](), index._said

        def counted(project: Workspace, path: Path) -> Any:
            made.append(path.name)
            return said(project, path)

        with monkeypatch.context() as patch:
            patch.setattr(index, "_said", counted)
            assert len(index.board(project, folder).tasks) == 40
        return len(made)

    write(range(1, 41), "pending")
    assert [read(), read()] == [40, 0]
    write(range(1, 6), "completed")
    assert [read(), read()] == [5, 5], "reading so few is faster than writing the cache"
    write(range(6, 12), "completed")
    assert [read(), read()] == [11, 0]
    project.close()
