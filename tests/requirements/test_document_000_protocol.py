"""Document 000, protocols and boundaries: R000-33 to -37 and the four tests of §7 (R000-41), with their resolutions."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.errors import TransitionError
from holdfast.formats.hybrid.markdown_view import generate_markdown
from tests import processes
from tests.handmade import ME, OTHER
from tests.requirements.document_000 import (
    CREATE,
    DELIVERED,
    HANDOVER,
    PHASES,
    REPORT,
    STATE,
    TASK,
    TEST,
    VIEW,
)
from tests.signals import Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.processes import Ended, Place
    from tests.requirements.document_000 import Calculator

START = ("start", TASK, "--format", "hybrid", *(f"--phase={title} @{agent}" for title, agent in PHASES))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project for real processes, with the shipped handlers on."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    return place


def command(place: Place, *arguments: str) -> Ended:
    """Run `holdfast` as a process, as Claude's Bash tool does."""
    environ = place.environ(PYTHONPATH=str(processes.SOURCE), CLAUDE_CODE_SESSION_ID=processes.SESSION)
    ended = processes.run([sys.executable, "-m", "holdfast", *arguments], b"", environ, place.root)
    assert ended.exit_code == 0, ended.stderr
    return ended


def call(place: Place, event: str, phase: int, words: str = "") -> Ended:
    """Fire PreToolUse or PostToolUse of the Agent call for a phase as a process, as the client does."""
    title, agent = PHASES[phase]
    asked = {"description": title, "prompt": f"{title}, please.", "subagent_type": agent}
    changes: dict[str, Any] = {"tool_input": asked, "tool_use_id": f"toolu_{phase}"}
    if words:
        text = [{"type": "text", "text": words}]
        changes["tool_response"] = {"status": "completed", "agentId": f"a{phase}", "totalTokens": 9, "content": text}
    ended = place.fire(place.payload(f"{event}-Agent", **changes))
    assert ended.exit_code == 0, ended.stderr
    return ended


def state_of(place: Place) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((place.root / STATE).read_bytes())
    return state


def view_of(place: Place) -> str:
    return (place.root / VIEW).read_text("utf-8")


def test_an_orchestrator_has_all_it_needs_in_one_command(calculator: Calculator) -> None:
    """R000-33: phases with their agents make state and view; to-dos and the first delegation are printed."""
    said = calculator.run(*START)

    assert [(phase["title"], phase["agent"]) for phase in calculator.state["phases"]] == list(PHASES)
    assert calculator.view == generate_markdown(calculator.state)
    assert PHASES[0][1] in said.out
    assert CREATE in said.out.split("prompt:")[1]
    listed = calculator.run("status", "--todos", "--json").json
    assert [(todo["content"], todo["status"]) for todo in listed] == [(CREATE, "pending"), (TEST, "pending")]


def test_a_worker_reads_at_its_start_and_writes_at_its_end(calculator: Calculator) -> None:
    """R000-34: current phase and the context handed over; then status, deliverables and context for the next."""
    calculator.run(*START)
    calculator.run("next")
    given = ("--status", "completed", *(f"--deliverable={each}" for each in DELIVERED), "--context", HANDOVER)
    calculator.run("update", "--phase", calculator.state["current_phase"], *given)

    read = calculator.state
    assert (read["current_phase"], read["phases"][0]["context_for_next"]) == ("phase_1", HANDOVER)
    step = calculator.run("next", "--json").json["next"]
    assert (step["title"], step["agent"]) == PHASES[1]
    assert HANDOVER in step["prompt"]

    calculator.run("update", "--deliverable", "tests.py")
    calculator.run("done", "--note", "ok")
    last = calculator.state["phases"][1]
    assert (last["status"], last["deliverables"], last["context_for_next"]) == ("completed", ["tests.py"], "ok")


def test_the_context_of_a_phase_is_what_the_one_before_left(calculator: Calculator) -> None:
    """I000-4: not its own `context_for_next`, and the first phase has none, not the last one's."""
    calculator.create()
    state = calculator.state
    state["phases"][1]["context_for_next"] = "for whoever comes after the tests"
    calculator.project.write({STATE: state})

    assert calculator.run("next", "--json").json["next"]["prompt"] == CREATE
    calculator.update("phase_0", "completed", DELIVERED, HANDOVER)
    assert calculator.run("next", "--json").json["next"]["prompt"] == f"{TEST}\n\nContext: {HANDOVER}"


def test_after_the_last_phase_the_workflow_is_completed(calculator: Calculator) -> None:
    """R000-35: status completed, current_phase null, nothing next."""
    calculator.create()
    calculator.update("phase_0", "completed")
    agent = Agent(calculator.project, TEST, PHASES[1][1])
    agent.about_to()
    fired = agent.returned()

    assert calculator.summary() == ("completed", None, ["completed", "completed"])
    fired.assert_advised(f"[x] {TEST}: completed")
    assert "Next:" not in fired.context


