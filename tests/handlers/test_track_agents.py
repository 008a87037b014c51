"""Agents finish, fail and are told apart, whatever the order of their signals."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.hybrid.commands import functions
from holdfast.testkit import recorded
from tests import processes
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired
    from tests.handlers.conftest import Tool

BEGUN = ["active", "pending", "pending"]
DONE = ["completed", "active", "pending"]
FAILED = ["failed", "pending", "pending"]


def play(agent: Agent, order: tuple[str, ...]) -> list[Fired]:
    """Fire an agent's signals in an order."""
    steps: dict[str, Callable[[], Fired]] = {
        "started": agent.started,
        "stopped": agent.stopped,
        "returned": agent.returned,
        "launched": agent.launched,
        "notified": agent.notified,
        "died": agent.died,
        "failed": agent.failed,
        "returned an error": agent.returned_api_error,
        "notified failed": lambda: agent.notified("failed", "It broke."),
        "notified killed": lambda: agent.notified("killed", "It was stopped."),
    }
    return [steps[step]() for step in order]


def prompt(tool: Tool) -> Fired:
    """Let the main thread have an event: the user's next prompt."""
    return tool.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")


def run_agent(tool: Tool, order: tuple[str, ...]) -> list[Fired]:
    """Launch the first phase's agent, fire its signals in an order, and let the main thread have an event."""
    agent = Agent(tool.project)
    agent.about_to()
    return [*play(agent, order), prompt(tool)]


def told(fired: list[Fired], words: str) -> int:
    """Count the events on which the model was told something."""
    return sum(words in each.context for each in fired)


def test_a_launch_begins_its_phase(tool: Tool) -> None:
    """R000-14, I000-6: PreToolUse of the first matching launch starts the first phase."""
    tool.project.fire("SubagentStart")
    assert tool.statuses == ["pending"] * 3

    Agent(tool.project).about_to()

    assert tool.statuses == BEGUN
    assert (tool.state["status"], tool.state["current_phase"]) == ("active", "phase_0")


@pytest.mark.parametrize("order", list(permutations(("started", "stopped", "returned"))))
def test_a_foreground_agent_finishes_its_phase(tool: Tool, order: tuple[str, ...]) -> None:
    """R000-28: at the call's return the phase is completed and the next one begins, once."""
    fired = run_agent(tool, order)

    assert tool.statuses == DONE
    assert told(fired, "is completed") == 1


@pytest.mark.parametrize("order", list(permutations(("started", "launched", "stopped", "notified"))))
def test_a_background_agent_finishes_its_phase(tool: Tool, order: tuple[str, ...]) -> None:
    """Client facts §3.4: the launch, the start, the stop and the notification come in any order."""
    fired = run_agent(tool, order)

    assert tool.statuses == DONE
    assert told(fired, "is completed") == 1


@pytest.mark.parametrize("order", list(permutations(("started", "launched"))))
def test_a_background_launch_is_no_completion(tool: Tool, order: tuple[str, ...]) -> None:
    """Rule 12: PostToolUse of a background launch fires at once, with `async_launched`."""
    run_agent(tool, order)

    assert tool.statuses == BEGUN


def test_a_bare_stop_becomes_a_verdict_at_the_next_main_thread_event(tool: Tool) -> None:
    """SubagentStop carries no verdict; with no contrary signal at the main thread's next event it is a completion."""
    agent = Agent(tool.project)
    play_all = (agent.about_to(), agent.started(), agent.launched(), agent.stopped("Calculator made."))
    assert tool.statuses == BEGUN
    assert told(list(play_all), "is completed") == 0

    prompt(tool).assert_advised('"Create calculator module" is completed')

    assert tool.statuses == DONE
    assert tool.state["phases"][0]["context_for_next"] == "Calculator made."


@pytest.mark.parametrize("status", ["failed", "killed", "stopped", "whatever comes"])
def test_a_notification_that_is_no_completion_fails_the_phase(tool: Tool, status: str) -> None:
    """I000-14: only completed results count."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()

    agent.notified(status, "Out of memory.").assert_advised('"Create calculator module" is failed (Out of memory.)')

    assert tool.statuses == FAILED
    assert tool.state["status"] == "failed"


def test_a_notification_that_an_agent_still_runs_is_no_verdict(tool: Tool) -> None:
    """Nor is one without a status a failure: then the agent has stopped, and no more."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    agent.notified("running")
    assert tool.statuses == BEGUN

    agent.notified("")
    assert tool.statuses == DONE


