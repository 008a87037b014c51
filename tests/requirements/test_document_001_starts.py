"""What document 001 leaves to starts that are no compaction: hints to the user, and a crash (I001-12)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.testing import HoldfastProject
from tests import processes, warmth
from tests.handmade import ME, OTHER
from tests.requirements.document_001 import RESTORED, Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_unfinished_work_is_told_in_600_characters(desk: Desk, source: str) -> None:
    """I001-12: the user reads one line; the model its name, position and next step, with no command to begin."""
    desk.run("start", "A" * 90, "--phase", "B" * 90, session=OTHER)
    desk.project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)

    fired = desk.begin(source)

    assert f"`holdfast next {'a' * 50}` continues it" in fired.context and "`holdfast status aaa" in fired.context
    assert "\n" not in fired.reply["systemMessage"] and "A" * 80 in fired.reply["systemMessage"]
    assert fired.context.startswith("Unfinished workflow in this project.") and RESTORED not in fired.context
    assert all(
        each in fired.context for each in ("A" * 80, "phase 1/1", "Next step: ", "What the user asks comes first.")
    )
    assert len(fired.context) <= 600
    again = desk.begin("resume")
    assert again.context == "", "once in a session"
    assert desk.begin("clear").context == fired.context, "but the model forgets it at /clear"


def test_several_are_a_line_each(desk: Desk) -> None:
    """I001-12: as many as fit in 600 characters, and how many more there are."""
    for number in range(12):
        desk.run("start", f"Work {number} {'x' * 60}", "--phase", "One", session=OTHER)
    desk.project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)

    told = desk.begin("startup").context

    assert told.startswith("Unfinished workflows in this project.") and len(told) <= 600
    shown = [line for line in told.splitlines() if line.startswith('"Work ')]
    assert 2 <= len(shown) < 12 and f"+{12 - len(shown)} more (`holdfast status`)" in told


def test_a_plan_that_no_save_has_taken_over_is_one_line(desk: Desk) -> None:
    """I001-12: its path; afterwards it is a workflow like any other."""
    plan = desk.root / "CLAUDE" / "Plan" / "001-tide" / "PLAN.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# Plan 001: Tide\n\n**Status**: 🔄 In Progress\n\n## Phase 1: Measure\n")

    told = desk.begin("startup").context

    assert told.startswith("Plan in progress in this project.") and "\nCLAUDE/Plan/001-tide/PLAN.md\n" in told
    assert told.endswith('To take it up, run `holdfast start "TITLE" --read PATH` with --phase for each phase.')
    assert "holdfast next" not in told and not (desk.root / "untracked").exists()

    for number in range(2, 20):
        other = plan.parent.with_name(f"{number:03}-tide-{'x' * 30}") / "PLAN.md"
        other.parent.mkdir()
        other.write_text(plan.read_text())
    told = desk.begin("clear").context
    assert " more\n" in told and "holdfast status" not in told and len(told) <= 600
    assert told.endswith('To take one up, run `holdfast start "TITLE" --read PATH` with --phase for each phase.')


def test_the_memory_file_is_seen_before_the_first_compaction(desk: Desk) -> None:
    """R001-21, I001-12: at a start, in `status` and `next`, with the same rules as at PreCompact."""
    looks: dict[str, Callable[[], str]] = {
        "start": lambda: desk.begin("startup").context,
        "status": lambda: desk.run("status").out,
        "next": lambda: desk.run("next", session=ME).out,
    }
    wrong = []
    for name, look in looks.items():
        desk.put("CLAUDE.local.md", f"# Current Workflow State\n\nWorkflow: By {name}\nPhase: 4/10 - SEO Generation\n")
        seen = look()
        wrong += [] if f"By {name}" in seen and "4/10" in seen else [f"{name}: {seen}"]
        desk.run("done", "--all", f"By {name}")
        again = look() if name in ("start", "status") else ""
        wrong += [f"{name} revived it: {again}"] if f"By {name}" in again and "is completed" not in again else []
    assert not wrong, wrong


def test_nobody_at_a_session_is_told_nothing(tmp_path: Path) -> None:
    """A job (`claude -p`) does what it was started for; of older clients the entrypoint tells it."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    command = [sys.executable, "-m", "holdfast", "start", "A", "--phase", "One"]
    processes.run(command, b"", place.environ(), place.root)
    wrong = []
    for variables, told in (
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, True),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, True),
    ):
        for event in ("SessionStart-startup", "UserPromptSubmit"):
            session = f"{event}-{variables}"
            fired = place.fire(place.payload(event, session_id=session), environ=place.environ(**variables))
            if ("Unfinished workflow" in fired.advice) is not told:
                wrong.append(f"{event} {variables}: {fired.advice}")
    assert not wrong


