"""An agent that is launched again after its conversation began anew: what it is refused with, and when it runs."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.clients.claude import claude
from holdfast.sessions import agent_relaunch
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.signals import Agent, asked, begin, compacted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired, HoldfastProject

GONE = "999999999"  # no process has this number
LONG = "".join(f"Finding {number}: something that is worth a line.\n" for number in range(400))


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project in which a person has asked for something."""
    made = holdfast_project({})
    begin(made, "startup")
    asked(made, "first")
    return made


def agent(project: HoldfastProject, number: int = 1, *, background: bool = False) -> Agent:
    """Return an agent of the same work as any other one here."""
    number += 0x1A2B3C4D5E6F7A80
    return Agent(project, "Review", prompt="Review it.", number=number, background=background)


def passed(fired: Fired) -> bool:
    """Return whether a call was let through, unchanged and without any permission."""
    specific = json.loads(fired.stdout or "{}").get("hookSpecificOutput", {})
    return fired.exit_code == 0 and not {"permissionDecision", "updatedInput"} & set(specific)


def test_after_a_compaction_the_reason_is_the_result(project: HoldfastProject) -> None:
    """Under the same prompt it is the same work; the one after that, which nobody ran before, runs."""
    agent(project).finished()
    compacted(project)
    agent(project, 2).about_to().assert_denied("has finished already", "All is well.")
    assert passed(agent(project, 3).about_to())
    assert holdfast("log", root=project.root).out.count("results used again: ") == 1


def test_each_compaction_gets_the_same_result(project: HoldfastProject) -> None:
    """A call that was refused ran nothing, so it makes no loop of the agent whose result it got."""
    agent(project).finished()
    for number in (2, 3):
        compacted(project)
        agent(project, number).about_to().assert_denied("All is well.")


def test_a_result_is_used_again_only_while_it_holds(project: HoldfastProject, tmp_path: Path) -> None:
    """Not after an edit by the session or an agent, another agent's end, or a second run under the same prompt."""
    project.write({".git/HEAD": "ref: refs/heads/main\n"})
    transcript = tmp_path / "session.jsonl"
    begin(project, "startup", transcript_path=str(transcript))

    def ran(name: str, number: int) -> Agent:
        return Agent(project, name, prompt="Check.", number=number).finished(f"Three errors in {name}.")

    def edited(file: Path, tool: str) -> int:
        call = {"type": "tool_use", "id": "t1", "name": tool, "input": {"file_path": "a.py", "notebook_path": "a.py"}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
        entries = [
            {"type": kind, "timestamp": clock.stamp(), "isSidechain": True, "message": {"content": [block]}}
            for kind, block in (("assistant", call), ("user", result))
        ]
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), "utf-8")

    def filled(file: Path) -> None:
        line = json.dumps({"type": "system", "timestamp": clock.stamp(), "content": "x" * 60_000})
        file.write_text(f"{line}\n" * 80, "utf-8")

    agents = transcript.with_suffix("") / "subagents"
    changes: dict[str, tuple[Callable[[], object], bool]] = {
        "nothing": (lambda: None, True),
        "a commit": (lambda: project.write({".git/logs/HEAD": "moved\n"}), False),
        "an edit": (lambda: edited(transcript, "Edit"), False),
        "an edit before its notification": (lambda: (edited(transcript, "Edit"), first.notified()), False),
        "a notebook": (lambda: edited(transcript, "NotebookEdit"), False),
        "an agent's edit": (lambda: edited(agents / "agent-a1.jsonl", "Write"), False),
        "an edit by a script's agent": (lambda: edited(agents / "workflows/wf_1/agent-a2.jsonl", "Write"), False),
        "more than is read": (lambda: filled(transcript), False),
        "another agent": (lambda: ran("Fix", 70), False),
        "a second run": (lambda: ran("a second run", 71), False),
    }
    wrong = []
    for number, (name, (change, held)) in enumerate(changes.items(), 10):
        first = ran(name, number)
        change()
        compacted(project)
        again = Agent(project, name, prompt="Check.", number=number + 40).about_to()
        if passed(again) is held or (held and "just now); nothing was started" not in again.stdout):
            wrong.append(f"{name}: {again.stdout or 'it ran'}")
    assert not wrong


def test_agents_that_ran_at_the_same_time_are_no_loop(project: HoldfastProject) -> None:
    """Whichever ended last, the results of both hold after a compaction."""
    both = [Agent(project, words, prompt="Check.", number=number) for number, words in enumerate(("Review", "Look"), 1)]
    for each in both:
        each.about_to()
        each.started()
    for each in both:
        each.stopped(f"{each.run} is well.")
        each.returned(f"{each.run} is well.")
    compacted(project)
    for number, each in enumerate(both, 3):
        again = Agent(project, str(each.arguments["description"]), prompt="Check.", number=number)
        again.about_to().assert_denied(f"{each.run} is well.")


