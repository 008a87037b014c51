"""What is remembered of the steps of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.history import stepruns
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.records import Outcome

WORKFLOW, TASK = "wfs:.workflow/WFS-user-auth/workflow-session.json#WFS-user-auth", "IMPL-1"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def record(project: Workspace, outcome: Outcome, output: str = "", step: str = "look", task: str = TASK) -> None:
    """Record what came of a step."""
    stepruns.record(project, WORKFLOW, task, step, outcome, output)


@pytest.mark.parametrize("good", ["completed", "skipped"])
def test_a_step_that_was_taken_may_fail_as_often_again(project: Workspace, good: Outcome) -> None:
    """Else a step that is to be retried once would not be, the next time its task is worked on."""
    outcomes: tuple[Outcome, ...] = ("failed", "failed", good, "failed")
    counted = []
    for outcome in outcomes:
        record(project, outcome)
        counted.append(stepruns.of(project, WORKFLOW, TASK)["look"].failures)

    assert counted == [1, 2, 0, 1]


def test_the_last_run_of_a_step_counts(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its outcome, what it put out, and its hour; no other step's and no other task's."""
    record(project, "completed", "other", step="read")
    record(project, "completed", "other", task="IMPL-2")
    runs: tuple[tuple[str, Outcome, str], ...] = (("10", "failed", "no such file"), ("11", "completed", "found"))
    for hour, outcome, output in runs:
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{hour}:00:00Z")
        record(project, outcome, output)

    run = stepruns.of(project, WORKFLOW, TASK)["look"]
    assert (run.outcome, run.output, run.at) == ("completed", "found", "2026-03-01T11:00:00.000000Z")
    assert set(stepruns.of(project, WORKFLOW, TASK)) == {"look", "read"}