def test_a_session_that_crashed_gets_its_own_workflow_back_on_resume(tmp_path: Path) -> None:
    """I001-12: no SessionEnd and the client's process is gone: full guidance on `resume` of the owning session."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    place.fire(place.payload("SessionStart-startup", session_id=ME), environ=place.environ(CLAUDE_PID=str(gone.pid)))
    command = [sys.executable, "-m", "holdfast", "start", "A", "--phase", "One"]
    processes.run(command, b"", place.environ(CLAUDE_CODE_SESSION_ID=ME), place.root)

    assert RESTORED in place.fire(place.payload("SessionStart-resume", session_id=ME)).advice


def test_a_session_resumed_in_peace_gets_no_guidance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I001-12: it ended properly, or its process still runs, or the workflow is somebody else's: a hint at most."""
    place = processes.make(tmp_path)
    warmth.move_in(place, monkeypatch)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = [sys.executable, "-m", "holdfast", "start", "A", "--phase", "One"]
    for session, process, ends in ((ME, gone.pid, True), (OTHER, os.getpid(), False)):
        environ = place.environ(CLAUDE_PID=str(process))
        place.fire(place.payload("SessionStart-startup", session_id=session), environ=environ)
        processes.run(
            [*command[:-3], f"A {process}", *command[-2:]],
            b"",
            place.environ(CLAUDE_CODE_SESSION_ID=session),
            place.root,
        )
        if ends:  # in this process: on a busy machine 1.5 s, which is all it may take, can be over before one starts
            HoldfastProject(place.root).fire("SessionEnd", "SessionEnd-other", session_id=session)
        resumed = place.fire(place.payload("SessionStart-resume", session_id=session))
        assert RESTORED not in resumed.advice


def test_there_is_no_hint_without_anything_to_go_on_with(desk: Desk) -> None:
    """I001-12: nothing there, another live session's, finished, or too old: not a word."""
    assert "systemMessage" not in desk.begin("startup").reply
    desk.run("start", "A", "--phase", "One", session=OTHER)
    desk.project.fire("UserPromptSubmit", "UserPromptSubmit", session_id=OTHER)
    assert "systemMessage" not in desk.begin("startup").reply
    desk.project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)
    assert "systemMessage" in desk.begin("startup").reply
    desk.run("done", "A", session=OTHER)
    assert "systemMessage" not in desk.begin("startup").reply


def test_several_are_still_one_line(desk: Desk) -> None:
    """I001-12: the newest by name, the others as a number."""
    for name in ("A", "B", "C"):
        desk.run("start", name, "--phase", "One", session=OTHER)
    desk.project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)
    said = desk.begin("startup").reply["systemMessage"]
    assert '"C"' in said
    assert "and 2 more" in said
    assert "\n" not in said


def test_a_job_beside_a_person_gets_no_workflow_that_nobody_owns(tmp_path: Path) -> None:
    """Not by its compaction, an agent that it launches, or an edit. The person's session gets it, or a job alone."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    command = [sys.executable, "-m", "holdfast", "start", "A", "--format", "hybrid", "--phase", "One @builder"]
    processes.run(command, b"", place.environ(), place.root)

    def fire(attended: str, session: str, event: str, **changes: Any) -> str:
        environ = place.environ(CLAUDE_CODE_SESSION_ATTENDED=attended)
        reply = place.fire(place.payload(event, session_id=session, **changes), environ=environ)
        return "" if event.startswith("PreCompact") else reply.advice

    def compacted(attended: str, session: str) -> str:
        fire(attended, session, "PreCompact-auto")
        return fire(attended, session, "SessionStart-compact")

    launch = {"subagent_type": "builder", "description": "One", "prompt": "One"}
    begun = [fire(attended, session, "SessionStart-startup") for attended, session in (("1", ME), ("0", OTHER))]
    assert ["Unfinished workflow" in each for each in begun] == [True, False]
    fire("0", OTHER, "PreToolUse-Agent", tool_name="Agent", tool_input=launch, tool_use_id="toolu_1")
    state = {"file_path": str(place.root / ".claude/state/workflow.json"), "content": ""}
    fire("0", OTHER, "PostToolUse-Write", tool_name="Write", tool_input=state)
    told = compacted("0", OTHER)
    assert RESTORED not in told and "could belong to another live session" in told
    assert RESTORED in compacted("1", ME)
    fire("1", ME, "SessionEnd-other")
    assert RESTORED in compacted("0", OTHER)
