"""The pytest plugin for handler authors gives the same results as real events."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import advise, change_input, deny, hookimpl, log, paths
from holdfast.testkit import recorded
from tests import client_output
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired, HoldfastProject

    Make = Callable[..., HoldfastProject]

GUARD = """
from holdfast import hookimpl, deny
@hookimpl(match="Bash", strict=True)
def on_pre_tool_use(event):
    if "printenv" in event.tool_input["command"]:
        return deny("this would print secrets")
"""


@hookimpl(match="Bash")
def on_pre_tool_use(event: Any) -> Any:
    """Answer by what the command says."""
    command = event.tool_input["command"]
    if command == "fail":
        raise ValueError(command)
    if command == "refuse":
        return deny("refused")
    return [advise(f"saw {command}"), change_input({"command": command.upper()})]


def bash(project: HoldfastProject, command: str) -> Fired:
    """Fire a Bash call."""
    return project.fire("PreToolUse", tool_name="Bash", tool_input={"command": command})


def test_a_tree_is_written_trusted_fired_at_and_asserted_about(holdfast_project: Make) -> None:
    """Write a tree, trust it, fire an event, assert the outcome: as the plugin's own text says."""
    project = holdfast_project({".claude/handlers/guard.py": GUARD})
    bash(project, "printenv").assert_silent()

    project.trust()

    bash(project, "printenv").assert_denied("secrets", "print")
    bash(project, "ls").assert_silent()
    project.fire("PreToolUse", tool_name="Read", tool_input={}).assert_silent()


def test_a_function_can_be_the_handler(holdfast_project: Make) -> None:
    """A function of the test itself is written out as a handler file, with Holdfast's names imported."""
    project = holdfast_project({".claude/handlers/x.py": on_pre_tool_use})
    project.trust()

    fired = bash(project, "ls")

    fired.assert_advised("saw", "ls")
    assert fired.specific["updatedInput"] == {"command": "LS"}
    assert fired.reply["hookSpecificOutput"] == fired.specific
    bash(project, "refuse").assert_denied("refused")


def test_a_failing_handler_shows_as_a_fault(holdfast_project: Make) -> None:
    """A handler that raises is named with what it raised; silence is not asserted over it."""
    project = holdfast_project({".claude/handlers/x.py": on_pre_tool_use})
    project.trust()

    fired = bash(project, "fail")

    assert len(fired.faults) == 1
    assert fired.faults[0].startswith("project/x.py: on_pre_tool_use: raised ValueError: fail (line ")
    with pytest.raises(AssertionError):
        fired.assert_silent()


def test_assertions_fail_for_what_was_not_answered(holdfast_project: Make) -> None:
    """What was not said is not found, and the message shows what was."""
    project = holdfast_project({".claude/handlers/x.py": on_pre_tool_use})
    project.trust()
    advised, denied = bash(project, "ls"), bash(project, "refuse")

    with pytest.raises(AssertionError, match=r"\['cat'\] not in 'saw ls'"):
        advised.assert_advised("saw", "cat")
    with pytest.raises(AssertionError, match="saw ls"):
        advised.assert_denied()
    with pytest.raises(AssertionError, match="never"):
        denied.assert_denied("never")
    with pytest.raises(AssertionError):
        denied.assert_advised("refused")
    with pytest.raises(AssertionError, match="nothing was said"):
        project.fire("PreToolUse", tool_name="Read", tool_input={}).assert_denied()


@each_row("name", recorded.names())
def test_every_recorded_payload_can_be_fired(holdfast_project: Make, name: str) -> None:
    """Any recorded payload goes through the shipped handlers without a fault, with an acceptable answer."""
    project = holdfast_project()
    event = name.partition("-")[0]

    fired = project.fire(event, recorded=name)

    assert fired.faults == []
    client_output.assert_acceptable(event, fired.stdout)


def test_a_payload_may_have_a_field_called_event(holdfast_project: Make) -> None:
    """FileChanged has a field `event`, which can be set like any other."""
    text = "from holdfast import *\n@hookimpl\ndef on_file_changed(event): return tell_user(event.event)\n"
    project = holdfast_project({".claude/handlers/x.py": text})
    project.trust()

    assert project.fire("FileChanged", event="unlink").reply["systemMessage"] == "unlink"


def test_on_delivered_is_called_for_what_was_said(holdfast_project: Make) -> None:
    """A delivery is noted as in the session."""
    text = "from holdfast import *\n@hookimpl\ndef on_stop(context):\n"
    text += "    return [advise('x'), None]\n@hookimpl\ndef on_session_start(context):\n"
    text += "    return advise('x', on_delivered=lambda: (context.root / 'noted').write_text('yes'))\n"
    project = holdfast_project({".claude/handlers/x.py": text})
    project.trust()

    project.fire("SessionStart").assert_advised("x")

    assert (project.root / "noted").read_text() == "yes"
    assert "force_turn" in project.fire("Stop").faults[0]


def test_the_configured_time_limit_counts(holdfast_project: Make) -> None:
    """`handlers.timeout` of the trusted project's configuration interrupts."""
    text = "import time\nfrom holdfast import *\n@hookimpl\ndef on_setup(): time.sleep(60)\n"
    config = "[handlers]\ntimeout = 0.1\n"
    project = holdfast_project({".claude/handlers/x.py": text, ".claude/holdfast.toml": config})
    project.trust()

    assert project.fire("Setup").faults == ["project/x.py: on_setup: took longer than its 0.1 s and was interrupted"]


def test_the_usual_time_limit_interrupts_no_test(holdfast_project: Make) -> None:
    """A test of yours must hold on a busy machine: nothing of ours rings while its handler runs."""
    text = "import signal\nfrom holdfast import *\n@hookimpl\n"
    text += "def on_setup(): return advise(str(signal.getitimer(signal.ITIMER_REAL)[0]))\n"
    project = holdfast_project({".claude/handlers/x.py": text})
    project.trust()

    rings_in = float(project.fire("Setup").context)

    assert rings_in == 0 or rings_in > 5.0, "a timer of whoever runs the tests may be set"


def test_contents_are_written_as_they_are(holdfast_project: Make) -> None:
    """Texts, bytes and JSON values become files, and folders are made."""
    project = holdfast_project({"a/b.txt": "ä", "c.bin": b"\xff", "d.json": {"k": ["ö"]}, "e.json": [1]})

    assert (project.root / "a" / "b.txt").read_bytes() == "ä".encode()
    assert (project.root / "c.bin").read_bytes() == b"\xff"
    assert (project.root / "d.json").read_text() == '{\n  "k": [\n    "ö"\n  ]\n}\n'
    assert (project.root / "e.json").read_text() == "[\n  1\n]\n"


def test_what_holdfast_stores_lies_in_the_tests_own_folder(holdfast_project: Make, tmp_path: Path) -> None:
    """Trust, log and ledger lie below tmp_path."""
    holdfast_project()
    log.write("info", "here")

    for folder in (paths.config_dir(), paths.state_dir(), paths.log_file()):
        assert folder.is_relative_to(tmp_path)
    assert paths.log_file().exists()


@pytest.mark.slow
def test_the_fixture_is_there_wherever_holdfast_is_installed(tmp_path: Path) -> None:
    """A handler author's test needs no conftest: installing Holdfast is enough."""
    text = "def test_it(holdfast_project):\n    holdfast_project({}).fire('Stop').assert_silent()\n"
    (tmp_path / "test_theirs.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)

    assert done.returncode == 0, done.stdout
