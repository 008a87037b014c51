"""Changes of a described file: notes, the workflow's own status, and what is in the way."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.described import description, edits, store
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, registry
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


def test_a_start_beside_somebody_elses_file_gets_another_name(tmp_path: Path) -> None:
    """That file has the name which the title would give."""
    path = definitions.user_folder("formats") / "mine.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULES)
    theirs = tmp_path / "work/release.json"
    theirs.parent.mkdir()
    theirs.write_text(json.dumps({"port": 80}))
    project = Workspace.open(tmp_path)

    made = registry.get("mine").start(project, Start("Release", phases=(("Tag", ""),)))

    assert made.place == "work/release-2.json"
    assert json.loads(theirs.read_text()) == {"port": 80}
