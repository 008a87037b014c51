"""Changes of a described file: notes, the workflow's own status, and what is in the way."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.described import description, edits, store
from holdfast.sessions.history import archive, history
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, registry, verbs
from holdfast.workflow.model import Start
from tests import described

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = """
files = ["work/*.json"]
[workflow]
title = "name"
status = "status"
context = "context"
[units]
path = "tasks[*]"
title = "text"
status = "state"
note = "notes"
[statuses]
pending = ["todo"]
active = ["doing"]
completed = ["done"]
failed = ["bad"]
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test describes is unknown after it."""
    yield
    described.forget()


@pytest.fixture
def rules() -> description.Description:
    return description.parse("mine", tomllib.loads(RULES), "mine.toml")


def data(*states: str, **more: Any) -> dict[str, Any]:
    return {"name": "Release", "tasks": [{"text": f"T{at}", "state": each} for at, each in enumerate(states)], **more}


def test_a_note_is_added_to_a_list_once(rules: description.Description) -> None:
    """An agent that reports twice says nothing new."""
    file = data("doing")
    file["tasks"][0]["notes"] = ["by hand"]
    for _ in range(2):
        edits.note(rules, file, "step_1", " pushed ")
    assert file["tasks"][0]["notes"] == ["by hand", "pushed"]


@pytest.mark.parametrize(
    ("states", "status"),
    [
        (("todo", "todo"), "todo"),
        (("done", "todo"), "doing"),
        (("done", "bad"), "bad"),
        (("done", "done"), "done"),
    ],
)
def test_the_workflows_own_status_follows_its_units(
    rules: description.Description, states: tuple[str, ...], status: str
) -> None:
    """What went wrong is said of the whole, too."""
    file = data(*states, status="?")
    edits.settle(rules, file)
    assert file["status"] == status


def test_a_context_of_another_kind_is_left_alone(rules: description.Description) -> None:
    """A text is no object that something could be added to."""
    file = data("todo", context="see the wiki")
    with pytest.raises(TransitionError, match='"context" in the file isn\'t an object'):
        edits.add(rules, file, context={"a": 1})
    assert file["context"] == "see the wiki"


def test_nothing_is_written_below_what_is_no_object() -> None:
    """The message names the field and what is in its way."""
    rules = description.parse("mine", tomllib.loads(RULES.replace('"context"', '"meta.about"')), "mine.toml")
    file = data("todo", meta="by hand")
    with pytest.raises(TransitionError, match="'meta' isn't an object, so meta\\.about can't be written"):
        edits.add(rules, file, context={"a": 1})
    assert file["meta"] == "by hand"


def test_a_title_takes_the_place_of_one_wildcard(tmp_path: Path) -> None:
    """Of several in a file's name, the first one."""
    project, _ = laid(tmp_path, data("done"), RULES.replace("work/*.json", "work/*-v*.json"))
    assert registry.get("mine").start(project, Start("Release", phases=(("Tag", ""),))).place == "work/release-v.json"


def test_very_many_files_are_not_all_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them are, in alphabetical order."""
    monkeypatch.setattr(store, "MAX_FILES", 2)
    described.lay("checklist")
    project = Workspace.open(tmp_path)
    for name in ("a", "b", "c"):
        path = tmp_path / f"checklists/{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"name": name, "tasks": [{"text": "Tag", "done": False}]}))

    assert [each.title for each in registry.get("checklist").find(project).workflows] == ["a", "b"]


@pytest.mark.parametrize("there", [{"port": 80}, data("done", "done", status="done")])
def test_a_start_beside_another_file_gets_another_name(tmp_path: Path, there: dict[str, Any]) -> None:
    """A file of somebody else's, or a finished workflow, has the name which the title would give; it stays."""
    project, path = laid(tmp_path, there)

    made = registry.get("mine").start(project, Start("Release", phases=(("Tag", ""),)))

    assert made.place == "work/release-2.json"
    assert json.loads(path.read_text()) == there


