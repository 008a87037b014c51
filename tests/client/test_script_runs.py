"""Scripts of agents on the real client: which agents ask the model when a script is launched again."""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.model import Reply, Request, bash, call, fail, say
from tests.client.test_compaction import AUTO, FULL
from tests.waiting import until

if TYPE_CHECKING:
    from tests.client.runner import Session
    from tests.client.world import World

SIX = """export const meta = {name: 'six', description: 'six agents', phases: [{title: 'Work'}]}
const items = [1, 2, 3, 4, 5, 6]
const r = await parallel(items.map(i => () => agent('AGENT-' + i + ' do item', {label: 'a' + i, phase: 'Work'})))
return r
"""
ALL = ["1", "2", "3", "4", "5", "6"]
_calls = itertools.count(900_000)
_AGENT = re.compile(r"AGENT-(\w+) do")


class Fleet:
    """Answers for the agents of scripts.

    Attributes:
        asked: how often each agent asked the model.
        stuck: agents that get no answer.
        failing: agents whose requests fail.
        status: with which HTTP status they do.
        said: what each agent answered last.
    """

    def __init__(self, world: World) -> None:
        self.world, self.asked, self.said = world, Counter[str](), dict[str, str]()
        self.stuck, self.failing, self.status = set[str](), set[str](), 400
        world.model.fleet = self.answer

    def answer(self, request: Request) -> Reply | None:
        """Answer an agent of a script; None for any other."""
        found = _AGENT.search(request.text)
        if not found:
            return None
        name = found[1]
        self.asked[name] += 1
        if name in self.failing:
            return fail(self.status, "rate_limit_error", "scripted failure")
        said = f"RESULT-{name}-{self.asked[name]}"
        reply = call("StructuredOutput", word=said) if "StructuredOutput" in request.tools else say(said)
        if name in self.stuck:
            return Reply(reply.content, held=threading.Event())
        self.said[name] = said
        return reply

    def again(self) -> Counter[str]:
        """Return how often agents have asked since this was called last."""
        asked, self.asked = self.asked, Counter()
        return asked


def results(world: World) -> int:
    """Return how many results the client has written into the journals of its sessions."""
    journals = world.client.config.glob("projects/*/*/subagents/workflows/*/journal.jsonl")
    return sum(each.read_text().count('"type":"result"') for each in journals)


def finished(world: World) -> set[str]:
    """Return the agents whose results the client has written into its journals."""
    journals = world.client.config.glob("projects/*/*/subagents/workflows/*/journal.jsonl")
    return {found for each in journals for found in re.findall(r'"result":"RESULT-(\w+)-', each.read_text())}


def ended(world: World) -> str:
    """Return the last request of the main conversation with a notification of a run's end."""
    found = [each.text for each in world.model.of("main") if "<task-notification>" in each.last]
    return found[-1] if found else ""


def launch(world: World, session: Session, prompt: str, **given: Any) -> None:
    """Have the model launch a script."""
    block = {"type": "tool_use", "id": f"toolu_{next(_calls):06d}", "name": "Workflow", "input": given}
    world.model.turns = [Reply((block,)), say("Launched.")]
    session.prompt(prompt)


def finish(world: World, session: Session) -> None:
    """Wait for the turn that the last run's end makes; a short run may end within the turn that launched it."""
    task = world.scripts[-1]["task"]
    launching = next(each for each in world.model.of("main") if f"Task ID: {task}" in each.text)
    if f"<task-id>{task}</task-id>" not in launching.text:
        session.wait(timeout=120)


@pytest.fixture
def fleet(world: World) -> Fleet:
    """The agents of a world whose client has the Workflow tool."""
    if world.version == "2.1.197":
        pytest.skip("this client has no Workflow tool")
    return Fleet(world)


SKIP = "--dangerously-skip-permissions"
PIPELINE = """export const meta = {name: 'staged', description: 'stages', phases: [{title: 'Work'}]}
return await pipeline([1, 2, 3],
  i => agent('AGENT-' + i + 'a do item', {label: 'a' + i}),
  (said, i) => agent('AGENT-' + i + 'b do item after ' + said, {label: 'b' + i}))
"""
SCHEMA = """export const meta = {name: 'typed', description: 'typed', phases: [{title: 'Work'}]}
const schema = {type: 'object', properties: {word: {type: 'string'}}, required: ['word']}
return await parallel([1, 2, 3].map(i => () => agent('AGENT-' + i + ' do item', {schema, label: 'a' + i})))
"""
VOTERS = """export const meta = {name: 'vote', description: 'voters', phases: [{title: 'Work'}]}
return await parallel([1, 2, 3].map(i => () => agent('AGENT-V do vote', {label: 'v' + i})))
"""
NESTED = """export const meta = {name: 'outer', description: 'outer', phases: [{title: 'Work'}]}
const inner = await workflow('inner', {})
return [inner, await agent('AGENT-9 do the last')]
"""
INNER = """export const meta = {name: 'inner', description: 'inner', phases: [{title: 'Work'}]}
return await parallel([1, 2].map(i => () => agent('AGENT-' + i + ' do item', {label: 'a' + i})))
"""
ARGS = """export const meta = {name: 'given', description: 'args', phases: [{title: 'Work'}]}
return await parallel(args.items.map(i => () => agent('AGENT-' + i + ' do item', {label: 'a' + i})))
"""


