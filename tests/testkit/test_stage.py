"""The stage of the demo and the examples sends events as the client sends them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.commands.narration import tell
from holdfast.process.trial import Ended
from holdfast.testkit import recorded, stage
from holdfast.testkit.acts import NotShown, Panel, Shown, promise
from holdfast.testkit.client import SESSION
from holdfast.testkit.place import Place
from holdfast.testkit.reply import Heard
from holdfast.testkit.stage import Stage

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


def hear(event: str, *printed: str) -> Heard:
    """Return what the client reads where hooks printed something."""
    return Heard(event, tuple(Ended(0, stdout, "", 0.0) for stdout in printed))


def payload(heard: Heard) -> dict[str, Any]:
    """Return what a registered `cat` was sent."""
    sent: dict[str, Any] = json.loads(heard.stdout)
    return sent


def test_an_event_goes_through_what_the_settings_register_and_their_matchers(empty: Stage) -> None:
    """The client runs nothing for an event that is not registered, or that no matcher selects (client fact §4.2)."""
    register(empty, "echo heard", PreToolUse="Task|Agent", SessionStart="compact")
    assert empty.fire("PreToolUse-Agent").stdout == "heard\n"
    assert empty.fire("PreToolUse-Bash") == Heard("PreToolUse")
    assert empty.fire("SessionStart-compact").stdout == "heard\n"
    assert empty.fire("SessionStart-startup") == Heard("SessionStart")
    assert empty.fire("PreCompact-auto") == Heard("PreCompact")


def test_a_payload_is_the_recorded_one_in_this_project(empty: Stage) -> None:
    """Session, folder and transcript are the stage's own, changes are set, all else is as it was recorded."""
    register(empty, "cat", PreToolUse=None)
    sent = payload(empty.fire("PreToolUse-Bash", tool_use_id="toolu_mine"))
    own = {"session_id": SESSION, "cwd": str(empty.root), "transcript_path": "", "tool_use_id": "toolu_mine"}
    assert sent == recorded.load("PreToolUse-Bash") | own


def test_a_payload_ends_with_a_line_break_and_stdin_is_closed(empty: Stage) -> None:
    """Client fact §0: one JSON object and a line break, then the end."""
    register(empty, "wc -l", Stop=None)
    assert empty.fire("Stop").stdout.strip() == "1"


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


def test_all_commands_of_an_event_are_heard_in_their_order(empty: Stage) -> None:
    """The client runs each that a matcher selects, of the user's settings and the project's; the same one once."""
    hooks = [{"hooks": [{"type": "command", "command": f"echo {word}"}]} for word in ("one", "two")]
    empty.write(".claude/settings.json", json.dumps({"hooks": {"Stop": hooks}}))
    assert empty.fire("Stop").stdout == "one\ntwo\n"
    hooks[1:] = [{"hooks": [{"type": "command", "command": "echo zero"}]}]
    empty.place.write(".claude/settings.json", json.dumps({"hooks": {"Stop": hooks}}), empty.home)
    assert empty.fire("Stop").stdout == "one\nzero\ntwo\n"


def test_the_log_is_shown_from_its_end(empty: Stage) -> None:
    """What went wrong was written last."""
    (empty.home / "holdfast.log").write_text("".join(f"line {number}\n" for number in range(30)))
    assert empty.log() == [f"line {number}" for number in range(10, 30)]