@pytest.mark.parametrize("order", list(permutations(("started", "launched", "died", "notified failed"))))
def test_a_failed_background_agent_fails_its_phase(tool: Tool, order: tuple[str, ...]) -> None:
    """Client-rig: StopFailure, and on newer clients a failed notification; each alone is enough."""
    fired = run_agent(tool, order)

    assert tool.statuses == FAILED
    assert told(fired, "is failed") == 1


@pytest.mark.parametrize("order", [("died", "stopped"), ("stopped", "died")])
def test_a_failure_beats_the_stop_beside_it(tool: Tool, order: tuple[str, ...]) -> None:
    """StopFailure before or after SubagentStop, with no main-thread event between: failed."""
    agent = Agent(tool.project)
    play(agent, ("started",))
    agent.about_to()
    agent.launched()

    play(agent, order)
    prompt(tool)

    assert tool.statuses == FAILED


@pytest.mark.parametrize("order", list(permutations(("started", "failed", "died"))))
def test_a_failed_foreground_call_fails_its_phase(tool: Tool, order: tuple[str, ...]) -> None:
    """Client-rig, 2.1.329: PostToolUseFailure and StopFailure, no SubagentStop."""
    fired = run_agent(tool, order)

    assert tool.statuses == FAILED
    assert told(fired, "is failed") == 1


@pytest.mark.parametrize("order", list(permutations(("started", "stopped", "returned an error", "died"))))
def test_a_completed_call_that_is_an_api_error_fails_its_phase(tool: Tool, order: tuple[str, ...]) -> None:
    """Client-rig, 2.1.197: PostToolUse with `completed`, an API Error text and 0 tokens, then StopFailure."""
    fired = run_agent(tool, order)

    assert tool.statuses == FAILED
    assert told(fired, "is failed (API Error: 529 Overloaded.)") == 1


def test_an_agent_may_talk_of_an_api_error(tool: Tool) -> None:
    """A result that cost tokens is a result, whatever its words."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.returned("API Error handling is in place.", tokens=900)

    assert tool.statuses == DONE


def test_a_late_failure_leaves_the_completion_and_is_told_once(tool: Tool) -> None:
    """A wrong completion can be undone by people, never by a hook."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.returned("Calculator made.")
    agent.died("API Error: 529 Overloaded.")
    assert tool.statuses == DONE

    first, second = prompt(tool), prompt(tool)

    first.assert_advised("failure", "API Error: 529", "holdfast reopen")
    assert "phase_0" not in first.context
    assert "failure" not in second.context
    assert tool.statuses == DONE


@pytest.mark.parametrize("later", list(permutations(("stopped", "returned", "notified"))))
def test_a_failed_run_never_completes_its_phase(tool: Tool, later: tuple[str, ...]) -> None:
    """Failed turned completed by what came next is one of the traps others fell into."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    agent.notified("failed", "It broke.")
    assert tool.statuses == FAILED

    play(agent, later)
    prompt(tool)

    assert tool.statuses == FAILED


def test_a_failed_phase_is_retried_by_a_new_launch(tool: Tool) -> None:
    """I000-9: failed to active re-opens phase and workflow; the new run's verdict is its own."""
    first, other = Agent(tool.project), Agent(tool.project, number=3)
    first.about_to()
    first.failed()
    assert tool.state["status"] == "failed"
    other.about_to().assert_silent()
    assert tool.statuses == FAILED, "by its kind alone no agent is a retry (I000-15)"

    second = Agent(tool.project, "phase_0", number=2)
    second.about_to().assert_advised('"Create calculator module" is active')
    assert tool.statuses == BEGUN
    assert tool.state["status"] == "active"
    first.stopped()
    second.returned()

    assert tool.statuses == DONE


def test_a_second_failure_fails_the_phase_again(tool: Tool) -> None:
    """A retry has no more luck than it has."""
    for number in (1, 2):
        agent = Agent(tool.project, number=number)
        agent.about_to()
        agent.failed()
        assert tool.statuses == FAILED


