"""Which sessions are live decides what may be restored into another one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.clients import claude
from holdfast.errors import HoldfastError
from holdfast.sessions.history.timeline_event import Asked
from holdfast.sessions.ownership import sessions
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER, THIRD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty project at ten o'clock."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    return Workspace.open(tmp_path)


@dataclass(frozen=True)
class _Elsewhere(Workspace):
    """The same project on another machine."""

    @property
    def host(self) -> str:
        """Return a name no machine of ours has."""
        return "elsewhere.example"


def test_a_session_is_known_once_it_has_been_seen(project: Workspace) -> None:
    """Only a session the ledger saw before this compaction counts as known."""
    assert ME not in {each["id"] for each in sessions.all_of(project)}

    sessions.note_event(project, ME)

    assert ME in {each["id"] for each in sessions.all_of(project)}
    assert OTHER not in {each["id"] for each in sessions.all_of(project)}


@pytest.mark.parametrize(("process", "asked"), [("4", 1), ("5", 2)], ids=["the same", "another"])
def test_a_session_in_its_own_process_is_looked_up_once(project: Workspace, process: str, asked: int) -> None:
    """Only one that is named by another process is asked about again: it may go on where it was."""
    project = Workspace.open(project.root, client=claude)
    sessions.note_event(project, ME, process="4")
    stated: list[str] = []
    project.ledger._connection.set_trace_callback(stated.append)

    event, context = SimpleNamespace(session_id=ME, transcript_path=""), SimpleNamespace(project=project)
    context.environ = {"CLAUDE_PID": process}
    assert sessions.join(event, context)

    assert sum(each.startswith("SELECT") for each in stated) == asked


def test_another_session_with_a_recent_event_is_live(project: Workspace) -> None:
    """A session never counts as another one beside itself."""
    sessions.note_event(project, ME)
    sessions.note_event(project, OTHER)

    assert sessions.live_others(project, ME) == {OTHER}
    assert sessions.live_others(project, THIRD) == {ME, OTHER}


@pytest.mark.parametrize(("time", "live"), [("11:00:00", True), ("11:00:01", False)])
def test_an_hour_of_silence_ends_a_session(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, time: str, live: bool
) -> None:
    """Live means an event within 60 minutes."""
    sessions.note_event(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")

    assert bool(sessions.live_others(project, ME)) is live


def test_a_later_event_keeps_a_session_live(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The silence counts from the last event and not from the first."""
    sessions.note_event(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:50:00Z")
    sessions.note_event(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T11:30:00Z")

    assert sessions.live_others(project, ME) == {OTHER}


def test_a_clock_that_jumps_back_kills_no_session(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A last event in the future is a recent one."""
    sessions.note_event(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T07:00:00Z")

    assert sessions.live_others(project, ME) == {OTHER}


def test_a_session_that_ended_is_not_live_until_it_is_resumed(project: Workspace) -> None:
    """SessionEnd ends a session; an event after it shows that it was resumed."""
    sessions.note_event(project, OTHER)
    sessions.ended(project, OTHER)
    assert sessions.live_others(project, ME) == set()

    sessions.note_event(project, OTHER)
    assert sessions.live_others(project, ME) == {OTHER}


def test_the_end_of_a_session_nobody_saw_is_no_error(project: Workspace) -> None:
    """A SessionEnd may be the first that is heard of a session; it does not make it known."""
    sessions.ended(project, ME)

    assert ME not in {each["id"] for each in sessions.all_of(project)}


def test_a_session_whose_process_has_gone_is_not_live(project: Workspace) -> None:
    """Where CLAUDE_PID was noted on this host, that process must still run."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    sessions.note_event(project, OTHER, str(gone.pid))
    sessions.note_event(project, THIRD, str(os.getpid()))

    assert sessions.live_others(project, ME) == {THIRD}


def test_a_client_has_one_session_at_a_time(project: Workspace) -> None:
    """A fork of client 2.1.197 first resumes under the old id: what ran in our own process before us is over."""
    other = str(os.getppid())
    sessions.note_event(project, OTHER, str(os.getpid()))
    sessions.note_event(project, ME, str(os.getpid()))
    assert sessions.live_others(project, ME) == set()
    assert sessions.live_others(project, THIRD) == {OTHER, ME}, "nobody knows which of the two goes on"

    sessions.note_event(project, OTHER, other)
    assert sessions.live_others(project, ME) == {OTHER}


def test_a_process_of_somebody_else_runs(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """That we may not signal a process shows that there is one."""

    def refuse(process: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    sessions.note_event(project, OTHER, "1")

    assert sessions.live_others(project, ME) == {OTHER}


def test_a_process_on_another_machine_is_not_looked_for(project: Workspace) -> None:
    """Process numbers mean nothing on another host: there the silence alone decides."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    sessions.note_event(_Elsewhere(project.root, project.config), OTHER, str(gone.pid))

    assert sessions.live_others(project, ME) == {OTHER}


def test_an_event_without_the_process_keeps_what_was_noted(project: Workspace) -> None:
    """CLAUDE_PID is not in every environment; an event without it does not bring the dead back to life."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    sessions.note_event(project, OTHER, str(gone.pid))
    sessions.note_event(project, OTHER)

    assert sessions.live_others(project, ME) == set()


@pytest.mark.parametrize("process", ["", "abc", "-1", "²", "9" * 30, "0"])
def test_a_process_number_that_is_none_is_ignored(project: Workspace, process: str) -> None:
    """Whatever stands in CLAUDE_PID, the session is noted."""
    sessions.note_event(project, OTHER, process)

    assert sessions.live_others(project, ME) == {OTHER}


def test_another_worktrees_sessions_are_not_in_the_way(tmp_path: Path) -> None:
    """Worktrees share one ledger, but a session in one cannot own what lies in another."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name in ("a", "b"):
        (tmp_path / name / ".claude").mkdir()
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("a", "b"))
    assert here.key == there.key

    sessions.note_event(there, OTHER)

    assert sessions.live_others(here, ME) == set()
    assert OTHER in {each["id"] for each in sessions.all_of(here)}

    sessions.note_event(here, OTHER)
    found = [sessions.live_others(each, ME) for each in (here, there)]
    assert found == [{OTHER}, set()], "it is where its last event was"


def test_a_session_rests_from_the_end_of_a_turn_to_its_next_event(project: Workspace) -> None:
    """Stop begins the rest; a prompt ends it. A session nobody saw does not rest."""
    sessions.rest(project, ME)
    assert not sessions.is_idle(project, ME)
    assert ME not in {each["id"] for each in sessions.all_of(project)}

    sessions.note_event(project, ME)
    assert not sessions.is_idle(project, ME)
    sessions.rest(project, ME)
    assert sessions.is_idle(project, ME)
    assert not sessions.is_idle(project, OTHER)
    sessions.note_event(project, ME)
    assert not sessions.is_idle(project, ME)


def test_the_end_of_a_turn_is_a_sign_of_life(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn may take longer than an hour; its end shows that the session lives."""
    sessions.note_event(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    sessions.rest(project, OTHER)

    assert sessions.live_others(project, ME) == {OTHER}


def test_all_sessions_are_listed_with_the_latest_first(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """`holdfast status --json` shows when each session was first and last seen, and when it ended."""
    sessions.note_event(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:30:00Z")
    sessions.note_event(project, ME)
    sessions.ended(project, ME)

    first, second = sessions.all_of(project)
    assert (first["id"], first["ended_at"]) == (ME, "2026-03-01T10:30:00.000000Z")
    assert (second["id"], second["first_seen"], second["ended_at"]) == (OTHER, "2026-03-01T10:00:00.000000Z", None)


def test_a_session_goes_on_in_the_process_it_has(project: Workspace) -> None:
    """A fork of 2.1.197 first sends an event with the id it comes from, out of its own process."""
    here, elsewhere = str(os.getpid()), str(os.getppid())
    sessions.note_event(project, ME, here)
    sessions.note_event(project, ME, elsewhere)
    sessions.note_event(project, OTHER, elsewhere)
    assert sessions.live_others(project, OTHER) == {ME}

    sessions.ended(project, ME)
    sessions.note_event(project, ME, elsewhere)  # resumed
    assert sessions.live_others(project, OTHER) == set()


def test_a_session_whose_process_is_gone_goes_on_in_the_next(project: Workspace) -> None:
    """It crashed, and is resumed."""
    sessions.note_event(project, ME, str(2**22 + 1))  # above every pid_max
    sessions.note_event(project, ME, str(os.getpid()))
    sessions.note_event(project, OTHER, "1")
    assert sessions.live_others(project, OTHER) == {ME}


@pytest.mark.parametrize("over", [True, False])
def test_a_session_that_ended_can_have_become_another(project: Workspace, over: bool) -> None:
    """Even if its last event came after the other's first, and its process runs: a client goes on under another id."""
    sessions.note_event(project, OTHER, process=str(os.getpid()))
    sessions.note_event(project, ME, process=str(os.getppid()))
    if over:
        sessions.ended(project, OTHER)

    assert sessions.superseded(project, OTHER, ME) == over


def test_of_very_many_sessions_the_newest_are_looked_at(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd of silent sessions, of which none said that it ended, hides none that is live."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T07:00:00Z")
    with project.ledger.transaction():
        for number in range(250):
            sessions.note_event(project, f"silent-{number}")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    sessions.note_event(project, OTHER)

    assert sessions.live_others(project, ME) == {OTHER}


@pytest.mark.parametrize(("known", "said"), [(5, "abc-4$"), (6, "abc-4 and more$")])
def test_an_ambiguous_beginning_names_some_of_the_sessions(project: Workspace, known: int, said: str) -> None:
    """Five of them, and that there are more where there are."""
    for number in range(known):
        sessions.note_event(project, f"abc-{number}")

    with pytest.raises(
        HoldfastError, match=f"several sessions begin with 'abc'; name one with more characters: abc-0, .*{said}"
    ):
        sessions.resolve(project, "abc")


def test_only_a_process_of_this_machine_can_have_broken_off(project: Workspace) -> None:
    """Whether another machine's process runs nobody here knows; a session that ended did not break off."""
    gone = str(2**22 + 1)  # above every pid_max
    sessions.note_event(_Elsewhere(project.root, project.config), OTHER, gone)
    sessions.note_event(project, ME, gone)
    assert [sessions.has_crashed(project, each) for each in (ME, OTHER, THIRD)] == [True, False, False]
    assert [sessions.process_gone(project, each) for each in (ME, OTHER, THIRD)] == [True, False, False]

    sessions.ended(project, ME)
    assert not sessions.has_crashed(project, ME)


def test_a_process_of_another_machine_says_nothing_of_what_a_session_became(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it counts whether the session had an event after the other one was first seen."""
    there = _Elsewhere(project.root, project.config)
    sessions.note_event(there, OTHER, str(2**22 + 1))  # above every pid_max
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:05:00Z")
    sessions.note_event(project, ME, str(os.getpid()))
    assert sessions.superseded(project, OTHER, ME)

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:10:00Z")
    sessions.note_event(there, OTHER, str(2**22 + 1))
    assert not sessions.superseded(project, OTHER, ME)


def test_the_whole_id_of_a_session_goes_before_a_beginning(project: Workspace) -> None:
    """Else a session whose id begins another's could not be named."""
    for name in ("same", "same-1", "same-2"):
        sessions.note_event(project, name)

    assert sessions.resolve(project, "same") == sessions.completed(project, "same") == "same"
    assert sessions.resolve(project, "same-1") == "same-1"
    with pytest.raises(HoldfastError, match="name one with more characters: same, same-1, same-2"):
        sessions.resolve(project, "sam")
    assert sessions.completed(project, "new") == "new"
    with pytest.raises(HoldfastError, match="no session of this project begins with 'new'"):
        sessions.resolve(project, "new")


def test_a_session_leaves_its_process_only_to_one_that_began_there_later(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ran there before, as before a `/clear`, is no reason; one that came after its last event has it now."""
    here, elsewhere = str(os.getpid()), str(os.getppid())
    sessions.note_event(project, OTHER, here)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:05:00Z")
    sessions.note_event(project, ME, here)
    sessions.note_event(project, ME, elsewhere)
    sessions.note_event(project, THIRD, elsewhere)
    assert ME in sessions.live_others(project, THIRD)

    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:10:00Z")
    sessions.note_event(project, "later", here)
    sessions.note_event(project, ME, elsewhere)
    assert ME not in sessions.live_others(project, THIRD)


def test_an_event_that_names_no_transcript_keeps_the_one_that_is_known(project: Workspace) -> None:
    """A later event may say less; another path counts."""
    for path in ("/t/a.jsonl", ""):
        sessions.note_event(project, ME, transcript=path)
        assert sessions.transcript(project, ME) == "/t/a.jsonl"
    sessions.note_event(project, ME, transcript="/t/b.jsonl")
    assert sessions.transcript(project, ME) == "/t/b.jsonl"
    assert sessions.transcript(project, OTHER) == ""


def test_a_path_that_no_file_can_have_shows_no_life(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an event named as its transcript, the others go on."""
    sessions.note_event(project, OTHER, transcript="/t/\0.jsonl")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T11:30:00Z")
    assert sessions.live_others(project, ME) == set()


def test_gone_is_what_ended_or_lost_its_process_on_this_machine(project: Workspace) -> None:
    """What another machine runs, and what noted no process, may go on."""
    no_process = str(2**22 + 1)  # above every pid_max
    for name, process in (("ended", None), ("crashed", no_process), ("runs", str(os.getpid())), ("unknown", None)):
        sessions.note_event(project, name, process)
    sessions.note_event(_Elsewhere(project.root, project.config), "elsewhere", no_process)
    sessions.ended(project, "ended")

    assert sessions.ended_ids(project) == {"ended", "crashed"}


@pytest.mark.parametrize(("process", "silent"), [(2**22 + 1, True), (os.getpid(), False)], ids=["gone", "running"])
def test_a_session_without_a_process_is_silent_whatever_its_transcript_shows(
    project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: int, *, silent: bool
) -> None:
    """A file that was touched after the crash brings nobody back."""
    file = tmp_path / "t.jsonl"
    file.touch()
    sessions.note_event(project, OTHER, str(process), str(file))
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    ten_minutes_ago = (clock.now() - timedelta(minutes=10)).timestamp()
    os.utime(file, (ten_minutes_ago, ten_minutes_ago))

    told = sessions.happened(project, Asked(limit=10, worktree=project.worktree))

    assert [each.what for each in told] == ["session began", *(["session went silent"] if silent else [])]


def test_all_that_run_beside_a_session_are_counted(project: Workspace) -> None:
    """A folder in which somebody runs dozens."""
    others = {f"other-{number:02}" for number in range(60)}
    with project.ledger.transaction():
        for name in others:
            sessions.note_event(project, name)
    assert sessions.live_others(project, ME) == others
