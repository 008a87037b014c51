"""What document 001 leaves to starts that are no compaction: hints to the user, and a crash (I001-12)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

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


@pytest.mark.parametrize("source", ["startup", "clear", "fork"])
def test_unfinished_work_is_a_one_line_hint_to_the_user(desk: Desk, source: str) -> None:
    """I001-12: at startup and others the user reads one line, the model nothing."""
    desk.run("start", "A", "--phase", "One", session=OTHER)
    desk.project.fire("SessionEnd", "SessionEnd-other", session_id=OTHER)

    fired = desk.begin(source)

    assert fired.context == ""
    assert "A" in fired.reply.get("systemMessage", "")
    assert "\n" not in fired.reply["systemMessage"]


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