def cut(fleet: Fleet, *stuck: str, done: int, **given: Any) -> str:
    """Run a script in a session that is killed when so many agents have finished; return the session's id."""
    fleet.stuck = set(stuck)
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", **given)
    until(lambda: results(fleet.world) == done)
    session.kill()
    fleet.stuck = set()
    fleet.again()
    return session.id


def after(fleet: Fleet, *arguments: str, prompt: str = "Do it.", **given: Any) -> Counter[str]:
    """Launch a script in a new process of the client, wait for its end, and return which agents asked the model."""
    session = fleet.world.client.session(SKIP, *arguments)
    launch(fleet.world, session, prompt, **given)
    finish(fleet.world, session)
    assert not fleet.world.complaints_after_a_kill
    session.close()
    return fleet.again()


def told(fleet: Fleet, *names: str) -> list[str]:
    """Return the agents whose last result isn't in the notification of the run's end."""
    return [each for each in names if fleet.said[each] not in ended(fleet.world)]


@pytest.mark.scenario(16)
@pytest.mark.parametrize("stuck", [("5", "6"), *(pytest.param((each,), marks=pytest.mark.nightly) for each in "36")])
def test_a_new_session_runs_only_what_was_interrupted(fleet: Fleet, stuck: tuple[str, ...]) -> None:
    """After kill -9, the same script in a new session starts only the agents that had not finished."""
    cut(fleet, *stuck, done=6 - len(stuck), script=SIX)
    assert after(fleet, script=SIX) == dict.fromkeys(stuck, 1)
    assert not told(fleet, *ALL)
    assert "agents finished in run wf_" in fleet.world.holdfast("log")


@pytest.mark.scenario(16)
def test_a_resumed_session_runs_only_what_was_interrupted(fleet: Fleet) -> None:
    """After kill -9 and --resume the script is launched again without naming its run."""
    session = cut(fleet, "3", done=5, script=SIX)
    assert after(fleet, "--resume", session, prompt="Go on.", script=SIX) == {"3": 1}
    assert not told(fleet, *ALL)


@pytest.mark.scenario(16)
def test_a_new_session_can_name_the_run(fleet: Fleet) -> None:
    """A new session learns the run's id and its script, and resumes it as the client describes for one session."""
    cut(fleet, "3", done=5, script=SIX)
    session = fleet.world.client.session(SKIP)

    def named(request: Request) -> Reply:
        found = re.search(r"scriptPath: '([^']+)', resumeFromRunId: '(wf_[a-z0-9-]+)'", request.text)
        assert found, request.text[-3000:]
        return call("Workflow", scriptPath=found[1], resumeFromRunId=found[2])

    fleet.world.model.turns = [named, say("Launched.")]
    session.prompt("Go on with what was cut off.")
    finish(fleet.world, session)
    assert fleet.again() == {"3": 1}
    assert not told(fleet, *ALL)


@pytest.mark.scenario(16)
def test_a_killed_resume(fleet: Fleet) -> None:
    """The second session is killed too; the third one still has what the first finished."""
    cut(fleet, "3", "6", done=4, script=SIX)
    cut(fleet, "6", done=4 + 4 + 1, script=SIX)
    assert after(fleet, script=SIX) == {"6": 1}
    assert not told(fleet, *ALL)


@pytest.mark.scenario(16)
@pytest.mark.parametrize("status", [400, pytest.param(429, marks=pytest.mark.nightly)])
def test_named_run_restarts_only_the_failed_agent(fleet: Fleet, status: int) -> None:
    """One agent fails, by an error or a usage limit; the named run starts that one alone."""
    fleet.failing, fleet.status = {"2"}, status
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    finish(fleet.world, session)
    fleet.failing = set()
    fleet.again()
    run = fleet.world.scripts[0]
    launch(fleet.world, session, "Try the failed one again.", scriptPath=run["script"], resumeFromRunId=run["run"])
    finish(fleet.world, session)
    assert fleet.again() == {"2": 1}
    assert not told(fleet, *ALL)
    assert not fleet.world.complaints_after_a_kill


