"""What a status written by hand means."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import statuses
from tests.tables import each_row


@each_row(
    "status",
    [
        "In Progress",
        "🔄 In Progress",
        "🔄\ufe0f In Progress",
        "🟡 In Progress",
        "IN_PROGRESS",
        "in-progress",
        "InProgress",
        "In\u00a0Progress",
        "`in progress`",
        "[In Progress]",
        "In Progress since Monday",
        "In Progress: nothing blocks it",
        "In Progress (Research Complete, Implementation Next)",
        "In Progress — Phase 2 complete, awaiting user go-ahead for Phase 3",
        "In progress — Foundation complete, ready for plan 02",
        "_In Progress_ — 60% (Phase 3/5)",
        "Phase 2 in progress",
        "Phase 2 is in progress (phases/02-workspace.md)",
    ],
)
def test_a_plan_is_in_progress(status: str) -> None:
    """I001-14: with or without emoji, with remarks."""
    assert statuses.in_progress(status)


@each_row(
    "status",
    [
        "",
        "WIP",
        "Active",
        "✅ Complete",
        "Not in progress",
        "Was in progress",
        "Complete; follow-ups in progress in plan 12",
        "Blocked (In Progress)",
        "Proposed, not In Progress",
        "~~In Progress~~ **Done**",
        "In Progress → Complete",
        "In Progress => Done",
        "In Progress | Complete",
        "In Progress / Blocked / Done",
        "In Progress, Done",
        "In Progress or Done",
        "⬜ Not Started | 🔄 In Progress | ✅ Complete",
        "[Not started | In progress | Paused | Complete]",
        "{In Progress, Done}",
        "[ ] In Progress",
        "☐ In Progress ☑ Done",
        "In-progress tasks are listed below",
        "in progressive mode",
    ],
)
def test_a_plan_is_not_in_progress(status: str) -> None:
    """I001-14: denied, over, struck through, or offered among others; nothing is made of what isn't understood."""
    assert not statuses.in_progress(status)


@each_row(
    "state, words",
    [
        ("in_progress", "in progress, in-progress, in_progress, inprogress"),
        ("not_started", "not started, not_started, not yet started, not done, not complete, not in progress, pending"),
        ("not_started", "todo, to do, to-do, planned, planning, draft, proposed, ready, approved, open"),
        ("blocked", "blocked, on hold, on-hold, paused, waiting, failed"),
        ("completed", "complete, completed, done, finished, shipped, merged, closed, resolved, implemented"),
        ("dropped", "canceled, cancelled, abandoned, superseded, dropped, deferred, skipped, inactive"),
        ("active", "active"),
    ],
)
def test_every_word_people_use_names_its_state(state: str, words: str) -> None:
    """Alone, in capitals, and at the beginning of what else is said."""
    for word in words.split(", "):
        assert statuses.pure(word) == statuses.pure(f"✅ **{word.upper()}**") == state, word
        assert statuses.opening(f"- {word}, since Monday") == state, word
        assert statuses.pure(f"{word} x") is None
    assert statuses.opening("incomplete") is None


def test_no_more_than_the_beginning_of_a_status_is_read() -> None:
    """A line may be very long."""
    assert statuses.in_progress(f"In Progress, {'x' * 1000}")
    assert not statuses.in_progress(f"{' ' * 400}In Progress")


@each_row(
    "title, parted",
    [
        ("Fix Build — COMPLETE", ("Fix Build", "completed")),
        ("Fix Build - 100% done", ("Fix Build", "completed")),
        ("Build 🔄", ("Build", "in_progress")),
        ("Build (🔄 In Progress - 60%)", ("Build", "in_progress")),
        ("Build ⚠️ IN PROGRESS", ("Build", "in_progress")),
        ("X [IN PROGRESS]", ("X", "in_progress")),
        ("X ✅ COMPLETED 2026-01-01", ("X", "completed")),
        ("X ✅ closed May 2 (see notes)", ("X", "completed")),
        ("X ⏭️ Skipped", ("X", "dropped")),
        ("X 🚫", ("X", "blocked")),
        ("X ← current", ("X", "in_progress")),
        ("X <- we are here", ("X", "in_progress")),
        ("✅ Phase 1: X", ("Phase 1: X", "completed")),
        ("✅ Phase 1: X (in progress)", ("Phase 1: X", "in_progress")),
        ("Move *(in progress)*", ("Move", "in_progress")),
        ("Move — **In Progress**", ("Move", "in_progress")),
        ("X (8-10 hours)", ("X (8-10 hours)", None)),
        ("Deploy (production)", ("Deploy (production)", None)),
        ("Get it done", ("Get it done", None)),
        ("Read-only review", ("Read-only review", None)),
        ("A — B", ("A — B", None)),
        ("Lift-off 🚀", ("Lift-off 🚀", None)),
    ],
)
def test_a_titles_status_mark_is_parted_from_it(title: str, parted: tuple[str, str | None]) -> None:
    """Marks are after a title, seldom before it; what only looks like one stays."""
    assert statuses.split_mark(title) == parted


@given(st.text(alphabet=st.sampled_from("in progres🔄✅|/,()[]*~→ -.x\n"), max_size=500))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises."""
    assert (statuses.pure(text) is None) or statuses.opening(text) == statuses.pure(text)
    statuses.in_progress(text)
    statuses.split_mark(text)
