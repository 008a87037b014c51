"""Document 002: what `holdfast doctor wfs --fix` sets right in sessions that others wrote, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements.document_002 import alone, changed, rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.requirements.document_002 import Workflows

OTHERS = '{"steps": []}'


@pytest.fixture
def folder(workflows: Workflows) -> Path:
    """An active session with a container of one subtask, and a task of its own."""
    made = workflows.start("User Auth")
    for title in ("Implement login", "Write the notes"):
        workflows.add(title)
    workflows.run("task", "decompose", "IMPL-1", "Design it")
    return made


def edit(folder: Path, id_: str, **changes: Any) -> Path:
    """Change members of a task's file by hand."""
    path = folder / ".task" / f"{id_}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


def parent(folder: Path, value: object) -> Path:
    """Change the parent that the subtask's file names."""
    context = json.loads((folder / ".task/IMPL-1.1.json").read_text())["context"]
    return edit(folder, "IMPL-1.1", context=context | {"parent": value})


def by_hand(folder: Path, *, plan: str = "", listed: bool = True, marked: bool = False, state: str = "{") -> Path:
    """Move the session to a name that Holdfast doesn't know, with a state that cannot be read."""
    made = folder.with_name("WFS-by-hand")
    folder.rename(made)
    (made / "workflow-session.json").write_text(state)
    folder.with_name(f".active-{folder.name}").unlink()
    if marked:
        folder.with_name(".active-WFS-by-hand").touch()
    if plan:
        (made / "IMPL_PLAN.md").write_text(plan)
    if not listed:
        (made / "TODO_LIST.md").unlink()
    return made


def subtasks(folder: Path, number: int) -> Path:
    """Leave only a container with so many subtasks."""
    (folder / ".task/IMPL-2.json").unlink()
    task = (folder / ".task/IMPL-1.1.json").read_text()
    for each in range(2, number + 1):
        (folder / f".task/IMPL-1.{each}.json").write_text(task.replace("IMPL-1.1", f"IMPL-1.{each}"))
    return folder


def linked(folder: Path) -> Path:
    """Put a link in the place of the state."""
    elsewhere = folder.parents[1] / "elsewhere.json"
    (folder / "workflow-session.json").rename(elsewhere)
    (folder / "workflow-session.json").symlink_to(elsewhere)
    return elsewhere


def orphan(folder: Path) -> Path:
    """Write a subtask whose parent cannot be read."""
    (folder / ".task/IMPL-7.1.json").write_text(json.dumps(changed(alone("IMPL-7.1"), "context.parent", "IMPL-7")))
    broken = folder / ".task/IMPL-7.json"
    broken.write_text('{"id": "IMPL-7", "title": ')
    return broken


def copy(folder: Path, **changes: Any) -> Path:
    """Write a task under another name than its own."""
    path = folder / ".task/IMPL-1-old.json"
    path.write_text(json.dumps(alone("IMPL-7.1", **changes)))
    return path


def foreign(folder: Path) -> Path:
    """Write another tool's file into a folder without tasks."""
    theirs = folder.with_name("WFS-theirs") / "workflow-session.json"
    theirs.parent.mkdir()
    theirs.write_text(OTHERS)
    return theirs


LEFT_ALONE: dict[str, Callable[[Path], Path]] = {
    "a state behind a link": linked,
    "a parent that cannot be read": orphan,
    "a copy under another name": copy,
    "another tool's folder": foreign,
    "a context that is no object": lambda folder: edit(folder, "IMPL-1.1", context="see the plan"),
    "a status that says nothing": lambda folder: edit(folder, "IMPL-2", status=""),
    "a task that is too large": lambda folder: edit(folder, "IMPL-2", pad="x" * 8_500_000),
    "a parent with other zeros": lambda folder: parent(folder, "IMPL-001"),
}


@pytest.mark.parametrize("what", LEFT_ALONE)
def test_a_repair_leaves_alone_what_it_cannot_know(workflows: Workflows, folder: Path, what: str) -> None:
    """R002-10, I002-2: the file stays byte for byte, no parent is made for it, and a second repair finds nothing."""
    path = LEFT_ALONE[what](folder)
    before = path.read_bytes()
    workflows.repair()
    assert path.read_bytes() == before
    assert (folder / "workflow-session.json").is_symlink() == (what == "a state behind a link")
    assert not (folder / ".task/IMPL-7.json").exists() or what == "a parent that cannot be read"
    assert workflows.repair() == []


