"""Agents outlive compactions: the main conversation is told about them, and each gets back only its own part."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.commands import page
from holdfast.dispatch import isolation
from holdfast.sessions.agents import agent_status, lifecycle
from holdfast.sessions.compaction import losses, snapshots
from holdfast.sessions.history import overview, succession
from holdfast.sessions.ownership import owners
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handlers.conftest import begin
from tests.handmade import ME, OTHER, THIRD
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject

RESTORED = "WORKFLOW RESTORED AFTER COMPACTION"
TRANSCRIPTS = Path(__file__).parents[1] / "sessions" / "transcripts"
UNUSED = "its result is still unused"
PHASES = ("--phase", "Build it @builder", "--phase", "Test it @tester", "--phase", "Document it @writer")


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a hybrid workflow of three phases that this session owns."""
    project = holdfast_project({})
    given = ("--remind", "Never use tabs", "--read", "docs/plan.md")
    holdfast("start", "Tool", "--format", "hybrid", *PHASES, *given, root=project.root, session=ME)
    return project


def compact(project: HoldfastProject, before: str = ME, after: str = "", **changes: Any) -> Fired:
    """Let a compaction happen, which may change the session's id."""
    project.fire("PreCompact", "PreCompact-auto", session_id=before)
    return begin(project, "compact", session_id=after or before, **changes)


def own_compaction(project: HoldfastProject, agent: Agent, *, marked: bool = True, transcript: str = "") -> Fired:
    """Let a subagent be compacted, as a client does that marks its events, or as one that does not."""
    who: dict[str, Any] = {"agent_id": agent.run, "agent_type": agent.kind} if marked else {}
    before = project.fire("PreCompact", "PreCompact-auto-in-subagent" if marked else "PreCompact-auto", **who)
    before.assert_silent()
    project.fire("SubagentStop", "SubagentStop-compaction")
    source = "compact-in-subagent" if marked else "compact"
    return begin(project, source, transcript_path=transcript, **who)


def opened(project: HoldfastProject) -> Workspace:
    return Workspace.open(project.root)


def begun(project: HoldfastProject, *given: Agent, background: bool = False) -> None:
    """Launch agents in one batch: all PreToolUse first, then the runs."""
    for agent in given:
        agent.about_to()
    for agent in given:
        agent.started()
        if background:
            agent.launched()


# What the main conversation is told


def test_a_compaction_tells_what_ended_unused_and_where_it_lies(project: HoldfastProject) -> None:
    """An agent's result that came while the main thread was compacted is not lost."""
    agent = Agent(project, "Build it", prompt="Build the tool.")
    begun(project, agent, background=True)
    agent.stopped("Built.\nAll four functions are there.")

    text = compact(project).context

    assert f'builder ({agent.run}) has finished; {UNUSED} (launched for "Build it")' in text
    assert f'last words of {agent.run}: "Built. All four functions are there."' in text
    assert f"output of {agent.run}: {agent.output}" in text
    own = recorded.load("SubagentStop")["agent_transcript_path"]
    assert f"transcript of {agent.run}: {own}" in text
    assert "is running" not in text


def test_agents_for_no_phase_are_told_too(project: HoldfastProject) -> None:
    """The client itself tells which run. Once their results came, those that finished are told with their places."""
    running, ended = (Agent(project, "look around", "Explore", number=number) for number in (1, 2))
    begun(project, running, ended, background=True)
    ended.stopped("It is in parser.py.")

    text = compact(project).context
    task = ' (launched for "look around")'
    assert running.run not in text
    assert f"Explore ({ended.run}) has finished; {UNUSED}{task}" in text
    assert '"It is in parser.py."' in text

    ended.notified()
    running.notified("failed")
    text = compact(project).context
    assert running.run not in text
    assert UNUSED not in text
    assert f"Explore ({ended.run}) has finished{task}; transcript: /" in text


def test_a_failed_agent_is_told_as_failed(project: HoldfastProject) -> None:
    """Its last words are the error."""
    agent = Agent(project, "Build it")
    begun(project, agent, background=True)
    agent.died("API Error: 529 Overloaded.")

    text = compact(project).context
    assert f"has failed; {UNUSED}" in text
    assert '"API Error: 529 Overloaded."' in text


