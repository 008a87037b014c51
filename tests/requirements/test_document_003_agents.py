"""Document 003 by events: what agents bring and are told, launches that are held, locks on files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.orchestrator import checks
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.requirements.document_003 import DOCUMENT, configure, executor, state
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired, HoldfastProject

WHEN = "2026-11-20T10:00:00.000Z"
LATER = "2026-11-20T10:05:00.000Z"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project with a run that is being executed by its session, at a fixed time."""
    monkeypatch.setenv("HOLDFAST_NOW", WHEN)
    made = holdfast_project({"auth.md": DOCUMENT})
    run(made, "start", str(made.root / "auth.md"))
    run(made, "approve")
    return made


def run(project: HoldfastProject, *words: str, code: int = 0) -> Any:
    return holdfast("orchestrator", *words, root=project.root, session=project.session, code=code)


def message(
    number: int, model: str = "claude-sonnet-4-5-20250929", at: str = LATER, **usage: Any
) -> list[dict[str, Any]]:
    """Return the two lines of a message with two blocks: the second has the final numbers."""
    given: dict[str, Any] = {"input_tokens": 1_000_000, "output_tokens": 100_000, **usage}
    said: dict[str, Any] = {
        "role": "assistant",
        "id": f"msg_{number}",
        "model": model,
        "content": [{"type": "text", "text": "Ok."}],
    }
    common: dict[str, Any] = {"type": "assistant", "isSidechain": True, "timestamp": at}
    early = {**common, "uuid": f"e{number}", "message": {**said, "usage": {**given, "output_tokens": 1}}}
    return [early, {**common, "uuid": f"u{number}", "message": {**said, "usage": given}}]


