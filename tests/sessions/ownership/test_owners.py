"""A workflow belongs to one session of one checkout, and others leave it alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from holdfast.errors import LedgerError
from holdfast.ledger import database
from holdfast.ledger.database import Ledger
from holdfast.sessions.history.timeline_event import Asked
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER, workflow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.workflow.model import Workflow


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty project, an hour after the workflows made by hand last changed."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    return Workspace.open(tmp_path)


def test_configuration_says_how_long_a_workflow_is_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`freshness_days` in holdfast.toml."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text("freshness_days = 0.01\n")
    project = Workspace.open(tmp_path)

    assert not owners.fresh(project, workflow(tmp_path))
    assert owners.fresh(project, workflow(tmp_path, updated_at="2026-03-01T11:50:00.000000Z"))


def test_a_change_at_an_unknown_time_is_fresh(project: Workspace) -> None:
    """A time that cannot be read keeps nothing from being restored."""
    assert owners.fresh(project, workflow(project.root, updated_at=""))


def test_owning_takes_a_workflow_from_whoever_had_it(project: Workspace) -> None:
    """`holdfast start` and the CLI's verbs in a session make a workflow that session's."""
    release = workflow(project.root)
    assert owners.owner(project, release) is None

    owners.own(project, release, OTHER)
    owners.own(project, release, ME)

    assert owners.owner(project, release) == ME


@pytest.mark.parametrize("give", [owners.own, owners.take])
def test_giving_a_session_what_it_has_only_refreshes_the_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, give: Callable[[Workspace, Workflow, str], None]
) -> None:
    """It has had the workflow since then, and works on it in the branch that is checked out now."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    head = tmp_path / ".git" / "HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/main\n")
    project, release = Workspace.open(tmp_path), workflow(tmp_path)
    give(project, release, ME)

    head.write_text("ref: refs/heads/feature\n")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T13:00:00Z")
    give(project, release, ME)

    row = project.ledger.one("SELECT since FROM owners")
    assert row == {"since": "2026-03-01T12:00:00.000000Z"}
    assert owners.branch(project, release) == "feature"


