"""A workflow belongs to one session of one checkout, and others leave it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.project import Project
from holdfast.survival import owners, sessions
from tests.handmade import ME, OTHER, workflow

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project, an hour after the workflows made by hand last changed."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    return Project.open(tmp_path)


def test_configuration_says_how_long_a_workflow_is_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`freshness_days` in holdfast.toml."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text("freshness_days = 0.01\n")
    project = Project.open(tmp_path)

    assert not owners.fresh(project, workflow(tmp_path))
    assert owners.fresh(project, workflow(tmp_path, updated_at="2026-03-01T11:50:00.000000Z"))


def test_a_change_at_an_unknown_time_is_fresh(project: Project) -> None:
    """A time that cannot be read keeps nothing from being restored."""
    assert owners.fresh(project, workflow(project.root, updated_at=""))


def test_owning_takes_a_workflow_from_whoever_had_it(project: Project) -> None:
    """`holdfast start` and the CLI's verbs in a session make a workflow that session's."""
    release = workflow(project.root)
    assert owners.owner(project, release) is None

    owners.own(project, release, OTHER)
    owners.own(project, release, ME)

    assert owners.owner(project, release) == ME


def test_a_session_alone_may_save_and_move_all(project: Project) -> None:
    """With no other live session nobody else could mind."""
    mine, theirs, nobodys = (workflow(project.root, name) for name in ("Mine", "Theirs", "Nobody's"))
    owners.own(project, mine, ME)
    owners.own(project, theirs, OTHER)

    assert owners.of_session(project, ME, [mine, theirs, nobodys]) == [mine, theirs, nobodys]


def test_beside_another_a_session_may_save_and_move_only_its_own(project: Project) -> None:
    """A session that is not alone leaves alone what is not its own, also what is nobody's."""
    mine, theirs, nobodys = (workflow(project.root, name) for name in ("Mine", "Theirs", "Nobody's"))
    owners.own(project, mine, ME)
    owners.own(project, theirs, OTHER)
    sessions.seen(project, OTHER)

    assert owners.of_session(project, ME, [mine, theirs, nobodys]) == [mine]


def test_a_stale_workflow_of_nobody_is_nobodys_to_save_and_move(project: Project) -> None:
    """Else its PreCompact would make a session the owner of what lay there for 90 days, and restore it."""
    stale = workflow(project.root, updated_at="2025-12-01T11:00:00.000000Z")
    assert owners.of_session(project, ME, [stale]) == []

    owners.own(project, stale, ME)
    assert owners.of_session(project, ME, [stale]) == [stale]


def test_worktrees_have_owners_of_their_own(tmp_path: Path) -> None:
    """The same file in two checkouts of one project is two workflows."""
    for name in ("a", "b"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Project.open(tmp_path / name, trusted=True) for name in ("a", "b"))
    owners.own(there, workflow(there.root), OTHER)

    assert owners.owner(here, workflow(here.root)) is None
    assert owners.owner(there, workflow(there.root)) == OTHER
