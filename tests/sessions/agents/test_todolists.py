"""What a session knows of its to-do list, so that it is told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import todolists
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path

KEY, ANOTHER = "hybrid:.claude/state/workflow.json#wf_1", "hybrid:.claude/state/workflow.json#wf_2"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def test_a_session_knows_the_last_list_it_was_told(project: Workspace) -> None:
    """Told once, when it changed: the digest of the last list is what counts."""
    assert todolists.last_sent(project, ME, KEY) is None

    todolists.tell(project, ME, KEY, "first")
    todolists.tell(project, ME, KEY, "second")

    assert todolists.last_sent(project, ME, KEY) == "second"


def test_each_session_and_workflow_has_its_own_list(project: Workspace) -> None:
    """A list told to one session is news to another; a new workflow's list is news to all."""
    todolists.tell(project, ME, KEY, "first")

    assert todolists.last_sent(project, OTHER, KEY) is None
    assert todolists.last_sent(project, ME, ANOTHER) is None


def test_task_ids_are_found_by_subject(project: Workspace) -> None:
    """Ids are opaque, and never guessed from positions."""
    todolists.remember_task(project, ME, "7", "Build")
    todolists.remember_task(project, ME, "task-002", "Test")
    todolists.remember_task(project, OTHER, "1", "Release")

    assert todolists.task_ids(project, ME) == {"Build": "7", "Test": "task-002"}
    assert todolists.task_ids(project, OTHER) == {"Release": "1"}


@pytest.mark.parametrize(("first", "second"), [("9", "10"), ("10", "9")])
def test_of_two_tasks_of_one_subject_the_later_counts(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """A model that writes its list anew means the new tasks."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    todolists.remember_task(project, ME, first, "Build")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:01Z")
    todolists.remember_task(project, ME, second, "Build")

    assert todolists.task_ids(project, ME) == {"Build": second}


def test_a_task_that_is_renamed_is_found_by_its_new_subject(project: Workspace) -> None:
    """TaskUpdate may change the subject."""
    todolists.remember_task(project, ME, "1", "Build")
    todolists.change_task(project, ME, "1", subject="Build it", status=None)

    assert todolists.task_ids(project, ME) == {"Build it": "1"}


def test_a_change_of_status_keeps_the_subject(project: Workspace) -> None:
    """TaskUpdate mostly sends the id and the status alone."""
    todolists.remember_task(project, ME, "1", "Build")
    todolists.change_task(project, ME, "1", subject=None, status="completed")

    assert todolists.task_ids(project, ME) == {"Build": "1"}


def test_a_deleted_task_is_forgotten(project: Workspace) -> None:
    """Its id would be an unknown one to the client."""
    todolists.remember_task(project, ME, "1", "Build")
    todolists.change_task(project, ME, "1", subject=None, status="deleted")

    assert todolists.task_ids(project, ME) == {}


def test_a_task_nobody_remembers_is_left_alone(project: Workspace) -> None:
    """A change of a task that is no phase's makes it none."""
    todolists.change_task(project, ME, "1", subject="Other work", status="completed")

    assert todolists.task_ids(project, ME) == {}