@pytest.mark.parametrize(("source", "session"), [("resume", ME), ("startup", OTHER), ("fork", OTHER)])
def test_an_agent_that_is_continued_ends_its_phase_once(
    project: HoldfastProject, process: list[str], source: str, session: str
) -> None:
    """Whichever session the next one is; the client may have said before that it was stopped."""
    start = ("start", "Check", "--format", "hybrid", "--phase", "Review", "--phase", "Publish")
    holdfast(*start, root=project.root, session=project.session)
    begin(project, "startup")
    made = agent(project, background=True).at_work()
    project.session, process[0] = session, str(os.getpid())
    told = begin(project, source)
    if source == "resume":
        assert "was interrupted; SendMessage to its id continues it" in told.context
        made.notified("stopped", "It didn't finish before the previous session ended.")
        assert phases(project) == ["failed", "pending"]
    made.started()
    assert phases(project) == ["active", "pending"]
    made.stopped("All is well.")
    made.notified(words="All is well.")
    assert phases(project) == ["completed", "active"]
    asked(project, "another")
    agent(project, 2, background=True).about_to().assert_denied("All is well.")
    assert phases(project) == ["completed", "active"]
    rows = holdfast("export", root=project.root).json["ledger"]["agents"]
    assert len([row for row in rows if row["run"]]) == 1


def test_an_agent_that_was_stopped_on_purpose_is_not_continued(project: HoldfastProject, process: list[str]) -> None:
    """Somebody stopped it while its client went on. The next session isn't told to continue it, and starts it again."""
    begin(project, "startup")
    made = agent(project, background=True).at_work()
    made.notified("killed", "It was stopped.")
    project.fire("SessionEnd", "SessionEnd-other")
    project.session, process[0] = OTHER, str(os.getpid())
    assert "SendMessage" not in begin(project, "startup").stdout
    assert "interrupted" not in holdfast("agents", root=project.root).out
    asked(project, "another")
    assert passed(agent(project, 2, background=True).about_to())


def test_the_transcript_tells_too_that_an_agent_was_stopped_on_purpose(
    project: HoldfastProject, process: list[str], tmp_path: Path
) -> None:
    """No event said it before the client was gone; a session that is resumed reads it."""
    transcript = tmp_path / "session.jsonl"
    begin(project, "startup", transcript_path=str(transcript))
    made = agent(project, background=True).at_work()
    notice = f"<task-notification>\n<task-id>{made.run}</task-id>\n<status>killed</status>\n</task-notification>"
    entry = {"type": "user", "timestamp": clock.stamp(), "message": {"role": "user", "content": notice}}
    transcript.write_text(json.dumps(entry | {"origin": {"kind": "task-notification"}}), "utf-8")
    process[0] = str(os.getpid())
    assert "SendMessage" not in begin(project, "resume", transcript_path=str(transcript)).stdout
    assert "interrupted" not in holdfast("agents", root=project.root).out


