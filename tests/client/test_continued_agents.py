"""Agents that go on after a cut, that are launched again in a loop, or that had finished before a compaction."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.client.model import agent, bash, call, say
from tests.client.test_compaction import AUTO, FULL
from tests.client.test_relaunched_agents import SKIP, conversation, notices
from tests.client.test_script_runs import SIX, Fleet, finish, fleet, launch
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.model import Reply, Request
    from tests.client.world import World

__all__ = ["fleet"]

COMMIT = "git init -q 2>/dev/null; git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x"
ITEMS = [str(number) for number in range(1, 7)]
_GO_ON = re.compile(r"use SendMessage with to: '(\w+)'")


def item(name: str, *, background: bool = True) -> Reply:
    """Return a reply that launches one of a test's agents."""
    return agent(f"Item {name}", f"AGENT-{name} do item", background=background)


def launching(names: list[str]) -> Callable[[Request], Reply]:
    """Return what the model says: it launches each agent, and continues one where it is told to."""
    queue = list(names)

    def turn(request: Request) -> Reply:
        if found := _GO_ON.search(request.last):
            return call("SendMessage", to=found[1], message="Continue your task.", summary="Continue")
        return item(queue.pop(0)) if queue else say("Launched.")

    return turn


def heard(fleet: Fleet, names: list[str]) -> bool:
    """Return whether the main conversation has the results of these agents."""
    return all(f"RESULT-{each}-" in notices(fleet) for each in names)


@pytest.mark.scenario(16)
@pytest.mark.parametrize("kind", ["resume", "new", pytest.param("fork", marks=pytest.mark.nightly)])
def test_an_agent_that_is_continued_completes_its_phase(fleet: Fleet, kind: str) -> None:
    """In the next session, whichever it is; launched again there, its result answers."""
    world = fleet.world
    world.holdfast("start", "Do it", "--format", "hybrid", "--phase", "Item 2 @general-purpose", "--phase", "Rest")
    fleet.stuck = {"2"}
    first = world.client.session(SKIP)
    world.model.turns = [item("2"), say("Launched.")]
    first.prompt("Do it.")
    until(lambda: fleet.asked["2"])
    first.kill()
    fleet.stuck = set()
    fleet.again()
    (run,) = {row["run"] for row in world.agents}
    options = {"resume": ("--resume", first.id), "new": (), "fork": ("--resume", first.id, "--fork-session")}
    second = world.client.session(SKIP, *options[kind])
    world.model.turns = [call("SendMessage", to=run, message="Continue your task.", summary="Continue"), say("Ok.")]
    second.prompt("Go on.")
    until(lambda: "RESULT-2-1" in notices(fleet))
    world.model.turns = [item("2"), say("Launched.")]
    second.prompt("Once more.")
    until(lambda: "This agent has finished already" in conversation(fleet))
    assert [phase["status"] for phase in world.state["phases"]] == ["completed", "active"]
    assert fleet.again() == {"2": 1}
    assert [row["verdict"] for row in world.agents] == ["completed"]
    assert not world.complaints_after_a_kill


