"""Refusals, lost ledgers and the to-do list of `holdfast hybrid …` and the general verbs on its workflows."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.hybrid import functions
from holdfast.memory.rows import Task
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME

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


def test_a_failed_workflow_gives_way_as_what_it_is(root: Path) -> None:
    """R000-14, I000-17: nothing makes a success of a failed phase; asked to, a start lets it go to the archive."""
    holdfast("next", root=root)
    holdfast("update", "--phase", "1", "--status", "failed", "--error", "no luck", root=root)
    assert 'phase 1 "Build it" failed, so the workflow can\'t end' in holdfast("done", "--all", root=root, code=1).err
    refused = holdfast("start", "Other", "--format", "hybrid", "--phase", "A", root=root, code=1).err
    assert "--replace" in refused and "done --all" not in refused

    holdfast("start", "Other", "--format", "hybrid", "--phase", "A", "--replace", root=root)
    (row,) = holdfast("status", "--all", "--json", root=root).json["archive"]
    assert (row["title"], row["status"]) == ("Tool", "failed")
    said = holdfast("status", "Tool", root=root).out
    assert "no luck" in said and "failed" in said and "[ ] 2. Test it" in said


def test_an_error_needs_a_phase_that_failed(root: Path) -> None:
    """What is given is kept or refused, never dropped."""
    holdfast("next", root=root)
    before = (root / ".claude" / "state" / "workflow.json").read_bytes()
    for verb in (("update", "--phase", "1"), ("update",)):
        assert "failed" in holdfast(*verb, "--error", "no disk", root=root, code=1).err
    assert (root / ".claude" / "state" / "workflow.json").read_bytes() == before

    holdfast("update", "--phase", "1", "--status", "failed", root=root)
    holdfast("update", "--error", "no disk", root=root)
    assert "no disk" in holdfast("status", root=root).out
    holdfast("update", "--phase", "1", "--status", "active", root=root)
    assert "last error: no disk" in holdfast("status", root=root).out
    holdfast("cancel", root=root)
    said = holdfast("status", "Tool", root=root).out
    assert "2 attempts" in said and "no disk" not in said  # the second attempt never failed


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
    assert f"held before is kept as {kept.name} next to it" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("update", "--phase", "nope", "--status", "active"), 'has no phase "nope"; there are "Build it", "Test it"'),
        (("update", "--phase", "0", "--status", "active"), "there is no phase 0"),
        (("reopen", "1"), "hasn't begun"),
        (("reopen", "nope"), 'no phase "nope"'),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(root: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exit 1, what is wrong and what there is."""
    assert words in holdfast(*arguments, root=root, code=1).err

    assert statuses(root) == ["pending"] * 3


def test_done_takes_what_the_phase_delivered(root: Path) -> None:
    """R000-11: with what it hands over."""
    holdfast("done", "--deliverable", "a.py", "--deliverable", "12 pass", "--note", "Mind the gap", root=root)

    (phase, *_) = json.loads((root / ".claude" / "state" / "workflow.json").read_bytes())["phases"]
    assert (phase["deliverables"], phase["context_for_next"]) == (["a.py", "12 pass"], "Mind the gap")


def test_the_todo_list_is_printed(root: Path) -> None:
    """R000-31: content, activeForm and status of each phase, in order; with the session's task ids."""
    holdfast("update", "--phase", "1", "--status", "completed", root=root)

    assert holdfast("status", "--todos", "--json", root=root).json == [
        {"content": "Build it", "status": "completed", "activeForm": "Working on Build it"},
        {"content": "Test it", "status": "in_progress", "activeForm": "Working on Test it"},
        {"content": "2", "status": "pending", "activeForm": "Working on 2"},
    ]
    Workspace.open(root).ledger.table(Task).put(Task(ME, "41", "Test it", ""))
    assert "Test it: in_progress (task #41)" in holdfast("status", "--todos", root=root, session=ME).out
    said = holdfast("status", "--todos", root=root).out
    assert "#41" not in said
    assert re.search(r"^<workflow-data-(\w+)>$.*^</workflow-data-\1>$", said, re.MULTILINE | re.DOTALL)


def test_todos_on_a_terminal_is_a_plain_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions for a model's to-do list are only for a pipe or a session."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build @a", "--phase", "Test @b", root=tmp_path)
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("holdfast.commands.status.sys", terminal)

    lines = holdfast("status", "--todos", root=tmp_path).out.splitlines()

    assert len(lines) == 2
    assert lines[0].startswith("[ ] ")