def test_the_workflow_survives_its_session(calculator: Calculator) -> None:
    """R000-36: the file alone, with no ledger, lets a new session go on where the old one was."""
    calculator.run(*START, session=ME)
    calculator.run("update", "--phase", "phase_0", "--status", "completed", "--context", HANDOVER, session=ME)
    shutil.rmtree(paths.state_dir())

    restored = calculator.project.fire("SessionStart", "SessionStart-compact", session_id=OTHER)
    restored.assert_advised(TASK, TEST, HANDOVER)
    step = calculator.run("next", "--json", session=OTHER).json["next"]
    assert step["prompt"] == f"{TEST}\n\nContext: {HANDOVER}"
    agent = Agent(calculator.project, TEST, PHASES[1][1], session=OTHER)
    agent.about_to()
    agent.returned()
    assert calculator.state["status"] == "completed"


def test_the_files_beside_it_are_left_alone(calculator: Calculator) -> None:
    """R000-37: task graph and delegated sessions stay as they are, and nothing of them is in workflow.json."""
    graph = {"schema_version": "2.0", "waves": [{"wave_id": 0, "phases": ["parallel-marker"]}], "status": "executing"}
    others = {
        ".claude/state/active_task_graph.json": json.dumps(graph),
        ".claude/state/delegated_sessions.txt": "session-marker-1\nsession-marker-2\r\n",
    }
    calculator.project.write(others)
    before = {place: (calculator.root / place).stat().st_mtime_ns for place in others}

    calculator.run(*START)
    first = Agent(calculator.project, CREATE)
    first.about_to()
    first.failed("boom")
    calculator.run("update", "--phase", "phase_0", "--status", "active")
    calculator.run("done", "--note", HANDOVER)
    calculator.project.fire("PreCompact", "PreCompact-auto")
    calculator.project.fire("SessionStart", "SessionStart-compact")
    second = Agent(calculator.project, TEST, PHASES[1][1], number=2)
    second.about_to()
    second.returned()
    assert calculator.state["status"] == "completed"

    assert {place: (calculator.root / place).stat().st_mtime_ns for place in others} == before
    assert {place: (calculator.root / place).read_bytes().decode() for place in others} == others
    assert "marker" not in calculator.read(STATE)
    assert "wave" not in calculator.read(STATE)


def test_one_failed_phase_fails_the_workflow_at_once(calculator: Calculator) -> None:
    """I000-9: later phases stay pending, whoever would start them."""
    calculator.create()
    calculator.update("phase_0", "active")
    calculator.update("phase_0", "failed")
    assert calculator.summary() == ("failed", "phase_0", ["failed", "pending"])

    with pytest.raises(TransitionError, match='phase 1 "Create calculator module" failed; retry it with'):
        calculator.update("phase_1", "active")
    Agent(calculator.project, TEST, PHASES[1][1]).about_to()
    assert calculator.summary() == ("failed", "phase_0", ["failed", "pending"])


def test_what_still_runs_beside_a_failure_starts_nothing_new(calculator: Calculator) -> None:
    """I000-9: an agent that completes its phase while another one has failed does not open the next phase."""
    calculator.create(phases=[*PHASES, ("Document the module", "writer")])
    first, second = Agent(calculator.project, CREATE), Agent(calculator.project, TEST, PHASES[1][1], number=2)
    first.about_to()
    second.about_to()
    second.failed("boom")
    first.returned(REPORT)

    assert calculator.state["status"] == "failed"
    assert calculator.statuses == ["completed", "failed", "pending"]


@pytest.mark.parametrize("by", ["person", "agent"])
def test_a_failed_phase_can_be_retried(calculator: Calculator, by: str) -> None:
    """I000-9: failed → active opens phase and workflow again, for a person and for an agent that is launched again."""
    calculator.create()
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.failed("boom")
    assert calculator.state["status"] == "failed"

    again = Agent(calculator.project, CREATE, number=2)
    calculator.run("update", "--phase", "phase_0", "--status", "active") if by == "person" else again.about_to()
    assert calculator.summary() == ("active", "phase_0", ["active", "pending"])
    again.returned(REPORT)
    assert calculator.summary() == ("active", "phase_1", ["completed", "active"])


def test_a_completed_workflow_is_over(calculator: Calculator) -> None:
    """I000-9: no function, command or agent moves it on; what is refused is said with the reason."""
    calculator.create()
    for _ in PHASES:
        calculator.run("done")
    before = calculator.read(STATE)

    for status in ("active", "failed", "pending"):
        with pytest.raises(TransitionError, match="completed"):
            calculator.update("phase_1", status)
    said = calculator.run("done", calculator.id, code=1)
    assert "completed" in said.err
    assert "holdfast reopen" in said.err
    agent = Agent(calculator.project, TEST, PHASES[1][1])
    agent.about_to()
    agent.failed("boom")
    assert calculator.read(STATE) == before


