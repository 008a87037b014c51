"""The compaction state file as people and models write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import SchemaMismatch
from holdfast.files.document import Document
from holdfast.formats.compaction import file as files
from holdfast.formats.compaction import spot as compaction_spot
from holdfast.formats.compaction.spot import Spot
from holdfast.workflow.statefile import StateFile
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put, Seed

PLACE = "untracked/workflow-state/x/state-x-20251209_143052.json"


@pytest.mark.parametrize("name", ["required-fields", "feature-start", "feature-update", "qa-loop", "migration"])
def test_the_documents_examples_read_without_a_warning(project: Workspace, put: Put, seed: Seed, name: str) -> None:
    """R001-10: all five examples are valid as they stand."""
    text = seed(f"compaction-{name}.json")
    data = json.loads(text)
    workflow = files.load(project, put(PLACE, text)).workflow
    assert workflow.warnings == ()
    assert (workflow.title, workflow.kind) == (data["workflow"], data["workflow_type"])
    assert (workflow.current, workflow.total) == (data["phase"]["current"], data["phase"]["total"])
    assert (workflow.phase, workflow.phase_status) == (data["phase"]["name"], "active")
    assert workflow.reading == tuple(data["required_reading"])
    assert workflow.reminders == tuple(data["key_reminders"])
    assert dict(workflow.context) == data["context"]
    assert workflow.created_at == data["created_at"]
    assert workflow.raw == text.encode()


def test_a_new_file_has_the_schemas_keys_in_their_order(seed: Seed) -> None:
    """R001-05: exactly the keys of the document's example."""
    data = files.fresh(
        "X", "qa-loop", Spot(1, 3, "Run", "in_progress"), {"reading": ["a", "@b"], "reminders": [], "context": {}}
    )
    example = json.loads(seed("compaction-required-fields.json"))
    assert list(data) == list(example)
    assert list(data["phase"]) == list(example["phase"])
    assert data["required_reading"] == ["@a", "@b"]
    assert data["created_at"].endswith("Z")
    assert "." in data["created_at"]


def test_an_unknown_type_is_written_as_custom_and_read_with_a_warning(project: Workspace, put: Put) -> None:
    """I001-8: any type is accepted on read, none but the known ones is written."""
    spot = Spot(1, 1, "A", "in_progress")
    assert (
        files.fresh("X", "release", spot, {"reading": [], "reminders": [], "context": {}})["workflow_type"] == "custom"
    )
    workflow = files.load(project, put(PLACE, {"workflow": "X", "workflow_type": "release", "phase": {}})).workflow
    assert workflow.kind == "release"
    assert any("workflow_type" in remark for remark in workflow.remarks)


@each_row(
    "phase, spot",
    [
        ({"current": 12, "total": 10, "name": "N", "status": "in_progress"}, (10, 10, "N", "in_progress")),
        ({"current": 0, "total": 3, "name": "N", "status": "blocked"}, (1, 3, "N", "blocked")),
        ({"current": -4, "total": -1}, (1, 1, "", "in_progress")),
        ({"current": "2", "total": "5", "name": "N"}, (2, 5, "N", "in_progress")),
        ({"current": "2/5", "name": "N"}, (2, 5, "N", "in_progress")),
        ({"current": "2/5", "total": 6, "name": "N"}, (2, 6, "N", "in_progress")),
        ({"current": 2.0, "total": None, "status": "done"}, (2, 2, "", "completed")),
        ({"current": True, "total": [5], "name": 7, "status": {}}, (1, 1, "7", "in_progress")),
        ("2/5 - Build", (2, 5, "Build", "in_progress")),
        (3, (3, 3, "", "in_progress")),
        (None, (1, 1, "", "in_progress")),
        ([], (1, 1, "[]", "in_progress")),
    ],
)
def test_hand_kept_phases_are_brought_within_bounds(phase: Any, spot: tuple[int, int, str, str]) -> None:
    """I001-17: 1 <= current <= total whatever the file says, with a warning and never a crash."""
    warnings: list[str] = []
    found = compaction_spot.spot({"phase": phase}, warnings)
    assert (found.current, found.total, found.name, found.word) == spot
    assert warnings


@pytest.mark.parametrize(
    ("word", "current", "status", "finished"),
    [
        ("not_started", 1, "pending", False),
        ("not_started", 2, "active", False),
        ("in_progress", 3, "active", False),
        ("completed", 2, "active", False),
        ("completed", 3, "completed", True),
        ("blocked", 3, "blocked", False),
    ],
)
def test_the_workflows_status_follows_from_its_phase(
    project: Workspace, put: Put, word: str, current: int, status: str, finished: bool
) -> None:
    """A workflow is completed when its last phase is, and not before."""
    path = put(PLACE, {"workflow": "X", "phase": {"current": current, "total": 3, "name": "N", "status": word}})
    workflow = files.load(project, path).workflow
    assert (workflow.status, workflow.finished) == (status, finished)


