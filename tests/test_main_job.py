"""The main job end to end, as Claude Code and Claude's Bash tool do it: every step in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.dispatch.budget import LIMIT_UNITS, units
from holdfast.install import register
from holdfast.testkit import recorded
from tests import processes
from tests.processes import SESSION, Ended, Place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

AGENT = "general-purpose"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project with Holdfast installed as a user installs it, its shipped handlers on."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    holdfast(place, "install", "--scope", "project", "--yes")
    return place


def holdfast(place: Place, *arguments: str, session: str = SESSION, code: int = 0) -> str:
    """Run the command line as Claude's Bash tool does; return what it printed."""
    environ = place.environ(CLAUDE_CODE_SESSION_ID=session, PYTHONPATH=str(paths.package_root()))
    done = processes.run([sys.executable, "-m", "holdfast", *arguments], b"", environ, place.root)
    assert done.exit_code == code, done.stderr
    return done.stdout


def fire(place: Place, name: str, **changes: Any) -> Ended:
    """Send a recorded payload through the command that install registered."""
    fields = {"session_id": SESSION, "cwd": str(place.root), "transcript_path": ""} | changes
    data = json.dumps(recorded.load(name, **fields)).encode() + b"\n"
    command = ["/bin/sh", "-c", register.command(name.split("-")[0])]
    ended = processes.run(command, data, place.environ(CLAUDE_ENV_FILE=str(place.home / "env.sh")), place.root)
    # The client takes a worktree's folder from us, and no handler here names one: silence would break it unexplained.
    refused = (1, f"{register.NO_WORKTREE}\n")
    assert (ended.exit_code, ended.stderr) == (refused if name == "WorktreeCreate" else (0, ""))
    return ended


def compact(place: Place, **changes: Any) -> str:
    """Let a compaction happen; return what the model gets back."""
    said = fire(place, "PreCompact-auto", **changes).stdout
    assert not said.lstrip().startswith("{")
    assert len(said) <= 400
    guidance = fire(place, "SessionStart-compact", **changes).advice
    assert units(guidance) <= LIMIT_UNITS
    return guidance


def facts(kind: str, count: int) -> list[str]:
    """Return distinct facts that cannot stand in a text by chance."""
    return [f"{kind}-canary-{number:02d}-{number * 7919 % 9973}" for number in range(count)]


def start_with_29_facts(place: Place) -> list[str]:
    """Start a compaction-format workflow that holds 29 distinct facts; return them."""
    reading, reminders, context = facts("docs/reading", 9), facts("remind", 9), facts("context", 9)
    for each in reading:
        place.write(each, "read me")
    arguments = [item for each in reading for item in ("--read", each)]
    arguments += [item for each in reminders for item in ("--remind", f"Never forget {each}")]
    arguments += [item for n, each in enumerate(context) for item in ("--set", f"key{n}={each}")]
    phases = [item for number in range(1, 13) for item in ("--phase", f"Phase-canary-{number:02d}")]
    holdfast(place, "start", "Title-canary-4711", "--type", "custom", *phases, *arguments)
    return [*[f"@{each}" for each in reading], *reminders, *context, "Title-canary-4711", "Phase-canary-01"]


def state_file(place: Place) -> Path:
    """Return the one state file of the compaction format."""
    (found,) = (place.root / "untracked" / "workflow-state").glob("*/state-*.json")
    return found


def test_29_facts_survive_ten_compactions_with_transitions_between(place: Place) -> None:
    """R001-11 to -17: all facts come back each time, with the current phase, and the file only ever grows richer."""
    wanted = start_with_29_facts(place)
    assert len(set(wanted)) == 29
    born = json.loads(state_file(place).read_bytes())
    for cycle in range(1, 11):
        guidance = compact(place)
        current = f"Phase-canary-{cycle:02d}"
        missing = [fact for fact in [*wanted[:-1], current, f"{cycle}/12"] if fact not in guidance]
        assert not missing
        holdfast(place, "done", "--note", f"handed over in cycle {cycle}")
        now = json.loads(state_file(place).read_bytes())
        assert now["created_at"] == born["created_at"]
        assert now["phase"]["current"] == cycle + 1
        assert set(now) >= set(born)
        assert set(now["required_reading"]) >= set(born["required_reading"])
        assert set(now["key_reminders"]) >= set(born["key_reminders"])
        assert now["context"].items() >= born["context"].items()


def test_facts_of_a_hybrid_workflow_survive_compactions(place: Place) -> None:
    """R000-36: title, phases, deliverables and hand-overs come back; each phase is done by an agent in between."""
    titles = [f"Do-canary-{number:02d}" for number in range(5)]
    phases = [item for title in titles for item in ("--phase", f"{title} @{AGENT}")]
    holdfast(place, "start", "Task-canary-0815", "--format", "hybrid", *phases)
    for cycle in range(3):
        run_agent(
            place, titles[cycle], f"DELIVERABLES: made-canary-{cycle}\nCONTEXT_FOR_NEXT: told-canary-{cycle}", cycle
        )
        guidance = compact(place)
        wanted = ["Task-canary-0815", *titles[: cycle + 2], f"told-canary-{cycle}", f"{cycle + 2}/5"]
        wanted += [f"made-canary-{done}" for done in range(cycle + 1)]
        assert not [fact for fact in wanted if fact not in guidance]
    state = json.loads((place.root / ".claude" / "state" / "workflow.json").read_bytes())
    assert [phase["status"] for phase in state["phases"]] == ["completed"] * 3 + ["active", "pending"]


