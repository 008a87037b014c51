"""An event looks at few state files, however many a project has; commands look at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clock import stamp
from holdfast.files import document
from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.compaction import candidates as compaction_near
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.sessions.ownership import owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, statefile
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow

MANY = compaction_near.MOST + 10


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with many workflows, each changed later than the one before, all of them long ago."""
    project = Workspace.open(tmp_path)
    for number in range(MANY):
        write(project, number)
    return project


def write(project: Workspace, number: int, **changes: object) -> Path:
    """Write the state file of the workflow with a number."""
    path = project.root / f"untracked/workflow-state/w{number}/state-w{number}-20250101_000000.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    phase = {"current": 1, "total": 3, "name": "Build", "status": "in_progress"}
    told = {"workflow": f"W{number}", "workflow_type": "custom", "phase": phase, "required_reading": []}
    path.write_text(json.dumps(told | {"context": {}, "key_reminders": [], "created_at": stamp()} | changes))
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return path


def near(project: Workspace, session: str = ME) -> list[str]:
    """Return the titles of the workflows an event of a session looks at."""
    return [each.title for each in registry.candidates(project, session).workflows]


def old(project: Workspace, number: int) -> Workflow:
    """Return one of all workflows."""
    return next(each for each in compaction.find(project).workflows if each.title == f"W{number}")


def test_the_last_changed_are_looked_at(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, and no other file is even read; how many there are is known."""
    read: list[str] = []
    real = statefile.read

    def reading(there: Workspace, path: Path) -> statefile.StateFile:
        read.append(path.name)
        return real(there, path)

    monkeypatch.setattr(statefile, "read", reading)

    assert near(project) == [f"W{number}" for number in range(MANY - 1, 9, -1)]
    assert sum(name.startswith("state-") for name in read) == compaction_near.MOST
    assert registry.candidates(project, ME).left == 10
    assert len(registry.all_found(project).workflows) == MANY
    assert registry.all_found(project).left == 0


def test_of_few_all_are_looked_at(tmp_path: Path) -> None:
    """Then an event sees what a person sees."""
    project = Workspace.open(tmp_path)
    for number in range(compaction_near.MOST):
        write(project, number)
    assert registry.candidates(project, ME) == registry.all_found(project)


def test_an_edit_brings_a_workflow_near(project: Workspace) -> None:
    """Whoever changes a file makes it the last changed."""
    os.utime(write(project, 0))
    assert near(project)[0] == "W0"


def test_what_a_session_owns_is_near(project: Workspace) -> None:
    """However long ago it was changed; so is what another came to own lately, and what was set free."""
    owners.own(project, old(project, 1), ME)
    project.ledger.run("UPDATE owners SET since = '2020-01-01T00:00:00Z'")
    assert near(project)[-1] == "W1"
    assert "W1" not in near(project, OTHER)

    owners.own(project, old(project, 2), OTHER)
    owners.release(project, old(project, 3), by_hand=True)
    assert near(project)[-3:] == ["W3", "W2", "W1"]
    assert near(project, OTHER)[-2:] == ["W3", "W2"]


def test_a_broken_file_is_a_problem_only_while_it_is_near(project: Workspace) -> None:
    """What nobody touched for long is not complained of at every compaction."""
    near_by, far = write(project, MANY), write(project, 0)
    for path, changed in ((near_by, 1_700_000_999), (far, 1_700_000_000)):
        path.write_text("{")
        os.utime(path, (changed, changed))
    assert [problem.path for problem in registry.candidates(project, ME).problems] == [near_by]
    assert {problem.path for problem in registry.all_found(project).problems} == {near_by, far}


@pytest.mark.parametrize("folder", ["w0", "elsewhere"])
def test_a_save_finds_the_file_of_its_workflow_among_many(project: Workspace, folder: str) -> None:
    """In the folder of its name, or in another one that somebody chose: no second file is made."""
    path = project.root / "untracked/workflow-state/w0"
    path.rename(path.with_name(folder))
    said = Extract("W0", current=2, total=3, source=project.root / "CLAUDE.local.md")

    saved = compaction.save(project, said)

    assert saved.path is not None
    assert (saved.action, saved.path.parent.name) == ("unchanged", folder)
    assert len(list((project.root / "untracked/workflow-state").glob("*/state-*.json"))) == MANY


def heavy(project: Workspace, number: int, size: int) -> Path:
    """Make the state file of the workflow with a number so many bytes long."""
    path = write(project, number)
    return write(project, number, pad="x" * (size - path.stat().st_size - len(', "pad": ""')))


def test_the_sessions_own_file_comes_first_in_what_an_event_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others are large and changed later: what all of them take is bounded, and the rest is counted."""
    project, read = Workspace.open(tmp_path), list[int]()
    heavy(project, 0, statefile.LIMIT_BYTES)
    for number in range(1, 13):
        heavy(project, number, statefile.LIMIT_BYTES - 1000)
    owners.own(project, old(project, 0), ME)
    real = document.read

    def reading(path: Path, *given: Any, **more: Any) -> tuple[bytes, float]:
        raw, changed = real(path, *given, **more)
        read.append(len(raw))
        return raw, changed

    monkeypatch.setattr(document, "read", reading)
    found = registry.candidates(project, ME)

    assert sorted(each.title for each in found.workflows) == ["W0", "W12"]
    assert found.left == 11
    assert sum(read) <= statefile.BUDGET_BYTES
    assert len(registry.all_found(project).workflows) == 13


def test_what_is_too_large_takes_nobodys_room(tmp_path: Path) -> None:
    """It is not read: it is a problem, the others are found."""
    project = Workspace.open(tmp_path)
    large = [heavy(project, number, statefile.LIMIT_BYTES + 1) for number in range(3, 8)]
    for number in range(3):
        write(project, number)

    found = registry.candidates(project, ME)

    assert sorted(each.title for each in found.workflows) == ["W0", "W1", "W2"]
    assert [(each.path, each.reason) for each in found.problems] == [(path, statefile.TOO_LARGE) for path in large]
    assert found.left == 0


def test_a_file_that_is_gone_takes_nobodys_place(project: Workspace) -> None:
    """The ledger may still know a workflow by it; neither does one of another folder count."""
    top = project.root / "untracked/workflow-state"
    gone = top / "w99" / "state-w99-20250101_000000.json"
    beside = project.root / "docs" / "state-w0-20250101_000000.json"
    beside.parent.mkdir()
    beside.write_text("{}")

    assert compaction_near.places(top, [gone, beside]) == compaction_near.places(top)


def test_the_workflow_of_a_name_is_found_though_another_lies_in_its_folder(project: Workspace) -> None:
    """The field goes before the folder, however many files have to be searched for it."""
    path = project.root / "untracked/workflow-state/w0"
    path.rename(path.with_name("elsewhere"))
    other = write(project, 0, workflow="Other")
    held = other.read_bytes()

    saved = compaction.save(project, Extract("W0", current=2, total=3, mtime=1_800_000_000.0))

    assert saved.path is not None
    assert (saved.action, saved.path.parent.name) == ("updated", "elsewhere")
    assert other.read_bytes() == held
