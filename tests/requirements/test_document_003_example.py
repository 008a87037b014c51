"""Document 003's Complete Example, moved from start to end: by commands, by agents and by hand as the document says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.orchestrator import moves
from holdfast.formats.orchestrator.format import FORMAT
from tests.commandline import holdfast
from tests.handmade import workspace
from tests.requirements.document_003 import EXAMPLE, configure, state
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

NAMES = {
    "1.1": "Update User model and database schema",
    "1.2": "Implement JWT authentication",
    "2.1": "Create auth endpoints",
    "2.2": "Add role-based access control",
    "3.1": "Protect existing endpoints",
}
LISTS = ("active_agents", "completed_tasks", "pending_tasks")
DOC = "# User auth\n\n### Phase 1: Foundation\n\n#### Task 1.1: Model\n\n#### Task 1.2: JWT\n"


@pytest.fixture
def example(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """A project with the example, a minute after its last event."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-01-15T12:31:00Z")
    made = holdfast_project({".claude/agent-state.json": EXAMPLE.decode()})
    made.fire("SessionStart", "SessionStart-startup")
    return made


def put(project: HoldfastProject, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the state as jq does."""
    data = state(project)
    edit(data)
    (project.root / ".claude/agent-state.json").write_text(json.dumps(data, indent=2))


def notes(project: HoldfastProject) -> dict[str, Any]:
    """Return what Holdfast notes of the run beside its state."""
    found: dict[str, Any] = json.loads((project.root / ".claude/agent-state.extra.json").read_text())["notes"]
    return found


def run(project: HoldfastProject, *words: str, code: int = 0) -> str:
    return holdfast(*words, root=project.root, session=project.session, code=code).out


def agent(project: HoldfastProject, task: str, words: str = "Done.", kind: str = "task-executor") -> str:
    """Let an agent do a task, which is then in one list; return what Claude is told at its end."""
    made = Agent(project, task, kind, "Do it.", number=int(task.replace(".", "")))
    made.about_to()
    assert kind == "supervisor" or task not in [each["task"] for each in state(project)["pending_tasks"]]
    made.stopped(words)
    return made.returned(words).context


def test_the_example_can_be_moved_to_its_end(example: HoldfastProject) -> None:
    """I003-3 and R003-08: after each step file, commands and guidance agree on names, lists and position."""
    wrong = list[str]()
    for number, task in enumerate(("2.1", "2.2", "3.1"), 3):
        run(example, "done", task)
        seen = json.loads(run(example, "status", "--json"))["current"]
        if {each["id"]: each["title"] for each in seen["phases"]} != NAMES:
            wrong.append(f"{task}: status names {[each['title'] for each in seen['phases']]}")
        example.fire("PreCompact", "PreCompact-auto")
        told = example.fire("SessionStart", "SessionStart-compact").context
        if (number < 5 and f"{number}/5 completed" not in told) or "task 4/5" in told:
            wrong.append(f"{task}: the guidance says {told}")
        data = state(example)
        ids = Counter(each["task"] for name in LISTS for each in data[name])
        named = {each["task"]: each["name"] for name in LISTS[1:] for each in data[name]}
        if ids != Counter([*NAMES]) or any(NAMES[id_] != name for id_, name in named.items()):
            wrong.append(f"{task}: {ids}, {named}")
        if data["orchestrator"]["ralph_iteration"] or data["safety_bounds"]["warnings"]:
            wrong.append(f"{task}: {data['orchestrator']}, {data['safety_bounds']}")
    assert wrong == []
    assert state(example)["orchestrator"]["status"] == "completed"


def test_an_agent_that_is_long_gone_uses_up_no_bound(example: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """I003-11: the example's was started in January, and nobody knows how long it worked."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-28T12:00:00Z")
    run(example, "done")
    bounds = state(example)["safety_bounds"]
    assert (bounds["elapsed_time"], bounds["warnings"]) == ("0h 34m 8s", [])


@pytest.mark.parametrize("way", ["by hand", "pending"])
def test_a_stale_agent_that_is_removed_leaves_its_task(example: HoldfastProject, way: str) -> None:
    """R003-30: with its name, though nothing but the started task's agent said that it is there."""
    if way == "pending":
        run(example, "update", "--phase", "2.1", "--status", "pending")
        assert [(each["task"], each["name"]) for each in state(example)["pending_tasks"]] == [*NAMES.items()][2:]
    run(example, "update", "--phase", "2.1", "--status", "active")
    run(example, "update", "--phase", "2.2", "--status", "active")
    assert [each["task"] for each in state(example)["pending_tasks"]] == ["3.1"]
    if way == "by hand":
        put(example, lambda data: data.update(active_agents=[]))
    else:
        run(example, "update", "--phase", "2.1", "--status", "pending")
        run(example, "update", "--phase", "2.2", "--status", "pending")
    assert "Create auth endpoints" in run(example, "next")
    assert [(each["task"], each["name"]) for each in state(example)["pending_tasks"]] == [*NAMES.items()][3:]


def test_a_task_document_may_lie_in_the_home_folder(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Its text at the start is a version, and what counts; an edit changes nothing of the run."""
    project = holdfast_project({})
    doc = Path.home() / ".claude/tasks/user-auth.md"
    doc.parent.mkdir(parents=True)
    doc.write_text(DOC)
    run(project, "start", str(doc), "--format", "orchestrator")
    run(project, "next")
    doc.write_text("# Other\n\n### Phase 1: Foundation\n\n#### Task 1.2: Renamed\n\n#### Task 1.3: New\n")
    project.fire("UserPromptSubmit", "UserPromptSubmit")

    data = state(project)
    assert data["orchestrator"]["task_doc"] == str(doc)
    assert [(each["task"], each["name"]) for each in data["pending_tasks"]] == [("1.2", "JWT")]
    assert [each["task"] for each in data["active_agents"]] == ["1.1"]
    put(project, lambda data: data.update(pending_tasks=[]))
    run(project, "done")
    assert [each["task"] for each in state(project)["active_agents"]] == ["1.2"]  # named at the start
    assert workspace(project.root).latest(doc, 10_000) == DOC.encode()
    put(project, lambda data: data["orchestrator"].update(task_doc=str(Path.home() / "other.md")))
    (Path.home() / "other.md").write_text(DOC)
    said = [each.text for each in FORMAT.findings(workspace(project.root))]
    assert any("no run was started from it here" in each for each in said)


def test_an_exceeded_bound_asks_at_the_next_launch(example: HoldfastProject) -> None:
    """R003-31 and I003-12: without configuration, and the model reads why in the launch's reply."""
    put(example, lambda data: data["safety_bounds"].update(cost_so_far="$12.50"))
    launch = Agent(example, "2.2", "task-executor", "Do it.")
    answer = launch.about_to().reply["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    for said in (answer["permissionDecisionReason"], answer["additionalContext"]):
        assert "Cost: $12.50 of $10" in said
    configure('hold = "off"\n')
    assert "Cost at 100% of limit" in Agent(example, "2.2", "task-executor", "Do it.", number=2).about_to().context
    assert state(example)["safety_bounds"]["warnings"] == ["Cost at 75% of limit", "Cost at 100% of limit"]


def test_agents_that_look_after_the_run_count(example: HoldfastProject) -> None:
    """R003-09, R003-11 and R003-13: each supervisor is one check, and the outer review runs while its agent does.

    R003-33: a checkpoint is written before that.
    """
    before = state(example)["supervisor"]["checks_performed"]
    said = agent(example, "2.1", kind="supervisor")
    assert "No task moved" not in said
    found = ("--conflict", "api", "--severity", "low", "--action", "pass", "--resolution", "Fine")
    run(example, "orchestrator", "supervise", "post_task", "--task", "2.1", *found)  # what that agent found
    assert state(example)["supervisor"]["checks_performed"] == before + 1
    run(example, "orchestrator", "supervise", "on_demand", "--task", "2.1")
    assert state(example)["supervisor"]["checks_performed"] == before + 2

    for task in ("2.1", "2.2"):
        run(example, "done", task)
    Agent(example, "3.1", "task-executor", "Do it.", number=6).about_to()
    agent(example, "3.1")
    review = Agent(example, "Look it over", "outer-ralph", "Review.", number=7)
    checkpoints = len(state(example)["checkpoints"])
    review.about_to()
    assert state(example)["orchestrator"]["outer_ralph"] is True
    assert len(state(example)["checkpoints"]) == checkpoints + 1
    review.stopped()
    review.returned()
    assert state(example)["orchestrator"]["outer_ralph"] is False


def test_an_agents_result_is_split(example: HoldfastProject) -> None:
    """Files go into the task's entry, other deliverables are kept beside it, and the next agent gets the context."""
    told = agent(
        example, "2.1", "Ok.\n\nDELIVERABLES:\n- src/api.ts\n- Endpoint docs\n\nCONTEXT_FOR_NEXT: Use the router"
    )
    assert "deliverables: src/api.ts, Endpoint docs" in told
    assert "Context: Use the router" in told
    assert state(example)["completed_tasks"][-1]["files_modified"] == ["src/api.ts"]
    agent(example, "2.2")
    assert "end it with `holdfast done --all`" in agent(example, "3.1")


def test_another_programs_log_and_locks_are_left_alone(example: HoldfastProject) -> None:
    """R003-27: neither is written, and `holdfast doctor` names both."""
    theirs = {"learnings.jsonl": '{"event": "x"}\n', "locks.json": '{"locks": [{"file": "a.ts", "agent": "x"}]}'}
    for name, text in theirs.items():
        (example.root / ".claude" / name).write_text(text)
    configure('locks = "on"\n')
    launch = Agent(example, "2.1", "task-executor", "Do it.")
    launch.about_to()
    launch.started()
    edit = {"file_path": str(example.root / "a.py"), "old_string": "a", "new_string": "b"}
    example.fire("PreToolUse", "PreToolUse-Edit", tool_name="Edit", tool_input=edit, agent_id=launch.run)
    assert "another program" in run(example, "orchestrator", "learn", "pattern", "Look first")
    said = run(example, "doctor", code=1)
    for name, text in theirs.items():
        assert (example.root / ".claude" / name).read_text() == text
        assert f"{name}: is another program's" in said


def test_a_completed_task_can_be_reopened_and_a_run_cancelled(example: HoldfastProject) -> None:
    """I003-10: the sums stay those of the tasks, whatever is undone."""
    run(example, "orchestrator", "task", "2.1", "--cost", "0.25")
    run(example, "update", "--phase", "2.1", "--deliverable", "a.py")
    project = workspace(example.root)
    FORMAT.move(project, lambda run: moves.finish(run, "2.1"), why="finish")
    sums = state(example)["safety_bounds"]
    for status in ("executing", "completed", "cancelled"):
        if status == "completed":
            run(example, "done", "--all")
        if status == "cancelled":
            FORMAT.move(project, lambda run: moves.cancel(run, "The API is gone"), why="cancel")
            assert state(example)["orchestrator"]["status"] == "failed"
            assert notes(example)["cancelled"] == "The API is gone"
        FORMAT.move(project, lambda run: moves.reopen(run, "2.1"), why="reopen")
        assert "cancelled" not in notes(example)
        data = state(example)
        assert (data["orchestrator"]["status"], data["orchestrator"]["end_time"]) == ("executing", None), status
        assert [(each["task"], each["iteration"]) for each in data["active_agents"]] == [("2.1", 2)], status
        assert data["safety_bounds"] == sums, status
        run(example, "orchestrator", "task", "2.1", "--cost", "0.25")
        FORMAT.move(project, lambda run: moves.finish(run, "2.1"), why="finish")
        done = state(example)["completed_tasks"][-1]
        assert (done["cost"], done["iterations"], done["files_modified"]) == ("$0.25", 2, ["a.py"]), status
