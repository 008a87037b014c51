"""Document 000, what is refused and what is tolerated: I000-17 and I000-20."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError, SchemaMismatch, TransitionError
from holdfast.formats.hybrid import functions
from tests.requirements.document_000 import CREATE, DELIVERED, HANDOVER, PHASES, STATE, VIEW
from tests.signals import Agent

if TYPE_CHECKING:
    from tests.requirements.document_000 import Calculator

NOW = "2025-01-05T14:30:22Z"


def test_an_unfinished_workflow_is_not_overwritten(calculator: Calculator) -> None:
    """I000-17: refused, pending, active or failed, by function and command, with the workflow's name and a way out."""
    calculator.create()
    for status in (None, "active", "failed"):
        if status:
            calculator.update("phase_0", status)
        before = calculator.read(STATE)
        with pytest.raises(TransitionError, match=calculator.id):
            functions.create_workflow_state("Another", PHASES, root=calculator.root)
        said = calculator.run("start", "Another", "--format", "hybrid", "--phase", "x", code=1)
        assert calculator.id in said.err
        assert (f"holdfast done --all {calculator.id}" in said.err) == (status != "failed")
        assert "--replace" in said.err
        assert calculator.read(STATE) == before


def test_an_id_of_the_same_second_is_not_given_twice(calculator: Calculator, monkeypatch: pytest.MonkeyPatch) -> None:
    """I000-17: three workflows within a second have three ids of the same form, and the first two are archived."""
    monkeypatch.setenv("HOLDFAST_NOW", NOW)
    ids = []
    for number in range(3):
        ids.append(calculator.create(f"Number {number}"))
        calculator.run("done", "--all")

    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"wf_\d{8}_\d{6}", each) for each in ids)
    archived = calculator.run("status", "--all", "--json").json["archive"]
    assert {each["id"] for each in archived} == set(ids)


def test_a_wrong_id_is_an_error(calculator: Calculator) -> None:
    """I000-17: neither read nor written, and the id that is there is named."""
    calculator.create()
    before = calculator.read(STATE)

    with pytest.raises(HoldfastError, match=calculator.id):
        functions.get_workflow_state("wf_20000101_000000", root=calculator.root)
    with pytest.raises(HoldfastError, match=calculator.id):
        functions.update_phase_status("wf_20000101_000000", "phase_0", "active", root=calculator.root)
    with pytest.raises(HoldfastError, match="no phase 'phase_7'; there are phase_0, phase_1"):
        calculator.update("phase_7", "active")
    assert calculator.read(STATE) == before


def test_unknown_keys_are_tolerated_and_kept(calculator: Calculator) -> None:
    """I000-20: what people add beside the schema's keys is no error and survives every change."""
    calculator.create()
    state = calculator.state | {"owner": "me", "tags": ["a", 1, None]}
    state["phases"][0]["estimate"] = {"hours": 2.50}
    calculator.project.write({STATE: state})

    Agent(calculator.project, CREATE).about_to()
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    calculator.run("done", "--note", "all good")

    assert calculator.state["status"] == "completed"
    assert (calculator.state["owner"], calculator.state["tags"]) == ("me", ["a", 1, None])
    assert calculator.state["phases"][0]["estimate"] == {"hours": 2.50}


@pytest.mark.parametrize(
    "foreign",
    [
        {"name": "CI", "on": "push", "jobs": {}},
        {"version": 1, "nodes": [], "connections": {}},
        {"id": "x", "task": "y", "phases": {"a": 1}},
        {"id": "wf_20250105_143022", "phases": []},
        {"task": "no id", "phases": []},
    ],
)
def test_a_file_of_another_schema_is_refused(calculator: Calculator, foreign: dict[str, Any]) -> None:
    """I000-20: other programs use this path; theirs is read by nobody, written by nobody, and named by `explain`."""
    calculator.project.write({STATE: foreign})
    before = calculator.read(STATE)

    with pytest.raises(SchemaMismatch, match="left alone"):
        functions.get_workflow_state("x", root=calculator.root)
    with pytest.raises(SchemaMismatch, match="left alone"):
        calculator.create()
    assert "left alone" in calculator.run("start", "X", "--format", "hybrid", "--phase", "a", code=1).err
    agent = Agent(calculator.project, kind="general-purpose")
    agent.about_to().assert_silent("reuse_agents", "sync_todos")
    agent.returned().assert_silent("sync_todos", "track_agents")
    assert f"warning: {STATE}: " in calculator.run("status", "--why").out

    assert calculator.read(STATE) == before
    assert not (calculator.root / VIEW).exists()


def test_a_file_that_is_not_json_is_left_alone_and_a_torn_one_is_set_aside(calculator: Calculator) -> None:
    """I000-20: another program's text, or a list of titles, stays. A torn file is kept beside the new one."""
    titles = '{"id": "x", "task": "y", "status": "active", "phases": ["a", "b"]}'
    start = ("start", "X", "--format", "hybrid", "--phase", "a")
    for content, words in (
        *((each, "is not JSON, so Holdfast did not write it") for each in ("my notes", "[1, 2", '"a text')),
        (titles, 'have no "title"'),
    ):
        calculator.project.write({STATE: content})
        assert words in calculator.run(*start, code=1).err, content
        assert calculator.read(STATE) == content

    calculator.project.write({STATE: "{ broken"})
    said = calculator.run(*start).out
    (aside,) = (calculator.root / STATE).parent.glob("workflow.json.corrupt-*")
    assert aside.read_text() == "{ broken"
    assert f"what {STATE} held before is kept as {aside.name} next to it" in said
