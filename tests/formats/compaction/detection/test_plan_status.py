"""What marks a plan as in progress; the samples of `test_plans` show it in use."""

from __future__ import annotations

from holdfast.formats.compaction.detection import plan_status
from holdfast.workflow import markdown


def going(text: str) -> bool:
    return plan_status.standing(markdown.lines(f"# Title\n\n{text}\n")).going


def why(text: str) -> str:
    return plan_status.standing(markdown.lines(f"# Title\n\n{text}\n")).why


def each(words: str) -> list[str]:
    return words.split(", ")


def test_every_status_of_a_plan_is_its_own() -> None:
    """I001-14: what it may be called; what it says decides, unless it is some other status that says nothing known."""
    for of in each("Plan, Current, Overall, Project, Implementation"):
        assert going(f"{of} status: In Progress"), of
        assert going(f"{of} status: fine\nStatus: In Progress") is (of != "Plan"), of
        assert going(f"| {of} status | In Progress |"), of
        assert going(f"## {of} Status\n\nIn Progress"), of
    assert not going("Test status: In Progress")
    assert not going("Status: fine\nStatus: In Progress")
    assert not going("## Status quo\n\nIn Progress")


def test_a_part_has_a_status_of_its_own() -> None:
    """What is under it isn't the plan's, whatever comes first; a rule, or a heading as high, ends the part."""
    for part in each("Phase 1, Step 1, Task 1, Stage 1, Milestone 1, Sprint 1, 1. Parser, 2.1 Parser, 3) Parser"):
        assert going(f"## {part}\n\nStatus: Done\n\n## Summary\n\nStatus: In Progress"), part
        assert not going(f"## {part}\n\nStatus: In Progress\n\n## Summary\n\nStatus: Done"), part
        assert why(f"## {part}\n\nStatus: In Progress").startswith("it has no status of its own"), part
    assert why("## Phase 1\n\nx\n\n---\n\nStatus: In Progress").startswith("its status is")
    assert why("## Phase 1\n\n### Detail\n\nStatus: In Progress").startswith("it has no status of its own")
    assert why("### Phase 1\n\nx\n\n## Else\n\nStatus: In Progress").startswith("its status is")
    assert why("- a\n  - Status: In Progress").startswith("it has no status of its own")
    assert not going("## Taskforce\n\nStatus: Done\n\n## End\n\nStatus: In Progress")


def test_a_table_says_how_its_phases_stand() -> None:
    """One of signs says what they mean."""
    for head in each("Phase, Task, #"):
        assert going(f"| {head} | Name | Status |\n|---|---|---|\n| 1 | x | In Progress |"), head
    assert not going("| Icon | Status |\n|---|---|\n| 🔄 | In Progress |")
    assert not going("| Task | Status | x |\n|---|---|---|\n| x |\n| y | Done | In Progress |")
    assert not going("| Task | Status |\n|---|---|\n| x | In Progress → Done |")


def test_the_documents_own_words_count_where_nothing_else_does() -> None:
    """R001-22: the sign and the words, but not in a sentence about them, a list of states or a board."""
    for text in each("🔄 In Progress, 🔄 **In Progress** since May, ## 🔄 In Progress, The plan is 🔄 In Progress"):
        assert going(text), text
    for text in each("Set it to 🔄 In Progress, Mark as `🔄 In Progress`, - 🔄 In Progress: x, | 🔄 In Progress |"):
        assert not going(text), text
    assert not going("🔄 In Progress\n✅ Done")
    assert not going("## Done\n\n- a\n\n## 🔄 In Progress\n\n- b")
    assert not going("In progress, perhaps.")


def test_no_more_than_a_few_lines_below_a_heading_are_its_status() -> None:
    """A section "Status" may go on to other things."""
    assert going("## Status\n\nSince May.\n\nBy Ana.\n\nFor the port.\n\nIn Progress")
    assert not going("## Status\n\nSince May.\n\nBy Ana.\n\nFor the port.\n\nOn paper.\n\nIn Progress")
    assert not going("## Status\n\n- Not started\n- In Progress\n- Done")
    assert not going("## Status\n\n### Else\n\nIn Progress")
    assert not going("## Status\n\n- [ ] In Progress\n- [x] Done")


def test_a_status_in_the_title_counts_where_no_line_has_one() -> None:
    """The mark after a title."""
    for title, expected in (("# A [In Progress]", True), ("# A ✅", False), ("## A", False)):
        assert plan_status.standing(markdown.lines(f"{title}\n\nText")).going is expected, title
    assert plan_status.standing(markdown.lines("# A ✅\n\n## Phase 1: B 🔄")).state == "completed"


def test_the_reason_tells_what_was_seen_instead() -> None:
    """R001-27."""
    assert why("x") == 'has no status line and no "🔄 In Progress"'
    assert why("Status: Open | Done") == 'its status is "Open | Done", which is not "In Progress"'
