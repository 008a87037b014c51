"""The four functions of document 000, and its tests 1 and 2."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files import trust
from holdfast.formats.hybrid.adapter import generate_markdown, move
from holdfast.formats.hybrid.commands.functions import create_workflow_state, get_workflow_state, update_phase_status
from holdfast.sessions.history import generations
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path

    from tests.workflow.conftest import Put, Seed

TASK = "Create calculator.py with tests and verify they pass"
PHASES = (("Create calculator module", "general-purpose"), ("Write and run tests", "task-completion-verifier"))
STATE = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"


def state_of(project: Workspace) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / STATE).read_text(encoding="utf-8"))
    return data


def view_of(project: Workspace) -> str:
    return (project.root / VIEW).read_text(encoding="utf-8")


def test_a_fresh_state_has_exactly_the_schema(project: Workspace, seed: Seed, monkeypatch: pytest.MonkeyPatch) -> None:
    """R000-01 to -12, R000-17, I000-5: the documents' keys in their order, nothing started."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    example = json.loads(seed("hybrid-minimal-schema.json"))
    assert create_workflow_state(TASK, PHASES, root=project.root) == "wf_20250105_143022" == example["id"]
    state = state_of(project)
    assert list(state) == list(example)
    assert [list(phase) for phase in state["phases"]] == [list(phase) for phase in example["phases"]]
    assert (state["task"], state["status"], state["current_phase"]) == (example["task"], "pending", None)
    for phase, wanted in zip(state["phases"], example["phases"], strict=True):
        assert phase == wanted | {"status": "pending", "deliverables": [], "context_for_next": ""}


def test_a_request_is_kept_verbatim(project: Workspace) -> None:
    """R000-04: newlines, quotes and other letters than ASCII stay."""
    task = 'Build "it"\n\nwith ümlauts, 日本語 and 🚀\t'
    id_ = create_workflow_state(task, PHASES, root=project.root)
    assert state_of(project)["task"] == task
    assert get_workflow_state(id_, root=project.root) == state_of(project)
    assert view_of(project).startswith('# Workflow Status: Build "it" with ümlauts, 日本語 and 🚀\n\nStatus: pending')


def test_a_single_phase_workflow_completes(project: Workspace) -> None:
    """R000-41 test 1, R000-25: created, completed, and the view shows it."""
    id_ = create_workflow_state("Create one file", ["Create it"], root=project.root)
    update_phase_status(id_, "phase_0", "active", root=project.root)
    state = update_phase_status(id_, "phase_0", "completed", ["/a.txt"], root=project.root)
    assert (state["status"], state["current_phase"]) == ("completed", None)
    assert state == state_of(project)
    assert view_of(project) == (
        "# Workflow Status: Create one file\n\nStatus: completed | Current Phase: none\n\n## Phases\n\n"
        "- [x] Phase 0: Create it → /a.txt\n"
    )


def test_two_phases_run_one_after_the_other(project: Workspace) -> None:
    """R000-41 test 2, R000-35, I000-7, I000-10: deliverables recorded, context passed, workflow completed and saved."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    started = update_phase_status(id_, "phase_0", "active", root=project.root)
    assert (started["status"], started["current_phase"]) == ("active", "phase_0")
    delivered = ["/path/to/calculator.py", "add, subtract, multiply, divide functions"]
    handover = "Created calculator.py at /path with 4 functions"
    state = update_phase_status(id_, "phase_0", "completed", delivered, handover, root=project.root)
    assert [phase["status"] for phase in state["phases"]] == ["completed", "active"]
    assert (state["status"], state["current_phase"]) == ("active", "phase_1")
    assert state["phases"][0]["deliverables"] == delivered
    assert state["phases"][0]["context_for_next"] == handover
    assert state["phases"][1]["context_for_next"] == ""
    state = update_phase_status(id_, "phase_1", "completed", root=project.root)
    assert (state["status"], state["current_phase"]) == ("completed", None)
    assert state_of(project) == state


def test_completing_without_advancing_is_possible(project: Workspace) -> None:
    """I000-7: the switch leaves the next phase pending and the current one where it is."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    state = update_phase_status(id_, "phase_0", "completed", advance=False, root=project.root)
    assert [phase["status"] for phase in state["phases"]] == ["completed", "pending"]
    assert (state["status"], state["current_phase"]) == ("active", "phase_0")


