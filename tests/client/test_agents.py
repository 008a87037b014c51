"""Phases follow the agents the client really runs."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING

import pytest

from tests.client.model import Reply, Request, agent, bash, fail, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.world import World

REPORT = (
    "The module is written.\n\nDELIVERABLES:\n- calculator.py\n- four functions\nCONTEXT_FOR_NEXT: it lies at the root"
)
VIEW = (
    "# Workflow Status: Create a calculator\n\nStatus: {status} | Current Phase: {current}\n\n## Phases\n\n"
    "- {first}\n- {second}\n"
)
ONE_DONE = VIEW.format(
    status="active",
    current="Write and run tests",
    first="[x] Phase 0: Create calculator module → calculator.py, four functions",
    second="[ ] Phase 1: Write and run tests",
)
FAILED = VIEW.format(
    status="failed",
    current="Create calculator module",
    first="[ ] Phase 0: Create calculator module ✗ failed",
    second="[ ] Phase 1: Write and run tests",
)


@pytest.fixture
def hybrid(world: World) -> World:
    """A world with a workflow of two phases with agents."""
    world.holdfast(
        "start", "Create a calculator", "--format", "hybrid",
        "--phase", "Create calculator module @general-purpose", "--phase", "Write and run tests @general-purpose",
    )  # fmt: skip
    return world


def statuses(world: World) -> list[str]:
    """Return the phases' statuses."""
    return [phase["status"] for phase in world.state["phases"]]


def moves(request: Request) -> list[str]:
    """Return every move of a phase that a conversation tells of, in order."""
    return [" ".join(found) for found in re.findall(r'Phase (\d/\d) "[^"]+" is (\w+)', request.text)]


def todos(request: Request) -> list[str]:
    """Return the items of the last to-do list that a conversation was given."""
    return re.findall(r"^- (\[.\] .+: \w+)$", request.text.split("in your to-do list")[-1], re.MULTILINE)


def counted(world: World) -> list[tuple[int, list[str]]]:
    """Return of each phase how often it was begun, and the verdicts on its launches; no agent may count as running."""
    page = json.loads(world.holdfast("status", "--json"))
    shown, running = page["current"], [each for each in page["agents"] if each["status"] == "running"]
    assert not running
    verdicts: dict[str, list[str]] = {phase["id"]: [] for phase in shown["phases"]}
    for launch in (each for each in world.agents if each["call"]):
        verdicts[launch["phase"]].append(launch["verdict"])
    return [((phase["history"] or {"attempts": 0})["attempts"], verdicts[phase["id"]]) for phase in shown["phases"]]


@pytest.mark.scenario(4)
def test_a_foreground_agents_result_completes_its_phase(hybrid: World) -> None:
    """Each agent completes its phase; the next one and the to-do list stand beside its result."""
    seen: list[tuple[str, list[str]]] = []

    def noted(reply: Reply) -> Callable[[Request], Reply]:
        def turn(request: Request) -> Reply:
            seen.append((request.kind, statuses(hybrid)))
            return reply

        return turn

    first, second = agent("Create calculator module", "PROMPT-ONE"), agent("Write and run tests", "PROMPT-TWO")
    hybrid.model.turns = [noted(first), noted(second), noted(say("Done."))]
    hybrid.model.agents = {
        "PROMPT-ONE": [noted(bash("true")), noted(say(REPORT))],
        "PROMPT-TWO": [noted(say("DELIVERABLES: tests.py"))],
    }
    session = hybrid.client.session()
    session.prompt("Begin.")
    session.close()
    middle, end = hybrid.model.of("main")[1:3]
    print(middle.last, end.last, hybrid.view, sep="\n=====\n")
    assert seen == [
        ("main", ["pending", "pending"]),
        ("agent", ["active", "pending"]),
        ("agent", ["active", "pending"]),
        ("main", ["completed", "active"]),
        ("agent", ["completed", "active"]),
        ("main", ["completed", "completed"]),
    ]
    assert hybrid.state["status"] == "completed"
    assert hybrid.view == VIEW.format(
        status="completed",
        current="none",
        first="[x] Phase 0: Create calculator module → calculator.py, four functions",
        second="[x] Phase 1: Write and run tests → tests.py",
    )
    assert "calculator.py" in middle.last and "it lies at the root" in middle.last
    assert todos(middle) == ["[x] Create calculator module: completed", "[>] Write and run tests: in_progress"]
    assert todos(end) == ["[x] Create calculator module: completed", "[x] Write and run tests: completed"]
    assert moves(end) == ["1/2 active", "1/2 completed", "2/2 completed"]
    assert counted(hybrid) == [(1, ["completed"])] * 2
    assert not hybrid.complaints


@pytest.mark.scenario(4)
def test_a_background_agents_end_completes_its_phase(hybrid: World) -> None:
    """A launch is no result; the agent's end is."""
    hybrid.model.turns = [agent("Create calculator module", "PROMPT-ONE", background=True), say("Launched.")]
    end = threading.Event()
    hybrid.model.agents = {"PROMPT-ONE": [say(REPORT, held=end)]}
    session = hybrid.client.session()
    session.prompt("Begin.")
    launched = hybrid.model.of("main")[1]
    assert statuses(hybrid) == ["active", "pending"]
    end.set()
    session.wait()
    after = hybrid.model.of("main")[-1]
    print(launched.last, after.last, hybrid.view, sep="\n=====\n")
    assert statuses(hybrid) == ["completed", "active"]
    assert hybrid.view == ONE_DONE
    assert moves(launched) == ["1/2 active"]
    assert moves(after) == ["1/2 active", "1/2 completed"]
    assert todos(after) == ["[x] Create calculator module: completed", "[>] Write and run tests: in_progress"]
    assert counted(hybrid) == [(1, ["completed"]), (1, [])]
    assert not hybrid.complaints


