"""The position of a `wfs` task in the steps before its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError, LedgerError, TransitionError
from holdfast.formats.wfs import flow
from holdfast.formats.wfs import steps as wfs_steps
from holdfast.sessions.history import stepruns
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.records import Outcome

WORKFLOW = "wfs:.workflow/WFS-user-auth/workflow-session.json#WFS-user-auth"


def task(*steps: dict[str, Any]) -> dict[str, Any]:
    """Return what of a task's file tells its steps."""
    return {"flow_control": {"pre_analysis": list(steps)}}


def step(name: str, on_error: str = "fail") -> dict[str, Any]:
    """Return a step whose output is a variable of its name."""
    return {"step": name, "action": "Look", "command": "ls", "output_to": f"{name}_out", "on_error": on_error}


def record(project: Workspace, data: dict[str, Any], name: str, outcome: Outcome, output: str = "") -> None:
    """Record what came of a step."""
    wfs_steps.record(project, WORKFLOW, "IMPL-1", standings(project, data), name, outcome, output)


def standings(project: Workspace, data: dict[str, Any]) -> list[wfs_steps.Standing]:
    """Return where the task stands."""
    return wfs_steps.standings(data, wfs_steps.runs(project, WORKFLOW, "IMPL-1"))


def test_steps_are_taken_in_their_order(project: Workspace) -> None:
    """One that failed stops those behind it; whoever records it out of order hears which comes first."""
    data = task(step("one", "skip_optional"), step("two"), step("three"))
    with pytest.raises(TransitionError, match="one comes before two"):
        record(project, data, "two", "completed")
    record(project, data, "one", "failed")
    record(project, data, "two", "failed")
    with pytest.raises(TransitionError, match="two comes before three"):
        record(project, data, "three", "completed")
    with pytest.raises(HoldfastError, match="IMPL-1 has no step 'four'; its steps are: one, two, three"):
        record(project, data, "four", "completed")

    found = standings(project, data)
    assert [each.state for each in found] == ["skipped", "failed", "pending"]

    record(project, data, "two", "completed")
    record(project, data, "three", "completed")
    assert all(each.over for each in standings(project, data))


def test_only_what_a_step_put_out_when_it_was_done_is_a_variable(project: Workspace) -> None:
    """What a failed one said, or one that was skipped, is no result."""
    data = task(step("one", "skip_optional"), step("two"), step("three"))
    record(project, data, "one", "failed", "no such file")
    record(project, data, "two", "skipped", "later")
    record(project, data, "three", "completed", "found")

    assert wfs_steps.outputs(standings(project, data)) == {"three_out": "found"}


@each_row(
    "given, commands",
    [
        ({"command": "ls"}, ("ls",)),
        ({"commands": ["ls", "cat x"]}, ("ls", "cat x")),
        ({"command": "", "commands": ["ls"]}, ("ls",)),
        ({"command": "ls", "commands": ["cat x"]}, ("ls",)),
        ({}, ()),
    ],
)
def test_several_commands_of_a_step_are_read(given: dict[str, Any], commands: tuple[str, ...]) -> None:
    """Task files in the wild have them; one that follows the document goes first."""
    (found,) = flow.steps(task({"step": "look", "action": "Look"} | given))

    assert found.commands == commands
    assert found.on_error == "fail"


@pytest.mark.parametrize(
    ("on_error", "states"),
    [
        ("fail", ["failed", "failed"]),
        ("retry_once", ["retry", "failed"]),
        ("skip_optional", ["skipped", "skipped"]),
        ("manual_intervention", ["manual", "manual"]),
    ],
)
def test_what_a_failure_leads_to_is_said_by_the_step(project: Workspace, on_error: str, states: list[str]) -> None:
    """R002-26: the second try of `retry_once` is the last."""
    data = task(step("one", on_error))
    for state in states:
        record(project, data, "one", "failed")
        assert [each.state for each in standings(project, data)] == [state]


def test_without_a_ledger_no_step_was_taken(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """To show a task needs none."""

    def refuse(*_: object) -> None:
        raise LedgerError("database is locked")

    monkeypatch.setattr(stepruns, "of", refuse)

    assert [each.state for each in standings(project, task(step("one")))] == ["pending"]


def test_what_goes_into_no_variable_is_none(project: Workspace) -> None:
    """A step need not put anything out."""
    data = task({"step": "one", "action": "Look", "command": "ls"}, step("two"))
    record(project, data, "one", "completed", "a.py")
    record(project, data, "two", "completed", "found")

    assert wfs_steps.outputs(standings(project, data)) == {"two_out": "found"}
