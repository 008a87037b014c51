"""The pytest plugin for handler authors gives the same results as real events."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import HoldfastError, advise, change_input, deny, hookimpl, log, paths
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


def trusted(make: Make, handler: object, **files: str) -> HoldfastProject:
    """Return a project whose one handler is trusted, with other files in its `.claude`."""
    project = make({".claude/handlers/x.py": handler} | {f".claude/{name}.toml": text for name, text in files.items()})
    project.trust()
    return project


def test_a_tree_is_written_trusted_fired_at_and_asserted_about(holdfast_project: Make) -> None:
    """Write a tree, trust it, fire an event, assert the outcome: as the plugin's own text says."""
    project = holdfast_project({".claude/handlers/guard.py": GUARD})

    project.trust()

    bash(project, "printenv").assert_denied("secrets", "print")
    bash(project, "ls").assert_silent()
    bash(project, "ls").assert_silent("guard")
    project.fire("PreToolUse", tool_name="Read", tool_input={}).assert_not_called()


def test_a_function_of_the_test_can_be_the_handler(holdfast_project: Make) -> None:
    """It is written out as a handler file with Holdfast's names imported. What wasn't said isn't found, but shown."""
    project = trusted(holdfast_project, on_pre_tool_use)
    advised, denied, failed = bash(project, "ls"), bash(project, "refuse"), bash(project, "fail")

    advised.assert_advised("saw", "ls")
    assert advised.specific["updatedInput"] == {"command": "LS"}
    assert advised.reply["hookSpecificOutput"] == advised.specific
    denied.assert_denied("refused")
    assert len(failed.faults) == 1
    assert failed.faults[0].startswith("project/x.py: on_pre_tool_use: raised ValueError: fail (line ")
    with pytest.raises(AssertionError):
        failed.assert_silent()
    with pytest.raises(AssertionError, match=r"\['cat'\] not in 'saw ls'"):
        advised.assert_advised("saw", "cat")
    with pytest.raises(AssertionError, match="saw ls"):
        advised.assert_denied()
    with pytest.raises(AssertionError, match="never"):
        denied.assert_denied("never")
    with pytest.raises(AssertionError):
        denied.assert_advised("refused")
    with pytest.raises(AssertionError, match="the reply is empty"):
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
    project = trusted(holdfast_project, text)

    assert project.fire("FileChanged", event="unlink").reply["systemMessage"] == "unlink"


def test_on_delivered_is_called_for_what_was_said(holdfast_project: Make) -> None:
    """A delivery is noted as in the session."""
    text = "from holdfast import *\n@hookimpl\ndef on_stop(context):\n"
    text += "    return [advise('x'), None]\n@hookimpl\ndef on_session_start(context):\n"
    text += "    return advise('x', on_delivered=lambda: (context.root / 'noted').write_text('yes'))\n"
    project = trusted(holdfast_project, text)

    project.fire("SessionStart").assert_advised("x")

    assert (project.root / "noted").read_text() == "yes"
    assert "force_turn" in project.fire("Stop").faults[0]


def test_the_configured_time_limit_counts(holdfast_project: Make) -> None:
    """`handlers.timeout` of the trusted project's configuration interrupts."""
    text = "import time\nfrom holdfast import *\n@hookimpl\ndef on_setup(): time.sleep(60)\n"
    project = trusted(holdfast_project, text, holdfast="[handlers]\ntimeout = 0.1\n")

    assert project.fire("Setup").faults == ["project/x.py: on_setup: took longer than its 0.1 s and was interrupted"]


