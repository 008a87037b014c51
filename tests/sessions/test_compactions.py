"""A compaction is claimed once, by the session whose compaction it is, and knows what answered it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.memory.rows import Compaction, Delivery
from holdfast.sessions import compactions, deliveries
from tests.handmade import ME, OTHER, together, workflow, workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.sessions.workspace import Workspace

COMPACTED = Path(__file__).parent / "transcripts" / "guided-2.1.329.jsonl"
STATES = {"absent": "lost", "refused": "lost", "pending": "given", "delivered": "given", "unconfirmed": "given"}
TRAIL, REFUSED, WORKFLOW = "trail", "refused", "workflow"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda time: monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}:00Z")


@pytest.fixture
def project(tmp_path: Path, at: Callable[[str], None]) -> Iterator[Workspace]:
    """An empty project at nine o'clock."""
    at("09:00")
    opened = workspace(tmp_path)
    yield opened
    opened.close()


def announce(project: Workspace, session: str = ME, why: str = "auto", transcript: str = "") -> Compaction:
    return compactions.announce(project, session, why, [compactions.of(workflow(project.root))], transcript)


def claim(project: Workspace, session: str = ME) -> Compaction:
    came = compactions.claim(project, session, known=True)
    assert came is not None
    return came


def give(
    project: Workspace,
    compaction: Compaction | None,
    what: str = WORKFLOW,
    event: str = "SessionStart",
    state: str = "",
) -> str:
    """Note that a session got its trail or a workflow, or was refused one."""
    release = workflow(project.root)
    fired: Any = SimpleNamespace(session_id=ME, hook_event_name=event, transcript_path="")
    if what == REFUSED:
        deliveries.refuse(project, fired, [release], compaction)
        return ""
    about = release if what == WORKFLOW else None
    deliveries.deliver(project, fired, "Guidance.", "m", workflow=about, compaction=compaction)
    given = max(each.id for each in deliveries.recent(project, 100, ME))
    if state:
        project.ledger.table(Delivery).update({"state": state}, id=given)
    return given


def told(project: Workspace) -> list[tuple[str, str | None, str | None]]:
    return [(each.ending, _time(each.announced_at), _time(each.came_at)) for each in compactions.recent(project)]


def _time(stamp: str | None) -> str | None:
    return stamp[11:16] if stamp else None


def test_each_compaction_has_its_own_deliveries_and_facts(project: Workspace, at: Callable[[str], None]) -> None:
    """Two of one session, and the second chance that comes later with a prompt. What a slash command gives is none."""
    announce(project)
    at("09:01")
    early = claim(project)
    first = give(project, early)
    compactions.count_facts(project, early.id, workflow(project.root), "Release")
    at("10:00")
    announce(project, why="manual")
    at("10:01")
    late = claim(project)
    second = give(project, late, state="absent")
    compactions.count_facts(project, late.id, workflow(project.root), "nothing of it")
    compactions.count_facts(project, late.id, workflow(project.root), "Release, a second time")
    at("10:30")
    again = give(project, late, event="UserPromptSubmit")
    at("11:00")
    give(project, None, event="UserPromptSubmit", state="confirmed")

    two, one = compactions.recent(project)
    assert [each.id for each in one.deliveries] == [first]
    assert [each.id for each in two.deliveries] == [second, again]
    assert [(each.row.facts_kept, each.row.facts) for each in (one, two)] == [(1, 2), (0, 2)]
    assert (one.row.trigger, two.row.trigger) == ("auto", "manual")
    assert told(project) == [("given", "10:00", "10:01"), ("given", "09:00", "09:01")]


@pytest.mark.parametrize(("state", "ending"), STATES.items())
def test_compaction_ends_as_its_deliveries_did(project: Workspace, state: str, ending: str) -> None:
    """Whatever it is; what is confirmed counts, whatever else there is."""
    announce(project)
    came = claim(project)
    give(project, came, state=state)
    assert told(project)[0][0] == ending
    give(project, came, state="confirmed")
    assert told(project)[0][0] == "confirmed"


def test_unanswered_compaction_counts_as_lost(project: Workspace, tmp_path: Path) -> None:
    """The transcript shows it, where SessionStart never fired, or its process was killed after the claim."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    announce(project, transcript=str(transcript))
    assert told(project)[0][0] == "open"
    transcript.write_bytes(COMPACTED.read_bytes())
    (found,) = compactions.recent(project)
    assert (found.ending, found.missed, found.came_at) == ("lost", True, None)
    claimed = claim(project)
    missed = compactions.missed(project, ME)
    assert missed and missed.id == claimed.id


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((), ""),
        ((WORKFLOW,), ""),
        ((TRAIL,), "only the session's own trail was restored"),
        ((REFUSED, TRAIL), "it could belong to another live session"),
        ((REFUSED, WORKFLOW), ""),
    ],
)
def test_compaction_knows_why_nothing_was_restored(project: Workspace, given: tuple[str, ...], reason: str) -> None:
    """Only what answered it counts."""
    announce(project)
    came = claim(project)
    for what in given:
        give(project, came, what)
    later = announce(project)
    give(project, later)

    reasons = {each.row.id: each.not_restored for each in compactions.recent(project)}
    assert reasons == {came.id: reason, later.id: ""}


def test_unannounced_compaction_is_restored_at_once(project: Workspace) -> None:
    """No PreCompact fired."""
    came = compactions.note_unannounced(project, ME, workflow(project.root))
    assert compactions.claim(project, ME, known=True) is None
    give(project, came, TRAIL)
    (found,) = compactions.recent(project)
    assert (found.announced_at, found.ending, found.not_restored) == (None, "given", "")


def test_compaction_of_another_worktree_isnt_claimed(worktrees: tuple[Workspace, Workspace]) -> None:
    """Survival, step 2: of the same worktree."""
    here, there = worktrees
    announce(there, OTHER)

    assert compactions.claim(here, ME, known=False) is None
    assert compactions.claim(there, ME, known=False) is not None


def test_only_one_of_several_processes_claims_a_compaction(project: Workspace) -> None:
    """Claims are atomic: three processes come back from one compaction, and only one of them gets it."""
    announce(project, "gone")
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed="came = compactions.claim(project, me, known=False); print(came.conversation if came else '-')",
        before="from holdfast.sessions import compactions",
    )

    assert sorted(said) == ["-", "-", "gone"]


def test_oldest_compactions_are_pruned(
    project: Workspace, at: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred of a project are kept, whichever session announced them."""
    monkeypatch.setattr(Compaction, "RETENTION", ("announced_at", 3))
    for minute in range(5):
        at(f"10:{minute:02d}")
        announce(project, f"session-{minute}")

    found = [each.row.conversation for each in compactions.recent(project, 9)]
    assert found == ["session-4", "session-3", "session-2"]


def test_facts_are_counted_word_for_word(project: Workspace) -> None:
    """Whatever the line breaks; title, phase, phases, reading, reminders, context. Short ones are there by chance."""
    facts = replace(workflow(project.root), reading=("@a.md",), reminders=("Never forget tabs", "Go"), context={})
    kept = "Release, then build.\nNever\nforget tabs in a.md. Build it. Go."
    assert compactions.facts_kept(facts, kept) == (4, 4)
    assert compactions.facts_kept(facts, "release") == (0, 4)
