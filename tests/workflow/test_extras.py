"""What a hybrid workflow is given beyond its schema lies beside the state file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import SchemaMismatch
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start, Workflow

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put

STATE = ".claude/state/workflow.json"
EXTRA = ".claude/state/workflow.extra.json"
GIVEN = Start("Ship", "implementation", (("A", "x"), ("B", "y")), None, ("docs/a.md",), ("care",), {"k": 1})


def read(project: Workspace, place: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / place).read_text(encoding="utf-8"))
    return data


def found(project: Workspace) -> Workflow:
    (workflow,) = hybrid.find(project).workflows
    return workflow


def test_one_that_names_another_workflow_adds_nothing(project: Workspace, put: Put) -> None:
    """A leftover is nobody's; the first addition takes its place."""
    workflow = hybrid.start(project, Start("Ship", phases=(("A", "x"),)))
    put(EXTRA, {"id": "wf_20200101_000000", "required_reading": ["@old.md"]})
    assert found(project).reading == ()
    verbs.update(project, workflow, Changes(reading=("new.md",)))
    assert read(project, EXTRA) == {"id": workflow.id, "required_reading": ["@new.md"]}


@pytest.mark.parametrize("content", ['{"a": 1}', '{"id": "x"}', '{"id": [], "context": {}}'])
def test_somebody_elses_file_is_not_overwritten(project: Workspace, put: Put, content: str) -> None:
    """What holds no extras is left alone, said, and refuses what would have to go there; the state is not begun."""
    path = put(EXTRA, content)
    with pytest.raises(SchemaMismatch, match="left alone"):
        hybrid.start(project, GIVEN)
    assert not (project.root / STATE).exists()
    assert path.read_text() == content


def test_a_broken_one_costs_the_workflow_nothing(project: Workspace) -> None:
    """It is named; its last generation is used; our own write sets it aside."""
    workflow = hybrid.start(project, GIVEN)
    (project.root / EXTRA).write_text('{"id": ')
    there = hybrid.find(project)
    assert there.workflows[0].reading == ("@docs/a.md",)
    assert [(each.path.name, "the last content Holdfast kept is used" in each.reason) for each in there.problems] == [
        ("workflow.extra.json", True)
    ]
    verbs.update(project, workflow, Changes(reminders=("more",)))
    assert read(project, EXTRA)["key_reminders"] == ["care", "more"]
    assert [path.read_text() for path in (project.root / ".claude/state").glob("*.corrupt-*")] == ['{"id": ']


def test_one_broken_from_the_first_is_set_aside_by_our_write(project: Workspace, put: Put) -> None:
    """Without a generation there is nothing to go back to; nothing of it is lost."""
    put(EXTRA, "not json")
    assert hybrid.start(project, GIVEN).reading == ("@docs/a.md",)
    assert [path.read_text() for path in (project.root / ".claude/state").glob("*.corrupt-*")] == ["not json"]
