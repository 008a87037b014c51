"""`holdfast cost` counts exactly what reached the model, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.clients.claude.replies import merge
from holdfast.events import EVENTS
from holdfast.memory import costs
from holdfast.plugins import outcomes
from holdfast.sessions.workspace import Workspace
from tests import client_output, processes
from tests.commandline import holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.dispatch.output import Reply
    from holdfast.testing import HoldfastProject
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
    if specific.get("permissionDecision") == "deny" and event in ("PreToolUse", "PreSkillShellCommand"):
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
    kinds = [kind for kind in made if kind in EVENTS[event].accepts]
    said = data.draw(st.lists(st.sampled_from(kinds).flatmap(made.__getitem__), max_size=6)) if kinds else []
    reply = merge(event, said)
    assert sum(reply.shares.values()) == to_the_model(event, reply)
    assert set(reply.shares) <= set(range(len(said)))


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
    assert [(cost.handler, cost.characters) for cost in costs.totals(there)] == [("user/says", 12)]
    with there.ledger.transaction():
        assert fire(place).advice == "x" * 12
    there.close()
