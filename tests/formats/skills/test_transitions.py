"""Transitions on the state itself: allowed ones move everything at once, others are refused with a reason."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.skills import file as files
from holdfast.formats.skills import library, transitions, units
from tests.formats.skills import documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine

AT = "2025-01-09T10:00:00Z"
POINTS = ("lint", "test", "security_review", "code_simplifier")


@pytest.fixture
def dev(tmp_path: Path) -> Machine:
    """The machine of /dev."""
    return library.get(tmp_path, "dev")


@pytest.fixture
def tdd(tmp_path: Path) -> Machine:
    """The machine of /tdd."""
    return library.get(tmp_path, "tdd")


def fresh(rules: Machine, *tasks: str) -> dict[str, Any]:
    return files.fresh(
        rules, "x-1", "2025-01-09T09:00:00Z", context={}, branch="", task="", tasks=[(each, False) for each in tasks]
    )


def at_phase(name: str) -> dict[str, Any]:
    """Return the document's /dev state at a later phase, with every task and phase before it completed."""
    data = documents.state("dev")
    for each in data["tasks"]:
        each["status"] = "completed"
    for each in data["state_machine"]["phases"]:
        if each["name"] == name:
            each["status"] = "in_progress"
            break
        each["status"] = "completed"
    data["state_machine"]["current_phase"] = name
    return data


def passed(data: dict[str, Any], *names: str) -> None:
    for name in names:
        data["checkpoints"][name] |= {"status": "completed", "passed": True}


def statuses(data: dict[str, Any]) -> list[str]:
    return [each["status"] for each in data["state_machine"]["phases"]]


def events(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name != "at"} for each in data["history"]]


def test_a_transition_moves_everything_at_once(dev: Machine) -> None:
    """R004-25, I004-10, I004-11: the phase before is completed, both statuses and times, history, `updated_at`."""
    data = fresh(dev)
    transitions.enter(data, dev, "load_feature", AT)
    transitions.enter(data, dev, "create_branch", AT)

    assert data["state_machine"]["current_phase"] == "create_branch"
    assert data["state_machine"]["phases"][:2] == [
        {"name": "load_feature", "status": "completed", "started_at": AT, "completed_at": AT},
        {"name": "create_branch", "status": "in_progress", "started_at": AT},
    ]
    assert data["workflow"]["updated_at"] == AT
    assert events(data) == [
        {"event": "workflow_started"},
        {"event": "phase_started", "phase": "load_feature"},
        {"event": "phase_completed", "phase": "load_feature"},
        {"event": "phase_started", "phase": "create_branch"},
    ]


@pytest.mark.parametrize(
    ("before", "name", "said"),
    [
        ("init", "verification", "a workflow can't begin with 'verification'; allowed: load_feature"),
        ("load_feature", "pr_creation", "load_feature can't be followed by 'pr_creation'; allowed: create_branch"),
        ("pr_creation", "load_feature", "allowed: verification, task_execution"),
        ("load_feature", "nowhere", "there is no phase 'nowhere'; there are load_feature, create_branch"),
    ],
)
def test_a_forbidden_transition_is_refused_with_the_allowed_ones(
    dev: Machine, before: str, name: str, said: str
) -> None:
    """Nothing changes."""
    data = fresh(dev) if before == "init" else at_phase(before)
    kept = copy.deepcopy(data)

    with pytest.raises(TransitionError) as refused:
        transitions.enter(data, dev, name, AT)

    assert said in str(refused.value)
    assert data == kept


def test_a_repeated_transition_changes_nothing(dev: Machine) -> None:
    """Of a phase, of its completion, of a task, of a block and of an end."""
    data = documents.state("dev")
    moves: tuple[Callable[[], None], ...] = (
        lambda: transitions.enter(data, dev, "task_execution", AT),
        lambda: transitions.complete(data, dev, "load_feature", AT),
        lambda: transitions.start_task(data, dev, 2, AT),
        lambda: transitions.complete_task(data, 1, AT, commit="172c0b0"),
        lambda: transitions.complete_task(data, 1, AT),
        lambda: transitions.unblock(data, AT),
    )
    for move in moves:
        kept = copy.deepcopy(data)
        move()
        assert data == kept
    for move in (lambda: transitions.block(data, "no key", AT), lambda: transitions.abandon(data, "no use", AT)):
        move()
        kept = copy.deepcopy(data)
        move()
        assert data == kept


