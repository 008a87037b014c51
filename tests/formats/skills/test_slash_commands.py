"""A slash command brings its workflow back to the session that gives it, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.handmade import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

FEATURE = "features/auth/user-login.md"
FILE = "# User login\n\n- [ ] Add model\n- [ ] Add login\n"


def write(root: Path, name: str = FEATURE, text: str = FILE) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a run of /dev at its first task."""
    made = holdfast_project({})
    write(made.root)
    holdfast("skills", "start", "dev", FEATURE, root=made.root)
    holdfast("skills", "phase", "create_branch", root=made.root)
    holdfast("skills", "task", "1", "--start", root=made.root)
    holdfast("skills", "tdd", "red", root=made.root)
    made.fire("UserPromptSubmit", prompt="hello")  # the session is offered it
    return made


@pytest.mark.parametrize(
    "command",
    [f"/dev {FEATURE}", "/dev features/auth/", f"/dev ./{FEATURE}", f'/dev "{FEATURE}"', f"/team:dev {FEATURE}"],
)
def test_a_slash_command_resumes_its_workflow_once(project: HoldfastProject, command: str) -> None:
    """R004-30, I004-17: by the exact key, else by the feature; the second time the session knows it."""
    answer = project.fire("UserPromptSubmit", prompt=f"{command}\nplease")

    answer.assert_advised("Resuming task 1/2, currently in RED phase")
    project.fire("UserPromptSubmit", prompt=command).assert_silent(
        "require_reading", "restore_workflow", "sync_todos", "track_agents"
    )


@pytest.mark.parametrize(
    "prompt", [f"/tdd {FEATURE}", "/dev features/other.md", f"dev {FEATURE}", f"See /dev {FEATURE}", "/dev", "/dev \n"]
)
def test_no_other_prompt_does(project: HoldfastProject, prompt: str) -> None:
    """Another skill, another feature, and a mention."""
    project.fire("UserPromptSubmit", prompt=prompt).assert_silent(
        "require_reading", "restore_workflow", "sync_todos", "track_agents"
    )


def test_several_workflows_of_a_folder_are_listed(project: HoldfastProject) -> None:
    """The user says which one; each is a short line, whatever its title, and those beyond ten are counted."""
    for number in range(10):
        write(project.root, f"features/auth/more-{number}.md", f"# Log out {number} {'x' * 300}\n")
        holdfast("skills", "start", "dev", f"features/auth/more-{number}.md", root=project.root)

    answer = project.fire("UserPromptSubmit", prompt="/dev features/auth")

    answer.assert_advised("Several unfinished workflows fit", "Log out 8", "+1 more")
    assert max(map(len, answer.context.splitlines())) < 200
    assert len(answer.context.splitlines()) == 14


def test_another_live_sessions_workflow_is_only_named(project: HoldfastProject) -> None:
    """With the command that moves it here."""
    project.fire("SessionStart", "SessionStart-startup", session_id=OTHER)
    holdfast("skills", "task", "2", "--start", root=project.root, session=OTHER)

    answer = project.fire("UserPromptSubmit", prompt=f"/dev {FEATURE}")

    assert f"--session {project.session[:8]} --anyway` moves it here" in str(answer.reply)
    assert "Resuming task" not in str(answer.reply)


def test_an_agent_is_told_its_task_with_its_part(project: HoldfastProject) -> None:
    """SubagentStart: also the part of the cycle that is due."""
    call = {"tool_use_id": "toolu_1", "tool_name": "Agent"}
    given = {"subagent_type": "general-purpose", "description": "Task 1/2", "prompt": "Task 1/2\n\nDo it."}
    project.fire("SessionStart", "SessionStart-startup")
    holdfast("claim", root=project.root, session=project.session)
    project.fire("PreToolUse", "PreToolUse-Agent", tool_input=given, **call)

    answer = project.fire("SubagentStart", agent_type="general-purpose")

    answer.assert_advised("Task 1/2: Add model", "RED (write a failing test)")