def test_workflow_completed_by_hand_stays_completed(calculator: Calculator) -> None:
    """I000-9: a workflow that is completed by hand is over, also where a phase was left out; no agent opens it."""
    calculator.create()
    calculator.project.write({STATE: calculator.state | {"status": "completed"}})
    before = calculator.read(STATE)

    with pytest.raises(TransitionError, match="`holdfast reopen 1` makes it active again"):
        calculator.update("phase_0", "active")
    agent = Agent(calculator.project, CREATE)
    agent.about_to()
    agent.returned(REPORT)
    assert calculator.read(STATE) == before


def test_test_1_a_single_phase(calculator: Calculator) -> None:
    """R000-41, R000-25, test 1: created, the phase completes, the status is updated, the view shows "completed"."""
    calculator.create("Create one file", [("Create it", "general-purpose")])
    assert calculator.summary() == ("pending", None, ["pending"])
    agent = Agent(calculator.project, "Create it", "general-purpose")
    agent.about_to()
    assert calculator.summary() == ("active", "phase_0", ["active"])
    agent.returned("DELIVERABLES: /one/file.txt")

    assert calculator.summary() == ("completed", None, ["completed"])
    assert calculator.view == (
        "# Workflow Status: Create one file\n\nStatus: completed | Current Phase: none\n\n## Phases\n\n"
        "- [x] Phase 0: Create it → /one/file.txt\n"
    )


def test_test_2_phases_one_after_the_other(place: Place) -> None:
    """R000-41, test 2: deliverables recorded, context passed, workflow completed; each event a real process."""
    command(place, *START)
    assert "Status: pending | Current Phase: none" in view_of(place)

    call(place, "PreToolUse", 0)
    assert (state_of(place)["status"], state_of(place)["current_phase"]) == ("active", "phase_0")
    passed = call(place, "PostToolUse", 0, REPORT).advice
    first, second = state_of(place)["phases"]
    assert (first["status"], first["deliverables"], first["context_for_next"]) == ("completed", DELIVERED, HANDOVER)
    assert (second["status"], state_of(place)["current_phase"]) == ("active", "phase_1")
    assert f"{TEST}\n\nContext: {HANDOVER}" in passed

    call(place, "PreToolUse", 1)
    call(place, "PostToolUse", 1, "All pass.\n\nDELIVERABLES: test_calculator.py")
    assert (state_of(place)["status"], state_of(place)["current_phase"]) == ("completed", None)
    assert view_of(place).endswith(
        f"Status: completed | Current Phase: none\n\n## Phases\n\n- [x] Phase 0: {CREATE} → {', '.join(DELIVERED)}\n"
        f"- [x] Phase 1: {TEST} → test_calculator.py\n"
    )


def test_test_3_the_todo_list_follows(calculator: Calculator) -> None:
    """R000-41, test 3: the model is given the list and each change of it, and what it writes is kept true."""
    calculator.create()
    first, second = Agent(calculator.project, CREATE), Agent(calculator.project, TEST, PHASES[1][1], number=2)
    first.about_to().assert_advised(f"[>] {CREATE}: in_progress", f"[ ] {TEST}: pending")
    first.returned().assert_advised(f"[x] {CREATE}: completed", f"[>] {TEST}: in_progress")

    stale = [{"content": title, "status": "pending", "activeForm": f"Working on {title}"} for title, _ in PHASES]
    written = calculator.project.fire("PreToolUse", "PreToolUse-TodoWrite", tool_input={"todos": stale})
    corrected = written.specific["updatedInput"]["todos"]
    assert corrected == calculator.run("status", "--todos", "--json").json
    assert [todo["status"] for todo in corrected] == ["completed", "in_progress"]

    second.about_to()
    second.returned().assert_advised(f"[x] {CREATE}: completed", f"[x] {TEST}: completed")


def test_test_4_a_manual_task_call_triggers_the_hook(place: Place) -> None:
    """R000-41, test 4, R000-30: one Agent call by hand, as a process of its own: workflow.json is updated."""
    command(place, *START)
    before = (place.root / STATE).read_bytes()

    ended = call(place, "PostToolUse", 0, REPORT)

    assert (place.root / STATE).read_bytes() != before
    assert [phase["status"] for phase in state_of(place)["phases"]] == ["completed", "active"]
    assert state_of(place)["phases"][0]["deliverables"] == DELIVERED
    assert f'"{CREATE}" is completed' in ended.advice
    assert "error" not in place.log()