@pytest.mark.parametrize(("source", "anew"), [(None, True), ("user", True), ("sdk", True), ("loop_wakeup", False)])
def test_asked_for_anew_it_runs(project: HoldfastProject, source: str | None, anew: bool) -> None:
    """Another prompt of a person, or of their program, wants fresh work. One that the client made does not."""
    agent(project).finished()
    compacted(project)
    project.fire("UserPromptSubmit", prompt="Do it.", prompt_id="second", source=source)
    assert passed(agent(project, 2).about_to()) is anew


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The client process that sends the events, alone in a list that a test changes."""
    made = [GONE]
    monkeypatch.setattr(claude, "process", lambda environ: made[0])
    return made


@pytest.mark.parametrize(("prompt", "continued"), [("Review it.", True), ("Publish it.", False), ("", False)])
def test_one_that_was_at_work_in_a_client_that_is_gone_is_not_waited_for(
    project: HoldfastProject, process: list[str], tmp_path: Path, prompt: str, continued: bool
) -> None:
    """Nothing of it runs any more. It goes on if its transcript is there and holds its task, else it starts anew.

    Once it went on to its end, whoever launches it again gets the result.
    """
    transcript = tmp_path / "first.jsonl"
    begin(project, "startup", transcript_path=str(transcript))
    made = agent(project, background=True).at_work()
    if prompt:
        own = transcript.with_suffix("") / "subagents" / f"agent-{made.run}.jsonl"
        own.parent.mkdir(parents=True)
        own.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}), "utf-8")
    project.session, process[0] = OTHER, str(os.getpid())
    second = str(tmp_path / "second.jsonl")
    begin(project, "startup", transcript_path=second)
    asked(project, "another")

    def launched_again(number: int) -> Fired:
        again = agent(project, number, background=True)
        return project.fire(
            "PreToolUse", "PreToolUse-Agent", tool_input=again.arguments, tool_use_id=again.call, transcript_path=second
        )

    if continued:
        launched_again(2).assert_denied("was interrupted", f"SendMessage with to: '{made.run}'")
        made.started()
        made.stopped("All is well.")
        launched_again(3).assert_denied("All is well.")
    else:
        assert passed(launched_again(2))


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_result_that_a_fork_gets_is_still_new_to_the_conversation_it_left(
    project: HoldfastProject, process: list[str], tmp_path: Path, goes_on: bool
) -> None:
    """That goes on next to the fork, and is told after its compaction that nobody has used the result."""
    entry = {"type": "user", "uuid": ME, "message": {"role": "user", "content": "Do it."}}
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for each in (first, second):
        each.write_text(f"{json.dumps(entry, separators=(',', ':'))}\n", "utf-8")
    process[0] = str(os.getpid())
    begin(project, "startup", transcript_path=str(first))
    made = agent(project, background=True).at_work()
    made.stopped("All is well.")
    if not goes_on:
        project.fire("SessionEnd", "SessionEnd-other")

    project.session, process[0] = OTHER, str(os.getppid())
    begin(project, "fork", transcript_path=str(second))
    agent(project, 2, background=True).about_to().assert_denied("All is well.")
    project.session, process[0] = ME, str(os.getpid())
    project.fire("PreCompact", "PreCompact-auto", transcript_path=str(first))
    told = begin(project, "compact", transcript_path=str(first)).context
    assert ("its result is still unused" in told) is goes_on


def test_a_refused_launch_starts_no_phase(project: HoldfastProject, process: list[str], tmp_path: Path) -> None:
    """The phase of an interrupted agent stays failed until that agent goes on."""
    start = ("start", "Check", "--format", "hybrid", "--phase", "Review", "--phase", "Publish")
    holdfast(*start, root=project.root, session=project.session)
    transcript = tmp_path / "session.jsonl"
    begin(project, "startup", transcript_path=str(transcript))
    made = agent(project, background=True).at_work()
    own = transcript.with_suffix("") / "subagents" / f"agent-{made.run}.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "Review it."}}), "utf-8")
    process[0] = str(os.getpid())
    begin(project, "resume", transcript_path=str(transcript))
    asked(project, "another")
    assert phases(project) == ["failed", "pending"]
    again = agent(project, 2, background=True)
    project.fire(
        "PreToolUse",
        "PreToolUse-Agent",
        tool_input=again.arguments,
        tool_use_id=again.call,
        transcript_path=str(transcript),
    ).assert_denied("was interrupted")
    assert phases(project) == ["failed", "pending"]
    made.started()
    assert phases(project) == ["active", "pending"]


@pytest.mark.parametrize(("runs", "taken"), [(True, False), (False, True)])
def test_another_living_clients_agents_are_its_own(
    project: HoldfastProject, process: list[str], runs: bool, taken: bool
) -> None:
    """A result that it has yet to use stays there. Where the client is gone, nobody else will use it."""
    process[0] = str(os.getppid()) if runs else GONE
    begin(project, "startup")
    made = agent(project, background=True).at_work()
    made.stopped("All is well.")
    project.session, process[0] = OTHER, str(os.getpid())
    begin(project, "startup")
    asked(project, "another")
    fired = agent(project, 2, background=True).about_to()
    assert passed(fired) is not taken
    assert ("All is well." in fired.stdout) is taken


def test_its_own_result_comes_before_that_of_another_session(project: HoldfastProject, process: list[str]) -> None:
    """Also where the other one, whose client is gone, did the same work later."""
    process[0] = str(os.getpid())
    begin(project, "startup")
    agent(project).finished("Two errors.")
    mine, project.session, process[0] = project.session, OTHER, GONE
    begin(project, "startup")
    theirs = agent(project, 2)
    theirs.about_to()
    theirs.started()
    theirs.stopped("No errors.")
    project.session, process[0] = mine, str(os.getpid())
    compacted(project)
    agent(project, 3).about_to().assert_denied("Two errors.")


@pytest.mark.parametrize(("rests", "taken"), [(True, False), (False, True)])
def test_a_used_result_is_used_again_only_where_its_session_broke_off(
    project: HoldfastProject, process: list[str], rests: bool, taken: bool
) -> None:
    """A session that was killed after its turn had done its work; whoever asks again wants it fresh."""
    begin(project, "startup")
    agent(project).finished()
    if rests:
        project.fire("Stop", background_tasks=[])
    project.session, process[0] = OTHER, str(os.getpid())
    begin(project, "startup")
    asked(project, "another")
    assert passed(agent(project, 2).about_to()) is not taken


@pytest.mark.parametrize(("mode", "denied"), [("off", False), ("tell", False), ("reuse", True)])
def test_the_configuration_decides(project: HoldfastProject, mode: str, denied: bool) -> None:
    """`tell` says what there is, and lets the call pass."""
    project.write({".claude/holdfast.toml": f'agents = "{mode}"\n'})
    project.trust()
    agent(project).finished()
    compacted(project)
    fired = agent(project, 2).about_to()
    assert passed(fired) is not denied
    assert ("All is well." in fired.stdout) is (mode != "off")


def test_a_long_result_is_in_a_file_that_forget_deletes(project: HoldfastProject) -> None:
    """The reason has its beginning and the file's name; the export has it whole, a forgotten session nothing."""
    made = agent(project).finished(LONG)
    compacted(project)
    fired = agent(project, 2).about_to()
    fired.assert_denied("its beginning", "Finding 1:", f"agent-{made.run}.md")
    assert len(fired.specific["permissionDecisionReason"]) <= agent_relaunch.RESULT_LIMIT_CHARS
    file = project.root / ".claude" / "holdfast" / f"agent-{made.run}.md"
    assert file.read_text("utf-8").endswith(LONG.strip()) or file.read_text("utf-8").endswith(LONG)
    assert file.stat().st_mode & 0o777 == 0o600
    whole = holdfast("export", root=project.root).json
    assert "Finding 399" in whole["sidecars"][file.name]
    assert any("Finding 399" in row["result"] for row in whole["ledger"]["agents"])
    holdfast("forget", "--session", "22222222", "--yes", root=project.root, code=1)
    assert file.exists()
    holdfast("forget", "--session", ME, "--yes", root=project.root)
    assert not file.exists()
    assert "Finding" not in json.dumps(holdfast("export", root=project.root).json)