def run_agent(place: Place, description: str, report: str, number: int, agent: str = AGENT) -> Ended:
    """Let a foreground agent be launched, run and return."""
    call = {"description": description, "prompt": "Do it.", "subagent_type": agent}
    use, run = f"toolu_{number}", f"a{number:016x}"
    fire(place, "PreToolUse-Agent", tool_input=call, tool_use_id=use)
    fire(place, "SubagentStart", agent_id=run, agent_type=agent)
    fire(place, "SubagentStop", agent_id=run, agent_type=agent, last_assistant_message=report)
    response = recorded.load("PostToolUse-Agent")["tool_response"]
    response |= {"agentId": run, "content": [{"type": "text", "text": report}]}
    return fire(place, "PostToolUse-Agent", tool_input=call, tool_use_id=use, tool_response=response)


def test_the_seeds_two_phase_workflow_runs_to_its_end(place: Place) -> None:
    """R000-41, test 2 of document 000: deliverables recorded, context passed, the workflow completed."""
    first, second = f"Create calculator module @{AGENT}", "Write and run tests @task-completion-verifier"
    task = "Create calculator.py with tests and verify they pass"
    holdfast(place, "start", task, "--format", "hybrid", "--phase", first, "--phase", second)
    report = "DELIVERABLES:\n- calculator.py\nCONTEXT_FOR_NEXT: Created calculator.py with 4 functions"
    said = run_agent(place, "Create calculator module", report, 1).advice
    assert "task-completion-verifier" in said
    assert "Write and run tests\n\nContext: Created calculator.py with 4 functions" in said
    assert "- [>] Write and run tests: in_progress" in said
    run_agent(place, "Write and run tests", "All tests pass.", 2, "task-completion-verifier")
    state = json.loads((place.root / ".claude" / "state" / "workflow.json").read_bytes())
    assert (state["status"], state["current_phase"]) == ("completed", None)
    view = (place.root / ".claude" / "workflow_state_system.md").read_text()
    assert "- [x] Phase 0: Create calculator module → calculator.py\n" in view


def test_a_background_agent_finishes_its_phase_at_its_notification(place: Place) -> None:
    """I000-14: a background launch is no completion; the notification is (recorded payloads as they came)."""
    holdfast(place, "start", "T", "--format", "hybrid", "--phase", "look around @Explore", "--phase", "Then")
    fire(place, "PreToolUse-Agent-background")
    fire(place, "PostToolUse-Agent-background")
    state = place.root / ".claude" / "state" / "workflow.json"
    assert json.loads(state.read_bytes())["phases"][0]["status"] == "active"
    fire(place, "SubagentStop-background")
    assert json.loads(state.read_bytes())["phases"][0]["status"] == "active"
    fire(place, "UserPromptSubmit-task-notification")
    assert json.loads(state.read_bytes())["phases"][0]["status"] == "completed"


def test_an_old_memory_file_neither_rolls_back_nor_revives(place: Place) -> None:
    """I001-6: CLAUDE.local.md is taken over when it changed, never again when it did not."""
    memory = "# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: 2/4 - Draft\n\n@CLAUDE/Page.md\n"
    place.write("CLAUDE.local.md", memory)
    assert "2/4" in compact(place)
    holdfast(place, "done")
    assert "3/4" in compact(place)
    assert json.loads(state_file(place).read_bytes())["phase"]["current"] == 3
    holdfast(place, "done", "--all")
    assert compact(place) == ""
    assert not (place.root / "untracked" / "workflow-state").exists() or not list(
        (place.root / "untracked" / "workflow-state").glob("*/*")
    )


def test_a_workflow_is_restored_where_precompact_never_fired(place: Place) -> None:
    """Lesson 4: PreCompact is a bonus."""
    start_with_29_facts(place)
    assert "Title-canary-4711" in fire(place, "SessionStart-compact").advice


def test_a_session_without_a_workflow_is_left_alone(place: Place) -> None:
    """R001-14, R001-16: nothing detected, nothing saved, nothing said."""
    before = sorted(place.root.rglob("*"))
    assert fire(place, "PreCompact-manual").stdout == ""
    assert fire(place, "SessionStart-compact").advice == ""
    assert sorted(place.root.rglob("*")) == before


def test_another_live_sessions_workflow_is_never_injected(place: Place) -> None:
    """Survival, whose workflow: what a live session owns stays out of every other."""
    other = "99999999-9999-4999-8999-999999999999"
    fire(place, "SessionStart-startup", session_id=other)
    holdfast(place, "start", "Secret-of-the-other", "--phase", "A", session=other)
    assert "Secret-of-the-other" not in fire(place, "SessionStart-compact").stdout
    assert "Secret-of-the-other" in compact(place, session_id=other)


def test_the_model_can_call_the_command_line_from_the_environment_file(place: Place) -> None:
    """Every SessionStart appends what Claude's Bash tool needs, once."""
    fire(place, "SessionStart-startup")
    fire(place, "SessionStart-resume")
    script = f". {place.home / 'env.sh'}; cd /; holdfast start 'From Bash' --phase One; holdfast status --json"
    environ = {"PATH": os.defpath, "HOME": str(place.home)}
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=environ, capture_output=True, text=True, timeout=500, check=True
    )
    assert "From Bash" in done.stdout
    assert state_file(place).is_file()
    assert (place.home / "env.sh").read_text().count("HOLDFAST_PROJECT_DIR") == 1
