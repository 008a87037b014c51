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
        "🔄",
        "🚧 in progress",
        "IN_PROGRESS",
        "in-progress",
        "InProgress",
        "In\u00a0Progress",
        "In\u2011Progress",
        "In\u2013Progress",
        "In\u00adProgress",
        "_In Progress_ — 60% (Phase 3/5)",
        "__In Progress__",
        "Almost complete, still in progress",
        "Not complete yet, still in progress",
        "Review, now in progress",
        "In Progress? Yes.",
        "In Progress: nothing blocks it",
        "进行中 (In Progress)",
        "WIP (In Progress)",
        "`in progress`",
        "[In Progress]",
        "(in progress)",
        '"in-progress"',
        "In Progress (Phases 3-7 landed; Phase 2 deferred)",
        "In Progress - Tab Integration Complete ✅",
        "in progress — evidence captured; verification pending",
        "In Progress | High",
        "In Progress, Testing",
        "In Progress/Blocked",
        "Work in progress",
        "Currently in progress",
        "Partially complete, in progress",
        "Context optimization in progress",
        "Active - In Progress",
        "Phase 2 In Progress - 64 errors remaining",
        "Phase 1 Complete ✅ - Phase 2 In Progress (20%)",
        "Phase 1 complete, phase 2 in progress",
        "Phase 1 ✅, Phase 2 🔄",
        "50% - In Progress",
        "In Progress [x] reviewed",
        "[phase 2 in progress]",
        " ** 🔄\ufe0f **",
        "**MVP Phase 2 In Progress:** Layer 3 complete.",
        "~~Not Started~~ In Progress",
        "~~Todo~~ | **In Progress** | ~~Done~~",
        "Not Started → In Progress",
        "[ ] Not started [x] In Progress [ ] Done",
        "☐ Todo ☑ In Progress ☐ Done",
        "[x] In Progress",
        "Todo | **In Progress** | Done",
    ],
)
def test_a_plan_is_in_progress(status: str) -> None:
    """I001-14: with or without emoji, with remarks, chosen among others."""
    assert statuses.in_progress(status)


@each_row(
    "status",
    [
        "",
        "none",
        "WIP",
        "Active",
        "✅ Complete",
        "Not in progress",
        "Was in progress",
        "No longer in progress",
        "Complete; follow-ups in progress in plan 12",
        "Blocked (was in progress)",
        "Paused - in progress work is on branch x",
        "Ready to move to in progress",
        "Waiting until in progress",
        "Proposed, not In Progress",
        "Draft. In progress later",
        "~~In Progress~~ → **Done**",
        "~~Draft~~ → ~~In Review~~ → ~~In Progress~~ → **Done** (verified)",
        "In Progress → Complete",
        "in progress → review (all 9)",
        "⬜ Not Started | 🔄 In Progress | ✅ Complete",
        "In Progress | Complete",
        "In Progress / Blocked / Done",
        "[Not started | In progress | Paused | Complete]",
        "[Planning/In Progress/Testing/Ready for Merge/Completed]",
        "{In Progress, Done}",
        "<Not started, In Progress or Done>",
        "Complete | ~~In progress~~ | ~~Did not start~~",
        "[ ] In Progress",
        "[x] Not started [x] In progress [x] Done",
        "in progressive mode",
        "items in progress are listed below",
        "In-progress tasks are listed below",
        "Done, was in progress (phase 2)",
        "🔄 Pending review",
        "Complete, still in progress",
        "Blocked, still in progress",
        "Blocked (In Progress)",
        "Fine so far, dinner (In Progress)",
    ],
)
def test_a_plan_is_not_in_progress(status: str) -> None:
    """I001-14: denied, over, struck through, or offered among others."""
    assert not statuses.in_progress(status)


@each_row(
    "text, word",
    [
        ("in_progress", "in_progress"),
        ("✅ Complete", "completed"),
        ("not done yet", "not_started"),
        ("Not in progress", "not_started"),
        ("In progress (review pending)", "in_progress"),
        ("⏸️ On hold", "blocked"),
        ("Cancelled", "dropped"),
        ("inactive", "dropped"),
        ("underway", "active"),
        ("~~Done~~ blocked", "blocked"),
        ("in review", "other"),
        ("incomplete", None),
        ("?", None),
    ],
)
def test_the_first_state_named_counts(text: str, word: str | None) -> None:
    """R001-07's words and what people write for them."""
    assert statuses.word(text) == word


