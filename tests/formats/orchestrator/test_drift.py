"""What a state that was kept by hand means, as a state of ours."""

from __future__ import annotations

from typing import Any

from holdfast.formats.orchestrator import drift
from tests.tables import each_row


def imported(**parts: Any) -> dict[str, Any]:
    """Take over a drifted state; each part goes before that of a small one."""
    head = {"status": "executing", "task_doc": "/x/tasks.md", **parts.pop("head", {})}
    made, lost = drift.imported({"orchestrator": head, "pending_tasks": ["1.1: Model"], **parts}, "")
    assert lost == []
    return made


@each_row(
    "said, means",
    [
        ("planning", "planning"),
        ("in_progress", "executing"),
        ("done", "completed"),
        ("completed", "completed"),
        ("cancelled", "failed"),
        ("not_started", "planning"),
        ("whatever", "executing"),
    ],
)
def test_other_words_for_a_status_are_understood(said: str, means: str) -> None:
    """An unknown one means that the run goes on."""
    assert drift.imported({"orchestrator": {"status": said}, "pending_tasks": ["1.1: A"]}, "/x")[0]["orchestrator"][
        "status"
    ] == (means)


@each_row(
    "bounds, time",
    [({"max_time_hours": 1.5}, "1h 30m"), ({"max_time_hours": 2}, "2h"), ({"max_time": 0.25}, "0h 15m")],
)
def test_hours_become_a_time(bounds: dict[str, Any], time: str) -> None:
    """Exactly."""
    assert imported(safety_bounds=bounds)["safety_bounds"]["max_time"] == time


@each_row(
    "said, total, tasks, means",
    [
        (1, 1, ["1.1: A"], 0),  # counted from 1
        (1, 2, ["1.2: A", "2.1: B"], 0),
        (1, 2, ["2.1: B"], 1),
        (0, 2, ["2.1: B"], 0),  # it may have gone back
        (7, 2, ["2.1: B"], 1),
        (7, 2, [], 1),
    ],
)
def test_the_current_phase_counts_from_0(said: int, total: int, tasks: list[str], means: int) -> None:
    """By hand it is counted either way, and the tasks that are left say which."""
    made = imported(head={"current_phase": said, "total_phases": total}, pending_tasks=tasks)
    assert made["orchestrator"]["current_phase"] == means


def test_a_sum_that_the_tasks_do_not_give_is_named() -> None:
    """The run's sum is that of its completed tasks, so what else was spent is lost."""
    for said, lost in (
        (0.4, ['"safety_bounds.cost_so_far" is $0.40, and the completed tasks add up to $0.00']),
        (0, []),
    ):
        data = {"orchestrator": {"status": "executing", "task_doc": "/a.md"}, "pending_tasks": ["1.1: Write it"]}
        assert drift.imported({**data, "safety_bounds": {"cost_so_far": said}}, "")[1] == lost