@pytest.mark.scenario(16)
def test_a_twin_in_flight_after_a_compaction(fleet: Fleet) -> None:
    """After a compaction the model launches the running script again: it is refused with the run's id and its state."""
    fleet.stuck = {"6"}
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=SIX)
    until(lambda: results(fleet.world) == 5)
    fleet.world.model.turns = []
    session.prompt("/compact")
    launch(fleet.world, session, "Go on.", script=SIX)
    refused = fleet.world.model.of("main")[-1]
    run = fleet.world.scripts[0]
    assert f"running already: run {run['run']}, task {run['task']}; 5 of 6 agents finished" in refused.text
    assert (
        f"run {run['run']} (task {run['task']}) is running, 5 of 6" in refused.text
    )  # the roster after the compaction
    assert fleet.again() == dict.fromkeys(ALL, 1)


@pytest.mark.scenario(16)
@pytest.mark.parametrize(
    ("edit", "anew"),
    [
        pytest.param(
            SIX.replace("' do item'", "' do item' + (i === 1 ? ' well' : '')"),
            dict.fromkeys(ALL, 1),
            id="first edited",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            SIX.replace("' do item'", "' do item' + (i === 6 ? ' well' : '')"), {"3": 1, "6": 1}, id="last edited"
        ),
        pytest.param(
            SIX.replace("[1, 2", "['0', 1, 2"),
            dict.fromkeys(["0", *ALL], 1),
            id="inserted",
            marks=pytest.mark.nightly,
        ),
        pytest.param(SIX.replace("5, 6]", "5, 6, 7]"), {"3": 1, "7": 1}, id="appended", marks=pytest.mark.nightly),
        pytest.param(SIX.replace("label: 'a'", "model: 'opus', label: 'a'"), dict.fromkeys(ALL, 1), id="another model"),
    ],
)
def test_a_changed_script(fleet: Fleet, edit: str, anew: dict[str, int]) -> None:
    """Calls before the first changed one are served; those after it run again."""
    cut(fleet, "3", done=5, script=SIX)
    assert after(fleet, script=edit) == anew
    assert not told(fleet, *anew)
    heard = "".join(each.text for each in fleet.world.model.of("main"))
    assert "calls after the first changed one run again; put changed or new agents last" in heard


@pytest.mark.scenario(16)
def test_a_cut_pipeline_starts_only_what_is_left(fleet: Fleet) -> None:
    """A pipeline in which an item's second stage never started, and a later item finished, starts only what is left."""
    cut(fleet, "1a", "3b", done=3, script=PIPELINE)  # 2a, 2b and 3a have finished
    assert after(fleet, script=PIPELINE) == {"1a": 1, "1b": 1, "3b": 1}
    assert not told(fleet, "1b", "2b", "3b")


@pytest.mark.scenario(16)
def test_identical_voters(fleet: Fleet) -> None:
    """Each of three identical agents has its own result again, and the last call changed."""
    script = VOTERS.replace("return await", "const votes = await") + "await agent('AGENT-S do count')\nreturn votes\n"
    cut(fleet, "S", done=3, script=script)
    assert after(fleet, script=script.replace("'AGENT-S do count'", "'AGENT-S do count well'")) == {"S": 1}
    assert [f"RESULT-V-{each}" in ended(fleet.world) for each in (1, 2, 3)] == [True] * 3


@pytest.mark.scenario(16)
@pytest.mark.nightly
@pytest.mark.parametrize("changed", [True, False])
def test_schema_results(fleet: Fleet, changed: bool) -> None:
    """Objects that agents return by a schema come back as they were."""
    cut(fleet, "3", done=2, script=SCHEMA)
    script = SCHEMA.replace("[1, 2, 3]", "[1, 2, 3, 4]") if changed else SCHEMA
    assert after(fleet, script=script).keys() == ({"3", "4"} if changed else {"3"})
    assert [f'"word":"RESULT-{each}-' in ended(fleet.world) for each in (1, 2, 3)] == [True] * 3


@pytest.mark.scenario(16)
def test_other_arguments_rerun_from_the_first_call_that_differs(fleet: Fleet) -> None:
    """With other arguments the calls before the first other one are served."""
    cut(fleet, "2", done=1, script=ARGS, args={"items": [1, 2]})
    assert after(fleet, script=ARGS, args={"items": [1, 2]}) == {"2": 1}
    assert after(fleet, prompt="And 3.", script=ARGS, args={"items": [1, 2, 3]}) == {"1": 1, "2": 1, "3": 1}