def test_an_install_that_leaves_the_models_bash_without_the_project_is_not_shown(
    empty: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line would work on nothing from there."""
    monkeypatch.setattr(Place, "install", lambda *_: Ended(0, "", "", 0.0))
    empty.write(".claude/settings.json", '{"hooks": {}}')
    with pytest.raises(NotShown, match="Bash tool can call the command line"):
        empty.install()


def test_what_the_model_reads_is_told_from_what_the_client_reads() -> None:
    """Plain text reaches the summariser, `additionalContext` the model, `updatedInput` the tool."""
    said = {"hookEventName": "PreToolUse", "additionalContext": "for the model", "updatedInput": {"todos": []}}
    heard = hear("PreToolUse", json.dumps({"hookSpecificOutput": said}))
    assert (heard.context, heard.changed_input) == ("for the model", {"todos": []})
    assert (hear("PreCompact", "plain text").context, hear("PreCompact", "plain text").changed_input) == ("", {})
    assert hear("Stop", json.dumps({"systemMessage": "for the user"})).context == ""


def test_plain_text_reaches_the_model_on_two_events() -> None:
    """The client takes broken JSON as text, too. Each hook's text is a string of its own."""
    assert hear("SessionStart", " plain text\n", "{broken", "{}", "").told == ("plain text", "{broken")
    assert hear("UserPromptSubmit", "plain text").context == "plain text"
    assert hear("Stop", "plain text", "{broken").told == ()


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


def test_the_signals_of_an_agent_belong_together(empty: Stage) -> None:
    """One call id and one run id through all of them, and each agent has its own."""
    events = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop", "StopFailure")
    register(empty, "cat", **dict.fromkeys(events))
    agent, other = (empty.agent("builder", "Build", f"Build {number}.") for number in (1, 2))
    launched, returned, failed = (
        payload(heard) for heard in (agent.about_to(), agent.returned("Built."), agent.failed("529"))
    )
    for sent in (launched, returned, failed):
        assert sent["tool_name"] == "Agent"
        assert sent["tool_use_id"] == launched["tool_use_id"]
        asked = {"description": "Build", "prompt": "Build 1.", "subagent_type": "builder"}
        assert sent["tool_input"].items() >= asked.items()
    for sent in (payload(agent.started()), payload(agent.stopped("Built.")), payload(agent.died("529"))):
        assert (sent["agent_id"], sent["agent_type"]) == (returned["tool_response"]["agentId"], "builder")
    assert returned["tool_response"]["content"] == [{"type": "text", "text": "Built."}]
    assert failed["error"] == "529"
    ours = {launched["tool_use_id"], agent.run}
    assert not ours & {payload(other.about_to())["tool_use_id"], other.run}


def test_an_agent_in_the_background_reports_back_by_a_prompt(empty: Stage) -> None:
    """Client fact §3.4: the `<task-notification>` names call and run; nothing recorded is left of another agent."""
    register(empty, "cat", PostToolUse=None, UserPromptSubmit=None)
    agent = empty.agent("Explore", "Check links", "Open every link.", background=True)
    sent = payload(agent.launched())
    assert (sent["tool_response"]["status"], sent["tool_response"]["agentId"]) == ("async_launched", agent.run)
    prompt = payload(agent.notified(words="All links work."))["prompt"]
    assert f"<task-id>{agent.run}</task-id>\n<tool-use-id>{sent['tool_use_id']}</tool-use-id>" in prompt
    assert "<result>All links work.</result>" in prompt
    was = recorded.load("PostToolUse-Agent-background")
    assert was["tool_use_id"] not in prompt
    assert "Check links" in prompt
    assert was["tool_input"]["description"] not in prompt
    assert was["tool_response"]["agentId"] not in prompt


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
    assert "There is no workflow" in place.holdfast("list")


def test_a_file_is_looked_at_from_its_beginning(empty: Stage) -> None:
    """What is left out is counted; what is not there is not shown."""
    empty.write("deep/down.md", "one\ntwo\nthree\n\n")
    assert empty.file("deep/down.md") == Panel("deep/down.md", "one\ntwo\nthree")
    assert empty.file("deep/down.md", lines=3).text == "one\ntwo\nthree"
    assert empty.file(empty.root / "deep" / "down.md", lines=1) == Panel("deep/down.md", "one\n… 2 more lines")
    with pytest.raises(NotShown, match=r"not shown: gone\.md is there"):
        empty.file("gone.md")


def test_a_stage_is_thrown_away() -> None:
    """Project and home go, also when the story breaks off."""
    with pytest.raises(NotShown, match="not shown: this"), stage.opened() as place:
        folder = place.root.parent
        place.write("file.md", "text")
        assert folder in place.home.parents
        promise(True, "that")
        promise(False, "this")
    assert not folder.exists()


def test_a_story_is_told_as_it_happens(empty: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """Every step with what was said, numbered; a panel without text is left out."""

    def story() -> Iterator[Shown]:
        yield Shown("First", "PreCompact", [Panel("said", "a [bold] word"), Panel("silent", "")], "In plain words.")
        assert "1. First" in capsys.readouterr().out
        yield Shown("Second", "SessionStart")

    tell(empty, story(), "The end.")
    out = capsys.readouterr().out
    assert "2. Second" in out
    assert "The end." in out


def test_a_step_is_printed_with_its_words_its_event_and_its_panels(
    empty: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """Square brackets are text, not markup, in title, words and panels alike."""
    shown = Shown("A [step]", "PreCompact [auto]", [Panel("a [file]", "- [x] done"), Panel("silent", "")], "Why [so].")
    tell(empty, iter([shown]), "The end.")
    out = capsys.readouterr().out
    for text in ("1. A [step]", "> PreCompact [auto]", "Why [so].", "a [file]", "- [x] done"):
        assert text in out
    assert "silent" not in out


def test_a_promise_that_is_not_kept_ends_the_story_with_1(empty: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """What was not shown is printed, with the log; the steps before it stay, the end is not printed."""
    (empty.home / "state").mkdir()
    (empty.home / "state" / "holdfast.log").write_text("a line of the log\n")

    def story() -> Iterator[Shown]:
        yield Shown("First", "nothing")
        promise(False, "the moon")

    with pytest.raises(SystemExit) as ended:
        tell(empty, story(), "The end.")
    assert ended.value.code == 1
    out = capsys.readouterr().out
    assert re.search(r"1\. First.*not shown: the moon.*a line of the log", out, re.DOTALL)
    assert "The end." not in out
