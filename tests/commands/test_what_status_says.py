"""What `status`, `restore`, `next`, `done` and `reopen` say is what is so, and names a command that works."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.signals import begin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from holdfast.testing import HoldfastProject

PLAN = {"CLAUDE/Plan/001-x/PLAN.md": "# User auth\n\nStatus: In Progress\n\n## Phase 1: Login\n"}


def test_a_plan_in_progress_counts_more_than_what_is_completed(
    holdfast_project: Callable[..., HoldfastProject],
) -> None:
    """R001-27: it is named with its position, also if another workflow was completed last."""
    root = holdfast_project(PLAN).root
    holdfast("install", root=root)
    safe = "Safe: a compaction restores 1 of 1 unfinished workflow: User auth 1/1 Login."
    assert holdfast("status", root=root).out.startswith(safe)

    holdfast("start", "Other", "--phase", "A", root=root)
    holdfast("done", "A", root=root)

    assert holdfast("status", root=root).out.startswith(safe)
    assert holdfast("status", "Other", root=root).out.startswith("Nothing to save: Other 1/1 is completed.")


def test_status_says_that_nothing_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R001-27: unless Holdfast is registered, and how to register it; and if all that there is is too old."""
    for title in ("Book", "Film"):
        holdfast("start", title, "--phase", "A", root=tmp_path)
    assert "Not safe: Holdfast isn't registered here" in holdfast("status", "--why", root=tmp_path).out

    holdfast("install", root=tmp_path)
    monkeypatch.setenv("HOLDFAST_NOW", "2099-01-01T00:00:00Z")
    assert holdfast("status", root=tmp_path).out.startswith("Not safe: a compaction restores no workflow here.")


def test_a_damaged_ledger_is_said_once_with_the_command_that_repairs_it(
    holdfast_project: Callable[..., HoldfastProject],
) -> None:
    """By a session's start too; the log's warnings are one line, however often they came."""
    project = holdfast_project()
    holdfast("start", "Book", "--phase", "A", root=project.root)
    Workspace.open(project.root).ledger_file.write_bytes(b"nothing of SQLite's" * 1_000)
    for source in ("startup", "compact"):
        told = json.loads(begin(project, source).stdout)["systemMessage"].split("\n")[0]
        assert told.count("`holdfast doctor --fix` sets it aside, and a new one is begun") == 1
        assert told.count("doctor") == 1
    first, *rest = holdfast("status", root=project.root).out.splitlines()
    assert first.startswith("Not safe: ") and first.endswith("To repair it: holdfast doctor --fix")
    assert [" warning " in line for line in rest if "the ledger cannot be used" in line] == [True]


def prospects(root: Path) -> dict[str, str]:
    """Return how each workflow is restored by a compaction."""
    foretold = holdfast("status", "--why", "--json", root=root).json["prospects"]
    return {each["name"].split()[0]: each["restored"] for each in foretold}


