"""Transitions of a hybrid workflow with several phases in unusual states."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.hybrid import file, transitions
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.workflow.model import Status


def state(*statuses: str, **changes: str) -> dict[str, Any]:
    """Return a workflow with a phase for each status; `changes` are those of the first phase."""
    data = file.fresh("wf_1", "Release", [(f"Phase {number}", "") for number in range(len(statuses))])
    for phase, status in zip(data["phases"], statuses, strict=True):
        phase["status"] = status
    data["phases"][0].update(changes)
    return data


def statuses(data: dict[str, Any]) -> list[str]:
    """Return how far the phases are."""
    return [phase["status"] for phase in data["phases"]]


@pytest.mark.parametrize("index", [0, 1])
def test_of_several_failed_phases_each_can_be_retried(index: int) -> None:
    """Only a phase that did not fail waits until none is left that did (I000-9)."""
    data = state("failed", "failed", "pending")
    with pytest.raises(TransitionError, match='phase 1 "Phase 0" failed; retry it with'):
        transitions.move(data, 2, "active")

    transitions.move(data, index, "active")

    assert data["phases"][index]["status"] == "active"


@pytest.mark.parametrize("index", [0, 2])
def test_beside_an_active_phase_no_other_begins(index: int) -> None:
    """R000-15: neither an earlier one that was left out nor a later one."""
    with pytest.raises(TransitionError, match='phase 2 "Phase 1" is active, and only one phase can be'):
        transitions.move(state("pending", "active", "pending"), index, "active")


def test_reopening_puts_back_whatever_is_active() -> None:
    """A file kept by hand may have several (I000-15)."""
    data = state("completed", "active", "pending", "active")

    transitions.reopen(data, 0)

    assert statuses(data) == ["active", "pending", "pending", "pending"]
    assert data["current_phase"] == "phase_0"


def test_after_a_phase_that_was_done_early_comes_the_one_behind_it() -> None:
    """What was left out waits until nothing behind it is left."""
    data = state("pending", "active", "pending")

    transitions.move(data, 1, "completed")
    assert statuses(data) == ["pending", "completed", "active"]

    transitions.move(data, 2, "completed")
    assert statuses(data) == ["active", "completed", "completed"]
    assert data["current_phase"] == "phase_0"


def test_a_failure_stays_the_workflows_while_other_phases_end() -> None:
    """Agents of several phases may have run side by side; until it is retried nothing else begins (I000-9)."""
    data = state("failed", "active", "pending")

    transitions.move(data, 1, "completed", by="hook")
    assert (data["status"], statuses(data)) == ("failed", ["failed", "completed", "pending"])

    transitions.move(data, 0, "active")
    assert data["status"] == "active"


@each_row("by", ["person", "hook"])
@each_row("status", ["active", "failed", "completed"])
def test_no_phase_that_was_begun_waits_again(status: str, by: transitions.Mover) -> None:
    """R000-14: a person hears why, a hook does nothing."""
    data, before = state(status, "pending"), state(status, "pending")

    with pytest.raises(TransitionError) if by == "person" else nullcontext():
        transitions.move(data, 0, "pending", by=by)

    assert data == before


def test_only_a_finished_phase_is_reopened() -> None:
    """A failed one too (I000-15), beside any other that failed."""
    for status in ("completed", "failed"):
        data = state(status, "failed")
        transitions.reopen(data, 0)
        assert statuses(data) == ["active", "failed"]
        assert (data["status"], data["current_phase"]) == ("failed", "phase_0")
    for status in ("pending", "active"):
        with pytest.raises(TransitionError, match="only a completed or failed phase reopens"):
            transitions.reopen(state(status), 0)


@pytest.mark.parametrize("ended", ["completed", "failed"])
def test_a_start_that_was_forgotten_is_not_caught_up_with_past_another_phase(ended: Status) -> None:
    """A person ends the one that is active or failed first (I000-6); what a hook says has happened."""
    for before, why in (("active", 'phase 1 "Phase 0" is active'), ("failed", 'phase 1 "Phase 0" failed; retry it')):
        data = state(before, "pending")
        with pytest.raises(TransitionError, match=why):
            transitions.move(data, 1, ended)
        transitions.move(data, 1, ended, by="hook")
        assert statuses(data) == [before, ended]


def test_nothing_is_handed_over_before_a_phase_is_completed() -> None:
    """R000-11, R000-12: while it is active it may deliver; the completion can bring both."""
    data = state("pending")
    for given in ({"deliverables": ["a.py"]}, {"handover": "x"}):
        with pytest.raises(TransitionError, match='phase 1 "Phase 0" is pending'):
            transitions.move(data, 0, None, **given)

    transitions.move(data, 0, "active", deliverables=["a.py"])
    for status in (None, "failed"):
        with pytest.raises(TransitionError, match="only a completed phase hands something over"):
            transitions.move(data, 0, status, handover="x")
    transitions.move(data, 0, "completed", deliverables=["b.py"], handover="x")

    (phase,) = data["phases"]
    assert (phase["deliverables"], phase["context_for_next"]) == (["a.py", "b.py"], "x")


def test_of_phases_with_one_id_the_first_that_is_left_is_meant() -> None:
    """Phases run in their order; a number that is no id counts from 0, and none lies before the first (I000-2)."""
    data = state("completed", "active", "pending")
    for phase in data["phases"]:
        phase["id"] = "build"

    assert file.position(data, "build") == 1
    data["phases"][1]["status"] = data["phases"][2]["status"] = "completed"
    assert file.position(data, "build") == 0
    assert [file.position(data, each) for each in ("2", 2, "3", "-1", -1, "x")] == [2, 2, None, None, None, None]


@each_row(
    "said, meant",
    [
        ("✅ Completed", "completed"),
        ("[done]", "completed"),
        ("In Progress …", "active"),
        ("**FAILED**", "failed"),
        ("not-started", "pending"),
        ("someday", None),
        (None, None),
    ],
)
def test_a_status_is_read_as_people_write_it(said: str | None, meant: str | None) -> None:
    """Signs around it say nothing; a word that nobody knows is told, and not guessed at."""
    assert file.status(said) == meant


def test_a_status_that_the_format_lacks_is_refused_with_what_to_use_instead() -> None:
    """No phase of this format is blocked."""
    with pytest.raises(TransitionError, match=r"blocked in hybrid.* use --note"):
        transitions.move(state("active"), 0, "blocked")