@pytest.mark.parametrize("end", ["returned", "returned_api_error", "failed"])
def test_what_a_call_returned_is_consumed(project: HoldfastProject, end: str) -> None:
    """A foreground agent's result stands in the conversation, and so does its failure."""
    agent = Agent(project, "Build it")
    begun(project, agent)
    agent.stopped("Done.")
    getattr(agent, end)()

    text = compact(project).context
    assert RESTORED in text
    assert UNUSED not in text
    assert "is running" not in text
    (only,) = agent_status.of_session(opened(project), ME)
    assert only.fate == "consumed"


@pytest.mark.parametrize(
    ("version", "run"), [("2.1.197", "a5362340bfa46d1ef"), ("2.1.329", "ad216a306b79ac727"), ("", "ad216a306b79ac727")]
)
@pytest.mark.parametrize("moment", ["compact", "Stop"])
def test_a_result_that_came_in_the_middle_of_a_turn_is_consumed(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch, version: str, run: str, moment: str
) -> None:
    """2.1.197 gives it without a UserPromptSubmit; only the transcript shows it, at the turn's end and after a swap."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T17:32:00Z")
    agent = Agent(project, "look around", "general-purpose")
    response = recorded.load("PostToolUse-Agent-background")["tool_response"] | {"agentId": run}
    agent.about_to(tool_use_id="toolu_000001")
    agent.launched(tool_use_id="toolu_000001", tool_response=response)
    project.fire("SubagentStop", agent_id=run, agent_type="general-purpose", last_assistant_message="BG REPORT")
    transcript = str(TRANSCRIPTS / f"midturn-{version}.jsonl") if version else ""

    if moment == "Stop":
        project.fire("Stop", transcript_path=transcript).assert_silent()
        text = compact(project).context
    else:
        text = compact(project, transcript_path=transcript).context

    assert RESTORED in text
    assert (UNUSED in text) == (not version)


def test_an_agent_whose_end_no_event_told_is_looked_for_before_it_is_missed(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its SubagentStop was lost, but the transcript has its result, so it has not failed."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T17:32:00Z")
    run = "a5362340bfa46d1ef"
    agent = Agent(project, "look around", "general-purpose")
    response = recorded.load("PostToolUse-Agent-background")["tool_response"] | {"agentId": run}
    agent.about_to(tool_use_id="toolu_000001")
    agent.launched(tool_use_id="toolu_000001", tool_response=response)
    project.fire("SubagentStart", agent_id=run, agent_type="general-purpose")

    project.fire("Stop", transcript_path=str(TRANSCRIPTS / "midturn-2.1.197.jsonl"), background_tasks=[])

    (only,) = agent_status.of_session(opened(project), ME)
    assert (only.state, only.fate) == ("completed", "consumed")


def test_the_same_agents_give_the_same_guidance(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time stands in it."""
    running, ended = (Agent(project, "look around", "Explore", number=number) for number in (1, 2))
    begun(project, running, ended, background=True)
    ended.stopped("Done.")
    texts = []
    for hour in (10, 11):
        monkeypatch.setenv("HOLDFAST_NOW", f"2027-03-01T{hour}:00:00Z")
        texts.append(compact(project).context)

    assert texts[0] == texts[1]
    assert ended.run in texts[0]


def test_a_session_whose_id_changed_keeps_its_agents(project: HoldfastProject) -> None:
    """#90036: agents in flight forgotten, so they are started twice. Step 2: the snapshot of the old id."""
    begin(project, "startup", session_id=ME)
    begin(project, "startup", session_id=OTHER)
    running, ended = Agent(project, "Build it", session=ME), Agent(project, "look", "Explore", number=2, session=ME)
    begun(project, running, ended, background=True)
    ended.stopped("Found.")

    text = compact(project, before=ME, after=THIRD).context

    assert f"Explore ({ended.run}) has finished" in text
    running.stopped("Built.")  # the client still sends it under the old id
    project.fire("UserPromptSubmit", "UserPromptSubmit", session_id=THIRD, prompt="go on")
    state = json.loads((project.root / ".claude/state/workflow.json").read_bytes())
    assert [phase["status"] for phase in state["phases"]] == ["completed", "active", "pending"]


def test_a_session_found_by_its_ancestry_keeps_its_agents(project: HoldfastProject, tmp_path: Path) -> None:
    """Step 3: no PreCompact, and the transcripts are one; the old id says no more, and another session is live."""
    path = tmp_path / "session.jsonl"
    path.write_text("")
    begin(project, "startup", session_id=ME, transcript_path=str(path))
    agent = Agent(project, "Build it", session=ME)
    begun(project, agent, background=True)
    begin(project, "startup", session_id=OTHER)

    begin(project, "compact", session_id=THIRD, transcript_path=str(path))

    assert [each.agent_id for each in agent_status.running(opened(project), THIRD)] == [agent.run]