@pytest.mark.parametrize("kind", ["Explore", "general-purpose", "", "plugin:builder"])
def test_helper_agents_move_nothing(tool: Tool, kind: str) -> None:
    """I000-15: an agent that is for no phase completes none."""
    helper = Agent(tool.project, "look around", kind, "Where is the parser?")
    fired = [helper.about_to(), helper.started(), helper.stopped(), helper.returned(), prompt(tool)]

    assert tool.statuses == ["pending"] * 3
    fired.pop(3).assert_advised("No phase moved: nothing ties this agent")
    assert [each.stdout for each in fired] == [""] * 4


def test_a_failed_helper_fails_nothing(tool: Tool) -> None:
    """Its failure is the model's own business."""
    Agent(tool.project).about_to()
    helper = Agent(tool.project, "look around", "Explore", "Where is the parser?", number=2)
    helper.about_to()
    helper.failed()
    helper.died()
    prompt(tool)

    assert tool.statuses == BEGUN


def test_a_helper_beside_the_agent_of_a_phase_does_not_finish_it(tool: Tool) -> None:
    """Two agents at once: only the one launched for the phase completes it."""
    builder, helper = Agent(tool.project), Agent(tool.project, "look around", "Explore", "Where?", number=2)
    builder.about_to()
    helper.about_to()
    helper.returned()
    assert tool.statuses == BEGUN

    builder.returned()
    assert tool.statuses == DONE


@pytest.mark.parametrize("words", ["phase_1", "Phase 2/3", "Write and run tests", "write  AND run, tests"])
@pytest.mark.parametrize("field", ["description", "prompt"])
def test_a_reference_beats_the_agents_name(tool: Tool, words: str, field: str) -> None:
    """I000-15: a phase's id or title as description or as the prompt's first line decides, whatever agent does it."""
    asked: dict[str, Any] = {field: words if field == "description" else f"{words}\n\nPlease do it now."}
    agent = Agent(tool.project, **asked)
    agent.about_to()
    assert tool.statuses == ["pending", "active", "pending"]

    agent.returned()
    assert tool.statuses[1] == "completed"


@pytest.mark.parametrize(("description", "kind"), [("phase_0", "Explore"), ("go", "builder")])
def test_a_launch_claims_what_is_nobodys(tool: Tool, description: str, kind: str) -> None:
    """Another live session could own it, but who works on it does; a mention claims nothing."""
    for session in (ME, OTHER):
        tool.project.fire("SessionStart", session_id=session)
    Agent(tool.project, "look at phase_0", "Explore", number=3).returned()
    assert tool.statuses == ["pending"] * 3

    agent = Agent(tool.project, description, kind)
    agent.about_to()
    assert tool.statuses == BEGUN
    Agent(tool.project, "phase_0", number=2, session=OTHER).returned()
    assert tool.statuses == BEGUN, "it is the first one's now"
    agent.returned()
    assert tool.statuses == DONE


def test_an_agent_of_several_phases_is_for_none_by_name_alone(tool: Tool) -> None:
    """The agent's name counts only if no other unfinished phase has it."""
    state = tool.state
    state["phases"][2]["agent"] = "builder"
    tool.project.write({".claude/state/workflow.json": state})

    Agent(tool.project).about_to()

    assert tool.statuses == ["pending"] * 3


def test_a_later_phases_agent_does_not_begin_it_by_name_alone(tool: Tool) -> None:
    """The agent's name alone counts only for the current or first pending phase."""
    Agent(tool.project, kind="tester").about_to()

    assert tool.statuses == ["pending"] * 3


def test_a_finished_phase_is_not_revived(tool: Tool) -> None:
    """A hook never undoes a completion, not even for a launch that names the phase."""
    Agent(tool.project).about_to()
    Agent(tool.project).returned()
    again = Agent(tool.project, "phase_0", number=2)
    again.about_to().assert_silent()
    again.failed()

    assert tool.statuses == DONE


def test_an_agent_launched_after_the_end_fills_in_nothing(tool: Tool) -> None:
    """I000-8: only the agent that completed its phase itself has something to add to it."""
    functions.update_phase_status(tool.id, "phase_0", "completed", root=tool.project.root)
    again = Agent(tool.project, "phase_0")
    again.about_to()
    again.returned("DELIVERABLES: other.py\nCONTEXT_FOR_NEXT: something else")

    first = tool.state["phases"][0]
    assert (first["deliverables"], first["context_for_next"]) == ([], "")
    assert tool.statuses == DONE


