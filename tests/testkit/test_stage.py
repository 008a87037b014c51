"""The stage of the demo and the examples sends events as the client sends them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.commands.demo import narrate
from holdfast.testkit import stage
from holdfast.testkit.client import SESSION
from holdfast.testkit.place import Place
from holdfast.testkit.reply import Heard
from holdfast.testkit.stage import NotShown, Shown, Stage, promise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def empty(tmp_path: Path) -> Stage:
    """A stage without Holdfast; what its settings register is the test's own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    place = Place(tmp_path)
    return Stage(place, place.root)


def register(place: Stage, command: str, **matchers: str | None) -> None:
    """Register a command for events, each with its matcher."""
    hooks: dict[str, Any] = {}
    for event, matcher in matchers.items():
        group = {"hooks": [{"type": "command", "command": command}]}
        hooks[event] = [group if matcher is None else group | {"matcher": matcher}]
    place.write(".claude/settings.json", json.dumps({"hooks": hooks}))


def test_an_event_goes_through_what_the_settings_register_and_their_matchers(empty: Stage) -> None:
    """The client runs nothing for an event that is not registered, or that no matcher selects (client fact §4.2)."""
    register(empty, "echo heard", PreToolUse="Task|Agent", SessionStart="compact")
    assert empty.fire("PreToolUse-Agent").stdout == "heard\n"
    assert empty.fire("PreToolUse-Bash") == Heard("PreToolUse")
    assert empty.fire("SessionStart-compact").stdout == "heard\n"
    assert empty.fire("SessionStart-startup") == Heard("SessionStart")
    assert empty.fire("PreCompact-auto") == Heard("PreCompact")


def test_hooks_get_the_clients_environment_and_nothing_of_ours(empty: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Client fact §4.5: the environment file is named to SessionStart and not to PreCompact."""
    monkeypatch.setenv("OF_WHO_RUNS_THIS", "1")
    register(empty, "env", PreCompact=None, SessionStart=None)
    given = dict(line.split("=", 1) for line in empty.fire("PreCompact-auto").stdout.splitlines())
    assert given["HOME"] == str(empty.home)
    assert given["CLAUDE_PROJECT_DIR"] == str(empty.root)
    assert given["CLAUDE_CODE_SESSION_ID"] == SESSION
    assert given["CLAUDE_PID"] == str(os.getpid())
    assert given["HOLDFAST_SERVER"] == "off", "a server would outlive the stage"
    assert not {"OF_WHO_RUNS_THIS", "CLAUDE_ENV_FILE", "PYTHONPATH"} & set(given)
    for name in ("SessionStart-compact", "Setup-init", "CwdChanged", "FileChanged"):
        register(empty, "env", **{name.split("-")[0]: None})
        assert f"CLAUDE_ENV_FILE={empty.home}/" in empty.fire(name).stdout


def test_a_hook_that_does_not_end_with_0_is_not_shown(empty: Stage) -> None:
    """With what it wrote to stderr."""
    register(empty, "echo it broke >&2; exit 2", Stop=None)
    with pytest.raises(NotShown, match="Stop ends with 0, not 2: it broke"):
        empty.fire("Stop")


def test_a_hook_that_does_not_end_is_not_shown(empty: Stage) -> None:
    """It is ended and named."""
    empty.place.limit_s = 0.2
    register(empty, "exec sleep 60", Stop=None)
    with pytest.raises(NotShown, match=r"Stop ends within 0\.2 seconds"):
        empty.fire("Stop")


def test_a_compaction_is_sent_in_the_clients_order(empty: Stage) -> None:
    """Client-rig: PreCompact, the summariser's SubagentStop, SessionStart, PostCompact."""
    log = empty.home / "log"
    register(
        empty, f"cat >>'{log}'; echo said", PreCompact=None, SubagentStop=None, SessionStart=None, PostCompact=None
    )
    before, after = empty.compact("auto")
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["hook_event_name"] for each in sent] == ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]
    assert (sent[0]["trigger"], sent[1]["agent_type"], sent[2]["source"], sent[3]["trigger"]) == (
        *("auto", "", "compact", "auto"),
    )
    assert (before.stdout, after.stdout) == ("said\n", "said\n")


@pytest.mark.slow
def test_the_command_line_runs_as_the_models_bash_runs_it(tmp_path: Path) -> None:
    """It finds the project by what SessionStart left, for Bash has no CLAUDE_PROJECT_DIR; an error is not shown."""
    made = Place(tmp_path)
    made.root.mkdir()
    place = Stage(made, made.root)
    place.install()
    assert "Started in untracked/workflow-state/" in place.holdfast("start", "From Bash", "--phase", "One")
    assert "From Bash" in place.file(next(place.root.glob("untracked/workflow-state/*/*.json"))).text
    with pytest.raises(NotShown, match=r"holdfast start From Bash ends with 0, not 1: holdfast: .*From Bash"):
        place.holdfast("start", "From Bash")
    assert "From Bash" in place.holdfast("start", "From Bash", code=1), "what it says is worth showing where expected"
    (tmp_path / "other" / ".claude").mkdir(parents=True)
    place.root = tmp_path / "other"
    assert not place.env_file.exists()
    assert "no workflow is in progress" in place.holdfast("status")


def test_a_stage_is_thrown_away() -> None:
    """Project and home go, also when the story breaks off."""
    with pytest.raises(NotShown, match="not shown: this"), stage.opened() as place:
        folder = place.root.parent
        place.write("file.md", "text")
        assert folder in place.home.parents
        promise(True, "that")
        promise(False, "this")
    assert not folder.exists()


def test_a_promise_that_is_not_kept_ends_the_story_with_1(empty: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """What was not shown is printed, with the log; the steps before it stay, the end is not printed."""
    (empty.home / "state").mkdir()
    (empty.home / "state" / "holdfast.log").write_text("a line of the log\n")

    def story() -> Iterator[Shown]:
        yield Shown("First", "nothing")
        promise(False, "the moon")

    with pytest.raises(SystemExit) as ended:
        narrate(empty, story(), "The end.")
    assert ended.value.code == 1
    out = capsys.readouterr().out
    assert re.search(r"1\. First.*not shown: the moon.*a line of the log", out, re.DOTALL)
    assert "The end." not in out