def test_another_sessions_agents_are_not_told(project: HoldfastProject) -> None:
    """Whoever goes on beside it keeps its own."""
    begin(project, "startup", session_id=ME)
    begin(project, "startup", session_id=OTHER)
    agent = Agent(project, "look around", "Explore", session=OTHER)
    begun(project, agent, background=True)

    text = compact(project).context
    assert RESTORED in text
    assert agent.run not in text


def test_agents_of_a_client_that_is_gone_run_no_more(project: HoldfastProject) -> None:
    """A crash ends the agents in it: after `resume` none is said to run."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    begin(project, "startup")
    agent, remote = Agent(project, "Build it"), Agent(project, "look", "Explore", number=2)
    begun(project, agent, background=True)
    remote.about_to()
    response = {"status": "remote_launched", "taskId": "far-away", "sessionUrl": "u", "outputFile": ""}
    remote.launched(tool_response=response)
    opened(project).ledger.run("UPDATE sessions SET process = ?", gone.pid)

    text = begin(project, "resume").context

    assert text.startswith("WORKFLOW RESTORED\n")
    assert f"builder ({agent.run})" in text
    assert "was interrupted; SendMessage to its id continues it" in text
    assert text.count("is running") == 1
    assert "Explore (far-away)" in text


def test_agents_of_a_client_that_runs_are_not_given_up(project: HoldfastProject) -> None:
    """A session that is resumed in the same client may have left its agents running."""
    begin(project, "startup")
    agent = Agent(project, "Build it")
    begun(project, agent, background=True)
    begin(project, "resume")

    compact(project)
    assert [each.agent_id for each in agent_status.running(opened(project), ME)] == [agent.run]


# What an agent gets back after its own compaction


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("background", [True, False])
def test_an_agents_own_compaction_gives_it_its_own_part(
    project: HoldfastProject, marked: bool, background: bool
) -> None:
    """Its launch, its phase with what was handed over and the reminders; on clients that do not mark it too."""
    holdfast("next", root=project.root, session=ME)
    holdfast("done", "--note", "the tool lies at the root", root=project.root, session=ME)
    begin(project, "startup")
    agent = Agent(project, "Test it all", "tester", "Run every test\nof phase_1.")
    begun(project, agent, background=background)
    if background and not marked:
        running = [{"id": agent.run, "type": "subagent", "status": "running"}]
        project.fire("Stop", "Stop", background_tasks=running)

    fired = own_compaction(project, agent, marked=marked)

    fired.assert_advised(
        *("<workflow-data-", "Run every test\nof phase_1.", '"Test it all"', 'phase 2/3 "Test it"'),
        *('Workflow: "Tool"', "the tool lies at the root", "Never use tabs", "@docs/plan.md (missing)"),
        *("Your context was compacted.", "and nothing else"),
    )
    assert RESTORED not in fired.context
    assert "Document it" not in fired.context
    assert fired.variables
    assert snapshots.recent(opened(project), 5) == []


@pytest.mark.parametrize("marked", [True, False])
def test_an_agent_for_no_phase_gets_its_prompt_back_alone(project: HoldfastProject, marked: bool) -> None:
    """Nothing of the workflow beside it."""
    agent = Agent(project, "look around", "Explore", "Where is the parser?")
    begun(project, agent)

    fired = own_compaction(project, agent, marked=marked)

    fired.assert_advised("Where is the parser?")
    for word in ("Tool", "Never use tabs", "phase", RESTORED):
        assert word not in fired.context


def test_where_several_run_an_unmarked_compaction_is_nobodys(project: HoldfastProject) -> None:
    """Two in the foreground, or one beside one in the background: no slice is better than another's."""
    begin(project, "startup")
    first, second = Agent(project, "look", "Explore", "PROMPT-1"), Agent(project, "look", "Plan", "PROMPT-2", number=2)
    begun(project, first, second)

    assert own_compaction(project, first, marked=False).context == ""
    assert "PROMPT-2" in own_compaction(project, second).context
    first.launched()  # it ran in the background after all
    assert own_compaction(project, second, marked=False).context == ""