MADE_ANEW: dict[str, tuple[Callable[[Path], Path], dict[str, Any]]] = {
    "marked": (lambda folder: by_hand(folder, marked=True), {"status": "active"}),
    "not marked": (by_hand, {"status": "paused", "type": "simple"}),
    "the plan": (
        lambda folder: by_hand(folder, plan="# Implementation Plan: Ship\n", listed=False),
        {"project": "Ship"},
    ),
    "list and plan": (lambda folder: by_hand(folder, plan="# Implementation Plan: Ship\n"), {"project": "User Auth"}),
    "four leaves": (lambda folder: by_hand(subtasks(folder, 4)), {"type": "simple"}),
    "five leaves": (lambda folder: by_hand(subtasks(folder, 5)), {"type": "medium"}),
}


@pytest.mark.parametrize("what", MADE_ANEW)
def test_a_state_is_made_anew_from_what_is_left(workflows: Workflows, folder: Path, what: str) -> None:
    """R002-10, R002-41, I002-23: status from the marker, title from list or plan, type from the leaves."""
    make, expected = MADE_ANEW[what]
    made = make(folder)
    assert any("it is rebuilt" in each for each in workflows.repair())
    state = workflows.state(made)
    assert {name: state[name] for name in expected} == expected


def test_a_state_is_put_back_in_the_place_of_another(workflows: Workflows, folder: Path) -> None:
    """I002-23: its last content, also without a folder of tasks; another tool's file is kept beside it."""
    state = folder / "workflow-session.json"
    state.write_text(OTHERS)
    assert any("its last content is put back" in each for each in workflows.repair())
    assert workflows.state(folder)["project"] == "User Auth"
    assert [each.read_text() for each in folder.glob("workflow-session.json.*")] == [OTHERS]
    shutil.rmtree(folder / ".task")
    state.unlink()
    workflows.repair()
    assert workflows.state(folder)["project"] == "User Auth"


def test_the_id_says_whose_a_subtask_is(workflows: Workflows, folder: Path) -> None:
    """I002-22: before the repair as after it, which changes nothing else in the file."""
    before = workflows.task(folder, "IMPL-1.1")
    for value in ("IMPL-2", "IMPL-9", "", None):
        parent(folder, value)
        ready = workflows.ready()
        (said,) = workflows.repair()
        assert (ready, "parent IMPL-1 into" in said) == (["IMPL-1.1", "IMPL-2"], True), (value, said)
        assert workflows.task(folder, "IMPL-1.1") == before, value


def test_of_a_copy_under_another_name_only_its_status_is_set_right(workflows: Workflows, folder: Path) -> None:
    """It has one meaning, whichever task it is."""
    path = copy(folder, status="in_progress")
    said = [each for each in workflows.repair() if "IMPL-1-old" in each]
    assert len(said) == 1 and "wrote status active into" in said[0]
    assert json.loads(path.read_text()) == alone("IMPL-7.1", status="active")


def test_a_completed_session_keeps_no_other_from_being_repaired(workflows: Workflows, folder: Path) -> None:
    """R002-10: its own marker goes and its status stays; the list of the session beside it is written."""
    workflows.end()
    later = workflows.start("Zebra crossing")
    workflows.add("Paint it")
    (later / "TODO_LIST.md").unlink()
    (workflows.top / f".active-{folder.name}").touch()
    (workflows.top / "WFS-linked").symlink_to(later)
    marker = workflows.top / ".active-WFS-linked"
    marker.touch()
    os.utime(marker, (1, 1))
    workflows.repair()
    assert workflows.markers() == [".active-WFS-linked", f".active-{later.name}"]
    assert workflows.state(folder)["status"] == "completed"
    assert "Paint it" in workflows.todo(later)


def test_two_files_of_one_task_are_each_set_right(workflows: Workflows, folder: Path) -> None:
    """I002-2, R002-10: they are named, and neither keeps the check from going on, nor a repair from its end."""
    twin = folder / ".task/IMPL-002.json"
    twin.write_text(json.dumps(alone("IMPL-002", status="todo")))
    edit(folder, "IMPL-2", status="doing")
    (folder / "TODO_LIST.md").write_text("- [x] IMPL-2\n")
    assert [each.path for each in workflows.violations() if rule(each) == 1] == [twin, folder / ".task/IMPL-2.json"]
    workflows.repair()
    assert [json.loads(path.read_text())["status"] for path in (twin, folder / ".task/IMPL-2.json")] == ["pending"] * 2
    assert workflows.repair() == []