@pytest.mark.parametrize("number", [0, -1, 4, 10**9])
def test_a_task_has_a_number_from_one_to_their_count(dev: Machine, number: int) -> None:
    """I004-12: 0 is no task, and never the last one."""
    data = documents.state("dev")

    with pytest.raises(TransitionError, match="tasks are numbered 1 to 3"):
        transitions.complete_task(data, number, AT)
    with pytest.raises(TransitionError, match="has no tasks"):
        transitions.start_task(fresh(dev), dev, 1, AT)


def test_a_task_is_completed_with_its_commit(dev: Machine) -> None:
    """R004-26: the number is a number; the parts of the task that were in progress are completed with it."""
    data = documents.state("dev")
    transitions.complete_task(data, 2, AT, commit="abc1234")

    task = data["tasks"][1]
    assert (task["status"], task["commit_sha"]) == ("completed", "abc1234")
    assert task["tdd_phases"] == {"red": "completed", "green": "completed", "refactor": "pending"}
    assert events(data)[-1] == {"event": "task_completed", "task": 2, "commit": "abc1234"}

    with pytest.raises(TransitionError, match="completed with commit abc1234"):
        transitions.complete_task(data, 2, AT, commit="def5678")


def test_a_completed_task_takes_the_commit_that_it_lacks(dev: Machine) -> None:
    """The history says that it was recorded later."""
    data = documents.state("dev")
    transitions.complete_task(data, 3, AT)
    transitions.complete_task(data, 3, AT, commit="abc1234")

    assert data["tasks"][2]["commit_sha"] == "abc1234"
    assert [each["event"] for each in events(data)[-2:]] == ["task_completed", "commit_recorded"]


def test_tasks_are_all_done_before_their_phase_is(dev: Machine) -> None:
    """The refusal names those that are open."""
    data = documents.state("dev")

    with pytest.raises(TransitionError, match="tasks 2, 3 of 3 are open"):
        transitions.enter(data, dev, "verification", AT)
    for number in (2, 3):
        transitions.complete_task(data, number, AT)
    transitions.enter(data, dev, "verification", AT)
    assert statuses(data) == ["completed", "completed", "completed", "in_progress", "pending"]


def test_a_failed_checkpoint_blocks_verification(dev: Machine) -> None:
    """I004-8: it was completed, but nothing goes on before it passed."""
    data = at_phase("verification")
    with pytest.raises(TransitionError, match="lint, test, security_review, code_simplifier pending"):
        transitions.enter(data, dev, "pr_creation", AT)
    passed(data, *POINTS)
    data["checkpoints"]["test"]["passed"] = False
    with pytest.raises(TransitionError, match="can't be completed: test failed"):
        transitions.enter(data, dev, "pr_creation", AT)
    with pytest.raises(TransitionError, match="test failed, so the workflow can't be completed"):
        transitions.end(data, dev, AT, everything=True)

    passed(data, "test")
    transitions.enter(data, dev, "pr_creation", AT)
    assert transitions.current(data) == "pr_creation"


def test_one_can_go_back_to_fix_what_verification_found(dev: Machine) -> None:
    """The phase that is left is pending again, and is not claimed to be done."""
    data = at_phase("verification")
    data["state_machine"]["phases"][2]["completed_at"] = AT
    transitions.enter(data, dev, "task_execution", AT)

    assert statuses(data) == ["completed", "completed", "in_progress", "pending", "pending"]
    assert "completed_at" not in data["state_machine"]["phases"][2]