def test_the_context_has_two_names(project: Workspace) -> None:
    """R000-18 calls it `context`."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    state = update_phase_status(id_, "phase_0", "completed", context="four functions", root=project.root)
    assert state["phases"][0]["context_for_next"] == "four functions"


def test_a_second_completion_changes_nothing(project: Workspace) -> None:
    """I000-8: the agent wrote first, the hook comes after; nothing it wrote is cleared or replaced."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    state = update_phase_status(id_, "phase_0", "completed", ["a"], "by the agent", root=project.root)
    before = (project.root / STATE).stat().st_mtime_ns
    assert update_phase_status(id_, "phase_0", "completed", [], "", root=project.root) == state
    assert update_phase_status(id_, "phase_0", "completed", ["b"], "by the hook", root=project.root) == state
    assert (project.root / STATE).stat().st_mtime_ns == before


def test_a_wrong_id_phase_or_status_is_an_error(project: Workspace) -> None:
    """I000-17: nothing is only logged."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    with pytest.raises(HoldfastError, match=f"holds the workflow {id_}, not wf_1"):
        get_workflow_state("wf_1", root=project.root)
    with pytest.raises(HoldfastError, match="not wf_1"):
        update_phase_status("wf_1", "phase_0", "active", root=project.root)
    with pytest.raises(HoldfastError, match="no phase 'phase_7'; there are phase_0, phase_1"):
        update_phase_status(id_, "phase_7", "active", root=project.root)
    with pytest.raises(TransitionError, match="can't be blocked in hybrid"):
        update_phase_status(id_, "phase_0", "blocked", root=project.root)


def test_without_a_state_file_nothing_is_made(project: Workspace) -> None:
    """R000-27: no workflow is an error of its own and leaves no trace."""
    with pytest.raises(MissingError):
        get_workflow_state("wf_1", root=project.root)
    with pytest.raises(MissingError, match="holdfast start"):
        update_phase_status("wf_1", "phase_0", "active", root=project.root)
    assert list(project.root.iterdir()) == []


def test_an_unfinished_workflow_is_not_overwritten(project: Workspace) -> None:
    """I000-17: refused, naming the workflow and the way out."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    before = (project.root / STATE).read_bytes()
    with pytest.raises(TransitionError, match=rf"phase 0/2.*holdfast done --all {id_}"):
        create_workflow_state("Another", ["x"], root=project.root)
    assert (project.root / STATE).read_bytes() == before


def test_a_finished_workflow_gives_way_and_is_kept(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """I000-17: the old file stays as a generation, and an id of the same second is not given twice."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-01-05T14:30:22Z")
    first = create_workflow_state("One", ["x"], root=project.root)
    update_phase_status(first, "phase_0", "completed", root=project.root)
    finished = (project.root / STATE).read_bytes()
    second = create_workflow_state("Two", ["y"], root=project.root)
    assert (first, second) == ("wf_20250105_143022", "wf_20250105_143023")
    update_phase_status(second, "phase_0", "completed", root=project.root)
    third = create_workflow_state("Three", ["z"], root=project.root)
    assert third == "wf_20250105_143024"
    path = project.root / STATE
    kept = [generations.content(project, row["id"]) for row in generations.all(project, path)]
    assert finished in kept
    assert "One" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "foreign",
    [
        {"name": "CI", "on": "push", "jobs": {}},
        {"id": "x", "task": "y", "phases": {"a": 1}},
        {"phases": [{"id": "phase_0"}]},
        {"id": "x", "phases": []},
    ],
)
def test_a_foreign_workflow_json_is_never_written(project: Workspace, put: Put, foreign: dict[str, Any]) -> None:
    """Lesson 2, I000-20: other tools use this very path."""
    path = put(STATE, foreign)
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match="left alone"):
        create_workflow_state(TASK, PHASES, root=project.root)
    with pytest.raises(SchemaMismatch):
        update_phase_status("x", "phase_0", "completed", root=project.root)
    assert path.read_bytes() == before
    assert not (project.root / VIEW).exists()


def test_a_broken_file_is_set_aside_by_a_new_workflow(project: Workspace, put: Put) -> None:
    """What nobody can read is kept beside, not overwritten."""
    put(STATE, "{ broken")
    said = holdfast("start", TASK, "--format", "hybrid", "--phase", "One", root=project.root).out
    (aside,) = (project.root / ".claude/state").glob("workflow.json.corrupt-*")
    assert aside.read_text() == "{ broken"
    assert f"what {STATE} held before is kept as {aside.name} beside it" in said


@pytest.mark.parametrize("content", ["my notes", "[1, 2", '"a text', "\ufeffname: yaml"])
def test_a_file_that_is_not_json_is_left_alone(project: Workspace, put: Put, content: str) -> None:
    """It is somebody else's: it stays where it is, and what to do is said."""
    path = put(STATE, content)
    with pytest.raises(SchemaMismatch, match="is not JSON, so Holdfast did not write it; move it away first"):
        create_workflow_state(TASK, PHASES, root=project.root)
    assert path.read_text("utf-8") == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_list_of_titles_is_another_tools(project: Workspace, put: Put) -> None:
    """I000-20: only with this format's own `current_phase` titles are phases that a person wrote."""
    path = put(STATE, '{"id": "x", "task": "y", "status": "active", "phases": ["a", "b"]}')
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match="no phase has"):
        create_workflow_state(TASK, PHASES, root=project.root)
    with pytest.raises(SchemaMismatch, match="no phase has"):
        update_phase_status("x", "phase_0", "completed", root=project.root)
    assert path.read_bytes() == before