def test_a_result_is_given_whole_as_far_as_there_is_room(project: HoldfastProject) -> None:
    """A refusal has at most 9,400 characters, so that its end isn't cut off with the handler's name."""

    def refused(number: int, length: int) -> str:
        Agent(project, f"Job {number}", number=number).finished("x" * length)
        compacted(project)
        fired = Agent(project, f"Job {number}", number=number + 50).about_to()
        return str(fired.specific["permissionDecisionReason"]).removesuffix("\n(shipped/reuse_agents.py)")

    room = 9_400 - len(refused(10, 100)) + 100
    assert len(refused(11, room)) == 9_400
    assert "This is its beginning:" in refused(12, room + 1)


def test_a_long_result_that_cannot_be_written_is_where_the_client_has_it(project: HoldfastProject) -> None:
    """Something else is in the place of the folder."""
    project.write({".claude/holdfast": "mine"})
    agent(project).finished(LONG)
    compacted(project)
    fired = agent(project, 2).about_to()
    fired.assert_denied("its beginning", "Finding 1:")
    assert re.search(r"Its result is in /.+\.jsonl\.", fired.stdout)


def test_a_refused_launch_leaves_its_phase_to_the_agent_that_runs(project: HoldfastProject) -> None:
    """The running agent's end completes the phase, as if nobody had launched another."""
    start = ("start", "Check", "--format", "hybrid", "--phase", "Review", "--phase", "Publish")
    holdfast(*start, root=project.root, session=project.session)
    first = agent(project, background=True)
    first.about_to()
    first.started()
    first.launched()
    compacted(project)
    agent(project, 2, background=True).about_to().assert_denied("is running already")
    assert "results used again" not in holdfast("log", root=project.root).out  # it has none
    assert phases(project) == ["active", "pending"]

    first.stopped("All is well.")
    asked(project, "second")
    assert phases(project) == ["completed", "active"]  # the next one is due


@pytest.mark.parametrize("what", ["workflow", "agent"])
def test_forget_leaves_no_row_of_an_agent_nor_of_a_call_that_it_answered(project: HoldfastProject, what: str) -> None:
    """Also after a compaction has changed the session's id."""
    start = ("start", "Check", "--format", "hybrid", "--phase", "Review", "--phase", "Publish")
    holdfast(*start, root=project.root, session=project.session)
    done = agent(project).finished("All is well in XYZZY.")
    compacted(project, OTHER)
    agent(project, 2).about_to().assert_denied("All is well in XYZZY.")
    assert len(holdfast("export", root=project.root).json["ledger"]["agents"]) == 2
    scope = ("forget", "--agent", done.run, "--yes") if what == "agent" else ("forget", "--workflow", "Check", "--yes")
    holdfast(*scope, root=project.root)
    left = holdfast("export", root=project.root).json["ledger"]
    assert not left.get("agents")
    assert {name: rows for name, rows in left.items() if done.run in json.dumps(rows)} == {}


def phases(project: HoldfastProject) -> list[str]:
    """Return the status of each phase."""
    state = json.loads((project.root / ".claude" / "state" / "workflow.json").read_bytes())
    return [each["status"] for each in state["phases"]]