@pytest.mark.scenario(4)
@pytest.mark.parametrize(
    ("background", "status"),
    [
        (False, 529),
        (True, 400),
        pytest.param(False, 400, marks=pytest.mark.nightly),
        pytest.param(True, 529, marks=pytest.mark.nightly),
    ],
)
def test_an_api_error_in_an_agent_fails_its_phase(hybrid: World, status: int, background: bool) -> None:
    """An API error in the agent fails its phase; never does it complete it."""
    kind = "invalid_request_error" if status == 400 else "overloaded_error"
    hybrid.model.turns = [agent("Create calculator module", "PROMPT-ONE", background=background), say("Hm.")]
    hybrid.model.agents = {"PROMPT-ONE": [fail(status, kind, "scripted failure")] * 30}
    session = hybrid.client.session()
    session.prompt("Begin.")
    if background:
        try:
            session.wait(timeout=8)
        except TimeoutError:
            print("no turn of its own")
        session.prompt("And?")
    after = hybrid.model.of("main")[-1]
    print(after.text[-3000:], hybrid.view, sep="\n=====\n")
    assert statuses(hybrid) == ["failed", "pending"]
    assert hybrid.view == FAILED
    assert moves(after) == ["1/2 active", "1/2 failed"]
    assert todos(after) == ["[ ] Create calculator module: pending", "[ ] Write and run tests: pending"]
    assert counted(hybrid) == [(1, ["failed"]), (0, [])]
    assert not hybrid.complaints


@pytest.mark.scenario(4)
def test_the_compactions_own_agent_is_nobodys(hybrid: World) -> None:
    """The SubagentStop of a compaction moves nothing, though the summary names deliverables."""
    hybrid.model.summary = [say("<summary>Create calculator module\nDELIVERABLES:\n- wrong.py</summary>")]
    hybrid.model.turns = [bash("holdfast next"), say("Begun.")]
    session = hybrid.client.session()
    session.prompt("Begin.")
    assert statuses(hybrid) == ["active", "pending"]
    session.prompt("/compact")
    session.prompt("Go on.")
    assert statuses(hybrid) == ["active", "pending"]
    assert not hybrid.state["phases"][0].get("deliverables")
    assert not hybrid.agents
    assert not hybrid.complaints


@pytest.mark.scenario(4)
def test_compaction_while_a_background_agent_runs(hybrid: World) -> None:
    """The main conversation is compacted meanwhile: the phase is active, and completes when the agent ends."""
    hybrid.model.turns = [agent("Create calculator module", "PROMPT-ONE", background=True), say("Launched.")]
    end = threading.Event()
    hybrid.model.agents = {"PROMPT-ONE": [say(REPORT, held=end)]}
    session = hybrid.client.session()
    session.prompt("Begin.")
    session.prompt("/compact")
    session.prompt("Go on.")
    restored = hybrid.model.of("main")[-1]
    assert restored.text.count("RESTORED AFTER COMPACTION\nIgnore earlier copies") == 1
    assert "Phase: 1/2 - Create calculator module" in restored.text
    end.set()
    session.wait()
    after = hybrid.model.of("main")[-1]
    print(after.text[-2500:])
    assert statuses(hybrid)[0] == "completed"
    assert "[x] Create calculator module" in after.text
    assert not hybrid.complaints


@pytest.mark.scenario(12)
@pytest.mark.parametrize("background", [False, True])
def test_an_agents_own_compaction(hybrid: World, background: bool) -> None:
    """It touches nothing of the main workflow: no snapshot, no guidance, no words for the summariser.

    Where the client marks such events by nothing (2.1.197), it is known by the main thread's waiting or resting; so
    the background agent works on only when the main thread has ended its turn.
    """
    rests = hybrid.client.project / "rests"
    hybrid.client.extra = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
    hybrid.model.turns = [agent("Create calculator module", "PROMPT-ONE", background=background), say("Waiting.")]
    hybrid.model.agents = {
        "PROMPT-ONE": [bash(f"until [ -e {rests} ]; do sleep 0.1; done"), bash("echo b", tokens=90_000)],
        "": [bash("sleep 1; echo c"), say(REPORT), *[say("More.")] * 5],
    }
    if not background:
        rests.touch()
    session = hybrid.client.session()
    session.prompt("Begin.")
    rests.touch()
    if background:
        session.wait()
    summaries = hybrid.model.of("summary")
    print([(q.number, q.kind) for q in hybrid.model.requests], hybrid.view)
    assert len(summaries) == 1
    assert "x-claude-code-agent-id" in summaries[0].headers
    assert "Keep these workflows" not in summaries[0].last
    assert not [q.number for q in hybrid.model.requests if "RESTORED AFTER COMPACTION\nIgnore earlier copies" in q.text]
    assert not hybrid.rows("compactions")
    assert statuses(hybrid)[0] == "completed"
    assert not hybrid.complaints
