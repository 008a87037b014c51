"""Document 003 by events: what agents bring and are told, launches that are held, locks on files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.orchestrator.format import FORMAT
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.requirements.document_003 import DOCUMENT, configure, executor, state
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired, HoldfastProject

WHEN = "2026-11-20T10:00:00.000Z"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project with a run that is being executed by its session, at a fixed time."""
    monkeypatch.setenv("HOLDFAST_NOW", WHEN)
    made = holdfast_project({"auth.md": DOCUMENT})
    run(made, "start", str(made.root / "auth.md"), "--format", "orchestrator")
    run(made, "approve")
    return made


OWN = ("approve", "task", "supervise", "learn", "checkpoint", "bounds")


def run(project: HoldfastProject, *words: str, code: int = 0) -> Any:
    own = ("orchestrator",) if words[0] in OWN else ()
    return holdfast(*own, *words, root=project.root, session=project.session, code=code)


def test_a_cost_that_nobody_named_is_unknown(project: HoldfastProject) -> None:
    """R003-15: it is in no sum, and never guessed."""
    agent = executor(project, "1.1")
    agent.about_to()
    agent.stopped("Done.")
    agent.returned("Done.")
    assert [each["cost"] for each in state(project)["completed_tasks"]] == ["unknown"]
    assert state(project)["safety_bounds"]["cost_so_far"] == "$0.00"


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
        run(project, "task", "1.1", "--cost", "1.00")
        run(project, "done", "1.1")
        run(project, "update", "--phase", "1.2", "--status", "pending")
        task, extend = "1.2", ("--cost", "5")
    elif bound == "time":
        run(project, "update", "--phase", "1.1", "--status", "active")
        monkeypatch.setenv("HOLDFAST_NOW", "2026-11-20T11:00:00Z")
        task, extend = "1.2", ("--time", "5h")
    else:
        run(project, "update", "--phase", "1.1", "--status", "active")
        for _ in range(4):
            run(project, "task", "1.1", "--iterate")
        run(project, "update", "--phase", "1.1", "--status", "failed", "--error", "no luck")
        task, extend = "1.1", ("--iterations", "9")
    before = state(project)

    fired = executor(project, task, 7).about_to()

    answer = fired.reply["hookSpecificOutput"]
    assert answer["permissionDecision"] == mode
    assert f"holdfast orchestrator bounds {extend[0]}" in answer["permissionDecisionReason"]
    assert state(project) == before
    command = {"command": f"holdfast orchestrator bounds {' '.join(extend)}"}
    project.fire("PreToolUse", "PreToolUse-Bash", tool_input=command).assert_not_called("lock_files")
    run(project, "bounds", *extend)
    executor(project, task, 8).about_to()
    assert any(each["task"] == task and each["status"] == "in_progress" for each in state(project)["active_agents"])


def test_no_launch_is_held_if_that_is_off_or_below_the_bound(project: HoldfastProject) -> None:
    """99 % is no 100 %."""
    run(project, "task", "1.1", "--cost", "0.99")
    run(project, "done", "1.1")
    run(project, "update", "--phase", "1.2", "--status", "pending")
    configure('hold = "deny"\n')
    assert "permissionDecision" not in executor(project, "1.2", 2).about_to().stdout
    assert [each["task"] for each in state(project)["active_agents"]] == ["1.2"]
    run(project, "bounds", "--cost", "0.5")
    configure('hold = "off"\n')
    executor(project, "2.1", 3).about_to()
    assert [each["task"] for each in state(project)["active_agents"]] == ["1.2", "2.1"]
    configure('hold = "deny"\n')
    run(project, "bounds", "--cost", "0.5")
    run(project, "cancel")
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
    """R003-27: the owner edits on; anyone else is asked, until the owner ends. The main conversation locks nothing."""
    first, second = two
    edits(project, first, "src/a.py").assert_silent("lock_files")
    edits(project, first, "src/a.py", "Write").assert_silent("lock_files")
    edits(project, second, "src/b.py").assert_silent("lock_files")
    edits(project, None, "src/c.py").assert_silent("lock_files")
    assert [(each["path"], each["owner"]) for each in locks(project)] == [
        ("src/a.py", first.run),
        ("src/b.py", second.run),
    ]
    for other in (second, None):
        assert f"Agent {first.run} is editing src/a.py" in asked(edits(project, other, "src/../src/a.py"))
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


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_named_with_what_to_do(project: HoldfastProject, make: Callable[[Path], None]) -> None:
    """By `doctor`; nothing waits for a pipe, and no edit."""
    make(project.root / ".claude/locks.json")
    assert "so no file is locked; move it away" in doctor(project)


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
    return "\n".join(each.text for each in FORMAT.findings(Workspace.open(project.root)))


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


def test_doctor_names_what_speaks_against_the_state(project: HoldfastProject) -> None:
    """R003-29: a checkpoint that is further, with the way back to it."""
    path = project.root / ".claude/agent-state.json"
    planning = path.read_bytes().replace(b'"executing"', b'"planning"')
    run(project, "done", "1.1")
    run(project, "done", "1.2")
    path.write_bytes(planning)
    (found,) = [each for each in FORMAT.findings(Workspace.open(project.root)) if each.code == "checkpoint"]
    assert "1.1, 1.2 are completed in checkpoint-001.json" in found.text
    run(project, *found.remedy.split()[2:])
    assert [each["task"] for each in state(project)["completed_tasks"]] == ["1.1", "1.2"]