def test_an_agents_own_report_is_not_overwritten(tool: Tool) -> None:
    """I000-8: what the agent wrote at the end of its phase stays; the hook's second completion is none."""
    agent = Agent(tool.project)
    agent.about_to()
    functions.update_phase_status(
        tool.id, "phase_0", "completed", ["calc.py"], "four functions", root=tool.project.root
    )
    fired = agent.returned("DELIVERABLES: other.py\nCONTEXT_FOR_NEXT: something else")

    fired.assert_advised("Write and run tests", "Context: four functions")
    assert "is completed" not in fired.context
    first = tool.state["phases"][0]
    assert (first["deliverables"], first["context_for_next"]) == (["calc.py"], "four functions")
    assert tool.statuses == DONE


def test_nested_agents_are_ignored(tool: Tool) -> None:
    """An agent that launches agents: their events carry its `agent_id` and are not the main thread's."""
    nested = Agent(tool.project)
    inside: dict[str, Any] = {"agent_id": "aparent", "agent_type": "builder"}
    nested.about_to(**inside).assert_silent()
    nested.returned(**inside).assert_silent()

    assert tool.statuses == ["pending"] * 3
    prompt(tool).assert_silent()


def test_the_compactions_own_agent_is_nobodys_result(tool: Tool) -> None:
    """Rule 10: a compaction fires a SubagentStop with an empty agent type; its last words are the summary."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    tool.project.fire("SubagentStop", "SubagentStop-compaction", agent_id=agent.run)
    prompt(tool)

    assert tool.statuses == BEGUN


def test_the_old_name_of_the_tool_works(tool: Tool) -> None:
    """Before client 2.1.63 `Agent` was called `Task`."""
    agent = Agent(tool.project, tool="Task")
    agent.about_to()
    assert tool.statuses == BEGUN

    agent.returned()
    assert tool.statuses == DONE


@pytest.mark.parametrize("tool_name", ["TaskCreate", "TaskUpdate", "TaskStop", "Bash"])
def test_tools_that_only_sound_like_it_launch_nothing(tool: Tool, tool_name: str) -> None:
    """The to-do tools' names begin with Task too; `TaskStop` is about background jobs."""
    agent = Agent(tool.project, "phase_0", tool=tool_name)
    agent.about_to()
    agent.returned()

    assert tool.statuses == ["pending"] * 3


@pytest.mark.parametrize("end", ["returned", "failed"])
def test_a_launch_whose_pretooluse_never_fired_counts(tool: Tool, end: str) -> None:
    """I000-6: the hook also works if start was forgotten."""
    play(Agent(tool.project), (end,))

    assert tool.statuses == (DONE if end == "returned" else FAILED)


def test_a_late_result_changes_no_completed_workflow(tool: Tool) -> None:
    """I000-9: it is over; a call whose start nobody saw is a run of its own, and fills in nothing."""
    for phase in ("phase_0", "phase_1", "phase_2"):
        functions.update_phase_status(tool.id, phase, "completed", root=tool.project.root)
    before = tool.state
    fired = Agent(tool.project, "phase_0").returned("DELIVERABLES: other.py")
    assert tool.state == before
    assert "is completed" not in fired.context


def test_a_retry_whose_pretooluse_never_fired_counts_only_for_a_phase_it_names(tool: Tool) -> None:
    """I000-6, I000-9: a forgotten start is caught up with by the agent's kind, a retry of what failed is not."""
    functions.update_phase_status(tool.id, "phase_0", "failed", root=tool.project.root)
    Agent(tool.project, prompt="Something else.").returned()
    assert tool.statuses == FAILED

    Agent(tool.project, prompt="phase_0\n\nTry again.", number=2).returned()
    assert tool.statuses == DONE


def test_a_background_launch_whose_pretooluse_never_fired_begins_its_phase(tool: Tool) -> None:
    """What PreToolUse would have said is said at the launch's PostToolUse."""
    agent = Agent(tool.project)
    agent.launched().assert_advised('"Create calculator module" is active')
    assert tool.statuses == BEGUN

    agent.notified()
    assert tool.statuses == DONE


