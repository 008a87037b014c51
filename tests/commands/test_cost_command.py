"""`holdfast cost` counts exactly what reached the model, and nothing else."""

from __future__ import annotations

import json
import os
import select
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import log, paths
from holdfast.clients.claude.replies import merge
from holdfast.dispatch import costs
from holdfast.errors import LedgerError
from holdfast.events import EVENTS, model, parse
from holdfast.ledger import context_costs
from holdfast.plugins import outcomes
from holdfast.sessions.workspace import Workspace
from tests import client_output, processes
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.dispatch.output import Reply
    from holdfast.testing import HoldfastProject

SAYS = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return advise({})\n"
QUIET = "from holdfast import *\n@hookimpl\ndef on_stop(event): return tell_user('hello')\n"
STOP: dict[str, Any] = {"hook_event_name": "Stop", "session_id": ME, "transcript_path": ""}
PROPERTY = settings(derandomize=True, database=None, deadline=None, max_examples=200)


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    return holdfast_project({})


def parts(project: HoldfastProject, *arguments: str) -> dict[tuple[str, str, str], int]:
    """Return the characters by session, event and handler."""
    told = holdfast("cost", "--json", *arguments, root=project.root).json
    assert told["characters"] == sum(each["characters"] for each in told["sessions"])
    found = {}
    for session in told["sessions"]:
        assert session["characters"] == sum(part["characters"] for part in session["parts"])
        for part in session["parts"]:
            assert part["tokens"] == -(-part["characters"] // 4)
            found[session["session"], part["event"], part["handler"]] = part["characters"]
    return found


def to_the_model(event: str, reply: Reply) -> int:
    """Count, independently of the code, what of a reply the client puts before a model."""
    if reply.exit_code == 2:
        return client_output.units(reply.stderr)
    if not reply.stdout.startswith("{"):
        return client_output.units(reply.stdout) if event == "PreCompact" else 0
    said = json.loads(reply.stdout)
    specific = said.get("hookSpecificOutput", {})
    texts = [specific.get("additionalContext", ""), specific.get("initialUserMessage", "")]
    if specific.get("permissionDecision") == "deny" and event == "PreToolUse":
        texts.append(specific["permissionDecisionReason"])
    if specific.get("decision", {}).get("behavior") == "deny":
        texts.append(specific["decision"]["message"])
    if said.get("decision") == "block" and event in (
        *("PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop", "TaskCreated"),
    ):
        texts.append(said["reason"])
    output = specific.get("updatedToolOutput", "")
    texts.append(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))
    return sum(map(client_output.units, texts))


words = st.text(st.characters(codec="utf-8") | st.sampled_from("😀\n{"), min_size=1, max_size=400).filter(str.strip)
made = {
    "advise": st.builds(outcomes.advise, words, priority=st.integers(-1, 1), must_keep=st.booleans()),
    "force_turn": st.builds(outcomes.force_turn, words),
    "instruct_summary": st.builds(outcomes.instruct_summary, words),
    "deny": st.builds(outcomes.deny, words),
    "ask": st.builds(outcomes.ask, words),
    "allow": st.builds(outcomes.allow, words),
    "block": st.builds(outcomes.block, words),
    "stop": st.builds(outcomes.stop, words),
    "tell_user": st.builds(outcomes.tell_user, words),
    "change_output": st.builds(outcomes.change_output, words | st.lists(words, min_size=1)),
    "initial_message": st.builds(outcomes.initial_message, words),
}


@pytest.mark.slow
@given(st.sampled_from(sorted(EVENTS)), st.data())
@PROPERTY
def test_the_shares_are_what_reaches_the_model_to_the_unit(event: str, data: st.DataObject) -> None:
    """Of every event, whatever is said together: separators, notes and what is cut are somebody's too."""
    kinds = [kind for kind in made if kind in model(event).accepts]
    said = data.draw(st.lists(st.sampled_from(kinds).flatmap(made.__getitem__), max_size=6)) if kinds else []
    reply = merge(event, said)
    assert sum(reply.shares.values()) == to_the_model(event, reply)
    assert set(reply.shares) <= set(range(len(said)))