def test_paused_sessions_are_not_counted_as_restored(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """R002-07: the model only sees that they are there; if all are paused, each is claimed first."""
    root = holdfast_project().root
    holdfast("install", root=root)
    for title in ("One", "Two"):
        holdfast("start", title, "--format", "wfs", root=root)
    assert "Safe: Two 0/0" in holdfast("status", "--why", root=root).out
    assert prospects(root) == {"Two": "full", "One": "line"}

    holdfast("cancel", "WFS-two", root=root)

    assert prospects(root) == {"Two": "no", "One": "no"}
    refused = holdfast("next", root=root, code=1).err
    assert "holdfast claim one" in refused
    assert "holdfast next" not in refused
    holdfast("claim", "one", root=root)
    holdfast("next", root=root)


def test_a_workflow_whose_file_was_deleted_is_named_with_the_way_back(tmp_path: Path) -> None:
    """R001-12: its generations are kept; a completed or cancelled one is in the archive, and isn't named."""
    holdfast("start", "Over", "--phase", "A", root=tmp_path)
    holdfast("cancel", root=tmp_path)
    holdfast("start", "Book", "--phase", "A", root=tmp_path)
    shutil.rmtree(tmp_path / "untracked" / "workflow-state" / "book")

    said = holdfast("status", root=tmp_path).out
    assert 'The file of "Book" is gone: `holdfast restore 1 --workflow ' in said
    assert 'The file of "Book" is gone' in holdfast("restore", root=tmp_path, code=1).err

    holdfast(*said.partition("`holdfast ")[2].partition("`")[0].split(), root=tmp_path)

    assert "Book: active" in holdfast("status", "--all", root=tmp_path).out.replace("\nactive", ": active")
    assert "is gone" not in holdfast("status", root=tmp_path).out


def test_a_deleted_workflow_of_several_files_is_one(tmp_path: Path) -> None:
    """R002-01: the file of each task has versions, too, and only the session is named."""
    holdfast("start", "Book", "--format", "wfs", "--phase", "A", "--phase", "B", root=tmp_path)
    shutil.rmtree(tmp_path / ".workflow" / "WFS-book")

    said = holdfast("status", root=tmp_path).out

    assert re.search(r'The file of "Book" is gone: `holdfast restore \d+ --workflow \S+/workflow-session.json`', said)


def test_a_workflow_whose_file_holds_something_else_is_named_with_the_way_back(tmp_path: Path) -> None:
    """I000-20: the other program's file stays until somebody puts the workflow back, and then next to it."""
    holdfast("start", "Two words", "--format", "hybrid", "--phase", "A", root=tmp_path)
    holdfast("cancel", root=tmp_path)
    holdfast("start", "Hand", "--format", "hybrid", "--phase", "A", root=tmp_path)
    state = tmp_path / ".claude" / "state" / "workflow.json"
    state.write_text('{"current_state": 1, "id": "x"}')

    said = holdfast("status", root=tmp_path).out

    assert 'The file of "Hand" holds something else now: `holdfast restore ' in said
    assert 'The file of "Hand" holds something else now' in holdfast("restore", root=tmp_path, code=1).err
    assert '"Hand", which is unfinished and in no file any more' in holdfast("doctor", "states", root=tmp_path).out
    assert state.read_text() == '{"current_state": 1, "id": "x"}'
    holdfast(*said.partition("`holdfast ")[2].partition("`")[0].split(), root=tmp_path)
    assert "Hand 0/1" in holdfast("status", "--all", root=tmp_path).out.replace("Hand\npending, phase 0/1", "Hand 0/1")
    assert "something else" not in holdfast("status", root=tmp_path).out


def test_a_workflow_that_was_replaced_is_said_to_be_in_the_archive(tmp_path: Path) -> None:
    """R000-28: its file holds another one by now."""
    holdfast("start", "Alpha", "--format", "hybrid", "--phase", "A @coder", root=tmp_path)
    holdfast("start", "Beta", "--format", "hybrid", "--phase", "B @coder", "--replace", root=tmp_path)
    holdfast("restore", "1", "--workflow", "alpha", "--replace", root=tmp_path)

    said = holdfast("status", "beta", root=tmp_path).out

    assert said.startswith("Nothing to save: Beta 0/1 is in the archive, and in no file any more.")
    assert "kept in the archive" in said


def test_reopen_says_that_a_phase_is_active_already(tmp_path: Path) -> None:
    """I000-15: nothing changes then."""
    holdfast("start", "Book", "--phase", "A", root=tmp_path)
    said = holdfast("reopen", "A", root=tmp_path).out
    assert said.startswith('Nothing changed: phase 1/1 "A" is active already.')
    assert "Reopened" not in said


def test_a_wrong_name_is_answered_with_workflows_too(tmp_path: Path) -> None:
    """Of many workflows that have such a phase, the message says that it doesn't name all."""
    holdfast("start", "Solo", "--phase", "A", root=tmp_path)
    refused = holdfast("next", "solo2", root=tmp_path, code=1).err
    assert 'no workflow is named "solo2", only "Solo"; "Solo" has no phase "solo2"' in refused
    for title in ("Second", "Third", "Fourth"):
        holdfast("start", title, "--phase", "A", root=tmp_path)
    assert holdfast("next", "A", root=tmp_path, code=1).err.rstrip().endswith(", …")
