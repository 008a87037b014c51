"""Moves of the workflows of skills that meet other files, other programs and other hands."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files import atomic
from holdfast.formats.skills import paths
from holdfast.formats.skills.format import FORMAT as skills
from holdfast.workflow import places as kept_at
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start
from tests.formats.skills import documents
from tests.formats.skills.documents import TDD

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

KEY = "features/auth/user-login.md"


def start(project: Workspace, *tasks: str) -> Workflow:
    """Start /dev for a feature file."""
    return skills.start(project, Start(KEY, kind="dev", phases=tuple((each, "") for each in tasks)))


def document(project: Workspace, name: str, **workflow: Any) -> Workflow:
    """Put one of the document's states into the project, with other values of its `workflow`."""
    data = documents.state(name)
    data["workflow"] |= workflow
    return put(project, name, data)


def put(project: Workspace, name: str, data: dict[str, Any]) -> Workflow:
    path = documents.put(project, f"{name}-{paths.key_hash(KEY)}", json.dumps(data, indent=2).encode())
    (found,) = [each for each in skills.find(project).workflows if each.path == path]
    return found


def data(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def listed(project: Workspace) -> list[str]:
    listed: list[dict[str, Any]] = json.loads(paths.index(project.root).read_bytes())["active_workflows"]
    return [each["id"] for each in listed]


def test_an_end_takes_the_extras_along_and_keeps_what_was_saved_at_that_moment(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next workflow of the feature has extras of its own; an editor's last save is no longer in force, but kept."""
    made = start(project, "Add model")
    made = verbs.update(project, made, Changes(reminders=("Small commits",)))
    assert kept_at.extras(project.root, made.path).exists()
    taken = atomic.take
    monkeypatch.setattr(atomic, "take", lambda path: taken(path) and b"their save")

    verbs.done(project, made, everything=True)

    assert not kept_at.extras(project.root, made.path).exists()
    assert [path.read_bytes() for path in paths.completed(project.root).glob("*.kept-*")] == [b"their save"]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Task 2\n\nDo it.", "task-2"),
        ("task 2/3\n\nDo it.", "task-2"),
        ("Task 2: Implement OutboxPublisher\n\nDo it.", "task-2"),
        ("Work\n\nTask 2/3", "task-2"),
        ("Implement OutboxPublisher\n\nDo it.", "task-2"),
        ("task-3\n\nDo it.", "task-3"),
        ("verification\n\nDo it.", "verification"),
        ("Task 2/7\n\nDo it.", None),
        ("Task 9\n\nDo it.", None),
        ("Task 2 is for another day\n\nLook around.", None),
        ("Look around\n\nTask 1 was done.", None),
    ],
)
def test_an_agent_is_for_the_task_that_its_launch_names(project: Workspace, text: str, unit: str | None) -> None:
    """Nothing from another one moves the workflow."""
    found = skills.match_phase(document(project, "dev"), text, "general-purpose")

    assert (found.id if found else None) == unit


def test_a_hook_never_ends_a_workflow(project: Workspace) -> None:
    """That is left to whoever works on it."""
    made = skills.start(project, Start("Ship", phases=(("Build", ""),)))
    judged = skills.judge(project, made, "Build", "completed", "It is built.")

    assert judged.changed
    assert not judged.workflow.finished
    step = skills.step(judged.workflow)
    assert step is not None
    assert "holdfast done" in step.text
    assert verbs.done(project, judged.workflow).finished


def test_what_a_hook_may_not_do_is_remarked(project: Workspace) -> None:
    """A phase that can't begin yet stays as it is."""
    made = document(project, "dev")
    before = made.path.read_bytes()

    judged = skills.judge(project, made, "pr_creation", "active", "")

    assert (judged.changed, made.path.read_bytes()) == (False, before)
    assert "can't be followed by 'pr_creation'" in judged.remark


def test_a_phase_of_ones_own_is_renamed_with_its_position(project: Workspace) -> None:
    """Phases of a machine keep their names."""
    made = verbs.begin(project, skills.start(project, Start("Ship", phases=(("Build", ""), ("Test", "")))))

    now = verbs.update(project, made, Changes(phase="Compile"))

    assert (now.phase, data(now.path)["state_machine"]["current_phase"]) == ("Compile", "Compile")
    assert verbs.done(project, now).phase == "Test"


def test_other_files_are_left_alone(project: Workspace) -> None:
    """`feature-order.json` beside the index, another program's index, and a state of nobody's."""
    order = paths.top(project.root) / "feature-order.json"
    order.parent.mkdir(parents=True)
    order.write_text('{"order": []}')
    paths.index(project.root).write_text('{"mine": 1}')
    odd = documents.put(project, "dev-x", b'{"order": []}')

    made = start(project, "Add model")
    verbs.done(project, made, everything=True)

    assert order.read_text() == '{"order": []}'
    assert paths.index(project.root).read_text() == '{"mine": 1}'
    assert odd.read_bytes() == b'{"order": []}'


def test_a_broken_index_is_made_anew_from_the_files(project: Workspace) -> None:
    """And the broken one is kept."""
    made, other = start(project, "Add model"), documents.put(project, "tdd-a1b2c3d4", TDD)
    paths.index(project.root).write_text("{")

    verbs.begin(project, made)

    assert sorted(listed(project)) == sorted([made.path.stem, other.stem])
    assert len(list(paths.top(project.root).glob("index.json.corrupt-*"))) == 1


@pytest.mark.parametrize("planted", ["pipe", "link", "sparse file"])
def test_an_index_that_cannot_be_read_stops_no_workflow(project: Workspace, planted: str) -> None:
    """It is never the only source (R004-07): the state moves, nothing is written there, and `check` names it."""
    workflow = start(project, "One", "Two")
    place = paths.index(project.root)
    place.unlink()
    if planted == "pipe":
        os.mkfifo(place)
    elif planted == "link":
        place.symlink_to(project.root.parent / "elsewhere.json")
    else:
        place.touch()
        os.truncate(place, 2 * 1024**3)
    before = place.lstat()

    begun = verbs.begin(project, workflow)
    assert begun.phase_status == "active"
    assert [each.id for each in skills.asked(project, "", "./" + KEY)] == [workflow.id]
    assert verbs.done(project, begun, everything=True).finished

    assert place.lstat().st_mtime_ns == before.st_mtime_ns
    assert not (project.root.parent / "elsewhere.json").exists()
    (finding,) = skills.findings(project)
    assert (finding.text.startswith("index.json "), finding.fix) == (True, None)
    assert str(place) in finding.remedy