def test_an_unfinished_workflow_without_an_id_gives_way_on_request(tmp_path: Path) -> None:
    """What it held can be shown, and only with `--replace` does it go."""
    project, path = laid(tmp_path, data("doing", "todo"))
    begin = Start("Release", phases=(("Tag", ""),))
    with pytest.raises(TransitionError, match="--replace"):
        registry.get("mine").start(project, begin)

    made = registry.get("mine").start(project, replace(begin, replace=True))

    assert (made.path, [each.title for each in made.phases]) == (path, ["Tag"])
    assert [each.workflow.title for each in archive.entries(project)] == ["Release"]


def test_what_changes_nothing_leaves_the_workflows_own_status_as_it_is(tmp_path: Path) -> None:
    """However little it fits the units: people may have a reason for it."""
    project, path = laid(tmp_path, data("doing", status="todo"))
    before = path.read_bytes()
    (found,) = registry.get("mine").find(project).workflows

    verbs.begin(project, found)

    assert path.read_bytes() == before


def test_what_was_moved_by_hand_before_a_move_keeps_its_own_time(tmp_path: Path) -> None:
    """The history says when the file was saved, and not when Holdfast was next asked."""
    project, path = laid(tmp_path, data("doing", "todo", "todo"))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    project.observe(registry.get("mine").find(project).workflows[0])
    path.write_text(json.dumps(data("done", "doing", "todo")))
    os.utime(path, (1_700_000_060, 1_700_000_060))

    moved = verbs.done(project, registry.get("mine").find(project).workflows[0])

    phases = history.of(project, moved).phases
    by_hand = "2023-11-14T22:14:20.000000Z"
    assert (phases["step_1"].ended_at, phases["step_2"].started_at) == (by_hand, by_hand)
    assert str(phases["step_2"].ended_at) > by_hand


def test_an_agents_failure_blocks_where_no_word_says_failed(tmp_path: Path) -> None:
    """What the file has a word for is written."""
    project, path = laid(tmp_path, data("doing", "todo"), RULES.replace("failed =", "blocked ="))
    (found,) = registry.get("mine").find(project).workflows

    judged = registry.of_agents("mine").judge(project, found, "step_1", "failed", "No key")

    assert (judged.changed, judged.workflow.phases[0].status) == (True, "blocked")
    assert json.loads(path.read_text())["tasks"][0]["state"] == "bad"


@pytest.mark.parametrize("noted", ["", "by hand"])
def test_an_agent_hands_over_what_nobody_noted_yet(tmp_path: Path, noted: str) -> None:
    """The next step's prompt begins with it; a note of people's own stays alone."""
    content = data("doing", "todo")
    content["tasks"][0]["notes"] = noted
    project, path = laid(tmp_path, content)
    (found,) = registry.get("mine").find(project).workflows

    now = registry.of_agents("mine").judge(project, found, "step_1", "completed", "v1.2 is tagged").workflow

    assert json.loads(path.read_text())["tasks"][0]["notes"] == (noted or "v1.2 is tagged")
    step = verbs.step(now)
    assert step is not None
    assert step.prompt == f"T1\n\nContext: {noted or 'v1.2 is tagged'}"


def test_nothing_is_current_before_the_first_unit_begins_and_at_the_end(tmp_path: Path) -> None:
    """In between, it is the next after a completed one."""
    project, path = laid(tmp_path, data("todo", "todo"))
    seen = []
    for states in (("todo", "todo"), ("done", "todo"), ("done", "done")):
        path.write_text(json.dumps(data(*states)))
        (found,) = registry.get("mine").find(project).workflows
        seen.append((found.current, found.status))
    assert seen == [(None, "pending"), (2, "active"), (None, "completed")]


def test_units_without_a_title_are_known_by_their_status(tmp_path: Path) -> None:
    """They are called by their place; where there is neither, the file is something else."""
    project, path = laid(tmp_path, {"tasks": [{"state": "doing"}]})
    (found,) = registry.get("mine").find(project).workflows
    assert [(each.title, each.status) for each in found.phases] == [("Step 1", "active")]

    path.write_text(json.dumps({"tasks": [{"state": "elsewhere"}]}))
    assert registry.get("mine").find(project).workflows == ()


def laid(root: Path, content: dict[str, Any], described: str = RULES) -> tuple[Workspace, Path]:
    """Return a project with the format of these tests and a file at its place, and the file."""
    rules = definitions.user_folder("formats") / "mine.toml"
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_text(described)
    path = root / "work/release.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content))
    return Workspace.open(root), path