def test_calls_without_an_id_still_finish_their_phase(tool: Tool) -> None:
    """Older clients send no tool_use_id."""
    for number, kind in enumerate(("builder", "tester")):
        agent = Agent(tool.project, kind=kind, number=number)
        agent.about_to(tool_use_id=None)
        assert tool.statuses[number] == "active"
        blocks = [{"type": "text", "text": f"Made by {kind}."}]
        agent.returned(tool_use_id=None, tool_response={"status": "completed", "content": blocks})

    assert tool.statuses == ["completed", "completed", "active"]
    assert [phase["context_for_next"] for phase in tool.state["phases"][:2]] == ["Made by builder.", "Made by tester."]


def test_a_failed_call_without_an_id_fails_its_phase(tool: Tool) -> None:
    """The failure is joined with its launch by what was asked."""
    agent = Agent(tool.project)
    agent.about_to(tool_use_id=None)
    call = {**agent.call, "tool_use_id": None}
    tool.project.fire("PostToolUseFailure", "PostToolUseFailure-Bash", **call, error="boom")

    assert tool.statuses == FAILED


BLOCKS = [{"type": "text", "text": "Made it."}]


@pytest.mark.parametrize(
    "response", [None, 5, {"status": "mystery"}, {}, "Made it.", BLOCKS, {"content": BLOCKS}, {"status": "completed"}]
)
def test_a_result_that_is_empty_or_without_a_status_completes_nothing(tool: Tool, response: object) -> None:
    """I000-14: only the status `completed` counts, and only with words that say what was done."""
    agent = Agent(tool.project)
    agent.about_to()
    fired = agent.returned(tool_response=response)

    assert tool.statuses == BEGUN
    if response == {"status": "completed"}:
        fired.assert_advised("is active (its agent returned no result, so it isn't completed", "`holdfast done ")


def test_a_notification_without_a_result_completes_nothing(tool: Tool) -> None:
    """I000-14: the client's own line about the agent isn't its result; one that follows counts."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    agent.stopped("")
    agent.notified("completed", "")
    assert tool.statuses == BEGUN
    agent.notified("completed", "Made it.")
    assert tool.statuses == DONE


def test_a_prompt_while_an_agent_works_does_not_cost_its_result(tool: Tool) -> None:
    """Users may type while a foreground agent runs."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.started()
    prompt(tool)
    agent.returned()

    assert tool.statuses == DONE


def test_an_agent_that_is_resumed_changes_nothing(tool: Tool) -> None:
    """A finished agent that gets another message starts and stops once more."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    agent.notified()
    assert tool.statuses == DONE

    agent.started()
    agent.stopped("Answered a question.")
    agent.notified("completed", "Answered a question.").assert_silent()

    assert tool.statuses == DONE


def stop(tool: Tool, *running: Agent, says: bool = True) -> None:
    """Let the main thread's turn end, with the background agents that the client lists."""
    listed = [{"id": agent.run, "type": "subagent", "status": "running"} for agent in running]
    payload = recorded.load("Stop", session_id=ME, cwd=str(tool.project.root), background_tasks=listed)
    if not says:
        del payload["background_tasks"]
    tool.project.send(payload).assert_silent()


def test_a_background_agent_that_was_killed_fails_its_phase(tool: Tool) -> None:
    """Client facts §3.4: it sends no SubagentStop; at the end of a turn the client no longer lists it."""
    agent = Agent(tool.project)
    play(agent, ("started",))
    agent.about_to()
    agent.launched()
    stop(tool, agent)
    prompt(tool)
    assert tool.statuses == BEGUN

    stop(tool)
    assert tool.statuses == BEGUN
    prompt(tool).assert_advised('"Create calculator module" is failed')
    assert tool.statuses == FAILED


def test_an_agent_that_ended_while_the_turn_did_is_not_taken_for_killed(tool: Tool) -> None:
    """Its SubagentStop may be handled after the Stop that no longer lists it."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.started()
    agent.launched()
    stop(tool)
    agent.stopped("Calculator made.")
    prompt(tool)

    assert tool.statuses == DONE


def test_a_client_that_lists_no_agents_kills_none(tool: Tool) -> None:
    """Before 2.1.145 Stop did not say what still runs."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.started()
    agent.launched()
    stop(tool, says=False)
    prompt(tool)

    assert tool.statuses == BEGUN


