"""The files of document 004 in forms that people and other programs give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.skills import machine, paths, schema
from holdfast.formats.skills.format import FORMAT
from holdfast.formats.skills.schema import State
from tests.formats.skills import documents
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace


@each_row("skill", ["../x", "a/b", "", ".hidden", "x" * 65, "a b", "dev\n"])
def test_a_skill_that_is_no_file_name_is_refused(skill: str) -> None:
    """So that no file leaves its folder."""
    with pytest.raises(TransitionError, match="isn't a valid skill name"):
        paths.stem(skill, "x")


def test_of_several_begun_the_current_phase_names_the_one(project: Workspace) -> None:
    """Else the first of them is worked on."""
    state = documents.state("dev")
    state["state_machine"]["phases"][3]["status"] = "in_progress"
    first = FORMAT.view(project, FORMAT.load(project, documents.put(project, "dev-1", json.dumps(state).encode())))
    state["state_machine"]["current_phase"] = "verification"
    named = FORMAT.view(project, FORMAT.load(project, documents.put(project, "dev-1", json.dumps(state).encode())))

    assert (first.phase, named.phase) == ("Implement OutboxPublisher", "Verification")


def edited(name: str, **changes: Any) -> bytes:
    """Return one of the document's states with other values, given by their path with `__` between its parts."""
    data = documents.state(name)
    for place, value in changes.items():
        *way, last = place.split("__")
        at = data
        for part in way:
            at = at[part]
        if value is ...:
            del at[last]
        else:
            at[last] = value
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state_machine__phases": []}, "the state file lists no phases; they are those of the machine dev"),
        ({"state_machine__phases": ..., "tasks": []}, "the state file lists no phases"),
        ({"state_machine__phases": "x", "_schema__skill": "other"}, "no phases recorded"),
        ({"tasks": None}, ""),
        ({"tasks": [None, 7, {"index": 1}]}, ""),
        ({"history": None, "checkpoints": []}, ""),
        ({"context": ["x"]}, '"context" is not an object'),
        ({"workflow__status": "odd"}, ""),
        ({"workflow__created_at": 7}, ""),
        (
            {"state_machine": {"current_phase": "b", "phases": [{"name": "a", "status": "odd"}]}},
            'the current phase "b" is none of a, so their own statuses count; the status of "a" is "odd"',
        ),
        (
            {"state_machine": {"current_phase": "a", "phases": [{"name": "a"}, {"name": "a"}]}},
            'phase 2 has no name of its own, so it is called "a-2" here',
        ),
        ({"_schema": None}, ""),
    ],
)
def test_odd_values_are_told_and_never_fail(project: Workspace, changes: dict[str, Any], said: str) -> None:
    """I004-6, I004-18: whatever is missing or has another type."""
    path = documents.put(project, "dev-172c0b01", edited("dev", **changes))

    now = FORMAT.view(project, FORMAT.load(project, path))

    assert said in "; ".join(now.warnings)
    assert now.total == len(now.phases)


def test_the_original_checkpoints_are_understood() -> None:
    """I004-8: `passed` and `failed` as statuses, and booleans as texts."""
    points = {"a": {"status": "failed"}, "b": {"status": "completed", "passed": "false"}, "c": {"status": "passed"}}

    assert [schema.has_failed(each) for each in points.values()] == [True, True, False]
    assert [schema.was_run(each) for each in points.values()] == [True, True, True]
    assert not schema.was_run({"status": "running"})
    state = State({"checkpoints": points}, Path("dev-1.json"), machine.of_phases("dev"))
    assert state.open_checkpoints(("a", "c", "d")) == {"failed": ["a"]}