@pytest.mark.parametrize(
    "data", [{}, {"workflow": "x"}, {"phase": {"current": 1}}, {"workflow": None, "phase": 1}, {"name": "eslint"}]
)
def test_a_file_of_another_schema_is_not_ours(project: Workspace, put: Put, data: dict[str, Any]) -> None:
    """Lesson 2: what is not ours is named and left alone."""
    with pytest.raises(SchemaMismatch, match="left alone"):
        files.load(project, put(PLACE, data))


def test_wrong_types_are_read_as_far_as_they_make_sense(project: Workspace, put: Put) -> None:
    """Values kept by hand in another shape are not lost from the view."""
    path = put(
        PLACE,
        {
            "workflow": "X",
            "phase": 1,
            "required_reading": "docs/a.md",
            "key_reminders": ["a", 2, None, ""],
            "context": ["x"],
        },
    )
    workflow = files.load(project, path).workflow
    assert workflow.reading == ("@docs/a.md",)
    assert workflow.reminders == ("a", "2")
    assert workflow.context == {"context": ["x"]}
    assert len(workflow.warnings + workflow.remarks) >= 3


def test_named_phases_are_part_of_the_view(project: Workspace, put: Put) -> None:
    """The names of later phases, and what finished ones handed over, live in the free context (R001-05)."""
    context = {"phases": ["Design", {"title": "Build", "agent": "coder"}], "phase_notes": {"1": "use A"}, "k": "v"}
    path = put(PLACE, {"workflow": "X", "phase": {"current": 2, "total": 4, "name": "Build it"}, "context": context})
    workflow = files.load(project, path).workflow
    assert [(phase.number, phase.title, phase.status) for phase in workflow.phases] == [
        (1, "Design", "completed"),
        (2, "Build it", "active"),
    ]
    assert (workflow.phases[0].handover, workflow.phases[1].agent) == ("use A", "coder")
    assert workflow.context == {"k": "v"}


def test_an_empty_name_is_that_of_the_folder(project: Workspace, put: Put) -> None:
    """A name is never empty."""
    assert files.load(project, put(PLACE, {"workflow": "  ", "phase": 1})).workflow.title == "x"


def test_new_files_of_one_second_do_not_collide(project: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """R001-01, R001-26: the path of the document's example, and the next second when it is taken."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")
    path = files.new_path(project, "Feature Implementation")
    place = "untracked/workflow-state/feature-implementation/state-feature-implementation-20251209_143052.json"
    assert path == project.root / place
    put(place, {})
    assert files.new_path(project, "Feature Implementation").name.endswith("_143053.json")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("workflow_type", "phase", "required_reading", "context", "key_reminders", "created_at"), anything
        ),
    )
)
def test_no_content_of_known_keys_ever_crashes_the_view(data: dict[str, Any]) -> None:
    """Whatever is kept under our keys, the view is well formed."""
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.sessions.workspace import Workspace

    project = Workspace(Path("/p"), Config())
    file = StateFile(Document(Path("/p/state-x.json"), {"workflow": "X", **data}, b"{}", 1.0))
    workflow = files.view(project, file)
    assert workflow.current is not None
    assert 1 <= workflow.current <= workflow.total
    assert all(entry.startswith("@") for entry in workflow.reading)
    assert workflow.phases


@pytest.mark.parametrize("phase", [{"current": 3}, {"current": 7, "total": 5}])
def test_a_phase_that_may_not_be_the_last_completes_no_workflow(
    project: Workspace, put: Put, phase: dict[str, int]
) -> None:
    """Where the file says no total, or is beyond it: a workflow that counts as finished is not restored."""
    path = put(PLACE, {"workflow": "X", "phase": phase | {"name": "N", "status": "completed"}})
    workflow = files.load(project, path).workflow
    assert (workflow.status, workflow.finished) == ("active", False)


def test_no_phase_is_shown_beyond_the_last(project: Workspace, put: Put) -> None:
    """Though titles or notes of more of them are kept: the total counts."""
    context = {"phases": ["A", "B", "C", "D"], "phase_notes": {"1": "use A", "9": "never"}}
    path = put(PLACE, {"workflow": "X", "phase": {"current": 2, "total": 3, "name": "B"}, "context": context})
    assert [phase.number for phase in files.load(project, path).workflow.phases] == [1, 2, 3]


@each_row("said", ["✅ Completed", "**completed**", "Done!", "(finished)"])
def test_a_phases_status_is_read_as_people_write_it(said: str) -> None:
    """Signs around it say nothing."""
    phase = {"current": 1, "total": 1, "name": "N", "status": said}
    assert compaction_spot.spot({"phase": phase}, []).word == "completed"