def shell(
    number: int, command: str, output: str, *, failed: bool = False, aside: bool = False, at: str = LATER
) -> list[Any]:
    """Return the entries of a shell command and its result."""
    use = f"toolu_b{number}"
    call = {"type": "tool_use", "id": use, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": use, "content": output, "is_error": failed}
    common = {"isSidechain": aside, "timestamp": at}
    return [
        {**common, "type": "assistant", "uuid": f"c{number}", "message": {"role": "assistant", "content": [call]}},
        {**common, "type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [result]}},
    ]


def transcript(project: HoldfastProject, *entries: list[Any], name: str = "agent.jsonl") -> str:
    path = project.root / name
    lines = [json.dumps(each, separators=(",", ":")) for part in entries for each in part]
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def work(project: HoldfastProject, *entries: list[Any], task: str = "1.1", number: int = 1) -> dict[str, Any]:
    """Let an agent do a task, with this transcript; return the task's entry."""
    agent = executor(project, task, number)
    agent.about_to()
    end(project, agent, *entries)
    return dict(next(each for each in state(project)["completed_tasks"] if each["task"] == task))


def end(project: HoldfastProject, agent: Agent, *entries: list[Any]) -> Fired:
    path = transcript(project, *entries)
    agent.fire_aside("SubagentStop", **agent._whole, last_assistant_message="Done.", agent_transcript_path=path)
    return agent.returned("Done.")


def reopened(project: HoldfastProject) -> None:
    """Begin the run anew."""
    run(project, "start", str(project.root / "auth.md"), "--replace")
    run(project, "approve")


def test_an_agents_cost_is_counted_from_its_tokens(project: HoldfastProject) -> None:
    """Each message once, by its final numbers: 2 x (1M x $3 + 0.1M x $15)."""
    assert work(project, message(1), message(2))["cost"] == "$9.00"
    assert state(project)["safety_bounds"]["cost_so_far"] == "$9.00"
    assert state(project)["safety_bounds"]["warnings"] == ["Cost at 75% of limit", "Cost at 100% of limit"]


def test_the_cache_has_its_own_prices(project: HoldfastProject) -> None:
    """1M for five minutes at 1.25 x $3, 1M for an hour at 2 x $3, 1M read at 0.1 x $3."""
    cache: dict[str, Any] = {
        "cache_creation_input_tokens": 2_000_000,
        "cache_creation": {"ephemeral_1h_input_tokens": 1_000_000},
    }
    entry = work(project, message(1, input_tokens=0, output_tokens=0, cache_read_input_tokens=1_000_000, **cache))
    assert entry["cost"] == "$10.05"


UNKNOWN: dict[str, list[Any]] = {
    "no price": [message(1, model="claude-unheard-of-9")],
    "one has none": [message(1), message(2, model="claude-unheard-of-9")],
    "fast": [message(1, speed="fast")],
    "tier": [message(1, service_tier="priority")],
    "search": [message(1, server_tool_use={"web_search_requests": 1})],
    "no number": [message(1, input_tokens="many")],
    "own agents": [[{"type": "user", "message": {}, "toolUseResult": {"agentId": "a2", "usage": {}}}], message(1)],
    "nothing": [],
}


def test_a_cost_that_is_not_known_whole_is_not_guessed(project: HoldfastProject) -> None:
    """It is unknown and in no sum."""
    for number, (what, entries) in enumerate(UNKNOWN.items(), 1):
        reopened(project)
        assert work(project, *entries, number=number)["cost"] == "unknown", what
        assert state(project)["safety_bounds"]["cost_so_far"] == "$0.00", what


def test_what_an_agent_used_before_it_was_launched_anew_counts_once(project: HoldfastProject) -> None:
    """Its transcript goes on; entries of an earlier run were charged to that."""
    old = message(1, at="2026-11-20T09:00:00.000Z")
    assert work(project, old, message(2))["cost"] == "$4.50"


def test_the_cost_of_a_task_that_its_agent_finished_itself_is_filled_in(project: HoldfastProject) -> None:
    """With the files it edited; a cost that was named stays."""
    agent = executor(project, "1.1")
    agent.about_to()
    run(project, "task", "finish", "1.1")
    end(project, agent, message(1))
    other = executor(project, "1.2", 2)
    other.about_to()
    run(project, "task", "finish", "1.2", "--cost", "0.10")
    end(project, other, message(2))

    assert [each["cost"] for each in state(project)["completed_tasks"]] == ["$4.50", "$0.10"]
    assert state(project)["safety_bounds"]["cost_so_far"] == "$4.60"
    assert not any("unknown" in each for each in state(project)["safety_bounds"]["warnings"])
    assert run(project, "check").out.strip() == "The state and its task document agree."


def test_your_own_prices_go_first(project: HoldfastProject) -> None:
    """For a model with or without the date in its name; what you leave out follows from the price of input."""
    used: dict[str, Any] = {"output_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000}
    mine = "[prices.claude-sonnet-4-5]\ninput = 1.0\noutput = 0.1\ncache_read = 0.2\n"
    rare = "[prices.new-20260101]\ninput = 25.0\noutput = 1.0\n"
    for number, (config, given, cost) in enumerate(
        (
            ("", message(1, **used), "$18.30"),
            (mine, message(2, **used), "$1.30"),
            (rare, message(3, "new-20260101", input_tokens=3, output_tokens=0), "$0.0001"),
        )
    ):
        configure(config)
        assert work(project, given, task=("1.1", "1.2", "2.1")[number], number=number + 1)["cost"] == cost


def test_commits_and_tests_of_an_agent_are_kept_with_its_task(project: HoldfastProject) -> None:
    """The last test run answers the criterion; a commit that failed is none."""
    entry = work(
        project,
        shell(1, "pytest -q", "Exit code 1\n1 failed, 3 passed", failed=True, aside=True),
        shell(2, "git commit -m x", "Exit code 1\nnothing to commit", failed=True, aside=True),
        shell(3, "git add . && git commit -m 'Add it'", "[main 1a2b3c4] Add it\n 1 file changed", aside=True),
        shell(4, "pytest -q | tail -1", "4 passed in 0.1s", aside=True),
    )
    assert entry["success_criteria_met"] == {"tests_passing": True}
    extra = json.loads((project.root / ".claude/agent-state.extra.json").read_bytes())
    assert extra["notes"]["tasks"]["1.1"]["commits"] == ["1a2b3c4"]


RUNS: tuple[tuple[str, str, bool, dict[str, bool]], ...] = (
    ("npm test", "ok", False, {"tests_passing": True}),
    ("make test", "built", False, {"tests_passing": True}),
    ("cargo test; true", "test result: FAILED. 2 passed; 1 failed", False, {"tests_passing": False}),
    ("pytest | tail -1", "5 passed", False, {"tests_passing": True}),
    ("pytest | tail -1", "see the log", False, {}),
    ("pytest", "Exit code 2\nno such file", True, {"tests_passing": False}),
    ("pytest", "The user doesn't want to proceed", True, {}),
    ("cat test.py", "1 failed", False, {}),
    ("pytest", "0 failed, 3 passed, 0 errors", False, {"tests_passing": True}),
)


def test_what_a_test_run_says(project: HoldfastProject) -> None:
    """Its exit code, unless it may be another command's, and its output; else nothing is claimed."""
    for number, (command, output, failed, met) in enumerate(RUNS, 1):
        reopened(project)
        entry = work(project, shell(number, command, output, failed=failed, aside=True), number=number)
        assert entry["success_criteria_met"] == met, (command, output)


@pytest.mark.parametrize("event", ["Stop", "PreCompact-auto", "UserPromptSubmit"])
def test_the_main_conversations_commits_and_tests_are_read_at_three_events(
    project: HoldfastProject, event: str
) -> None:
    """For the one task at work, since it was started; agents' own commands and earlier ones aren't its."""
    run(project, "task", "start", "1.1")
    path = transcript(
        project,
        shell(1, "git commit -m early", "[main aaaaaaa] early", at="2026-11-20T09:00:00.000Z"),
        shell(2, "git commit -m other", "[main bbbbbbb] other", aside=True),
        shell(3, "git commit -m mine", "[main ccccccc] mine"),
        shell(4, "pytest", "Exit code 1\n1 failed", failed=True),
        name="main.jsonl",
    )
    name = event.partition("-")[0]
    project.fire(name, event, transcript_path=path)

    said = project.fire("SessionStart", "SessionStart-compact").context
    assert "1.1: commits ccccccc; tests fail" in said
    before = (project.root / ".claude/agent-state.extra.json").read_bytes()
    project.fire(name, event, transcript_path=path)
    assert (project.root / ".claude/agent-state.extra.json").read_bytes() == before


def test_an_agent_is_told_its_task_its_criteria_and_learnings(project: HoldfastProject) -> None:
    """Once, and as data."""
    holdfast("orchestrator", "learn", "pattern", "Reuse the stack", "--task", "1.2", root=project.root)
    agent = executor(project, "1.1")
    agent.about_to()

    said = agent.started().context

    for words in ("Task 1.1: Update the model", "- migration tested", "1.2 pattern: Reuse the stack", "1/2"):
        assert words in said
    assert "Create the endpoints" not in said
    agent.started().assert_silent("track_agents")


def edit(number: int, path: str) -> list[dict[str, Any]]:
    """Return the entries of a call that wrote a file, as they stand in a subagent's transcript."""
    use = f"toolu_{number}"
    call = {"type": "tool_use", "id": use, "name": "Write", "input": {"file_path": path, "content": "x"}}
    result = {"type": "tool_result", "tool_use_id": use, "content": "ok"}
    made = {"type": "create", "filePath": path, "content": "x"}
    common = {"isSidechain": True, "agentId": "a1"}
    written = {"type": "assistant", "uuid": f"a{number}", "message": {"role": "assistant", "content": [call]}}
    answer = {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [result]}}
    return [common | written, common | answer | {"toolUseResult": made}]


def test_what_an_agent_edited_is_listed_with_its_task(project: HoldfastProject) -> None:
    """In their order, from its own transcript; files outside the project are not the task's."""
    files = (project.root / "src/model.py", "/elsewhere/x.py", project.root / "src/model.py", project.root / "b.py")
    entry = work(project, *(edit(number, str(path)) for number, path in enumerate(files)))
    assert entry["files_modified"] == ["src/model.py", "b.py"]


def test_a_supervisor_is_listed_while_it_works_and_starts_no_task(project: HoldfastProject) -> None:
    """Even if it is launched with a task's id alone, in the foreground or not; its end completes nothing."""
    executor(project, "1.1").about_to()
    for number, background in enumerate((False, True), 2):
        agent = Agent(project, "Task 1.2", "workflow:supervisor", "Check it.", number=number)
        agent.about_to()
        listed = [(each["type"], each["task"]) for each in state(project)["active_agents"]]
        assert listed == [("task-executor", "1.1"), ("supervisor", "1.2")]
        if background:
            agent.launched()
        agent.stopped()
        agent.notified() if background else agent.returned()
        assert [each["type"] for each in state(project)["active_agents"]] == ["task-executor"]
        assert state(project)["completed_tasks"] == []
        assert "1.2" in [each["task"] for each in state(project)["pending_tasks"]]


def test_an_agent_of_another_kind_is_not_listed(project: HoldfastProject) -> None:
    """R003-14: it is none of the run's."""
    before = state(project)
    agent = Agent(project, "Where is the parser?", "Explore", "Find it.", number=1)
    agent.about_to()
    agent.stopped()
    agent.returned()
    assert state(project) == before


def test_a_compaction_gives_the_run_back(project: HoldfastProject) -> None:
    """Status, phase, task, iteration, agents, bounds, learnings, the last intervention, and the verbs."""
    executor(project, "1.1").about_to()
    run = ("--conflict", "api", "--severity", "low", "--action", "pass", "--resolution", "It was fine")
    holdfast("orchestrator", "supervise", "pre_task", *run, root=project.root, session=project.session)
    holdfast("orchestrator", "learn", "insight", "Look first", root=project.root, session=project.session)
    project.fire("PreCompact", "PreCompact-auto")

    said = project.fire("SessionStart", "SessionStart-compact").context

    for words in (
        "run: executing, task 1/2 of phase 1/2 Foundation",
        "document: auth.md",
        "1.1 Update the model (in_progress)",
        "bounds: $1.00, 1h, 4 iterations/task",
        "1.1 insight: Look first",
        "pre_task api low pass: It was fine",
    ):
        assert words in said, (words, said)


@pytest.mark.parametrize(("mode", "bound"), [("ask", "cost"), ("deny", "time"), ("ask", "iterations")])
def test_a_bound_that_is_used_up_holds_the_next_launch(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch, mode: str, bound: str
) -> None:
    """With the reason; nothing starts, and the command that releases it does so."""
    configure(f'hold = "{mode}"\n')
    if bound == "cost":
        run(project, "task", "finish", "1.1", "--cost", "1.00")
        task, extend = "1.2", ("--cost", "5")
    elif bound == "time":
        run(project, "task", "start", "1.1")
        monkeypatch.setenv("HOLDFAST_NOW", "2026-11-20T11:00:00Z")
        task, extend = "1.2", ("--time", "5h")
    else:
        run(project, "task", "start", "1.1")
        for _ in range(4):
            run(project, "task", "iterate", "1.1")
        run(project, "task", "fail", "1.1", "--reason", "no luck")
        task, extend = "1.1", ("--iterations", "9")
    before = state(project)

    fired = executor(project, task, 7).about_to()

    answer = fired.reply["hookSpecificOutput"]
    assert answer["permissionDecision"] == mode
    assert f"holdfast orchestrator bounds extend {extend[0]}" in answer["permissionDecisionReason"]
    assert state(project) == before
    command = {"command": f"holdfast orchestrator bounds extend {' '.join(extend)}"}
    project.fire("PreToolUse", "PreToolUse-Bash", tool_input=command).assert_not_called("lock_files")
    run(project, "bounds", "extend", *extend)
    executor(project, task, 8).about_to()
    assert any(each["task"] == task and each["status"] == "in_progress" for each in state(project)["active_agents"])


def test_no_launch_is_held_if_that_is_off_or_below_the_bound(project: HoldfastProject) -> None:
    """99 % is no 100 %."""
    run(project, "task", "finish", "1.1", "--cost", "0.99")
    configure('hold = "deny"\n')
    assert "permissionDecision" not in executor(project, "1.2", 2).about_to().stdout
    assert [each["task"] for each in state(project)["active_agents"]] == ["1.2"]
    run(project, "bounds", "extend", "--cost", "0.5")
    configure('hold = "off"\n')
    executor(project, "2.1", 3).about_to()
    assert [each["task"] for each in state(project)["active_agents"]] == ["1.2", "2.1"]
    configure('hold = "deny"\n')
    run(project, "bounds", "extend", "--cost", "0.5")
    run(project, "fail", "Enough")
    assert "permissionDecision" not in executor(project, "2.1", 4).about_to().stdout, "the run is over"


@pytest.fixture
def two(project: HoldfastProject) -> tuple[Agent, Agent]:
    """Two agents at work, in a project with locks."""
    configure('locks = "on"\n')
    agents = executor(project, "1.1", 1), executor(project, "1.2", 2)
    for agent in agents:
        agent.about_to()
        agent.started()
    return agents


def edits(project: HoldfastProject, agent: Agent | None, place: str, tool: str = "Edit") -> Fired:
    """Fire an edit's PreToolUse, of an agent or of the main conversation."""
    whose = {"agent_id": agent.run, "agent_type": agent.kind} if agent else {}
    given = {"file_path": str(project.root / place), "old_string": "a", "new_string": "b"}
    return project.fire(
        "PreToolUse", "PreToolUse-Edit", tool_name=tool, tool_input=given, cwd=str(project.root), **whose
    )


def locks(project: HoldfastProject) -> list[dict[str, str]]:
    path: Path = project.root / ".claude/locks.json"
    return list(json.loads(path.read_bytes())["locks"])


def asked(fired: Fired) -> str:
    answer = fired.reply["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    return str(answer["permissionDecisionReason"])


def test_an_edit_locks_its_file_and_a_conflict_is_asked_about(
    project: HoldfastProject, two: tuple[Agent, Agent]
) -> None:
    """R003-27: the owner edits on; anyone else is asked, until the owner ends."""
    first, second = two
    edits(project, first, "src/a.py").assert_silent("lock_files")
    edits(project, first, "src/a.py", "Write").assert_silent("lock_files")
    edits(project, second, "src/b.py").assert_silent("lock_files")
    assert [(each["path"], each["owner"]) for each in locks(project)] == [
        ("src/a.py", first.run),
        ("src/b.py", second.run),
    ]
    for other in (second, None):
        assert f"Agent {first.run} is editing src/a.py" in asked(edits(project, other, "src/../src/a.py"))
    assert [each["owner"] for each in json.loads(run(project, "locks", "--json").out)] == [
        first.run,
        second.run,
    ]
    first.stopped()
    assert [each["owner"] for each in locks(project)] == [second.run]
    edits(project, second, "src/a.py").assert_silent("lock_files")


def test_a_lock_expires(project: HoldfastProject, two: tuple[Agent, Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes after the agent's last edit, and at once if nothing says that its agent runs."""
    edits(project, two[0], "src/a.py")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-20T10:08:00Z")
    edits(project, two[0], "src/a.py")
    assert [(each["acquired"], each["expires"]) for each in locks(project)] == [
        ("2026-11-20T10:00:00Z", "2026-11-20T10:18:00Z")
    ]
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-20T10:17:59Z")
    asked(edits(project, two[1], "src/a.py"))
    path = project.root / ".claude/locks.json"
    path.write_text(path.read_text().replace(two[0].run, "a-gone"))
    edits(project, two[1], "src/a.py").assert_silent("lock_files")
    path.write_text(path.read_text().replace(two[1].run, two[0].run).replace("10:27:59", "10:18:00"))
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-20T10:18:00Z")
    edits(project, two[1], "src/a.py").assert_silent("lock_files")
    assert [each["owner"] for each in locks(project)] == [two[1].run]


def test_locks_are_released_by_a_command(project: HoldfastProject, two: tuple[Agent, Agent]) -> None:
    """By path, by owner, or all; it says which."""
    for place in ("a.py", "b.py", "c.py"):
        edits(project, two[0], place)
    edits(project, two[1], "d.py")
    assert "say which" in run(project, "locks", "release", code=1).err
    assert "Freed a.py" in run(project, "locks", "release", "a.py").out
    assert len(json.loads(run(project, "locks", "release", "--owner", two[0].run, "--json").out)) == 2
    assert [each["path"] for each in locks(project)] == ["d.py"]
    run(project, "locks", "release", "--all")
    assert locks(project) == []
    assert run(project, "locks").out.strip() == "No file is locked."
    assert "there is no lock of elsewhere.py" in run(project, "locks", "release", "elsewhere.py", code=1).err


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_named_with_what_to_do(project: HoldfastProject, make: Callable[[Path], None]) -> None:
    """By the commands and by `doctor`; nothing waits for a pipe."""
    make(project.root / ".claude/locks.json")
    for words in ((), ("release", "a.py")):
        assert "so no file is locked; move it away" in run(project, "locks", *words, code=1).err
    assert "locks.json" in doctor(project)


def test_another_programs_locks_are_left_alone(project: HoldfastProject, two: tuple[Agent, Agent]) -> None:
    """Nothing is locked then, and no edit waits; `doctor` names the file."""
    path = project.root / ".claude/locks.json"
    for raw in ("[]", '{"locked": true}', "[1", '{"locks": [1]}', '{"locks": [], "pid": 3}'):
        path.write_text(raw)
        edits(project, two[0], "src/a.py").assert_silent("lock_files")
        assert path.read_text() == raw
        assert "locks.json" in doctor(project), raw


def test_nothing_is_locked_by_default_or_outside(project: HoldfastProject, two: tuple[Agent, Agent]) -> None:
    """Nor anything that leads out of the project."""
    edits(project, two[0], "../elsewhere.py").assert_silent("lock_files")
    edits(project, two[0], "a\0b").assert_silent("lock_files")
    configure("")
    edits(project, two[0], "src/a.py").assert_not_called("lock_files")
    assert not (project.root / ".claude/locks.json").exists()


def doctor(project: HoldfastProject) -> str:
    """Return the lines of the check of the format's files."""
    return "\n".join(each.text for each in checks.findings(Workspace.open(project.root)))


def test_old_checkpoints_go_with_their_entries(project: HoldfastProject) -> None:
    """As many as are configured stay; a file that isn't a state of ours is never deleted."""
    configure("checkpoints = 3\n")
    for _ in range(3):
        run(project, "checkpoint")
    folder = project.root / ".claude"
    (folder / "checkpoint-002.json").write_text('{"of": "somebody else"}')
    for _ in range(2):
        run(project, "checkpoint")
    assert [each["state_snapshot"] for each in state(project)["checkpoints"]] == [
        f"checkpoint-00{number}.json" for number in (3, 4, 5)
    ]
    assert sorted(each.name for each in folder.glob("checkpoint-*")) == [
        f"checkpoint-00{number}.json" for number in (2, 3, 4, 5)
    ]


def test_check_and_doctor_name_what_speaks_against_the_state(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint that is further, a commit that names a task, an agent of yesterday, history that was rewritten."""
    path = project.root / ".claude/agent-state.json"
    planning = path.read_bytes().replace(b'"executing"', b'"planning"')
    run(project, "task", "finish", "1.1")
    run(project, "task", "finish", "1.2")
    path.write_bytes(planning)
    said = run(project, "check", code=1).out
    back = "`holdfast orchestrator restore checkpoint-001.json` goes back to it"
    assert f"1.1, 1.2 are completed in checkpoint-001.json; {back}" in said

    git = project.root / ".git"
    (git / "logs").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    seconds = 1_795_170_000  # after the run's start
    moves = [
        ("0" * 40, "a" * 40, "commit (initial): Task 2.1: early", 1),
        ("a" * 40, "b" * 40, "commit: Task 1.2", seconds),
    ]
    (git / "logs/HEAD").write_text(
        "".join(f"{one} {two} A B <a@b> {at} +0000\t{message}\n" for one, two, message, at in moves)
    )
    data = json.loads(path.read_bytes())
    data["checkpoints"] = [
        {"timestamp": WHEN, "phase": 0, "task": "1.1", "git_sha": "c" * 40, "state_snapshot": "checkpoint-009.json"}
    ]
    data["active_agents"] = [
        {"type": "task-executor", "task": "1.1", "started": WHEN, "iteration": 1, "status": "in_progress"}
    ]
    path.write_text(json.dumps(data))
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T10:00:01Z")
    said = run(project, "check", code=1).out
    assert "commit bbbbbbbbbbbb names task 1.2, which is pending" in said
    assert "names task 2.1" not in said
    assert "commit cccccccccccc of checkpoint-009.json isn't in this clone's log" in said
    prune = "`holdfast orchestrator agents prune 1.1` removes it"
    assert f"the task-executor of task 1.1 was started on {WHEN}; {prune}" in said
    assert all(line in doctor(project) for line in said.splitlines() if "commit" in line or "prune" in line)
    found = [(each.text, each.remedy) for each in checks.findings(Workspace.open(project.root))]
    assert {remedy for text, remedy in found if "prune" in text} == {"holdfast orchestrator agents prune 1.1"}
    assert {remedy for text, remedy in found if "commit" in text} == {"holdfast orchestrator check"}
