"""Each compaction is told with what answered it, and with nothing of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.compaction import aftermath, deliveries, losses, snapshots
from tests.handmade import ME, workflow, workspace

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


def test_each_compaction_has_its_own_deliveries_and_losses(project: Workspace, at: Callable[[str], None]) -> None:
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
def test_compaction_ends_as_its_deliveries_did(project: Workspace, state: str, ending: str) -> None:
    """Whatever it is; what is confirmed counts, whatever else there is."""
    sealed(project)
    assert snapshots.claim(project, ME, known=True)
    give(project, state=state)
    assert told(project)[0][1] == ending
    give(project, state="confirmed")
    assert told(project)[0][1] == "confirmed"


def test_unanswered_compaction_counts_as_lost(project: Workspace, tmp_path: Path) -> None:
    """The transcript shows it, where SessionStart never fired."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    snapshots.leave(project, ME, "auto", [snapshots.of(workflow(project.root))], str(transcript))
    assert told(project)[0][1] == "open"
    transcript.write_bytes(COMPACTED.read_bytes())
    found = _all(project)[0]
    assert (found.ending, found.missed, found.came_at) == ("lost", True, None)
