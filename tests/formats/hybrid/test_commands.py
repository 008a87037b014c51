"""`holdfast hybrid …` has what only this format has: phases by id, reopening, the to-do list."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.formats.hybrid.commands import functions
from holdfast.sessions.agents import todolists
from holdfast.sessions.ownership import owners
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a hybrid workflow of three phases."""
    functions.create_workflow_state("Tool", [("Build it", "builder"), ("Test it", "tester"), ("2", "x")], root=tmp_path)
    return tmp_path


def phases(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((root / ".claude" / "state" / "workflow.json").read_bytes())["phases"]
    return found


def statuses(root: Path) -> list[str]:
    return [phase["status"] for phase in phases(root)]


@pytest.mark.parametrize("name", ["phase_1", "PHASE_1", "2", "Test it", "test IT"])
def test_a_phase_is_named_by_id_number_or_title(root: Path, name: str) -> None:
    """In any case; the number counts from 1, as everywhere but in the files."""
    holdfast("hybrid", "phase", name, "--status", "active", root=root)
    holdfast("hybrid", "phase", name, "--status", "completed", "--context", "noted", root=root)

    assert [phase["context_for_next"] for phase in phases(root)] == ["", "noted", ""]


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_a_phase_does_not_end_beside_one_that_is_active(root: Path, status: str) -> None:
    """R000-14, R000-15: one at a time; only the start of the phase that is due may have been forgotten (I000-6)."""
    holdfast("next", root=root)
    for verb in (("hybrid", "phase", "2"), ("update", "--phase", "2")):
        said = holdfast(*verb, "--status", status, root=root, code=1).err
        assert 'phase 1 "Build it" is active, and only one phase can be' in said
    assert statuses(root) == ["active", "pending", "pending"]

    holdfast("done", root=root)
    holdfast("hybrid", "phase", "2", "--status", status, root=root)
    assert statuses(root)[1] == status


def test_a_phase_that_waits_leaves_nothing_yet(root: Path) -> None:
    """R000-11, R000-12: no deliverables and no hand-over before it began; its title is free."""
    for given in (("--context", "x"), ("--deliverable", "a.py")):
        assert 'phase 1 "Build it" is pending' in holdfast("update", *given, root=root, code=1).err
        assert 'phase 2 "Test it" is pending' in holdfast("hybrid", "phase", "2", *given, root=root, code=1).err
    holdfast("update", "--rename", "Build all", root=root)
    assert [phase["title"] for phase in phases(root)] == ["Build all", "Test it", "2"]
    assert phases(root)[0]["context_for_next"] == ""


def test_a_failed_workflow_gives_way_as_what_it_is(root: Path) -> None:
    """R000-14, I000-17: nothing makes a success of a failed phase; asked to, a start lets it go to the archive."""
    holdfast("next", root=root)
    holdfast("hybrid", "phase", "1", "--status", "failed", "--error", "no luck", root=root)
    assert 'phase 1 "Build it" failed, so the workflow can\'t end' in holdfast("done", "--all", root=root, code=1).err
    refused = holdfast("start", "Other", "--format", "hybrid", "--phase", "A", root=root, code=1).err
    assert "--replace" in refused and "done --all" not in refused

    holdfast("start", "Other", "--format", "hybrid", "--phase", "A", "--replace", root=root)
    (row,) = holdfast("list", "--archive", "--json", root=root).json
    assert (row["title"], row["status"]) == ("Tool", "failed")
    said = holdfast("show", "Tool", root=root).out
    assert "no luck" in said and "failed" in said and "[ ] 2. Test it" in said


def test_an_error_needs_a_phase_that_failed(root: Path) -> None:
    """What is given is kept or refused, never dropped."""
    holdfast("next", root=root)
    before = (root / ".claude" / "state" / "workflow.json").read_bytes()
    for verb in (("hybrid", "phase", "1"), ("hybrid", "phase", "1", "--status", "completed"), ("update",)):
        assert "failed" in holdfast(*verb, "--error", "no disk", root=root, code=1).err
    assert (root / ".claude" / "state" / "workflow.json").read_bytes() == before
    with pytest.raises(TransitionError, match="--status failed"):
        functions.update_phase_status(json.loads(before)["id"], "phase_0", "active", error="no disk", root=root)

    holdfast("hybrid", "phase", "1", "--status", "failed", root=root)
    holdfast("hybrid", "phase", "1", "--error", "no disk", root=root)
    assert "no disk" in holdfast("show", root=root).out


def test_a_workflow_without_phases_is_not_done(root: Path) -> None:
    """R000-13: nothing was completed, and nobody says so."""
    file = root / ".claude" / "state" / "workflow.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"phases": []}))
    assert "lists no phases" in holdfast("done", root=root, code=1).err
    assert "completed" in holdfast("done", "--all", root=root).out


def test_without_a_ledger_the_completed_workflow_stays_under_another_name(root: Path) -> None:
    """Nothing is lost: what no archive can keep is kept beside the new one, and said."""
    holdfast("done", "--all", root=root)
    ledger = Workspace.open(root).ledger.file
    assert ledger is not None
    for each in ledger.parent.glob(f"{ledger.name}*"):
        each.unlink()
    ledger.mkdir()
    before = (root / ".claude" / "state" / "workflow.json").read_bytes()

    said = holdfast("start", "Next one", "--format", "hybrid", "--phase", "A", root=root).out

    (kept,) = (root / ".claude" / "state").glob("workflow.json.kept-*")
    assert kept.read_bytes() == before
    assert f"held before is kept as {kept.name} beside it" in said


def test_with_a_ledger_nothing_is_left_beside_the_new_one(root: Path) -> None:
    """The archive has it."""
    holdfast("done", "--all", root=root)
    holdfast("start", "Next one", "--format", "hybrid", "--phase", "A", root=root)
    assert sorted(each.name for each in (root / ".claude" / "state").glob("workflow.json*")) == ["workflow.json"]


def test_a_phase_goes_through_its_statuses(root: Path) -> None:
    """R000-14: pending, active, completed; the next one begins; the view follows."""
    holdfast("hybrid", "phase", "1", "--status", "active", root=root)
    said = holdfast(
        *("hybrid", "phase", "1", "--status", "completed", "--deliverable", "a.py", "--deliverable", "b.py"),
        *("--context", "all built"),
        root=root,
    )

    assert statuses(root) == ["completed", "active", "pending"]
    assert (phases(root)[0]["deliverables"], phases(root)[0]["context_for_next"]) == (["a.py", "b.py"], "all built")
    assert "Test it\n\nContext: all built" in said.out
    assert "→ a.py, b.py" in (root / ".claude" / "workflow_state_system.md").read_text()


def test_programs_get_the_row_and_the_next_step(root: Path) -> None:
    """`--json`."""
    said = holdfast("hybrid", "phase", "1", "--status", "failed", "--json", root=root).json

    assert (said["status"], said["current"], said["next"]["title"]) == ("failed", 1, "Build it")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("phase", "nope", "--status", "active"), 'there is no phase "nope"; there are 1 "Build it", 2'),
        (("phase", "1"), "nothing to change"),
        (("phase", "0", "--status", "active"), "phases count from 1"),
        (("reopen", "1"), "only a completed or failed phase reopens"),
        (("reopen", "nope"), 'there is no phase "nope"'),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(root: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exit 1, what is wrong and what there is."""
    assert words in holdfast("hybrid", *arguments, root=root, code=1).err

    assert statuses(root) == ["pending"] * 3


def test_a_person_is_told_of_a_refused_transition(root: Path) -> None:
    """R000-15: one phase at a time."""
    holdfast("hybrid", "phase", "1", "--status", "active", root=root)

    assert (
        'phase 1 "Build it" is active' in holdfast("hybrid", "phase", "2", "--status", "active", root=root, code=1).err
    )


def test_reopening_undoes_a_completion(root: Path) -> None:
    """I000-15: a wrong completion is undone by people, never by a hook."""
    holdfast("hybrid", "phase", "1", "--status", "completed", root=root)
    assert statuses(root) == ["completed", "active", "pending"]

    said = holdfast("hybrid", "reopen", "Build it", root=root).out

    assert 'Phase 1/3 "Build it" is active again. Phase 2/3 "Test it" is pending again.' in said
    assert statuses(root) == ["active", "pending", "pending"]


def test_the_todo_list_is_printed(root: Path) -> None:
    """R000-31: content, activeForm and status of each phase, in order; with the session's task ids."""
    holdfast("hybrid", "phase", "1", "--status", "completed", root=root)

    assert holdfast("hybrid", "todos", "--json", root=root).json == [
        {"content": "Build it", "status": "completed", "activeForm": "Working on Build it"},
        {"content": "Test it", "status": "in_progress", "activeForm": "Working on Test it"},
        {"content": "2", "status": "pending", "activeForm": "Working on 2"},
    ]
    todolists.remember_task(Workspace.open(root), ME, "41", "Test it")
    assert "Test it: in_progress (task #41)" in holdfast("hybrid", "todos", root=root, session=ME).out
    said = holdfast("hybrid", "todos", root=root).out
    assert "#41" not in said
    assert re.search(r"^<workflow-data-(\w+)>$.*^</workflow-data-\1>$", said, re.MULTILINE | re.DOTALL)


def test_todos_on_a_terminal_is_a_plain_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions for a model's to-do list are only for a pipe or a session."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build @a", "--phase", "Test @b", root=tmp_path)
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("holdfast.formats.hybrid.commands.phases.sys", terminal)

    lines = holdfast("hybrid", "todos", root=tmp_path).out.splitlines()

    assert len(lines) == 2
    assert lines[0].startswith("[ ] ")


@each_row("arguments", [("phase", "1", "--status", "active"), ("reopen", "1"), ("todos",)])
def test_without_a_hybrid_workflow_the_way_to_one_is_named(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """An error says what to do."""
    said = holdfast("hybrid", *arguments, root=tmp_path, code=1)

    assert "there is no workflow in the hybrid format here; `holdfast start TITLE --format hybrid" in said.err


def test_a_session_that_moves_a_phase_owns_the_workflow(root: Path) -> None:
    """As with the verbs for all formats; looking at the list makes nobody an owner."""
    project = Workspace.open(root)
    holdfast("hybrid", "todos", root=root, session=OTHER)
    assert owners.owner(project, hybrid.find(project).workflows[0]) is None

    holdfast("hybrid", "phase", "1", "--status", "completed", root=root, session=ME)
    assert owners.owner(project, hybrid.find(project).workflows[0]) == ME


def test_a_session_that_reopens_a_phase_owns_the_workflow(root: Path) -> None:
    """It means to go on with it."""
    holdfast("hybrid", "phase", "1", "--status", "completed", root=root, session=OTHER)
    holdfast("hybrid", "reopen", "1", root=root, session=ME)

    project = Workspace.open(root)
    assert owners.owner(project, hybrid.find(project).workflows[0]) == ME