def test_what_is_cut_is_counted_as_it_stands() -> None:
    """Two handlers' advice over the client's limit: each has what is left of it."""
    said = [outcomes.advise("\n".join(["a" * 99] * 90)), outcomes.advise("\n".join(["b" * 99] * 90), must_keep=True)]
    reply = merge("SessionStart", said)
    text = json.loads(reply.stdout)["hookSpecificOutput"]["additionalContext"]
    assert sum(reply.shares.values()) == client_output.units(text)
    assert reply.shares[1] == 90 * 100 - 1 + 2
    assert costs.of(reply, ["shipped/one.py: f", "user/two.py: g"]) == {
        "shipped/one": reply.shares[0],
        "user/two": reply.shares[1],
    }


def test_what_keeps_a_text_from_being_read_as_json_is_counted() -> None:
    """Where an instruction begins with a brace, a word stands before it."""
    reply = merge("PreCompact", [outcomes.instruct_summary("{a"), outcomes.instruct_summary("b")])
    assert reply.stdout == "Note: {a\n\nb"
    assert reply.shares == {0: 8, 1: 3}


def test_what_one_file_says_in_several_outcomes_adds_up() -> None:
    """The count is by handler file, wherever in the reply its outcomes stand."""
    labels = ["user/a.py: on_stop", "project/a.py: on_stop", "user/a.py: on_stop", "user/b.py: on_stop"]
    reply = replace(merge("Stop", []), shares={0: 5, 1: 4, 2: 3, 3: 0})

    assert costs.of(reply, labels) == {"user/a": 8, "project/a": 4}


