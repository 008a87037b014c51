"""A session is told each thing once: one guidance, its own to-dos, and hints until they have arrived."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude import claude
from tests.commandline import holdfast
from tests.handmade import ME
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

GONE = 4_194_304  # no process has this number
LIST = "This session's own to-dos:"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project without a workflow."""
    return holdfast_project({})


def run(project: HoldfastProject, *arguments: str) -> str:
    return holdfast(*arguments, root=project.root, session=ME).out


def compact(project: HoldfastProject, **changes: Any) -> str:
    project.fire("PreCompact", "PreCompact-auto", session_id=ME, **changes)
    return project.fire("SessionStart", "SessionStart-compact", session_id=ME, **changes).context


def prompt(project: HoldfastProject, text: str = "Go on.") -> str:
    return project.fire("UserPromptSubmit", "UserPromptSubmit", session_id=ME, prompt=text).context


def called(name: str, given: dict[str, Any], returned: dict[str, Any]) -> str:
    """Return the transcript's lines of a tool call."""
    made = {"type": "tool_use", "id": name, "name": name, "input": given}
    answer = {"type": "tool_result", "tool_use_id": name, "content": "ok"}
    call = {"type": "assistant", "uuid": f"{name}-a", "message": {"role": "assistant", "content": [made]}}
    result = {"type": "user", "uuid": f"{name}-u", "message": {"role": "user", "content": [answer]}}
    return "".join(f"{json.dumps(each)}\n" for each in (call, result | {"toolUseResult": returned}))


@pytest.mark.parametrize("tool", ["TodoWrite", "TaskCreate"])
def test_the_sessions_own_to_dos_come_back_beside_a_workflow(
    project: HoldfastProject, tmp_path: Path, tool: str
) -> None:
    """Below the workflow's, without those that stand for its phases, and without secrets."""
    run(project, "start", "User auth", "--phase", "Design", "--phase", "Build")
    secret = "sk-ant-api03-" + "a" * 40
    words = ["write the lexer", "Design", f"use {secret}"]
    if tool == "TodoWrite":
        items = [{"content": each, "status": "pending", "activeForm": each} for each in words]
        text = called(tool, {"todos": items}, {"newTodos": items})
    else:
        results = {each: {"task": {"id": str(number), "subject": each}} for number, each in enumerate(words)}
        text = "".join(
            called(tool, {"subject": each}, results[each]).replace(f'"{tool}-', f'"{tool}{number}-')
            for number, each in enumerate(words)
        )
    path = tmp_path / f"{ME}.jsonl"
    path.write_text(text)

    told = compact(project, transcript_path=str(path))

    assert told.split(f"{LIST}\n")[1].startswith("- [ ] write the lexer\n- [ ] use [")
    assert secret not in told
    (full,) = (project.root / ".claude" / "holdfast").glob("*.md")
    assert f"{LIST}\n- [ ] write the lexer\n" in full.read_text()


def test_a_slash_command_gives_guidance_and_answers_no_compaction(project: HoldfastProject) -> None:
    """It isn't given again, and the compaction before it got nothing from it."""
    project.write({"features/login.md": "# Login\n\n- [ ] Add the form\n"})
    compact(project)
    run(project, "skills", "start", "dev", "features/login.md")
    assert "WORKFLOW RESTORED\n" in prompt(project, "/dev features/login.md")

    log = run(project, "log")

    assert "restored to Claude: " in log
    assert "given again" not in log


def test_a_resumed_session_gets_one_text_and_no_old_compaction(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash: one text, nothing at the prompt, and no compaction that never came."""
    project.write({"docs/a.md": "a"})
    process = [str(GONE)]
    monkeypatch.setattr(claude, "process", lambda environ: process[0])
    project.fire("SessionStart", "SessionStart-startup", session_id=ME)
    phases = ("--phase", "Build it @builder", "--phase", "Test it @tester")
    run(project, "start", "Calculator", "--format", "hybrid", *phases, "--read", "docs/a.md")
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    agent = Agent(project, "Build it", session=ME)
    agent.about_to()
    agent.launched()
    process[0] = str(os.getpid())

    text = project.fire("SessionStart", "SessionStart-resume", session_id=ME).context

    assert text.startswith("WORKFLOW RESTORED\n")
    assert prompt(project) == ""
    assert "compaction completed" not in run(project, "log")