def test_a_cycle_begins_its_next_round(tdd: Machine) -> None:
    """R004-19: rounds are counted; what a round wrote into its phases is in the history, and not in the next round."""
    data = documents.state("tdd")
    for name in ("refactor", "commit", "red"):
        transitions.enter(data, tdd, name, AT)

    assert data["state_machine"]["cycle_count"] == 2
    assert data["state_machine"]["phases"][0] == {"name": "red", "status": "in_progress", "started_at": AT}
    assert data["state_machine"]["phases"][1:] == [
        {"name": each, "status": "pending"} for each in ("green", "refactor", "commit")
    ]
    assert events(data)[:6] == events(documents.state("tdd")), "the history only grows"
    assert events(data)[-2:] == [
        {"event": "phase_completed", "phase": "commit"},
        {"event": "phase_started", "phase": "red"},
    ]


def test_a_blocked_workflow_goes_on_where_it_stopped(dev: Machine) -> None:
    """I004-19: with its reason; nothing moves meanwhile."""
    data = documents.state("dev")
    transitions.block(data, "No key", AT)
    assert (data["workflow"]["status"], data["workflow"]["block_reason"]) == ("blocked", "No key")
    assert data["state_machine"]["phases"][2]["status"] == "blocked"
    with pytest.raises(TransitionError, match=r"blocked: .No key.; `holdfast skills unblock`"):
        transitions.complete_task(data, 2, AT)

    transitions.unblock(data, AT)
    assert data["state_machine"]["phases"][2]["status"] == "in_progress"
    assert "block_reason" not in data["workflow"]
    assert [each["event"] for each in events(data)[-2:]] == ["workflow_blocked", "workflow_unblocked"]
    transitions.complete_task(data, 2, AT)


def test_an_end_needs_every_phase(dev: Machine) -> None:
    """R004-28: or somebody who says that all of it is done."""
    data = at_phase("pr_creation")
    with pytest.raises(TransitionError, match="pr_creation is not completed"):
        transitions.end(data, dev, AT)
    passed(data, "pr_created")
    transitions.complete(data, dev, "pr_creation", AT)
    transitions.end(data, dev, AT)

    assert (data["workflow"]["status"], data["workflow"]["completed_at"]) == ("completed", AT)
    with pytest.raises(TransitionError, match="is completed; `holdfast skills start`"):
        transitions.enter(data, dev, "verification", AT)
    with pytest.raises(TransitionError, match="is completed"):
        transitions.abandon(data, "", AT)


def test_an_end_of_everything_completes_what_is_open(dev: Machine) -> None:
    """Each with its own entry in the history."""
    data = documents.state("dev")
    transitions.end(data, dev, AT, everything=True)

    assert set(statuses(data)) == {"completed"}
    assert {each["status"] for each in data["tasks"]} == {"completed"}
    assert events(data)[-1] == {"event": "workflow_completed"}


def test_an_abandoned_workflow_says_why(dev: Machine) -> None:
    """I004-19: as the original has it."""
    data = documents.state("dev")
    transitions.abandon(data, "Superseded", AT)

    assert {name: data["workflow"][name] for name in ("status", "abandoned_at", "abandon_reason")} == {
        "status": "abandoned",
        "abandoned_at": AT,
        "abandon_reason": "Superseded",
    }
    assert events(data)[-1] == {"event": "workflow_abandoned", "reason": "Superseded"}


def test_units_follow_one_another(dev: Machine) -> None:
    """Phases, and the tasks in place of their phase."""
    data = fresh(dev, "A", "B")
    assert list(units.entries(data, dev)) == [
        "load_feature",
        "create_branch",
        "task-1",
        "task-2",
        "verification",
        "pr_creation",
    ]
    for unit in list(units.entries(data, dev))[:4]:
        units.begin_next(data, dev, AT)
        assert units.status(data, unit) == "in_progress"
        assert units.due(data, dev) == unit
        units.complete(data, dev, unit, AT)
    assert units.due(data, dev) == "verification"
    assert units.due(data, dev)
    units.begin_next(data, dev, AT)
    assert transitions.current(data) == "verification"


def test_nothing_follows_what_is_blocked(dev: Machine) -> None:
    """Not even if only its own status says so."""
    data = fresh(dev)
    transitions.enter(data, dev, "load_feature", AT)
    data["state_machine"]["phases"][0]["status"] = "failed"
    units.begin_next(data, dev, AT)

    assert statuses(data) == ["failed", *("pending",) * 4]
