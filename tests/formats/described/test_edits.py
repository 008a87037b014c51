"""Changes of a described file: notes, the workflow's own status, and what is in the way."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.described import description
from holdfast.formats.described.draft import DescribedDraft
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import definitions, registry, verbs
from holdfast.workflow.model import Changes, Start
from tests import described
from tests.commandline import holdfast

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
        DescribedDraft(rules, file).hand_over("step_1", " pushed ", ())
    assert file["tasks"][0]["notes"] == ["by hand", "pushed"]


def test_another_note_takes_the_place_of_a_text(tmp_path: Path) -> None:
    """`update --context` says what is handed over; `--note` adds to it."""
    project, path = laid(tmp_path, data("doing", "todo"))
    for option, text in (("--context", "half done"), ("--context", "all done"), ("--note", "pushed")):
        holdfast("update", option, text, root=project.root)
    assert json.loads(path.read_text())["tasks"][0]["notes"] == "all done\npushed"


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
    DescribedDraft(rules, file).settle()
    assert file["status"] == status


def test_a_cancelled_workflow_stays_cancelled() -> None:
    """Whatever its units say."""
    rules = description.parse("mine", tomllib.loads(f'{RULES}cancelled = ["dropped"]\n'), "mine.toml")
    file = data("done", "todo", status="dropped")

    DescribedDraft(rules, file).settle()

    assert file["status"] == "dropped"


def test_a_context_of_another_kind_is_left_alone(rules: description.Description) -> None:
    """A text is no object that something could be added to."""
    file = data("todo", context="see the wiki")
    with pytest.raises(TransitionError, match='"context" in the file isn\'t an object'):
        DescribedDraft(rules, file).add(Changes(context={"a": 1}))
    assert file["context"] == "see the wiki"


def test_nothing_is_written_below_what_is_no_object() -> None:
    """The message names the field and what is in its way."""
    rules = description.parse("mine", tomllib.loads(RULES.replace('"context"', '"meta.about"')), "mine.toml")
    file = data("todo", meta="by hand")
    with pytest.raises(TransitionError, match="'meta' isn't an object, so meta\\.about can't be written"):
        DescribedDraft(rules, file).add(Changes(context={"a": 1}))
    assert file["meta"] == "by hand"


@pytest.mark.parametrize("there", [{"port": 80}, data("done", "done", status="done")])
def test_a_start_beside_another_file_gets_another_name(tmp_path: Path, there: dict[str, Any]) -> None:
    """A file of somebody else's, or a finished workflow, has the name which the title would give; it stays."""
    project, path = laid(tmp_path, there)

    made = registry.get("mine").start(project, Start("Release", phases=(("Tag", ""),)))

    assert made.place == "work/release-2.json"
    assert json.loads(path.read_text()) == there


def test_an_agents_failure_blocks_where_no_word_says_failed(tmp_path: Path) -> None:
    """What the file has a word for is written."""
    project, path = laid(tmp_path, data("doing", "todo"), RULES.replace("failed =", "blocked ="))
    (found,) = registry.get("mine").find(project).workflows

    judged = registry.get("mine").judge(project, found, "step_1", "failed", "No key")

    assert (judged.changed, judged.workflow.phases[0].status) == (True, "blocked")
    with pytest.raises(TransitionError, match="holdfast update --phase 1 --status active"):
        verbs.done(project, judged.workflow)
    assert json.loads(path.read_text())["tasks"][0]["state"] == "bad"


def test_what_failed_is_not_active_where_no_word_says_active(tmp_path: Path) -> None:
    """Only the first step that is left, unless it is stuck."""
    project, _ = laid(tmp_path, data("done", "bad", "todo"), RULES.replace('active = ["doing"]\n', ""))
    (found,) = registry.get("mine").find(project).workflows
    assert [each.status for each in found.phases] == ["completed", "failed", "pending"]


@pytest.mark.parametrize("noted", ["", "by hand"])
def test_an_agent_hands_over_what_nobody_noted_yet(tmp_path: Path, noted: str) -> None:
    """The next step's prompt begins with it; a note of people's own stays alone."""
    content = data("doing", "todo")
    content["tasks"][0]["notes"] = noted
    project, path = laid(tmp_path, content)
    (found,) = registry.get("mine").find(project).workflows

    now = registry.get("mine").judge(project, found, "step_1", "completed", "v1.2 is tagged").workflow

    assert json.loads(path.read_text())["tasks"][0]["notes"] == (noted or "v1.2 is tagged")
    step = verbs.step(now)
    assert step is not None
    assert step.prompt == f"T1\n\nContext: {noted or 'v1.2 is tagged'}"


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