@pytest.mark.scenario(16)
@pytest.mark.parametrize("alone", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_over_eight_cuts_no_finished_agent_runs_again(bare: World, alone: bool) -> None:
    """Each time the session is killed, resumed, and the model launches all six again; the client alone repeats them."""
    if bare.version == "2.1.197":
        pytest.skip("one client is enough")
    if not alone:
        bare.holdfast("install", "--scope", "user", "--yes")
    fleet, chance, done, repeated = Fleet(bare), random.Random(44), list[str](), Counter[str]()
    options: tuple[str, ...] = ()
    waiting = chance.sample(ITEMS, len(ITEMS))
    for _ in range(8):
        ends = [waiting.pop() for _ in range(min(chance.choice((0, 1, 1, 2)), len(waiting)))]
        fleet.stuck = set(waiting)
        session = bare.client.session(SKIP, *options)
        bare.model.turns = [launching(ITEMS)] * 40
        session.prompt("Do all.")
        until(partial(heard, fleet, ends))
        until(lambda: all(fleet.asked[each] for each in waiting))
        repeated.update({each: fleet.asked[each] for each in done if fleet.asked[each]})
        done += ends
        session.kill()
        options = ("--resume", session.id)
        fleet.again()
    print(f"re-runs of finished agents: {repeated.total()}, {'alone' if alone else 'with Holdfast'}")
    assert len(done) >= 4
    assert (repeated.total() > 0) is alone, repeated


@pytest.mark.scenario(16)
def test_in_a_loop_a_result_is_used_again_only_while_it_holds(fleet: Fleet) -> None:
    """Under one prompt the conversation is compacted between two launches, after each of these changes."""
    world = fleet.world
    world.client.extra = AUTO
    path = str(world.project / "app.py")
    world.model.agents = {"AGENT-fixer do": [call("Write", file_path=path + "x", content="x"), say("Fixed.")]}
    changes = {
        "nothing": ([bash("true")], True),
        "edit": ([call("Write", file_path=path, content="x")], False),
        "agentedit": ([item("fixer", background=False)], False),
        "commit": ([bash(COMMIT)], False),
        "agent": ([item("other", background=False)], False),
        "repeated": ([item("repeated", background=False)], False),
    }
    session = world.client.session(SKIP)
    session.prompt("Begin.")
    wrong = []
    for name, (change, held) in changes.items():
        before = len(world.model.of("summary"))
        again = [bash("echo full", tokens=FULL), item(name, background=False), say("Done.")]
        world.model.turns = [item(name, background=False), *change, *again]
        session.prompt(f"Check {name}.")
        assert len(world.model.of("summary")) > before
        refused = "This agent has finished already (general-purpose" in conversation(fleet)
        if refused is not held or fleet.asked[name] != (1 if held else 2 + (name == "repeated")):
            wrong.append(f"{name}: refused {refused}, ran {fleet.asked[name]} times")
    assert not wrong


@pytest.mark.scenario(16)
@pytest.mark.parametrize("workflow", [False, True])
def test_finished_work_is_named_after_a_compaction(fleet: Fleet, workflow: bool) -> None:
    """Another prompt follows. A model that heeds what is named launches nothing that has finished."""
    world = fleet.world
    if workflow:
        world.holdfast("start", "Do it", "--format", "hybrid", "--phase", "Begin @nobody", "--phase", "Rest")
    fleet.stuck = {"late"}
    session = world.client.session(SKIP)
    launch(world, session, "Do six.", script=SIX)
    finish(world, session)
    world.model.turns = [item("one", background=False), item("two"), item("late"), say("Launched.")]
    session.prompt("Do the rest.")
    until(lambda: "RESULT-two-1" in notices(fleet))
    world.model.turns = []
    session.prompt("/compact")

    def heeding(request: Request) -> Reply:
        named = [
            each for each in ("one", "two") if f'has finished (launched for "Item {each}"); transcr' in request.text
        ]
        left = [each for each in ("one", "two") if each not in [*named, *heeding_launched]]
        heeding_launched.extend(left[:1])
        return item(left[0], background=False) if left else say("Nothing is left.")

    heeding_launched: list[str] = []
    fleet.again()
    world.model.turns = [heeding] * 4
    session.prompt("continue")
    text = conversation(fleet)
    assert not fleet.again(), text[-3000:]
    assert re.search(
        r'script "six", run wf_\S+ has finished, 6 of 6 agents finished; results: /\S+/journal.jsonl', text
    )
    assert text.count("is running; don't start it again") == 0
    assert 'Background agent "Item late"' in text
    for name in ("one", "two"):
        assert text.count(f'(launched for "Item {name}")') == 1
    assert not world.complaints
