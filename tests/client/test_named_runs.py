"""Runs that a person or the model names on the real client, and runs that are stopped: which agents ask the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.client.model import call, say
from tests.client.test_script_runs import (
    ALL,
    SIX,
    SKIP,
    Fleet,
    after,
    ended,
    finish,
    finished,
    fleet,
    launch,
    results,
    told,
)
from tests.waiting import until

if TYPE_CHECKING:
    from tests.client.model import Turn
    from tests.client.runner import Session

__all__ = ["fleet"]


def begun(fleet: Fleet) -> tuple[Session, dict[str, Any]]:
    """Return a session in which a script of six runs of whose agents five have finished, and the run."""
    fleet.stuck = {"6"}
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    until(lambda: results(fleet.world) == 5 and fleet.asked["6"])
    fleet.stuck = set()
    fleet.again()
    return session, fleet.world.scripts[0]


def over(fleet: Fleet) -> dict[str, Any]:
    """Return a run of six that has ended, in a session that is over."""
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    finish(fleet.world, session)
    session.close()
    fleet.again()
    return fleet.world.scripts[0]


@pytest.mark.scenario(16)
def test_a_run_of_an_earlier_session_is_resumed_once_a_person_names_it(fleet: Fleet) -> None:
    """It has ended, and its result was used, so no start tells of it. The client serves all of its results."""
    run = over(fleet)
    given = {"scriptPath": run["script"], "resumeFromRunId": run["run"]}
    assert not after(fleet, prompt=f"Go on with {run['run']}.", **given)
    assert not told(fleet, *ALL)
    assert f"6 of 6 agents finished in run {run['run']}" in fleet.world.holdfast("log")


@pytest.mark.scenario(16)
def test_a_run_that_nobody_has_named_is_refused_by_the_client(fleet: Fleet) -> None:
    """No hook hears of the call. If this no longer holds, Holdfast needs to carry no journals beforehand."""
    run = over(fleet)
    second = fleet.world.client.session(SKIP)
    launch(fleet.world, second, "Go on.", scriptPath=run["script"], resumeFromRunId=run["run"])
    assert "<tool_use_error>" in fleet.world.model.of("main")[-1].last
    assert "PreToolUse" not in [each["hook_event"] for each in fleet.world.hooks(second)]
    assert not fleet.again()


@pytest.mark.scenario(16)
def test_a_run_with_a_failed_agent_is_resumed_in_a_new_session(fleet: Fleet) -> None:
    """A person names it. Only the failed agent asks again: the client would serve nothing behind a failure."""
    fleet.failing = {"2"}
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    finish(fleet.world, session)
    session.close()
    fleet.failing = set()
    fleet.again()
    run = fleet.world.scripts[0]
    given = {"scriptPath": run["script"], "resumeFromRunId": run["run"]}
    assert after(fleet, prompt=f"Go on with {run['run']}.", **given) == {"2": 1}
    assert not told(fleet, *ALL)


@pytest.mark.scenario(16)
def test_an_earlier_id_stands_for_the_run_that_went_on_from_it(fleet: Fleet) -> None:
    """After failures the run went on under another id. A person still names the first one, in a new session."""
    fleet.failing = {"2", "4"}
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    finish(fleet.world, session)
    fleet.failing, fleet.stuck = set(), {"4"}
    run = fleet.world.scripts[0]
    given = {"scriptPath": run["script"], "resumeFromRunId": run["run"]}
    launch(fleet.world, session, "Try the failed ones again.", **given)
    until(lambda: "2" in finished(fleet.world))
    assert fleet.world.scripts[-1]["run"] != run["run"]
    session.kill()
    fleet.stuck = set()
    fleet.again()
    assert after(fleet, prompt=f"Go on with {run['run']}.", **given) == {"4": 1}
    assert not told(fleet, *ALL)


@pytest.mark.scenario(16)
def test_a_running_twin_that_the_model_names(fleet: Fleet) -> None:
    """The client refuses it before any hook hears of it, and says which task runs."""
    session, run = begun(fleet)
    launch(fleet.world, session, "Go on.", script=SIX, resumeFromRunId=run["run"])
    refused = fleet.world.model.of("main")[-1].last
    assert "<tool_use_error>" in refused
    assert run["run"] in refused and run["task"] in refused
    assert not fleet.again()


@pytest.mark.scenario(16)
@pytest.mark.parametrize(
    ("named", "anew"), [pytest.param(True, False, marks=pytest.mark.nightly), (False, False), (False, True)]
)
def test_a_run_that_is_stopped_and_launched_again(fleet: Fleet, named: bool, anew: bool) -> None:
    """In one turn. It goes on, named or not; after `holdfast agents ID --rerun` all agents run."""
    session, run = begun(fleet)
    turns: list[Turn] = [call("TaskStop", task_id=run["task"])]
    turns += [call("Bash", command=f"holdfast agents {run['run']} --rerun", description="x")] if anew else []
    turns += [call("Workflow", script=SIX, **({"resumeFromRunId": run["run"]} if named else {})), say("Launched.")]
    fleet.world.model.turns = turns
    session.prompt("Stop it, and launch it again.")
    until(lambda: ended(fleet.world))
    until(lambda: not told(fleet, *ALL))
    assert fleet.again() == (dict.fromkeys(ALL, 1) if anew else {"6": 1})
