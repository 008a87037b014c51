"""The transitions of a hybrid workflow where several of its phases are out of the ordinary."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.hybrid import file, moves


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
    with pytest.raises(TransitionError, match="phase_0 failed; retry it first"):
        moves.move(data, 2, "active")

    moves.move(data, index, "active")

    assert data["phases"][index]["status"] == "active"


@pytest.mark.parametrize("index", [0, 2])
def test_beside_an_active_phase_no_other_begins(index: int) -> None:
    """R000-15: neither an earlier one that was left out nor a later one."""
    with pytest.raises(TransitionError, match="phase_1 is active, and only one can be"):
        moves.move(state("pending", "active", "pending"), index, "active")


def test_reopening_puts_back_whatever_is_active() -> None:
    """A file kept by hand may have several (I000-15)."""
    data = state("completed", "active", "pending", "active")

    moves.reopen(data, 0)

    assert statuses(data) == ["active", "pending", "pending", "pending"]
    assert data["current_phase"] == "phase_0"


def test_a_reopened_phase_hands_over_what_it_came_to_this_time() -> None:
    """What it handed over before it was reopened gives way to a person's note, and stays without one."""
    for note, kept in (("New", "New"), ("", "Old")):
        data = state("completed", "pending", context_for_next="Old")
        moves.reopen(data, 0)
        moves.done(data, 0, note)
        assert data["phases"][0]["context_for_next"] == kept
        assert statuses(data) == ["completed", "active"]


def test_the_note_that_ends_all_is_left_by_the_phase_that_was_due() -> None:
    """Also where that was reopened and had handed something over before."""
    data = state("completed", "completed", context_for_next="Old")
    moves.reopen(data, 0)

    moves.finish(data, "New")

    assert [phase["context_for_next"] for phase in data["phases"]] == ["New", ""]
    assert (data["status"], data["current_phase"]) == ("completed", None)
