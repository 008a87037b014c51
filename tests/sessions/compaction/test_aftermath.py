"""Each compaction is told with what answered it, and with nothing of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.compaction import aftermath, deliveries, losses, snapshots
from tests.handmade import ME, OTHER, THIRD, workflow, workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.sessions.compaction.aftermath import Compaction
    from holdfast.sessions.workspace import Workspace

COMPACTED = Path(__file__).parents[1] / "transcripts" / "guided-2.1.329.jsonl"
STATES = {"absent": "lost", "refused": "lost", "pending": "given", "delivered": "given", "unconfirmed": "given"}


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda time: monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")


@pytest.fixture
def project(tmp_path: Path, at: Callable[[str], None]) -> Iterator[Workspace]:
    at("09:00:00")
    opened = workspace(tmp_path)
    yield opened
    opened.close()


def sealed(project: Workspace, session: str = ME, why: str = "auto", *, empty: bool = False) -> None:
    snapshots.leave(project, session, why, [] if empty else [snapshots.of(workflow(project.root))])


def give(project: Workspace, session: str = ME, event: str = "SessionStart", state: str = "", step: int = 1) -> str:
    one = workflow(project.root)
    given = deliveries.begin(
        project, session, event=event, workflow=one.key, title=one.title, mark="m", units=9, step=step, transcript=""
    )
    if state:
        project.ledger.run("UPDATE deliveries SET state = ? WHERE id = ?", state, given)
    return given


def told(project: Workspace) -> list[tuple[str, str, str | None, str | None]]:
    return [(each.session[:1], each.ending, _time(each.announced_at), _time(each.came_at)) for each in _all(project)]


def _all(project: Workspace) -> list[Compaction]:
    return aftermath.recent(project)


def _time(stamp: str | None) -> str | None:
    return stamp[11:16] if stamp else None


def test_each_has_its_own_guidance_and_report(project: Workspace, at: Callable[[str], None]) -> None:
    """Two of one session, and the second chance that comes later with a prompt."""
    sealed(project)
    losses.note(project, ME, workflow(project.root), "Release")
    at("09:01:00")
    assert snapshots.claim(project, ME, known=True)
    first = give(project)
    at("10:00:00")
    sealed(project, why="manual")
    at("10:01:00")
    assert snapshots.claim(project, ME, known=True)
    second = give(project)
    losses.note(project, ME, workflow(project.root), "nothing of it")
    at("10:30:00")
    again = give(project, event="UserPromptSubmit")
    at("11:00:00")
    give(project, event="UserPromptSubmit", step=0)  # a slash command asked for it, so it answers no compaction

    late, early = _all(project)
    assert [each.id for each in early.given] == [first]
    assert [each.id for each in late.given] == [second, again]
    assert [[loss.kept for loss in each.losses] for each in (early, late)] == [[1], [0]]
    assert (early.trigger, late.trigger) == ("auto", "manual")
    assert told(project) == [("1", "given", "10:00", "10:01"), ("1", "given", "09:00", "09:01")]


@pytest.mark.parametrize(("state", "ending"), STATES.items())
def test_what_became_of_its_guidance_is_its_ending(project: Workspace, state: str, ending: str) -> None:
    """Whatever it is; what is confirmed counts, whatever else there is."""
    sealed(project)
    assert snapshots.claim(project, ME, known=True)
    give(project, state=state)
    assert told(project)[0][1] == ending
    give(project, state="confirmed")
    assert told(project)[0][1] == "confirmed"


def test_what_got_nothing_is_lost_unless_there_was_nothing(project: Workspace, at: Callable[[str], None]) -> None:
    """A workflow and no guidance; no workflow and no guidance."""
    sealed(project)
    assert snapshots.claim(project, ME, known=True)
    at("09:10:00")
    sealed(project, OTHER, empty=True)
    assert snapshots.claim(project, OTHER, known=True)
    assert [each[:2] for each in told(project)] == [("2", "nothing"), ("1", "lost")]


def test_one_that_never_came_is_open_and_has_nothing(project: Workspace, at: Callable[[str], None]) -> None:
    """The next one takes both seals, and all of what was given."""
    sealed(project, why="manual")
    assert told(project) == [("1", "open", "09:00", None)]
    at("10:00:00")
    sealed(project)
    at("10:01:00")
    assert snapshots.claim(project, ME, known=True)
    given = give(project)

    assert told(project) == [("1", "given", "10:00", "10:01"), ("1", "open", "09:00", None)]
    assert [[each.id for each in one.given] for one in _all(project)] == [[given], []]


def test_one_that_came_and_was_not_answered_is_lost(project: Workspace, tmp_path: Path) -> None:
    """The transcript shows it, where SessionStart never fired."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    snapshots.leave(project, ME, "auto", [snapshots.of(workflow(project.root))], str(transcript))
    assert told(project)[0][1] == "open"
    transcript.write_bytes(COMPACTED.read_bytes())
    found = _all(project)[0]
    assert (found.ending, found.missed, found.came_at) == ("lost", True, None)