@each_row(
    "state, words",
    [
        ("in_progress", "in progress, in-progress, in_progress, inprogress"),
        ("not_started", "not started, not_started, not yet started, not begun, not done, not complete, not completed"),
        ("not_started", "not finished, not active, not in progress, unstarted, pending, todo, to do, to-do, planned"),
        ("not_started", "planning, queued, backlog, draft, proposed, ready, approved, open, new"),
        ("blocked", "blocked, on hold, on-hold, paused, stalled, waiting, awaiting, suspended"),
        ("completed", "complete, completed, done, finished, shipped, merged, closed, resolved, implemented"),
        ("completed", "delivered, released, fixed"),
        ("dropped", "canceled, cancelled, abandoned, superseded, deprecated, archived, rejected, aborted, obsolete"),
        ("dropped", "dropped, inactive, idle, deferred, postponed, skipped"),
        ("active", "active, underway, ongoing, running, started, working"),
        (
            "other",
            "review, in review, under review, reviewing, reviewed, testing, validated, verified, failed, partial",
        ),
    ],
)
def test_every_word_people_use_names_its_state(state: str, words: str) -> None:
    """Alone, in capitals, and at the beginning of what else is said."""
    for word in words.split(", "):
        assert statuses.pure(word) == statuses.pure(f"✅ **{word.upper()}**") == state, word
        assert statuses.opening(f"- {word}, since Monday") == statuses.word(f"It is {word}") == state, word
        assert statuses.pure(f"{word} x") is None


def each(words: str) -> list[str]:
    return words.split(", ")


def test_every_denial_is_understood() -> None:
    """I001-14: "In Progress" in a sentence that says otherwise does not count; other words before it are no denial."""
    denials = "no, not, never, none, nothing, no longer, was, were, previously, formerly, once, until, before, after"
    coming = "when, if, unless, will, will be, to, from, ready, awaiting, waiting"
    negated = "isn't, aren’t, wasn't, un, non"
    stopped = "blocked, paused, hold, stalled, canceled, cancelled, abandoned, superseded"
    ended = "done, completed, complete, longer, be"
    for denial in each(f"{denials}, {coming}, {negated}, {stopped}, {ended}"):
        assert not statuses.in_progress(f"The work {denial} in progress"), denial
    for word in each("notable, beforehand, tobacco, work, currently, (mostly)"):
        assert statuses.in_progress(f"The work {word} in progress"), word
    assert not statuses.in_progress("one two three four five six seven in progress")


def test_every_part_of_a_plan_may_be_what_is_in_progress() -> None:
    """A phase or the like after other things; whatever else stands there is not the plan."""
    for unit in each("phase, stage, step, part, milestone, sprint, iteration, task, wave, batch, week, phases"):
        assert statuses.in_progress(f"Fine so far, {unit} 2 is in progress"), unit
        assert statuses.in_progress(f"Fine so far, done (x), in progress ({unit} 2)"), unit
    assert not statuses.in_progress("Fine so far, dinner 2 is in progress")
    assert not statuses.in_progress("Fine so far, dinner (in progress)")


@each_row("arrow", ["→", "➜", "➔", "=>", "->"])
def test_of_a_history_the_last_state_counts(arrow: str) -> None:
    """However the arrow is written."""
    assert statuses.in_progress(f"Not Started {arrow} In Progress {arrow} docs")
    assert not statuses.in_progress(f"In Progress {arrow} Done")


@each_row("sign", ["|", " / ", ", ", " · ", " • ", "  ", " or "])
def test_choices_are_told_however_they_are_divided(sign: str) -> None:
    """Three states and nothing else are a legend, two of them only between bars."""
    assert statuses.choices(sign.join(("⬜ Not Started", "In Progress (now)", "✅ Done")))
    assert statuses.choices(sign.join(("In Progress", "Done"))) is (sign == "|")
    assert not statuses.choices(sign.join(("In Progress", "Priority", "Done")))
    assert not statuses.choices(sign.join(("In Progress", "In Progress", "In Progress")))


@each_row("sign", [", ", "; ", " | ", " · ", " • ", " - ", " – ", " — ", " / ", ". ", ": ", " and ", " but "])
def test_the_second_thing_said_counts_too(sign: str) -> None:
    """Unless the first says that it is over."""
    assert statuses.in_progress(f"Half there{sign}In Progress")
    assert not statuses.in_progress(f"Done{sign}In Progress")
    assert not statuses.in_progress(f"Blocked{sign}phase 2 in progress")