def test_a_count_that_is_stuck_keeps_nobody_waiting(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on by itself; what it waits for here comes only once the reply's process has gone on."""
    heard, said = os.pipe()
    monkeypatch.setattr(costs, "note", lambda *_: os.read(heard, 1))
    there = Workspace.open(project.root)
    event = parse({"hook_event_name": "Stop", "session_id": ME, "cwd": str(project.root), "transcript_path": ""})
    costs.note_apart(there, event, {"shipped/x": 1}, ())
    os.write(said, b"x")
    os.wait()
    os.close(said)
    os.close(heard)


def test_a_count_that_goes_on_keeps_no_client_waiting_for_more(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reads until nobody holds its streams, and need not wait even where dead children bury themselves."""
    heard, said = os.pipe()
    client, ours = os.pipe()
    monkeypatch.setattr(costs, "note", lambda *_: os.read(heard, 1))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        costs.note_apart(Workspace.open(project.root), parse(STOP), {"shipped/x": 1}, (ours,))
        os.close(ours)
        ready, _, _ = select.select([client], [], [], 30)
    finally:
        signal.signal(signal.SIGCHLD, before)
        os.write(said, b"x")
        os.wait()
        for descriptor in (said, heard, client):
            os.close(descriptor)
    assert ready


@each_row(
    "payload, agent",
    [
        (STOP, False),
        (STOP | {"hook_event_name": "SubagentStart"}, True),
        (STOP | {"hook_event_name": "SubagentStop"}, True),
        (STOP | {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}, False),
        (STOP | {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}, "agent_id": "a1"}, True),
    ],
)
def test_what_a_subagents_events_cost_is_the_subagents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: dict[str, Any], agent: bool
) -> None:
    """Its begin, its end and its tool calls; and a ledger that takes no count is a line in the log."""
    noted: list[bool] = []

    def refuse(*_: object, agent: bool) -> None:
        noted.append(agent)
        raise LedgerError("it is locked")

    monkeypatch.setattr(context_costs, "note", refuse)
    costs.note(Workspace.open(tmp_path), parse(payload), {"user/a": 8})

    assert noted == [agent]
    assert "the decisions and costs of a reply weren't recorded: it is locked" in log.tail(1)[0]


def test_guidance_the_summarys_instruction_and_a_handlers_advice_are_counted(project: HoldfastProject) -> None:
    """By session, event and handler, in the client's own characters."""
    project.write(
        {
            ".claude/handlers/guard.py": "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event):\n"
            "    return [advise('😀 careful'), tell_user('not counted')]\n"
        }
    )
    project.trust()
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=ME)
    said = project.fire("PreCompact", "PreCompact-auto", session_id=ME).stdout
    given = project.fire("SessionStart", "SessionStart-compact", session_id=ME).context
    for session in (ME, OTHER, OTHER):
        project.fire("PreToolUse", "PreToolUse-Bash", session_id=session)
    assert said and given

    assert parts(project) == {
        (ME, "PreCompact", "shipped/save_workflow"): client_output.units(said),
        (ME, "SessionStart", "shipped/restore_workflow"): client_output.units(given),
        (ME, "PreToolUse", "project/guard"): 10,
        (OTHER, "PreToolUse", "project/guard"): 20,
    }
    text = holdfast("cost", "--session", "2222", root=project.root).out
    assert f"Session {OTHER}: 20 characters, about 5 tokens" in text
    assert "project/guard  20 characters, about 5 tokens, 2 times" in text
    assert "characters / 4, rounded up" in text
    assert ME not in text
    assert parts(project, "--since", "2100-01-01") == {}


def test_silence_costs_nothing_and_opens_no_ledger(project: HoldfastProject) -> None:
    """0 where nothing was owed; what the user alone is told is nothing of the model's."""
    project.write({".claude/handlers/say.py": QUIET})
    project.trust()
    (paths.config_dir()).mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text('[handlers]\noff = ["track_agents"]\n', "utf-8")
    assert project.fire("Stop", "Stop", session_id=ME).stdout
    assert not Workspace.open(project.root).ledger_file.exists()
    assert "nothing was put into a model's context" in holdfast("cost", root=project.root).err
    assert parts(project) == {}


def test_what_a_subagent_gets_is_told_apart(project: HoldfastProject) -> None:
    """It is another context than the session's."""
    project.write({".claude/handlers/a.py": SAYS.format("'x' * 8")})
    project.trust()
    project.fire("PreToolUse", "PreToolUse-Bash", session_id=ME)
    project.fire("PreToolUse", "PreToolUse-Bash-in-subagent", session_id=ME)
    (session,) = holdfast("cost", "--json", root=project.root).json["sessions"]
    assert sorted((part["agent"], part["characters"]) for part in session["parts"]) == [(False, 8), (True, 8)]
    assert "PreToolUse (of a subagent)" in holdfast("cost", root=project.root).out


def test_the_oldest_rows_go(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table does not grow for ever."""
    monkeypatch.setattr(context_costs, "KEPT", 5)
    monkeypatch.setattr(context_costs, "_OFTEN", "")
    there = Workspace.open(project.root)
    for minute in range(10):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T12:{minute:02}:00Z")
        context_costs.note(there, ME, "Stop", {"shipped/x": minute}, agent=False)
    (cost,) = context_costs.totals(there)
    assert (cost.units, cost.replies) == (5 + 6 + 7 + 8 + 9, 5)
    there.close()


def fire(place: processes.Place, **changes: Any) -> processes.Ended:
    return place.fire(place.payload("PreToolUse-Bash", **changes))


@pytest.mark.slow
def test_the_real_entrypoint_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the reply is written, also where the ledger is locked for long: then the client is not kept waiting."""
    place = processes.make(tmp_path)
    place.user_handler(
        "says", "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return advise('x' * 12)\n"
    )
    for name, value in place.environ().items():
        if name.startswith("XDG_"):
            monkeypatch.setenv(name, value)
    assert fire(place).advice == "x" * 12
    there = Workspace.open(place.root)
    assert [(cost.handler, cost.units) for cost in context_costs.totals(there)] == [("user/says", 12)]
    with there.ledger.transaction():
        assert fire(place).advice == "x" * 12
    there.close()


def test_an_event_that_says_nothing_leaves_no_ledger(tmp_path: Path) -> None:
    """Through the real entrypoint."""
    place = processes.make(tmp_path)
    place.user_handler("silent", "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event): return None\n")
    assert fire(place).stdout == ""
    assert not list((place.home / ".local" / "state" / "holdfast").glob("projects/*"))


def test_silence_starts_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nearly every event is answered by nothing, and that must cost nothing."""
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    event = parse({"session_id": ME, "hook_event_name": "Stop"})
    costs.note_apart(Workspace.open(tmp_path), event, {}, ())
