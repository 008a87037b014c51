"""Which sessions are live decides what may be restored into another one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER, THIRD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty project at ten o'clock."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    return Workspace.open(tmp_path)


def test_what_is_over_in_another_worktree_is_not_over_here(worktrees: tuple[Workspace, Workspace]) -> None:
    """Its agents are not offered in this one."""
    here, there = worktrees
    for project, session in ((here, ME), (there, OTHER)):
        conversations.note_event(project, session)
        conversations.end(project, session)
    assert conversations.over_since(here, THIRD, "", 10) == [ME]
    assert conversations.over_since(there, THIRD, "", 10) == [OTHER]


def test_a_client_has_one_session_at_a_time(project: Workspace) -> None:
    """A fork of client 2.1.197 first resumes under the old id: what ran in our own process before us is over."""
    other = str(os.getppid())
    conversations.note_event(project, OTHER, str(os.getpid()))
    conversations.note_event(project, ME, str(os.getpid()))
    assert conversations.live_others(project, ME) == set()
    assert conversations.live_others(project, THIRD) == {OTHER, ME}, "nobody knows which of the two goes on"

    conversations.note_event(project, OTHER, other)
    assert conversations.live_others(project, ME) == {OTHER}


@pytest.mark.parametrize("process", ["", "abc", "-1", "²", "9" * 30, "0"])
def test_a_process_number_that_is_none_is_ignored(project: Workspace, process: str) -> None:
    """Whatever stands in CLAUDE_PID, the session is noted."""
    conversations.note_event(project, OTHER, process)

    assert conversations.live_others(project, ME) == {OTHER}


def test_another_worktrees_sessions_are_not_in_the_way(worktrees: tuple[Workspace, Workspace]) -> None:
    """Worktrees share one ledger, but a session in one cannot own what lies in another."""
    here, there = worktrees
    assert here.key == there.key

    conversations.note_event(there, OTHER)

    assert conversations.live_others(here, ME) == set()
    assert OTHER in {each.id for each in conversations.every(here)}

    conversations.note_event(here, OTHER)
    found = [conversations.live_others(each, ME) for each in (here, there)]
    assert found == [{OTHER}, set()], "it is where its last event was"


def test_a_session_goes_on_in_the_process_it_has(project: Workspace) -> None:
    """A fork of 2.1.197 first sends an event with the id it comes from, out of its own process."""
    here, elsewhere = str(os.getpid()), str(os.getppid())
    conversations.note_event(project, ME, here)
    conversations.note_event(project, ME, elsewhere)
    conversations.note_event(project, OTHER, elsewhere)
    assert conversations.live_others(project, OTHER) == {ME}

    conversations.end(project, ME)
    conversations.note_event(project, ME, elsewhere)  # resumed
    assert conversations.live_others(project, OTHER) == set()


@pytest.mark.parametrize("over", [True, False])
def test_ended_session_can_continue_under_another_id(project: Workspace, over: bool) -> None:
    """Even if its last event came after the other's first, and its process runs: a client goes on under another id."""
    conversations.note_event(project, OTHER, process=str(os.getpid()))
    conversations.note_event(project, ME, process=str(os.getppid()))
    if over:
        conversations.end(project, OTHER)

    assert conversations.superseded(project, OTHER, ME) == over


def test_a_session_that_fell_silent_as_another_began_can_go_on_as_that(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no process was noted, only an event after the other's first one says that both go on."""
    for session in (OTHER, ME):
        conversations.note_event(project, session)
    assert conversations.superseded(project, OTHER, ME)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:01Z")
    conversations.note_event(project, OTHER)
    assert not conversations.superseded(project, OTHER, ME)


@pytest.mark.parametrize(("known", "said"), [(5, "abc-4$"), (6, "abc-4 and more$")])
def test_an_ambiguous_beginning_names_some_of_the_sessions(project: Workspace, known: int, said: str) -> None:
    """Five of them, and that there are more where there are."""
    for number in range(known):
        conversations.note_event(project, f"abc-{number}")

    with pytest.raises(
        HoldfastError, match=f"several sessions begin with 'abc'; name one with more characters: abc-0, .*{said}"
    ):
        conversations.resolve(project, "abc")


def test_the_whole_id_of_a_session_goes_before_a_beginning(project: Workspace) -> None:
    """Else a session whose id begins another's could not be named."""
    for name in ("same", "same-1", "same-2"):
        conversations.note_event(project, name)

    assert conversations.resolve(project, "same") == conversations.completed(project, "same") == "same"
    assert conversations.resolve(project, "same-1") == "same-1"
    with pytest.raises(HoldfastError, match="name one with more characters: same, same-1, same-2"):
        conversations.resolve(project, "sam")
    assert conversations.completed(project, "new") == "new"
    with pytest.raises(HoldfastError, match="no session of this project begins with 'new'"):
        conversations.resolve(project, "new")


def test_a_session_leaves_its_process_only_to_one_that_began_there_later(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ran there before, as before a `/clear`, is no reason; one that came after its last event has it now."""
    here, elsewhere = str(os.getpid()), str(os.getppid())
    conversations.note_event(project, OTHER, here)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:05:00Z")
    conversations.note_event(project, ME, here)
    conversations.note_event(project, ME, elsewhere)
    conversations.note_event(project, THIRD, elsewhere)
    assert ME in conversations.live_others(project, THIRD)

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:10:00Z")
    conversations.note_event(project, "later", here)
    conversations.note_event(project, ME, elsewhere)
    assert ME not in conversations.live_others(project, THIRD)