def test_results_wait_for_a_compaction_and_are_not_lost_by_it(tool: Tool) -> None:
    """What agents reported before a compaction is in the state that is saved and restored."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    agent.stopped()
    assert tool.statuses == BEGUN

    said = tool.project.fire("PreCompact", "PreCompact-auto").stdout

    assert tool.statuses == DONE
    assert '"Write and run tests"' in said


def test_results_that_came_during_a_compaction_are_in_the_guidance(tool: Tool) -> None:
    """SessionStart judges before it restores."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    tool.project.fire("PreCompact", "PreCompact-auto")
    agent.stopped()

    restored = tool.project.fire("SessionStart", "SessionStart-compact")

    assert tool.statuses == DONE
    restored.assert_advised("2/3 - Write and run tests")


def test_events_without_a_workflow_are_silent(tool: Tool) -> None:
    """R000-27: nothing is done where there is no state file."""
    (tool.project.root / ".claude" / "state" / "workflow.json").unlink()
    agent = Agent(tool.project)
    fired = [agent.about_to(), agent.started(), agent.launched(), agent.stopped(), agent.notified(), prompt(tool)]

    for each in fired:
        each.assert_silent()
    assert not (tool.project.root / ".claude/state/workflow.json").exists()


def test_a_broken_state_file_is_not_written_by_agents(tool: Tool) -> None:
    """A recovered workflow is only a memory of the file: hooks leave it to people."""
    path = tool.project.root / ".claude" / "state" / "workflow.json"
    tool.project.fire("PreCompact", "PreCompact-auto")
    path.write_bytes(b'{"id": "wf_1", "task')

    Agent(tool.project).about_to().assert_silent()
    Agent(tool.project).returned().assert_silent()

    assert path.read_bytes() == b'{"id": "wf_1", "task'


@pytest.mark.slow
def test_three_agents_that_finish_at_the_same_moment_all_count(tmp_path: Path) -> None:
    """Three real processes complete three phases at once: nothing is lost, and each phase is reported once."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    titles = [("First part", "a"), ("Second part", "b"), ("Third part", "c")]
    functions.create_workflow_state("Three at once", titles, root=place.root)
    calls = [
        {
            "tool_use_id": f"toolu_{number}",
            "tool_input": {"description": title, "prompt": "Do it.", "subagent_type": kind},
        }
        for number, (title, kind) in enumerate(titles)
    ]
    for call in calls:
        assert place.fire(place.payload("PreToolUse-Agent", **call)).exit_code == 0

    with ThreadPoolExecutor() as pool:
        payloads = [
            place.payload(
                "PostToolUse-Agent",
                **call,
                tool_response={
                    "status": "completed",
                    "agentId": f"run{number}",
                    "totalTokens": 10,
                    "content": [{"type": "text", "text": f"DELIVERABLES: part-{number}.py"}],
                },
            )
            for number, call in enumerate(calls)
        ]
        ended = list(pool.map(place.fire, payloads))

    state = json.loads((place.root / ".claude" / "state" / "workflow.json").read_bytes())
    assert [phase["status"] for phase in state["phases"]] == ["completed"] * 3
    assert [phase["deliverables"] for phase in state["phases"]] == [[f"part-{number}.py"] for number in range(3)]
    assert state["status"] == "completed"
    said = "\n".join(each.advice for each in ended)
    assert [said.count(f'"{title}" is completed') for title, _ in titles] == [1, 1, 1]
    assert "error" not in place.log()


def test_a_huge_result_is_recorded(tmp_path: Path) -> None:
    """Two megabytes without a blank, made to look like the beginning of secrets, don't cost the agent's end."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    functions.create_workflow_state("Huge result", [("First part", "a"), ("Second part", "b")], root=place.root)
    call = {
        "tool_use_id": "toolu_1",
        "tool_input": {"description": "First part", "prompt": "Do it.", "subagent_type": "a"},
    }
    text = "nmcli wifi password" * (2_000_000 // 19)
    assert place.fire(place.payload("PreToolUse-Agent", **call)).exit_code == 0

    response = {"status": "completed", "agentId": "run1", "content": [{"type": "text", "text": text}]}
    ended = place.fire(place.payload("PostToolUse-Agent", **call, tool_response=response))

    state = json.loads((place.root / ".claude" / "state" / "workflow.json").read_bytes())
    assert [phase["status"] for phase in state["phases"]] == ["completed", "active"]
    assert '"First part" is completed' in ended.advice
    assert "error" not in place.log()