@pytest.mark.scenario(16)
@pytest.mark.parametrize("nested", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_named_and_nested(fleet: Fleet, nested: bool) -> None:
    """A script of the project, by its name; and one that runs another."""
    folder = fleet.world.project / ".claude" / "workflows"
    folder.mkdir(parents=True)
    (folder / "inner.js").write_text(INNER)
    (folder / "outer.js").write_text(NESTED)
    cut(fleet, "9" if nested else "2", done=2 if nested else 1, name="outer" if nested else "inner")
    assert after(fleet, name="outer" if nested else "inner") == ({"9": 1} if nested else {"2": 1})
    assert not told(fleet, "1", "2")


@pytest.mark.scenario(16)
def test_finished_run_asked_for_again_starts_all_agents(fleet: Fleet) -> None:
    """A person who asks again for a run that has finished gets fresh agents, in the same session and in a new one."""
    session = fleet.world.client.session(SKIP)
    for prompt in ("Review it.", "Review it again."):
        launch(fleet.world, session, prompt, script=SIX)
        finish(fleet.world, session)
        assert fleet.again() == dict.fromkeys(ALL, 1)
    session.close()
    assert after(fleet, prompt="Review it.", script=SIX) == dict.fromkeys(ALL, 1)
    assert "or of earlier work in this project" not in fleet.world.model.of("main")[-1].text


@pytest.mark.scenario(16)
@pytest.mark.nightly
def test_of_ninety_agents_the_finished_dont_run_again(fleet: Fleet) -> None:
    """Of ninety agents, those that had finished before the kill don't run again."""
    script = SIX.replace("[1, 2, 3, 4, 5, 6]", "Array.from({length: 90}, (_, i) => i + 1)")
    fleet.stuck = {"60"}
    session = fleet.world.client.session(SKIP)
    launch(fleet.world, session, "Do it.", script=script)
    until(lambda: results(fleet.world) >= 70)
    session.kill()
    done = finished(fleet.world)
    fleet.stuck = set()
    fleet.again()
    asked = after(fleet, script=script)
    assert set(asked) == {str(each) for each in range(1, 91)} - done
    assert set(asked.values()) == {1}


@pytest.mark.scenario(16)
def test_a_twin_in_flight_after_an_automatic_compaction(fleet: Fleet) -> None:
    """The context is full while a script runs; launched again in the same turn, it is refused."""
    fleet.world.client.extra = AUTO
    fleet.stuck = {"6"}
    session = fleet.world.client.session(SKIP)
    session.prompt("Begin.")
    launch(fleet.world, session, "Do it.", script=SIX)
    until(lambda: results(fleet.world) == 5)
    fleet.world.model.turns = [bash("echo one", tokens=FULL), call("Workflow", script=SIX), say("Launched.")]
    session.prompt("Go on.")
    assert fleet.world.model.of("summary")
    refused = fleet.world.model.of("main")[-1]
    run = fleet.world.scripts[0]
    assert f"running already: run {run['run']}, task {run['task']}; 5 of 6 agents finished" in refused.text
    assert f"run {run['run']} (task {run['task']}) is running, 5 of 6" in refused.text
    assert fleet.again() == dict.fromkeys(ALL, 1)


@pytest.mark.scenario(16)
@pytest.mark.parametrize(
    "mode", ["default", "plan", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("acceptEdits", "dontAsk"))]
)
@pytest.mark.parametrize(
    "edit", [pytest.param(("", ""), id="same", marks=pytest.mark.nightly), pytest.param(("6]", "6, 7]"), id="changed")]
)
def test_changed_input_grants_no_permission(fleet: Fleet, mode: str, edit: tuple[str, str]) -> None:
    """What a person would be asked about doesn't run because Holdfast changed it; what they allowed does, changed."""
    cut(fleet, "3", done=5, script=SIX)
    script = SIX.replace(*edit)
    session = fleet.world.client.session("--permission-mode", mode)
    launch(fleet.world, session, "Do it.", script=script)
    assert not fleet.again()
    assert not [row for row in fleet.world.scripts[1:] if row["run"]]
    session.close()
    allowed = fleet.world.client.session("--permission-mode", mode, "--allowedTools", "Workflow")
    launch(fleet.world, allowed, "Do it.", script=script)
    finish(fleet.world, allowed)
    assert fleet.again() == ({"3": 1, "7": 1} if edit[0] else {"3": 1})
    assert not told(fleet, *ALL)


@pytest.mark.scenario(16)
@pytest.mark.parametrize("choice", ["tell", pytest.param("off", marks=pytest.mark.nightly)])
def test_the_configuration_decides(fleet: Fleet, choice: str) -> None:
    """All agents run again. With `tell` the model learns what there is; what it names is the client's own to serve."""
    cut(fleet, "3", done=5, script=SIX)
    fleet.world.configure(f'agents = "{choice}"\n')
    assert after(fleet, script=SIX) == dict.fromkeys(ALL, 1)
    heard = "".join(each.text for each in fleet.world.model.of("main"))
    assert ("An earlier run of this script left results" in heard) is (choice == "tell")
    assert ("was interrupted, 5 of 6 agents finished" in heard) is (choice == "tell")
