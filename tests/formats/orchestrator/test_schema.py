"""Whose a file is, what a new one holds, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.formats.orchestrator import faults, schema, view
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.run import Run
from tests.requirements.document_003 import DRIFTED, EXAMPLE
from tests.tables import each_row

if TYPE_CHECKING:
    from tests.requirements.document_003 import Scene


@each_row(
    "data, kind",
    [
        (json.loads(EXAMPLE), "ours"),
        (DRIFTED, "drifted"),
        ({"status": "executing", "current_step": 5, "total_steps": 10}, "flat"),
        ({"timestamp": "2026-01-15", "phase": "x", "completed_todos": [], "next_steps": []}, "foreign"),
        ({}, "foreign"),
        ({"checkpoints": []}, "foreign"),
        ({"agents": [{"id": 1}], "orchestrator": "main"}, "foreign"),
        ({"orchestrator": {"status": "running", "pid": 4}}, "foreign"),
        ({"status": "idle"}, "foreign"),
    ],
)
def test_a_file_is_known_by_what_it_holds(data: dict[str, Any], kind: str) -> None:
    """Only ours is read and written."""
    assert schema.kind(data) == kind


@each_row(
    "path, value, said",
    [
        (("orchestrator", "current_task"), "6/5", "N/M"),
        (("orchestrator", "start_time"), "noon", "ISO 8601"),
        (("orchestrator", "ralph_iteration"), True, "whole number"),
        (("supervisor", "enabled"), "yes", "true or false"),
        (("safety_bounds", "max_time"), "long", "time such as"),
        (("completed_tasks", 0, "cost"), "cheap", "money such as"),
        (("completed_tasks", 0, "success_criteria_met"), ["a"], "not an object"),
        (("active_agents", 0, "type"), "wizard", "one of task-executor"),
        (("supervisor", "interventions", 0, "severity"), "medium", "one of critical, high, low"),
        (("learnings", 0, "type"), "rumour", "one of pattern"),
        (("checkpoints", 0, "phase"), "1", "whole number"),
    ],
)
def test_a_value_that_is_not_allowed_is_named(path: tuple[Any, ...], value: object, said: str) -> None:
    """With the field first, so that the doctor can say what to correct."""
    data = json.loads(EXAMPLE)
    *inner, last = path
    at = data
    for step in inner:
        at = at[step]
    at[last] = value

    ((field, fault),) = schema.deviations(data)
    assert said in fault
    assert field.endswith(last)


def test_a_value_is_judged_with_its_type() -> None:
    """True equals 1, but it is no number, also where another entry has 1."""
    data = json.loads(EXAMPLE)
    data["completed_tasks"] = [data["completed_tasks"][0] | {"iterations": each} for each in (1, True)]
    assert [field for field, _ in schema.deviations(data)] == ["completed_tasks[1].iterations"]
    data["pending_tasks"] = [{"phase": 0, "task": f"1.{number}", "name": "x"} for number in range(600)]
    data["pending_tasks"][7:9] = [{"phase": True, "task": "1.7", "name": "x"}, "1.8"]
    assert schema.deviations(data)[1:] == [
        ("pending_tasks[7].phase", "is not a whole number"),
        ("pending_tasks[8]", "is not an object"),
    ]


@each_row(
    "edit, said",
    [
        (lambda data: data["pending_tasks"].append({"phase": 0, "task": "1.1", "name": "x"}), "3.1, 1.1, not 2.2, 3.1"),
        (lambda data: data["pending_tasks"].append(data["pending_tasks"][1]), "pending_tasks lists 2.1, 2.2, 3.1, 2.2"),
        (lambda data: data["pending_tasks"][1].update(phase=4), "phase 4"),
        (lambda data: data["orchestrator"].update(current_phase=4), "counted from 0"),
        (lambda data: data["safety_bounds"].update(cost_so_far="$0.80"), "cost_so_far is $0.80, not $0.75"),
        (
            lambda data: data["safety_bounds"].update(elapsed_time="0h 30m 0s"),
            "not 0h 34m 8s (the tasks add up to that)",
        ),
        (lambda data: data["supervisor"].update(conflicts_detected=1), "conflicts_detected is 1, not 2"),
        (lambda data: data["orchestrator"].update(status="completed", end_time="2026-01-15T13:00:00Z"), "are not"),
        (lambda data: data["orchestrator"].update(status="failed"), "end_time is null"),
        (lambda data: data["orchestrator"].update(status="planning"), "is planning"),
    ],
)
def test_a_contradiction_is_named(edit: Any, said: str) -> None:
    """What the numbers say of each other."""
    data = json.loads(EXAMPLE)
    edit(data)

    found = list(faults.contradictions(Run(data, {}), Path("x"), str))
    assert any(said in each.text for each in found), found


def test_a_run_without_anything_in_it_is_shown(scene: Scene) -> None:
    """A state that lacks nearly everything gives warnings and no error."""
    scene.put(b'{"orchestrator": {"status": "executing", "task_doc": "/gone/\\u0000x.md"}, "pending_tasks": []}')

    found = scene.workflow
    assert (found.title, found.total) == ("x", 0)
    assert '"supervisor" is missing' in found.warnings
    assert view.title(Run({"orchestrator": {}}, {})) == "Untitled"
    assert FORMAT.current(scene.project).tasks() == []
