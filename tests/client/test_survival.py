"""What survives on the real client if hooks don't fire, and what the ledger records of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import waiting
from tests.client.model import bash, call, say
from tests.client.test_compaction import AUTO, FULL, HEADING, guidance

if TYPE_CHECKING:
    from tests.client.model import Reply, Request
    from tests.client.world import World

FACTS = [f"{kind}-canary-{number}-{number * 7919 % 9973}" for kind in ("remind", "value") for number in range(10, 19)]
UNATTENDED = '[handlers]\noff = ["keep_registered"]\n'  # what would put the settings right at the next start
TRAIL = "What this session did before its compaction"
TITLE, CYCLES = "Title-canary-4711", 10
PHASES = [f"Phase-canary-{number:02}" for number in range(1, CYCLES + 2)]


def begin(world: World, form: str) -> None:
    """Start a workflow of eleven phases that holds 30 facts with its title."""
    options = [part for phase in PHASES for part in ("--phase", phase)]
    options += [part for fact in FACTS[:9] for part in ("--remind", f"Never forget {fact}")]
    options += [part for number, fact in enumerate(FACTS[9:]) for part in ("--set", f"key{number}={fact}")]
    world.holdfast("start", TITLE, "--format", form, "--type", "custom", *options)
    world.holdfast("next")


def without(world: World, *events: str) -> None:
    """Take events out of the settings, as if the client never fired them."""
    world.configure(UNATTENDED)
    settings = json.loads(world.settings.read_text())
    for event in events:
        del settings["hooks"][event]
    world.settings.write_text(json.dumps(settings))


def states(world: World) -> list[str]:
    """Return the states of the deliveries, oldest first."""
    return [row["state"] for row in sorted(world.rows("deliveries"), key=lambda row: row["made_at"])]


def wait_for_transcript(world: World) -> None:
    """Wait until the client has written the last guidance to its transcript, which it does in its own time."""
    last = max(world.rows("deliveries"), key=lambda row: str(row["made_at"]), default=None)
    if last:
        waiting.until(
            lambda: any(
                last["digest"] in line and "hook_additional_context" in line
                for line in Path(last["transcript"]).read_text().splitlines()
            ),
            f"the transcript never held the guidance {last['digest']}",
        )


def rounds(world: World, cycles: int = CYCLES) -> None:
    """Compact again and again, and complete a phase before each."""
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")  # the older client does not compact a single exchange
    for cycle in range(1, cycles + 1):
        world.model.turns = [bash(f'holdfast done --note "hand-over-canary-{cycle}"'), say("Done.")]
        session.prompt("Next phase.")
        wait_for_transcript(world)
        session.prompt("/compact")
        session.prompt("Go on.")
        text = world.model.of("main")[-1].text
        assert text.count(HEADING) == 1
        given = guidance(text)
        wanted = [TITLE, *FACTS, *PHASES[cycle:], f"hand-over-canary-{cycle}"]
        assert not [fact for fact in wanted if fact not in given]
        assert f"Phase: {cycle + 1}/{len(PHASES)} - {PHASES[cycle]}" in given
    session.close()


@pytest.mark.scenario(14)
@pytest.mark.parametrize("form", ["compaction", pytest.param("hybrid", marks=pytest.mark.nightly)])
def test_ten_compactions(world: World, form: str) -> None:
    """30 facts at first, and each time what is left of them with the present phase; each delivery is confirmed."""
    begin(world, form)
    rounds(world)
    *earlier, last = states(world)
    assert earlier == ["confirmed"] * (CYCLES - 1)
    assert last in ("delivered", "confirmed")  # nobody asked after the last
    assert [row["trigger"] for row in world.rows("compactions") if row["facts"]] == ["manual"] * CYCLES
    assert not world.complaints


@pytest.mark.scenario(14)
def test_two_compactions_in_one_turn(world: World) -> None:
    """No prompt comes between them, so the second one asks whether the first one's guidance arrived."""
    begin(world, "compaction")
    world.client.extra = AUTO

    def full_again(_: Request) -> Reply:
        wait_for_transcript(world)
        return bash("echo three", tokens=FULL)

    world.model.turns = [say("Zero."), bash("echo one", tokens=FULL), bash("echo two"), full_again, say("Done.")]
    session = world.client.session()
    session.prompt("Begin.")
    session.prompt("Work.")
    assert len(world.model.of("summary")) == 2
    assert states(world) == ["confirmed", "delivered"]
    assert not world.complaints


@pytest.mark.scenario(14)
def test_a_precompact_that_never_fires(world: World) -> None:
    """[ISS 50467]: the state is live, so nothing is missing."""
    begin(world, "compaction")
    without(world, "PreCompact")
    rounds(world, 3)
    assert {row["trigger"] for row in world.rows("compactions")} == {"none"}