def test_several_agents_of_a_type_get_their_own(project: HoldfastProject, tmp_path: Path) -> None:
    """Each one's transcript begins with its prompt; without it nothing is said."""
    first, second = (
        Agent(project, "look", "Explore", f"PROMPT-{name}", number=number) for number, name in ((1, "ONE"), (2, "TWO"))
    )
    begun(project, first, second)
    own = tmp_path / "session" / "subagents" / f"agent-{first.run}.jsonl"
    own.parent.mkdir(parents=True)
    shutil.copy(TRANSCRIPTS / "agent-2.1.329.jsonl", own)
    transcript = str(tmp_path / "session.jsonl")

    fired = own_compaction(project, first, transcript=transcript)
    assert "PROMPT-ONE" in fired.context and "PROMPT-TWO" not in fired.context
    assert own_compaction(project, second, transcript=transcript).context == ""


def test_an_agent_nobody_saw_launched_gets_nothing(project: HoldfastProject) -> None:
    """Never the main session's workflow."""
    begin(project, "startup")
    agent = Agent(project)
    assert own_compaction(project, agent).context == ""
    agent.started()
    assert own_compaction(project, agent).context == ""


def test_an_agents_other_starts_give_it_nothing(project: HoldfastProject) -> None:
    """Only a compaction takes something away."""
    agent = Agent(project, "Build it")
    begun(project, agent)

    assert begin(project, "resume", agent_id=agent.run, agent_type="builder").context == ""


def test_an_agents_summary_tells_nothing_of_the_main_conversations_losses(project: HoldfastProject) -> None:
    """An unmarked PostCompact in an agent holds the agent's summary."""
    compact(project)
    assert losses.recent(opened(project), 5) == []
    begun(project, Agent(project, "look around", "Explore"))

    project.fire("PostCompact", "PostCompact-auto")

    assert losses.recent(opened(project), 5) == []


# What a new agent is told


@pytest.mark.parametrize("order", [("started", "launched"), ("launched", "started")])
def test_a_new_agent_gets_the_reminders_of_its_workflow_once(project: HoldfastProject, order: tuple[str, ...]) -> None:
    """SubagentStart and the launch's PostToolUse come in either order; a later start of the same agent says nothing."""
    agent = Agent(project, "Build it")
    agent.about_to()
    fired = {step: getattr(agent, step)() for step in order}

    fired["started"].assert_advised(
        'Workflow: "Tool"', 'phase 1/3 "Build it"', "- Never use tabs", "@docs/plan.md (missing)"
    )
    assert fired["started"].specific["hookEventName"] == "SubagentStart"
    agent.started().assert_silent()
    Agent(project, "Build it", number=2).started().assert_advised("Never use tabs")


def test_an_agent_for_no_phase_gets_the_reminders_of_the_one_workflow_its_session_owns(
    project: HoldfastProject,
) -> None:
    """It works in that workflow all the same; of no phase is said that it is its own."""
    agent = Agent(project, "look around", "Explore")
    agent.about_to()
    fired = agent.started()

    fired.assert_advised("Never use tabs")
    assert "phase" not in fired.context
    Agent(project, "look around", "Explore", number=2, session=OTHER).started().assert_silent()


def test_of_two_workflows_an_agent_for_none_gets_neither(project: HoldfastProject) -> None:
    """Nothing says which."""
    holdfast("start", "Book", "--phase", "Draft", "--remind", "Be kind", root=project.root, session=ME)
    helper, builder = Agent(project, "look around", "Explore"), Agent(project, "Build it", number=2)
    helper.about_to()
    helper.started().assert_silent()

    builder.about_to()
    assert "Be kind" not in builder.started().context
    other = project.fire("SubagentStart", agent_id="another", agent_type="builder")
    assert "Never use tabs" in other.context


def test_two_agents_of_a_type_for_two_phases_get_the_reminders_of_both(project: HoldfastProject) -> None:
    """Which is which is not known yet; whose they are is."""
    begun_for = [Agent(project, f"phase_{number}", "general-purpose", number=number) for number in (0, 1)]
    for agent in begun_for:
        agent.about_to()

    for agent in begun_for:
        text = agent.started().context
        assert "Never use tabs" in text
        assert "phase" not in text


