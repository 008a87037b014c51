"""A workflow belongs to one session of one checkout, and others leave it alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from holdfast.memory.rows import Event
from holdfast.sessions import conversations, messages, owners
from tests.handmade import ME, OTHER, workflow, workspace

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace

pytestmark = pytest.mark.usefixtures("noon")


def test_a_change_at_an_unknown_time_is_fresh(project: Workspace) -> None:
    """A time that cannot be read keeps nothing from being restored."""
    assert owners.fresh(project, workflow(project.root, updated_at=""))


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


def test_what_was_set_free_is_named_while_it_is_fresh(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whomever: the next session that is alone may get it. What others own, neither longer."""
    freed, theirs, mine = (workflow(project.root, name) for name in ("Freed", "Theirs", "Mine"))
    owners.own(project, mine, ME)
    owners.own(project, theirs, OTHER)
    owners.release(project, freed, by_hand=True)
    assert owners.lately(project, ME) == [mine.key, theirs.key, freed.key]
    told = [each.what for each in project.ledger.table(Event).where(kind="owner", order="id")]
    assert told == ["now owned by this session"] * 2 + ["no owner yet"]

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-09T12:00:00Z")
    assert owners.lately(project, ME) == [mine.key]


def test_an_unattended_session_keeps_its_workflow_while_it_is_live(project: Workspace) -> None:
    """What nobody owns goes to the session at which a person sits."""
    free, theirs = (workflow(project.root, name) for name in ("Free", "Theirs"))
    conversations.note_event(project, OTHER, attended=False)
    owners.own(project, theirs, OTHER)

    assert owners.may_move(project, ME, [free, theirs]) == [free]
    assert owners.may_move(project, OTHER, [free, theirs]) == [free, theirs]
    conversations.note_event(project, ME, attended=True)
    assert owners.may_move(project, OTHER, [free, theirs]) == [theirs]


def test_worktrees_have_owners_of_their_own(worktrees: tuple[Workspace, Workspace]) -> None:
    """The same file in two checkouts of one project is two workflows."""
    here, there = worktrees
    owners.own(there, workflow(there.root), OTHER)

    assert owners.owner(here, workflow(here.root)) is None
    assert owners.owner(there, workflow(there.root)) == OTHER


def test_missing_files_are_reported_only_to_their_owner(project: Workspace) -> None:
    """A file that is there is not missed, nor what is another session's."""
    there, gone, theirs = (workflow(project.root, name) for name in ("There", "Gone", "Theirs"))
    numbered = workflow(project.root, "Numbered", path=project.root / "issue #7" / "state.json")
    for each in (there, numbered):
        each.path.parent.mkdir(parents=True)
        each.path.write_text("{}")
    for each, session in ((there, ME), (numbered, ME), (gone, ME), (theirs, OTHER)):
        owners.own(project, each, session)

    assert owners.keys_without_file(project, ME) == [gone.key]


def test_many_workflows_are_asked_about_at_once(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those with a name that SQLite stores in another spelling."""
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


def test_the_last_owner_learns_who_has_what_it_released(project: Workspace) -> None:
    """Once: not again after it was told of that change."""
    mine = workflow(project.root)
    owners.own(project, mine, ME)
    owners.release(project, mine)
    owners.own(project, mine, OTHER)

    assert owners.changes_since(project, ME, messages.OFFERED) == {mine.key: True}
    assert owners.changes_since(project, OTHER, messages.OFFERED) == {}
    messages.tell(project, ME, messages.OFFERED, mine.key)
    assert owners.changes_since(project, ME, messages.OFFERED) == {}


def test_each_release_is_told_of(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was told of one hears of the next, which somebody else made an hour later."""
    free = workflow(project.root)
    owners.release(project, free, by_hand=True)
    messages.tell(project, ME, messages.OFFERED, free.key)
    assert owners.changes_since(project, ME, messages.OFFERED) == {}

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T13:00:00Z")
    owners.own(project, free, OTHER)
    owners.release(project, free)
    assert owners.changes_since(project, ME, messages.OFFERED) == {free.key: False}


def test_no_number_of_days_is_too_large(tmp_path: Path) -> None:
    """Whoever never wants a workflow to be too old may write any number."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text("freshness_days = 1e9\n")
    project = workspace(tmp_path)
    old = workflow(tmp_path, updated_at="1999-01-01T11:00:00.000000Z")
    owners.release(project, old, by_hand=True)
    assert owners.lately(project, ME) == [old.key]
    assert owners.fresh(project, old)