def test_the_usual_time_limit_interrupts_no_test(holdfast_project: Make) -> None:
    """A test of yours must hold on a busy machine: nothing of ours rings while its handler runs."""
    text = "import signal\nfrom holdfast import *\n@hookimpl\n"
    text += "def on_setup(): return advise(str(signal.getitimer(signal.ITIMER_REAL)[0]))\n"
    project = trusted(holdfast_project, text)

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
    text = "def test_it(holdfast_project):\n    holdfast_project({}).fire('Stop').assert_silent('track_agents')\n"
    (tmp_path / "test_theirs.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)

    assert done.returncode == 0, done.stdout


@each_row(
    "name, files, trusted, event, fields, words",
    [
        (
            "untrusted",
            {".claude/handlers/g.py": GUARD},
            False,
            "PreToolUse",
            {},
            "project/g.py of this project is not trusted",
        ),
        ("event", {}, True, "PreToolUze", {}, "no event 'PreToolUze'; did you mean PreToolUse"),
        ("case", {}, True, "pretooluse", {}, "no event 'pretooluse'"),
        ("field", {}, True, "PreToolUse", {"tool_nam": "Bash"}, "no field 'tool_nam'; did you mean tool_name"),
        ("no Python", {".claude/handlers/g.py": "def (:"}, True, "PreToolUse", {}, "cannot be read as Python"),
        (
            "function",
            {".claude/handlers/g.py": GUARD.replace("_use", "_usee")},
            True,
            "Stop",
            {},
            "did you mean on_pre_tool_use",
        ),
        (
            "edited",
            {".claude/handlers/g.py": GUARD},
            "then edited",
            "PreToolUse",
            {},
            "was changed since you trusted it",
        ),
    ],
)
def test_a_mistake_is_no_silence(
    holdfast_project: Make, name: str, files: dict[str, str], trusted: object, event: str, fields: Any, words: str
) -> None:
    """Whoever asserts that nothing is said learns that nothing could be."""
    project = holdfast_project(files)
    if trusted:
        project.trust()
    if trusted == "then edited":
        project.write({path: text + "#" for path, text in files.items()})

    with pytest.raises(HoldfastError, match=words):
        project.fire(event, **fields)


def test_what_is_off_may_have_a_fault(holdfast_project: Make) -> None:
    """A test of another handler doesn't mind."""
    off = "OFF_BY_DEFAULT = True\n" + GUARD.replace("_use", "_usee")
    project = holdfast_project({".claude/handlers/g.py": GUARD, ".claude/handlers/off.py": off})
    project.trust()
    bash(project, "ls").assert_silent("g")


@each_row(
    "path", ["handlers/guard.py", ".claude/handlers/in/guard.py", ".claude/handlers/guard.txt", ".claude/guard.py"]
)
def test_a_handler_that_was_not_called_is_not_silent(holdfast_project: Make, path: str) -> None:
    """In a wrong folder, off, or with a matcher that selects something else: nothing was shown."""
    for text in (GUARD, "OFF_BY_DEFAULT = True\n" + GUARD, GUARD.replace("Bash", "Edit")):
        project = holdfast_project({path if text == GUARD else ".claude/handlers/guard.py": text})
        project.trust()
        fired = project.fire("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
        with pytest.raises(AssertionError, match="a handler of the project wasn't called"):
            fired.assert_silent()
        with pytest.raises(AssertionError, match="guard wasn't called"):
            fired.assert_called("guard")
        fired.assert_not_called()
        fired.assert_not_called("guard")
        (project.root / ".claude/handlers/guard.py").unlink(missing_ok=True)


def test_a_guard_that_failed_denied_nothing(holdfast_project: Make) -> None:
    """The refusal in its place names its file, which the words of an assertion may be part of."""
    project = holdfast_project({".claude/handlers/no_secrets.py": GUARD})
    project.trust()

    fired = project.fire("PreToolUse", tool_name="Bash", tool_input={})

    assert "no_secrets" in fired.specific["permissionDecisionReason"]
    with pytest.raises(AssertionError):
        fired.assert_denied("secrets")
    with pytest.raises(AssertionError):
        fired.assert_not_called()
    with pytest.raises(AssertionError, match="the reply is empty"):
        bash(project, "ls").assert_advised()


def test_a_compaction_is_two_events(holdfast_project: Make) -> None:
    """What one saves, the other restores."""
    text = "from holdfast import *\n@hookimpl\ndef on_pre_compact(event, context):\n"
    text += "    (context.root / 'notes').write_text('all')\n    return instruct_summary(event.trigger)\n"
    text += "@hookimpl(match='compact')\ndef on_session_start(context):\n"
    text += "    return advise((context.root / 'notes').read_text())\n"
    project = holdfast_project({".claude/handlers/keep.py": text})
    project.trust()

    before, after = project.compact("auto")

    assert "auto" in before.stdout
    after.assert_advised("all")
    assert "manual" in project.compact()[0].stdout


def test_time_passes_only_on_request(holdfast_project: Make) -> None:
    """For handlers and for Holdfast; the test's own clock goes on as it is."""
    text = "import time\nfrom time import time as now\nfrom holdfast import *\nfrom holdfast import clock\n@hookimpl\n"
    text += "def on_setup(): return advise(f'{time.time()} {now()} {clock.now().timestamp()}')\n"
    project = trusted(holdfast_project, text)
    real = time.time()

    project.advance(3_600)
    first = [float(each) for each in project.fire("Setup").context.split()]
    project.advance(60.5)
    second = [float(each) for each in project.fire("Setup").context.split()]

    assert max(first) - min(first) < 0.001
    assert 0 <= first[0] - real - 3_600 < 3_600
    assert [round(b - a, 3) for a, b in zip(first, second, strict=True)] == [60.5] * 3
    assert time.time() < first[0]


def test_a_handler_has_a_home(holdfast_project: Make, tmp_path: Path) -> None:
    """As in life, and in the test's own folder."""
    text = "from holdfast import *\n@hookimpl\ndef on_setup(context): return advise(context.environ['HOME'])\n"
    project = trusted(holdfast_project, text)

    home = project.fire("Setup").context

    assert home == str(tmp_path / "home")
    assert (tmp_path / "home").is_dir()
