"""What a hybrid workflow is given beyond its schema lies beside the state file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import SchemaMismatch
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.sessions.history import generations
from holdfast.workflow import extras, verbs
from holdfast.workflow.model import Changes, Start, Workflow

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put

STATE = ".claude/state/workflow.json"
EXTRA = ".claude/state/workflow.extra.json"
KEYS = ["id", "task", "status", "current_phase", "phases"]
GIVEN = Start("Ship", "implementation", (("A", "x"), ("B", "y")), None, ("docs/a.md",), ("care",), {"k": 1})


def read(project: Workspace, place: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / place).read_text(encoding="utf-8"))
    return data


def found(project: Workspace) -> Workflow:
    (workflow,) = hybrid.find(project).workflows
    return workflow


def test_the_state_file_keeps_exactly_its_keys(project: Workspace) -> None:
    """R000-02: whatever start and update are given, the file beside it takes it, and the view has it all."""
    workflow = hybrid.start(project, GIVEN)
    verbs.update(
        project, workflow, Changes(reading=("b.md",), reminders=("more",), context={"n": "v"}, status="active")
    )
    assert list(read(project, STATE)) == KEYS
    assert read(project, EXTRA) == {
        "id": workflow.id,
        "workflow_type": "implementation",
        "required_reading": ["@docs/a.md", "@b.md"],
        "key_reminders": ["care", "more"],
        "context": {"k": 1, "n": "v"},
    }
    now = found(project)
    assert (now.kind, now.reading, now.reminders) == ("implementation", ("@docs/a.md", "@b.md"), ("care", "more"))
    assert (now.context, now.phase_status) == ({"k": 1, "n": "v"}, "active")


def test_without_anything_beyond_there_is_no_such_file(project: Workspace) -> None:
    """A workflow of the schema alone is one file."""
    hybrid.start(project, Start("Ship", phases=(("A", "x"),)))
    assert not (project.root / EXTRA).exists()


def test_a_new_workflow_does_not_inherit_it(project: Workspace) -> None:
    """With extras of its own or without, those of the earlier one stay its own; they are kept as a generation."""
    verbs.done(project, hybrid.start(project, GIVEN), everything=True)
    before = (project.root / EXTRA).read_bytes()
    second = hybrid.start(project, Start("Next", phases=(("A", "x"),)))
    assert (second.reading, second.context, second.kind) == ((), {}, "")
    assert not (project.root / EXTRA).exists()
    assert generations.latest(project, project.root / EXTRA) == before
    verbs.done(project, second, everything=True)
    third = hybrid.start(project, Start("Third", phases=(("A", "x"),), reminders=("new",)))
    assert (third.reading, third.reminders) == ((), ("new",))


def test_one_that_names_another_workflow_adds_nothing(project: Workspace, put: Put) -> None:
    """A leftover is nobody's; the first addition takes its place."""
    workflow = hybrid.start(project, Start("Ship", phases=(("A", "x"),)))
    put(EXTRA, {"id": "wf_20200101_000000", "required_reading": ["@old.md"]})
    assert found(project).reading == ()
    verbs.update(project, workflow, Changes(reading=("new.md",)))
    assert read(project, EXTRA) == {"id": workflow.id, "required_reading": ["@new.md"]}


def test_unknown_keys_in_it_survive(project: Workspace) -> None:
    """People may add to it."""
    workflow = hybrid.start(project, GIVEN)
    (project.root / EXTRA).write_text(json.dumps(read(project, EXTRA) | {"mine": {"a": [1]}}))
    verbs.update(project, workflow, Changes(reminders=("more",)))
    assert read(project, EXTRA)["mine"] == {"a": [1]}


def test_keys_of_a_person_in_the_state_file_are_read_and_stay(project: Workspace) -> None:
    """R000-38: extras do not break the schema; both places count, and neither is copied into the other."""
    workflow = hybrid.start(project, Start("Ship", phases=(("A", "x"), ("B", "y"))))
    state = read(project, STATE) | {"required_reading": ["@mine.md"], "context": {"a": 1, "b": 1}, "other": True}
    (project.root / STATE).write_text(json.dumps(state))
    verbs.update(project, workflow, Changes(reading=("ours.md", "mine.md"), context={"b": 2}))
    verbs.done(project, found(project))
    now = found(project)
    assert now.reading == ("@mine.md", "@ours.md")
    assert now.context == {"a": 1, "b": 2}
    assert {key: read(project, STATE)[key] for key in ("required_reading", "context", "other")} == {
        "required_reading": ["@mine.md"],
        "context": {"a": 1, "b": 1},
        "other": True,
    }


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


def test_no_notes_make_no_file(project: Workspace) -> None:
    """A format may write what it remembers, though it remembers nothing."""
    workflow = hybrid.start(project, Start("Ship", phases=(("A", "x"),)))
    extras.write_notes(project, workflow.path, workflow.id, {})
    assert not (project.root / EXTRA).exists()
    assert extras.notes(project, workflow.path, workflow.id) == {}


def test_a_formats_own_notes_lie_beside_what_people_give(project: Workspace) -> None:
    """Neither changes the other, nothing is written twice, and another workflow's notes are nobody's."""
    workflow = hybrid.start(project, GIVEN)
    extras.write_notes(project, workflow.path, workflow.id, {"names": {"1": "A"}})
    verbs.update(project, workflow, Changes(reminders=("more",)))
    before = (project.root / EXTRA).stat().st_mtime_ns

    extras.write_notes(project, workflow.path, workflow.id, {"names": {"1": "A"}})

    assert (project.root / EXTRA).stat().st_mtime_ns == before
    assert extras.notes(project, workflow.path, workflow.id) == {"names": {"1": "A"}}
    assert extras.notes(project, workflow.path, "wf_of_somebody_else") == {}
    assert found(project).reminders == ("care", "more")