def test_another_session_comes_back_from_it(project: Workspace, tmp_path: Path) -> None:
    """Its guidance went there; that its own transcript shows a compaction makes none of it lost."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    snapshots.leave(project, ME, "auto", [snapshots.of(workflow(project.root))], str(transcript))
    transcript.write_bytes(COMPACTED.read_bytes())
    assert snapshots.claim(project, THIRD, known=False)
    given = give(project, THIRD)
    found = _all(project)[0]
    assert (found.session, found.restored_in, [each.id for each in found.given]) == (ME, THIRD, [given])
    assert (found.ending, found.missed) == ("given", False)


def test_guidance_of_a_resume_hours_later_is_not_its(project: Workspace, at: Callable[[str], None]) -> None:
    """Nor a report of a summary long after, nor what another session was given."""
    sealed(project)
    at("09:01:00")
    assert snapshots.claim(project, ME, known=True)
    at("09:01:30")
    give(project, OTHER)
    at("12:00:00")
    give(project)
    losses.note(project, ME, workflow(project.root), "Release")
    found = _all(project)[0]
    assert (found.given, found.losses, found.ending) == ((), (), "lost")


def test_guidance_of_a_resume_minutes_later_is_not_its(project: Workspace, at: Callable[[str], None]) -> None:
    """The client answers a compaction at once; what comes later was asked for by something else."""
    sealed(project)
    assert snapshots.claim(project, ME, known=True)
    at("09:02:00")
    give(project)
    assert told(project)[0][1] == "lost"


def test_of_two_announced_in_vain_the_last_is_the_one_that_came(project: Workspace, tmp_path: Path) -> None:
    """Where SessionStart never fired and the transcript shows one compaction, the first is still open."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    for _ in range(2):
        snapshots.leave(project, ME, "auto", [snapshots.of(workflow(project.root))], str(transcript))
    project.ledger.run("UPDATE seals SET sealed_at = '2026-03-01T08:00' WHERE rowid = 1")
    transcript.write_bytes(COMPACTED.read_bytes())
    assert told(project) == [("1", "lost", "09:00", None), ("1", "open", "08:00", None)]


def test_one_that_was_not_announced_says_so(project: Workspace) -> None:
    """It came all the same."""
    sealed(project, why="none")
    assert snapshots.claim(project, ME, known=True)
    assert told(project) == [("1", "lost", None, "09:00")]


def test_the_report_of_a_summary_is_looked_for_near_both_ends(project: Workspace, at: Callable[[str], None]) -> None:
    """It may be swapped in long after PreCompact, take minutes, and come under the id that goes on."""
    sealed(project)
    at("10:00:00")
    assert snapshots.claim(project, OTHER, known=False)
    losses.note(project, OTHER, workflow(project.root), "Release")
    at("10:09:00")
    losses.note(project, ME, workflow(project.root), "nothing of it")
    at("10:11:00")
    losses.note(project, ME, workflow(project.root), "Release")
    assert [loss.kept for loss in _all(project)[0].losses] == [1, 0]


def test_they_are_listed_by_when_they_came(project: Workspace, at: Callable[[str], None]) -> None:
    """The one that was announced first may come last."""
    sealed(project)
    at("09:30:00")
    sealed(project, OTHER)
    at("09:31:00")
    assert snapshots.claim(project, OTHER, known=True)
    at("10:00:00")
    assert snapshots.claim(project, ME, known=True)
    assert [(session, came) for session, _, _, came in told(project)] == [("1", "10:00"), ("2", "09:31")]


def test_one_in_vain_long_ago_stays_so(project: Workspace, at: Callable[[str], None]) -> None:
    """Whatever came after the compaction that took its snapshot, and whoever was compacted in between."""
    sealed(project)
    at("09:05:00")
    sealed(project, OTHER)
    at("09:10:00")
    sealed(project)
    at("09:11:00")
    assert snapshots.claim(project, ME, known=True)
    at("10:00:00")
    sealed(project)
    assert snapshots.claim(project, ME, known=True)
    vain = snapshots.in_vain(snapshots.recent(project, 9))
    assert [snapshot.sealed_at[11:16] for snapshot in snapshots.recent(project, 9) if snapshot.id in vain] == ["09:00"]
    assert [came for session, _, _, came in told(project) if session == "1"] == ["10:00", "09:11", None]
