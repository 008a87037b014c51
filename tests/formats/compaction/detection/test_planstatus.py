"""The words that mark a plan's own status; the samples of `test_plans` show them in use."""

from __future__ import annotations

from holdfast.formats.compaction.detection import planstatus
from holdfast.workflow import markdown, scanner


def going(text: str) -> bool:
    return planstatus.standing(scanner.lines(f"# Title\n\n{text}\n")).going


def why(text: str) -> str:
    return planstatus.standing(scanner.lines(f"# Title\n\n{text}\n")).why


def each(words: str) -> list[str]:
    return words.split(", ")


def test_every_status_of_a_plan_is_its_own() -> None:
    """I001-14: what it may be called; what it says decides, unless it is some other status that says nothing known."""
    for of in each("Plan, Current, Overall, Project, Implementation, Progress, Phase, Work, Development"):
        assert going(f"{of} status: In Progress"), of
        assert going(f"{of} status: fine\nStatus: In Progress") is (of != "Plan"), of
        assert going(f"| {of} status | In Progress |"), of
        assert going(f"## {of} Status\n\nIn Progress"), of
    assert not going("Test status: In Progress")
    assert not going("Status: fine\nStatus: In Progress")
    for state in each("State, Current state, Overall state, Plan state"):
        assert going(f"{state}: In Progress"), state
        assert going(f"{state}: fine\nStatus: In Progress"), state
    for word in each("tracking, update, report"):
        assert going(f"## Status {word}\n\nIn Progress"), word
    assert not going("## Status quo\n\nIn Progress")
    assert going("**Status**\n\n**In Progress**")
    assert not going("**Status quo**\n\nIn Progress")


def test_every_kind_of_part_has_a_status_of_its_own() -> None:
    """What stands under it is not the plan's, whatever stands there first."""
    parts = "Phase 1, Step 1, Task 1, Stage 1, Milestone 1, Sprint 1, Wave 1, Batch 1, Part 1, Iteration 1, Epic 1"
    more = "Story 1, Ticket 1, Item 1, Work stream 1, Workstream 1, Track A, Section 1, Zone 1, Module a, Feature a"
    for part in each(f"{parts}, {more}, Requirement 1, Deliverable 1, Tasks, 1. Parser, 2.1 Parser, 3) Parser"):
        assert going(f"## {part}\n\nStatus: Done\n\n## Summary\n\nStatus: In Progress"), part
        assert not going(f"## {part}\n\nStatus: In Progress\n\n## Summary\n\nStatus: Done"), part
        assert why(f"## {part}\n\nStatus: In Progress").startswith("it has no status of its own"), part
    for whole in each("1. Overview, 2. Status, 1. Summary, 1. Info, 1. Metadata, Participants, Taskforce"):
        assert not going(f"## {whole}\n\nStatus: Done\n\n## End\n\nStatus: In Progress"), whole


def test_every_aside_has_a_status_that_is_nobodys() -> None:
    """A decision may well be deferred in a plan that goes on."""
    asides = "Decision 3, ADR 4, Risks, Bug 7, Known, Issues, Question 1, Findings, Options, Alternative B, Example"
    more = (
        "Template, Legend, Dependency, Dependencies, Related plans, History, Changelog, Log, Journal, Notes & Updates"
    )
    for aside in each(f"{asides}, {more}"):
        if aside != "Known":
            assert going(f"## {aside}\n\nStatus: Deferred\n\n## End\n\nStatus: In Progress"), aside
            assert not going(f"## {aside}\n\nStatus: In Progress"), aside
    for other in each("Login, Optional, Issuer, Notepad, Loggers, Known"):
        assert going(f"## {other}\n\nStatus: In Progress"), other


def test_a_footer_and_a_next_section_end_a_part() -> None:
    """A rule across the page, or a heading as high; a deeper one does not."""
    assert why("## Phase 1\n\nx\n\n---\n\nStatus: In Progress").startswith("its status is")
    assert why("## Phase 1\n\n### Detail\n\nStatus: In Progress").startswith("it has no status of its own")
    assert why("### Phase 1\n\nx\n\n## Else\n\nStatus: In Progress").startswith("its status is")
    assert why("- a\n  - Status: In Progress").startswith("it has no status of its own")


def test_every_legend_is_told() -> None:
    """I001-14: legends contain the sign; a heading or a label says that it is one."""
    words = "Legend, Icons, Icon, Symbols, Emojis, Emoji key, Notation, Status values, Status codes, Status indicators"
    more = "Status definitions, Key, Keys, Status key, Markers, Meaning, Conventions, States, Statuses"
    for word in each(f"{words}, {more}"):
        assert not going(f"## {word}\n\n- 🔄 In Progress: somebody works on it"), word
        assert not going(f"{word}: 🔄 In Progress = somebody works on it"), word
        assert not going(f"**{word}:**\n\n- ⬜ Open: nobody\n- 🔄 In Progress: somebody"), word
        assert not going(f"{word}:\n\n| 🔄 | x |\n| x 🔄 In Progress | somebody |"), word
    for word in each("Key tasks, Marker pens, United States, Legendary"):
        assert going(f"## {word}\n\n- 🔄 In Progress: somebody works on it"), word
        assert going(f"{word}: 🔄 In Progress since Monday"), word