def test_a_file_that_may_not_be_read_is_left_in_its_place(project: Workspace) -> None:
    """Only what was read and found broken is set aside; a folder or a locked file is an error."""
    (project.root / STATE).mkdir(parents=True)
    with pytest.raises(StateError, match="is a folder"):
        create_workflow_state(TASK, PHASES, root=project.root)
    assert (project.root / STATE).is_dir()


@pytest.mark.parametrize("phases", [[], [("", "x")], [("  ", "x")]])
def test_a_workflow_without_titled_phases_is_refused(project: Workspace, phases: list[tuple[str, str]]) -> None:
    """R000-09: each phase has a title people can read."""
    with pytest.raises(TransitionError, match="needs a "):
        create_workflow_state(TASK, phases, root=project.root)


def test_the_root_is_found_like_a_commands(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """I000-19, lesson 3: the project decides, not the working directory."""
    inner = project.root / "src" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project.root))
    monkeypatch.chdir(inner)
    create_workflow_state(TASK, PHASES)
    assert (project.root / STATE).exists()


def test_many_writers_at_once_lose_nothing(project: Workspace) -> None:
    """R000-21: one locked read and write for each update; every deliverable of every writer arrives."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    update_phase_status(id_, "phase_0", "active", root=project.root)

    def deliver(number: int) -> None:
        move(project, "phase_0", None, deliverables=[f"file {number}"], by="person")

    threads = [threading.Thread(target=deliver, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(state_of(project)["phases"][0]["deliverables"]) == sorted(f"file {number}" for number in range(16))


def test_ids_have_the_documents_form(project: Workspace) -> None:
    """R000-03."""
    assert re.fullmatch(r"wf_\d{8}_\d{6}", create_workflow_state(TASK, PHASES, root=project.root))


def test_the_view_follows_the_documents_template(seed: Seed) -> None:
    """R000-20, R000-23: filled into the document's own template."""
    wanted = (
        seed("hybrid-view-template.md")
        .replace("{task}", TASK)
        .replace("{status}", "active")
        .replace("{current_phase_title}", "Write and run tests")
        .replace("Phase 0: {title}", "Phase 0: Create calculator module")
        .replace("{deliverables}", "/path/to/calculator.py, 4 functions")
        .replace("Phase 1: {title}", "Phase 1: Write and run tests")
    )
    phases = [
        {
            "id": "phase_0",
            "title": PHASES[0][0],
            "status": "completed",
            "deliverables": ["/path/to/calculator.py", "4 functions"],
        },
        {"id": "phase_1", "title": PHASES[1][0], "status": "active"},
    ]
    assert generate_markdown({"task": TASK, "status": "active", "current_phase": "phase_1", "phases": phases}) == wanted


def test_the_view_is_regenerated_only_when_it_differs(project: Workspace) -> None:
    """R000-24: generated from the state; an unchanged view is not rewritten, a stale one is."""
    id_ = create_workflow_state(TASK, PHASES, root=project.root)
    before = (project.root / VIEW).stat().st_mtime_ns
    update_phase_status(id_, "phase_0", "pending", root=project.root)
    assert (project.root / VIEW).stat().st_mtime_ns == before
    (project.root / VIEW).write_text("# Workflow Status: edited by hand\n")
    update_phase_status(id_, "phase_0", "pending", root=project.root)
    assert view_of(project) == generate_markdown(state_of(project))


def test_a_trusted_id_counts_for_programs_too(tmp_path: Path) -> None:
    """Their changes reach the ledger that the project's sessions and commands use."""
    (tmp_path / ".claude").mkdir()
    config = paths.project_config(tmp_path)
    config.write_text('project.id = "shop"\n')
    trust.grant(tmp_path, {".claude/holdfast.toml": trust.digest(config.read_bytes())})

    create_workflow_state("Build", ["One"], root=tmp_path)

    assert Workspace.open(tmp_path, trusted=True).ledger_file.exists()
    assert not Workspace.open(tmp_path).ledger_file.exists()