def test_a_workflow_is_another_sessions_since_that_one_got_it(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hour at which the session before got it is none of its."""
    release = workflow(project.root)
    owners.own(project, release, OTHER)

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T13:00:00Z")
    owners.own(project, release, ME)

    assert project.ledger.one("SELECT since FROM owners") == {"since": "2026-03-01T13:00:00.000000Z"}


def test_what_belongs_to_another_live_session_is_not_taken(project: Workspace) -> None:
    """To work on it by name is no claim; once that session has ended it is."""
    release = workflow(project.root)
    sessions.note_event(project, OTHER)
    owners.own(project, release, OTHER)

    owners.take(project, release, ME)
    assert owners.owner(project, release) == OTHER

    sessions.ended(project, OTHER)
    owners.take(project, release, ME)
    assert owners.owner(project, release) == ME


def test_the_later_of_a_change_and_a_release_counts(project: Workspace) -> None:
    """Neither does an old release hide a later change, nor an old change a later release."""
    released_long_ago = workflow(project.root, "Changed lately")
    changed_long_ago = workflow(project.root, "Released lately", updated_at="2025-12-01T11:00:00.000000Z")
    with pytest.MonkeyPatch.context() as clock:
        clock.setenv("HOLDFAST_NOW", "2025-12-01T12:00:00Z")
        owners.release(project, released_long_ago, by_hand=True)
    owners.release(project, changed_long_ago, by_hand=True)

    assert owners.fresh(project, released_long_ago)
    assert owners.fresh(project, changed_long_ago)


def test_of_very_many_workflows_the_newest_are_named(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen of those that were given to a session, and of those that were set free."""
    many = [workflow(project.root, f"Release {number}") for number in range(20)]
    newest = [each.key for each in reversed(many[-16:])]
    for number, each in enumerate(many):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T12:{number:02}:00Z")
        owners.own(project, each, ME)
    assert owners.lately(project, ME) == owners.lately(project, OTHER) == newest

    for number, each in enumerate(many):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T13:{number:02}:00Z")
        owners.release(project, each)
    assert owners.lately(project, ME) == newest


def test_a_ledger_that_refuses_names_none(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked for too long, say: an event goes on with what it finds without it."""
    owners.own(project, workflow(project.root), ME)

    def refuse(*_: object) -> None:
        raise LedgerError("database is locked")

    monkeypatch.setattr(Ledger, "rows", refuse)

    assert owners.lately(project, ME) == []


def test_what_was_set_free_is_named_while_it_is_fresh(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whomever: the next session that is alone may get it. What others own, neither longer."""
    freed, theirs, mine = (workflow(project.root, name) for name in ("Freed", "Theirs", "Mine"))
    owners.own(project, mine, ME)
    owners.own(project, theirs, OTHER)
    owners.release(project, freed, by_hand=True)
    assert owners.lately(project, ME) == [mine.key, theirs.key, freed.key]

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-09T12:00:00Z")
    assert owners.lately(project, ME) == [mine.key]


def test_a_session_alone_may_save_and_move_all(project: Workspace) -> None:
    """With no other live session nobody else could mind."""
    mine, theirs, nobodys = (workflow(project.root, name) for name in ("Mine", "Theirs", "Nobody's"))
    owners.own(project, mine, ME)
    owners.own(project, theirs, OTHER)

    assert owners.of_session(project, ME, [mine, theirs, nobodys]) == [mine, theirs, nobodys]


def test_beside_another_a_session_may_save_and_move_only_its_own(project: Workspace) -> None:
    """A session that is not alone leaves alone what is not its own, also what is nobody's."""
    mine, theirs, nobodys = (workflow(project.root, name) for name in ("Mine", "Theirs", "Nobody's"))
    owners.own(project, mine, ME)
    owners.own(project, theirs, OTHER)
    sessions.note_event(project, OTHER)

    assert owners.of_session(project, ME, [mine, theirs, nobodys]) == [mine]


def test_a_stale_workflow_of_nobody_is_nobodys_to_save_and_move(project: Workspace) -> None:
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
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("a", "b"))
    owners.own(there, workflow(there.root), OTHER)

    assert owners.owner(here, workflow(here.root)) is None
    assert owners.owner(there, workflow(there.root)) == OTHER


def test_a_session_misses_only_what_it_owns_and_what_is_gone(project: Workspace) -> None:
    """A file that is there is not missed, nor what is another session's."""
    there, gone, theirs = (workflow(project.root, name) for name in ("There", "Gone", "Theirs"))
    numbered = workflow(project.root, "Numbered", path=project.root / "issue #7" / "state.json")
    for each in (there, numbered):
        each.path.parent.mkdir(parents=True)
        each.path.write_text("{}")
    for each, session in ((there, ME), (numbered, ME), (gone, ME), (theirs, OTHER)):
        owners.own(project, each, session)

    assert owners.keys_without_file(project, ME) == [gone.key]


def test_only_a_change_of_owner_is_noted(project: Workspace) -> None:
    """A session that works on its own workflow all day changes nothing."""
    release = workflow(project.root)
    for session in (ME, ME, OTHER, OTHER):
        owners.own(project, release, session)
    owners.release(project, release)
    owners.release(project, release)

    told = owners.happened(project, Asked(limit=10, workflow=release.key, worktree=project.worktree))
    assert [(each.what, each.session, each.data["previous_owner"]) for each in told] == [
        ("ownership changed", ME, None),
        ("ownership changed", OTHER, ME),
        ("released", "", OTHER),
    ]


def test_many_workflows_are_asked_about_at_once(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those with a name that SQLite stores in another spelling, and more than one statement takes."""
    ids = [*(f"old-{number}" for number in range(5)), "caf\udce9"]
    long_ago = "2025-12-01T11:00:00.000000Z"
    old = [replace(workflow(project.root, f"Old {at}", updated_at=long_ago), id=each) for at, each in enumerate(ids)]
    young = workflow(project.root, "Young", updated_at="2026-03-01T11:50:00.000000Z")
    for each, session in ((old[1], ME), (old[-1], OTHER), (old[2], ME)):
        owners.own(project, each, session)
    owners.release(project, old[2])
    project.keep(old[4].path, old[4].raw, why="seen")
    asked = Mock(wraps=project.ledger.rows)
    monkeypatch.setattr(project.ledger, "rows", asked)

    assert owners.holders(project, old) == {each.key: None for each in old} | {old[1].key: ME, old[-1].key: OTHER}
    assert owners.fresh_ones(project, [*old, young]) == [old[2], old[4], young]
    assert owners.holders(project, ()) == {}
    assert asked.call_count == 3

    monkeypatch.setattr(database, "_VALUES_AT_ONCE", 2)
    assert owners.fresh_ones(project, [*old, young]) == [old[2], old[4], young]


def test_whoever_takes_an_old_workflow_does_not_make_it_fresh(project: Workspace) -> None:
    """Only a release does that; of what a plan says its own change counts, not that of its copy."""
    assert owners.fresh(project, workflow(project.root, updated_at="2026-02-22T12:00:00.000000Z")), "seven days"
    old = workflow(project.root, updated_at="2025-12-01T11:00:00.000000Z")
    for session in (OTHER, ME):
        owners.own(project, old, session)
    assert not owners.fresh(project, old)
    owners.release(project, old)
    assert owners.fresh(project, old)

    planned = workflow(project.root, "Planned", plan_at="2025-12-01T11:00:00.000000Z")
    assert owners.changed_at(project, planned) == planned.plan_at
    assert not owners.fresh(project, planned)


def test_of_what_a_session_misses_the_latest_is_named_first(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of very many the sixteen latest."""
    many = [workflow(project.root, f"Release {number}") for number in range(20)]
    for number, each in enumerate(many):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T12:{number:02}:00Z")
        owners.own(project, each, ME)
    assert owners.keys_without_file(project, ME) == [each.key for each in reversed(many[-16:])]


def test_of_very_many_changes_of_owners_the_latest_are_kept(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger does not grow for ever."""
    monkeypatch.setattr(owners, "KEPT", 3)
    release = workflow(project.root)
    for minute in range(6):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T12:{minute:02}:00Z")
        owners.own(project, release, f"session-{minute}")

    told = owners.happened(project, Asked(limit=10, workflow=release.key, worktree=project.worktree))
    assert [each.session for each in told] == ["session-3", "session-4", "session-5"]


def test_an_event_looks_for_the_last_workflows_of_a_session_that_owns_hundreds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, it takes as many of the ledger's own steps. `forget` still finds them all."""
    counts = []
    for number in (70, 200):
        project = Workspace.open(tmp_path / str(number))
        for each in range(number):
            monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T12:{each // 60:02}:{each % 60:02}Z")
            owners.own(project, workflow(project.root, id=f"{each:04}"), ME)
        steps: list[None] = []
        project.ledger._connection.set_progress_handler(partial(steps.append, None), 1)
        found = project.owned(ME)
        project.ledger._connection.set_progress_handler(None, 0)
        assert [each.rpartition("#")[2] for each in found] == [f"{number - each:04}" for each in range(1, 65)]
        assert len(owners.keys(project, ME)) == number
        counts.append(len(steps))
    assert counts[1] == counts[0] > 0