@pytest.mark.scenario(14)
def test_a_session_start_that_never_fires(world: World) -> None:
    """[ISS 15174]: what PreCompact sealed is given at the first prompt after which the transcript shows the compaction.

    The client writes its transcript late, so that may be the second one.
    """
    begin(world, "compaction")
    without(world, "SessionStart")
    session = world.client.session()
    for prompt in ("Begin.", "Work.", "/compact", "Go on.", "And on.", "And on."):
        session.prompt(prompt)
    text = world.model.of("main")[-1].text
    assert text.count(HEADING) == 1
    assert not [fact for fact in (TITLE, *FACTS, *PHASES) if fact not in guidance(text)]
    assert world.rows("deliveries")[-1]["event"] == "UserPromptSubmit"


@pytest.mark.scenario(14)
def test_guidance_that_never_arrives(world: World) -> None:
    """[ISS 28305]: the reply to SessionStart(compact) is lost on its way; it is given again, once."""
    begin(world, "compaction")
    world.configure(UNATTENDED)
    settings = json.loads(world.settings.read_text())
    for entry in settings["hooks"]["SessionStart"]:
        for hook in entry["hooks"]:
            hook["command"] = f"({hook['command']}) >/dev/null"
    world.settings.write_text(json.dumps(settings))
    session = world.client.session()
    for prompt in ("Begin.", "Work.", "/compact", "Go on.", "And on.", "And on."):
        session.prompt(prompt)
    assert world.model.of("main")[-1].text.count(HEADING) == 1
    first, _ = states(world)
    assert first == "absent"


@pytest.mark.scenario(14)
def test_a_workflow_claimed_by_the_model(world: World) -> None:
    """Beside other live sessions, `holdfast claim` gives the model the guidance, and its compactions afterwards."""
    for _ in range(2):  # a start in a terminal gives its workflow to the only live session, and to none of several
        world.client.session().prompt("I only look.")
    begin(world, "compaction")
    session = world.client.session()
    world.model.turns = [bash(f"holdfast claim {TITLE}"), say("Ok.")]
    session.prompt("Resume it.")
    for prompt in ("Work.", "/compact", "Go on."):
        session.prompt(prompt)
    assert world.model.of("main")[-1].text.count(HEADING) == 1
    assert world.owners == {session.id}


@pytest.mark.scenario(14)
def test_a_state_file_the_model_writes(world: World) -> None:
    """It belongs to that session, also beside another live one."""
    other = world.client.session("--permission-mode", "acceptEdits")
    other.prompt("I only look.")
    session = world.client.session("--permission-mode", "acceptEdits")
    memory = f"# Current Workflow State\n\nWorkflow: {TITLE}\nPhase: 2/4 - {PHASES[1]}\n"
    write: dict[str, Any] = {"file_path": str(world.project / "CLAUDE.local.md"), "content": memory}
    world.model.turns = [call("Write", **write), say("Ok.")]
    for prompt in ("Write it down.", "Work.", "/compact", "Go on."):
        session.prompt(prompt)
    given = guidance(world.model.of("main")[-1].text)
    assert TITLE in given and f"Phase: 2/4 - {PHASES[1]}" in given
    assert world.owners == {session.id}


@pytest.mark.scenario(14)
@pytest.mark.parametrize("tasks", ["0", "1"])
def test_a_session_without_a_workflow_gets_its_trail(world: World, tasks: str) -> None:
    """What it was asked, changed, has to do and what failed, from its own transcript, once."""
    world.client.extra = {"CLAUDE_CODE_ENABLE_TASKS": tasks}
    todos = [{"content": "Todo-canary-1", "status": "in_progress", "activeForm": "Doing"}]
    todo = (
        call("TodoWrite", todos=todos) if tasks == "0" else call("TaskCreate", subject="Todo-canary-1", description="d")
    )
    write = call("Write", file_path=str(world.project / "canary_module.py"), content="a = 1\n")
    failing = bash("echo FAILED test_canary_4711; exit 1")
    world.model.turns = [todo, write, failing, say("I chose SQLite because of canary-4712.")]
    session = world.client.session("--permission-mode", "acceptEdits", "--allowedTools", "Bash")
    session.prompt("Build the canary-4713 parser.")
    for text in ("Always use tabs, says canary-4714.", "/compact", "Go on.", "And on."):
        session.prompt(text)
    given = world.model.of("main")[-1].text
    assert given.count(TRAIL) == 1
    trail = given[given.index(TRAIL) :]
    wanted = ("Todo-canary-1", "canary_module.py", "test_canary_4711", "canary-4713", "canary-4714", "canary-4712")
    assert not [fact for fact in wanted if fact not in trail]
    assert TRAIL not in world.model.of("summary")[0].text
    for _ in range(20):  # the client writes its transcript in its own time, and each prompt asks it once
        if [row["state"] for row in world.rows("deliveries")] == ["confirmed"]:
            break
        session.prompt("And on.")
    assert [row["state"] for row in world.rows("deliveries")] == ["confirmed"]
    assert not world.complaints