def test_what_is_said_of_things_in_progress_is_no_status() -> None:
    """ "In progress items are below" tells nothing; "Moved to In Progress" does."""
    for word in each(
        "is, are, was, were, will, can, should, must, may, mean, means, item, items, task, tasks, work, things"
    ):
        assert not statuses.in_progress(f"In progress {word} seen below"), word
    for word in each("moved, returned, reverted, changed, set, back, moved back"):
        assert statuses.in_progress(f"{word.capitalize()} to In Progress"), word


def test_no_more_than_the_beginning_of_a_status_is_read() -> None:
    """A line may be very long; runs of spaces are none of it."""
    assert statuses.in_progress(f"{'x' * 200}, In Progress")
    assert not statuses.in_progress(f"{'x' * 400}, In Progress")
    assert statuses.opening(f"{' ' * 300}In Progress") == "in_progress"


@each_row(
    "title, parted",
    [
        ("Fix Build — COMPLETE", ("Fix Build", "completed")),
        ("Build 🔄", ("Build", "in_progress")),
        ("Build (🔄 In Progress - 60%)", ("Build", "in_progress")),
        ("X [IN PROGRESS]", ("X", "in_progress")),
        ("X ✅ COMPLETED 2026-01-01", ("X", "completed")),
        ("X ⏭️ Skipped", ("X", "dropped")),
        ("X ⏭️", ("X", "dropped")),
        ("X 🚫", ("X", "blocked")),
        ("X ⏳", ("X", None)),
        ("✅ Phase 1: X", ("Phase 1: X", "completed")),
        ("✅ Phase 1: X (in progress)", ("Phase 1: X", "in_progress")),
        ("X (8-10 hours)", ("X (8-10 hours)", None)),
        ("Deploy (production)", ("Deploy (production)", None)),
        ("Get it done", ("Get it done", None)),
        ("Read-only review", ("Read-only review", None)),
        ("A — B", ("A — B", None)),
        ("Move *(in progress)*", ("Move", "in_progress")),
        ("Move — **In Progress**", ("Move", "in_progress")),
    ],
)
def test_a_titles_status_mark_is_parted_from_it(title: str, parted: tuple[str, str | None]) -> None:
    """Marks stand behind a title, seldom before it; what only looks like one stays."""
    assert statuses.split_mark(title) == parted


@each_row(
    "status, label, total",
    [
        ("Phase 2 in progress", "2", None),
        ("_In Progress_ — 60% (Phase 3/5)", "3", 5),
        ("In Progress - phase 2 of 5", "2", 5),
        ("Phase 2/5: In Progress", "2", 5),
        ("Phase 1 complete, phase 2 in progress", "2", None),
        ("Done (phase 1), In Progress (phase 2)", "2", None),
        ("Phase 1 ✅, Phase 2 🔄", "2", None),
        ("✅ Phase 1, 🔄 Phase 2", "2", None),
        ("Phase 1 ✅, Phase 2", "2", None),
        ("Phase 1 → Phase 2", "1", None),
        ("Phase 1 done → Phase 2 in progress", "2", None),
        ("Blocked in phase 3", "3", None),
        ("~~Phase 1~~ Phase 2", "2", None),
        ("Phase 2.1 in progress", "2.1", None),
        ("Phase #2 in progress", "2", None),
    ],
)
def test_the_phase_a_status_is_at_is_the_one_it_says(status: str, label: str, total: int | None) -> None:
    """R001-21, I001-15: label and total as they stand there, of several the one that is not over."""
    assert statuses.phase(status) == (label, total)


@each_row(
    "status",
    [
        "In Progress",
        "In Progress (Phases 3-7 landed; Phase 2 deferred)",
        "Phase 1 done",
        "In Progress, phase 3 next",
        "",
        "Waiting before phase 2",
        "2 phases in progress",
        "In Progress, not phase 2",
    ],
)
def test_a_status_that_names_no_phase_it_is_at_says_none(status: str) -> None:
    """I001-15: nothing is made up of what is over or still to come."""
    assert statuses.phase(status) is None


@given(st.text(alphabet=st.sampled_from("in progres🔄✅|/,()[]*~→ -.x\n"), max_size=500))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and what offers choices is not in progress."""
    assert not (statuses.choices(text) and statuses.in_progress(text))
    assert (statuses.pure(text) is None) or statuses.opening(text) == statuses.pure(text)
    statuses.word(text)
    statuses.split_mark(text)
    statuses.phase(text)