def test_every_column_of_signs_makes_a_legend() -> None:
    """A table of phases or tasks says how they stand, one of signs says what they mean."""
    for head in each("Icon, Emoji, Symbol, Mark, Marker, Sign, Code, Key, Status, State, **Icon**"):
        assert not going(f"| {head} | Status |\n|---|---|\n| x | In Progress |"), head
    for head in each("Phase, Task, #, Iconography"):
        assert going(f"| {head} | Status |\n|---|---|\n| x | In Progress |"), head
    assert going("| _Phase_ | _Status_ |\n|---|---|\n| x | In Progress |")
    assert going("Task | Status\n:-: | :-:\nx | In Progress")
    assert not going("| Task | Status | x |\n|---|---|---|\n| x |\n| y | Done | In Progress |")


def test_what_somebody_is_told_to_write_does_not_count() -> None:
    """R001-22: the sign and the words, but in a sentence about them."""
    words = "to, as, a, an, mean, means, until, once, when, if, not, was, were, use, set, mark, marked, unless, before"
    for word in each(f"{words}, after, from, with, emoji, icon, status of, of, the, to **, =, \", ', “, ‘, `"):
        assert not going(f"Something {word} 🔄 In Progress here"), word
    for word in each("is, now, is now **, Phase 2:"):
        assert going(f"Something {word} 🔄 In Progress here"), word


def test_neighbours_make_a_legend() -> None:
    """A bare state between other bare states is one of a list."""
    assert not going("- ⬜ Open\n\n- 🔄 In Progress")
    assert not going("🔄 In Progress\n✅ Done")
    assert going("- 🔄 In Progress\n- the parser")
    assert going("🔄 In Progress\n\n🔄 In Progress")
    assert not going("⬜ Open; 🔄 In Progress; ✅ Done: what they mean")
    assert going("Phase 1 ✅ Complete, Phase 2 🔄 In Progress")
    assert going("⬜ Open: the docs. 🔄 In Progress: the parser")


def test_a_board_with_nothing_in_progress_is_not() -> None:
    """A heading "In Progress" counts for what stands below it."""
    board = "## Done\n\n- a\n\n## In Progress\n\n{}\n\n## To do\n\n- b"
    assert going(board.format("- c"))
    for nothing in each("None, *None*, - none, n/a, _No plans in progress_, Nothing, (empty), TBD, -"):
        assert not going(board.format(nothing)), nothing
    assert not going(board.format(""))
    assert going("## In Progress\n\n## Phase 1")
    assert not going("## In Progress\n\nNone")


def test_no_more_than_a_few_lines_below_a_heading_are_its_status() -> None:
    """A section "Status" may go on to other things."""
    assert going("## Status\n\nSince May.\n\nBy Ana.\n\nFor the port.\n\nIn Progress")
    assert not going("## Status\n\nSince May.\n\nBy Ana.\n\nFor the port.\n\nOn paper.\n\nIn Progress")
    assert not going("## Status\n\n- Not started\n- In Progress\n- Done")
    assert not going("## Status\n\n### Else\n\nIn Progress")
    assert going("## Status\n\n- [x] In Progress\n- [ ] Done\n\nDone: nothing.")
    assert not going("## Status\n\n1. [ ] In Progress\n2. [x] Done")


def test_a_status_in_the_title_counts_where_no_line_has_one() -> None:
    """The mark behind a title; one before it is an ornament."""
    for title, expected in (
        ("# A [In Progress]", True),
        ("# 🔄 A", False),
        ("# A ✅", False),
        ("## A [In Progress]", False),
    ):
        assert planstatus.standing(scanner.lines(f"{title}\n\nText")).going is expected, title
    assert (
        planstatus.standing([markdown.line("# A ✅")]).why
        == 'the mark in its title says "completed", which is not "In Progress"'
    )


def test_the_reason_tells_what_was_seen_instead() -> None:
    """R001-27: nothing, only prose, only parts, or a template."""
    assert why("x") == 'has no status line and no "🔄 In Progress"'
    assert why("In progress, perhaps.") == 'has no status line, and "in progress" stands only in its prose or a legend'
    assert why("## Phase 1\nStatus: Done") == "has no status line, and no phase or task in it is marked as in progress"
    assert why("Status: Open | Done") == 'its status line offers "Open | Done" and picks none'
    assert why("Status: Open | Done\nStatus: Done").startswith('its status is "Done"')