def test_without_reminders_a_new_agent_is_told_nothing(project: HoldfastProject) -> None:
    """Neither of a workflow that has none, nor of one that is finished, nor is the compaction's own agent."""
    project.fire("SubagentStart", agent_type="", agent_id="summary").assert_silent()
    project.fire("SubagentStart", agent_type="builder", agent_id="").assert_silent()
    holdfast("done", "--all", root=project.root, session=ME)
    Agent(project, "look around", "Explore").started().assert_silent()
    holdfast("start", "Bare", "--format", "hybrid", *PHASES, root=project.root, session=ME)
    agent = Agent(project, "Build it", number=2)
    agent.about_to()
    agent.started().assert_silent()


def test_reading_alone_is_told_to_the_agent_of_a_phase(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """A helper is told of a workflow that has reminders; one for a phase of all that is to be read for it."""
    project = holdfast_project({})
    holdfast("start", "Tool", "--format", "hybrid", *PHASES, "--read", "plan.md", root=project.root, session=ME)
    helper, builder = Agent(project, "look around", "Explore"), Agent(project, "Build it", number=2)
    helper.about_to()
    helper.started().assert_silent()
    builder.about_to()
    builder.started().assert_advised("@plan.md")


def test_reminders_that_did_not_reach_an_agent_are_given_again(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was written counts as given."""
    agent = Agent(project, "Build it")
    agent.about_to()
    with monkeypatch.context() as broken:
        broken.setattr(isolation, "note_delivery", lambda said: None)
        agent.started().assert_advised("Never use tabs")
    assert not lifecycle.reminded(opened(project), ME, agent.run)

    agent.started().assert_advised("Never use tabs")
    assert lifecycle.reminded(opened(project), ME, agent.run)


# What people see


def test_people_see_what_ended_unused(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `show` and in `status`: which, how, its last words, and where the whole lies."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    begin(project, "startup")
    agent, running = Agent(project, "Build it"), Agent(project, "look", "Explore", number=2)
    begun(project, agent, running, background=True)
    agent.stopped("All is built.")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:05:00Z")
    output = agent.output

    shown = holdfast("show", root=project.root).out
    part = shown.split("Agents whose results were not used\n")[1].split("\n\n")[0]
    assert part.splitlines()[:3] == [
        f"  builder  {agent.run}  for phase 1",
        "    finished 5 min ago (2026-03-01 10:00:00 UTC), session 11111111",
        "    said: All is built.",
    ]
    assert output in "".join(line.strip() for line in part.splitlines())
    status = holdfast("status", root=project.root).out
    assert f"Explore ({running.run}), session 11111111: running since 2026-03-01 10:00:00" in status
    assert f'builder ({agent.run}) for phase 1 "Build it", session 11111111: finished 2026-03-01 10:00:00' in status
    assert output in status
    (said,) = json.loads(holdfast("show", "--json", root=project.root).out)["unused_results"]
    assert (said["agent_id"], said["status"], said["last_message"], said["output"]) == (
        *(agent.run, "finished", "All is built."),
        output,
    )

    agent.notified()
    assert "not used" not in holdfast("show", root=project.root).out
    status = holdfast("status", root=project.root).out
    assert agent.run not in status and running.run in status


def test_what_ended_is_a_line_where_there_is_little_room(project: HoldfastProject) -> None:
    """`watch` on a small terminal counts them."""
    begin(project, "startup")
    given = [Agent(project, "look", "Explore", number=number) for number in (1, 2, 3)]
    begun(project, *given, background=True)
    for agent in given:
        agent.stopped("Done.")
    ledger = opened(project)
    found = registry.all_found(ledger)
    seen = overview.gather(ledger, found.workflows[0], found)
    sight = succession.Sight(project.root, seen)
    lines = [line.plain for line in page.watched(sight, seen.at + timedelta(seconds=5), 80, 14)]

    (line,) = [line for line in lines if "Unused" in line]
    assert line.split("Unused")[1].strip().startswith("Explore, finished")
    assert any("(+2 more)" in line for line in lines)
    assert owners.owner(ledger, found.workflows[0]) == ME


def test_a_process_of_another_host_is_not_known_to_be_gone(project: HoldfastProject) -> None:
    """Its number says nothing here: its agents may well run."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    begin(project, "startup")
    agent = Agent(project, "Build it")
    begun(project, agent, background=True)
    opened(project).ledger.run("UPDATE sessions SET process = ?, host = 'elsewhere'", gone.pid)
    begin(project, "resume")

    assert [each.agent_id for each in agent_status.running(opened(project), ME)] == [agent.run]
