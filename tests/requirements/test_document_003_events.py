"""A run is kept by events: agents that are launched and end move its tasks, without the model's help."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.commandline import holdfast
from tests.requirements.document_003 import DOCUMENT, executor, state
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a run that is being executed by its session."""
    made = holdfast_project({"auth.md": DOCUMENT})
    for words in (("start", str(made.root / "auth.md")), ("approve",)):
        holdfast("orchestrator", *words, root=made.root, session=made.session)
    return made


def test_an_agent_is_told_its_task_its_criteria_and_learnings(project: HoldfastProject) -> None:
    """Once, and as data."""
    holdfast("orchestrator", "learn", "pattern", "Reuse the stack", "--task", "1.2", root=project.root)
    agent = executor(project, "1.1")
    agent.about_to()

    said = agent.started().context

    for words in ("Task 1.1: Update the model", "- migration tested", "1.2 pattern: Reuse the stack", "1/2"):
        assert words in said
    assert "Create the endpoints" not in said
    agent.started().assert_silent()


def test_what_an_agent_edited_is_listed_with_its_task(project: HoldfastProject) -> None:
    """In their order, from its own transcript; files outside the project are not the task's."""
    agent = executor(project, "1.1")
    agent.about_to()
    transcript = project.root / "agent.jsonl"
    files = (project.root / "src/model.py", "/elsewhere/x.py", project.root / "src/model.py", project.root / "b.py")
    transcript.write_text(
        "".join(f"{json.dumps(each)}\n" for n, path in enumerate(files) for each in edit(n, str(path)))
    )
    agent.fire_aside(
        "SubagentStop", **agent._whole, last_assistant_message="Done.", agent_transcript_path=str(transcript)
    )
    agent.returned("Done.")

    assert state(project)["completed_tasks"][0]["files_modified"] == ["src/model.py", "b.py"]


def edit(number: int, path: str) -> list[dict[str, Any]]:
    """Return the entries of a call that wrote a file, as they stand in a subagent's transcript."""
    use = f"toolu_{number}"
    call = {"type": "tool_use", "id": use, "name": "Write", "input": {"file_path": path, "content": "x"}}
    result = {"type": "tool_result", "tool_use_id": use, "content": "ok"}
    common = {"isSidechain": True, "agentId": "a1"}
    return [
        {**common, "type": "assistant", "uuid": f"a{number}", "message": {"role": "assistant", "content": [call]}},
        {
            **common,
            "type": "user",
            "uuid": f"u{number}",
            "message": {"role": "user", "content": [result]},
            "toolUseResult": {"type": "create", "filePath": path, "content": "x"},
        },
    ]


@pytest.mark.parametrize("background", [False, True])
def test_a_supervisor_is_listed_while_it_works_and_starts_no_task(project: HoldfastProject, background: bool) -> None:
    """Even if it is launched with a task's id alone; its end completes nothing."""
    executor(project, "1.1").about_to()
    agent = Agent(project, "Task 1.2", "workflow:supervisor", "Check it.", number=2)
    agent.about_to()
    listed = [(each["type"], each["task"]) for each in state(project)["active_agents"]]
    assert listed == [("task-executor", "1.1"), ("supervisor", "1.2")]

    if background:
        agent.launched()
        agent.stopped()
        agent.notified()
    else:
        agent.stopped()
        agent.returned()

    assert [each["type"] for each in state(project)["active_agents"]] == ["task-executor"]
    assert state(project)["completed_tasks"] == []
    assert "1.2" in [each["task"] for each in state(project)["pending_tasks"]]


def test_an_agent_of_another_kind_is_not_listed(project: HoldfastProject) -> None:
    """It is none of the run's."""
    before = state(project)
    agent = Agent(project, "Where is the parser?", "Explore", "Find it.", number=1)
    agent.about_to()
    agent.stopped()
    agent.returned()
    assert state(project) == before


@pytest.mark.parametrize("name", ["PreCompact-auto", "PreCompact-manual"])
def test_a_compaction_gives_the_run_back(project: HoldfastProject, name: str) -> None:
    """Status, phase, task, iteration, agents, bounds, learnings, the last intervention, and the verbs."""
    executor(project, "1.1").about_to()
    run = ("--conflict", "api", "--severity", "low", "--action", "pass", "--resolution", "It was fine")
    holdfast("orchestrator", "supervise", "pre_task", *run, root=project.root, session=project.session)
    holdfast("orchestrator", "learn", "insight", "Look first", root=project.root, session=project.session)
    project.fire("PreCompact", name)

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
