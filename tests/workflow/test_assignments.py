"""Which phase an agent was launched for, and what its result delivers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow.assignments import extract_result, match_phase
from holdfast.workflow.model import Phase, Status, Workflow


def workflow(*phases: tuple[str, str, Status], current: int | None = None) -> Workflow:
    listed = tuple(
        Phase(f"phase_{number}", number + 1, title, status, agent)
        for number, (title, agent, status) in enumerate(phases)
    )
    return Workflow(
        format="hybrid",
        id="wf",
        title="T",
        kind="",
        status="active",
        phases=listed,
        current=current,
        total=len(listed),
        phase="",
        phase_status="",
        reading=(),
        reminders=(),
        context={},
        created_at="",
        updated_at="",
        path=Path("/p"),
        raw=b"",
    )


THREE = workflow(
    ("Create calculator module", "general-purpose", "pending"),
    ("Write and run tests", "tester", "pending"),
    ("Document", "general-purpose", "pending"),
)


def matched(flow: Workflow, text: str, agent: str = "someone") -> str | None:
    phase = match_phase(flow, text, agent)
    return phase.id if phase else None


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("phase_1", "phase_1"),
        ("Do PHASE_2 now", "phase_2"),
        ("Phase 1: go", "phase_0"),
        ("Phase 1: Write and run tests", "phase_1"),
        ("Phase 2: Write and run tests", "phase_1"),
        ("Phase 2 - Document the rest", "phase_2"),
        ("phase #2", "phase_2"),
        ("Phase 2/3", "phase_1"),
        ("phase 1 of 3, please", "phase_0"),
        ("Write  and run\ntests", "phase_1"),
        ("write and run tests for it", "phase_1"),
        ("Document\n\nContext: x", "phase_2"),
        ("**Document**", "phase_2"),
        ("Phase 9", None),
        ("phase_11 is another", None),
        ("Document the API of write and running testses", None),
        ("Rewrite and run tests", None),
        ("nothing of the kind", None),
        ("", None),
    ],
)
def test_an_explicit_phase_decides(text: str, phase: str | None) -> None:
    """I000-15: an id, a whole title, or a number; a title of one word only on a line of its own or behind a number."""
    assert phase == matched(THREE, text)


@pytest.mark.parametrize(
    ("description", "prompt", "phase"),
    [
        ("phase_1", "go on from phase_0", "phase_1"),
        ("Write and run tests", "Create calculator module was phase_0", "phase_1"),
        ("Work", "phase_2, not phase_1", "phase_2"),
        ("Work", "Create calculator module\n\nContext: phase_2 waits, see Phase 1", "phase_0"),
    ],
)
def test_of_several_the_one_named_first_counts(description: str, prompt: str, phase: str) -> None:
    """I000-15: the description stands before the prompt, and what a hand-over mentions comes after the title."""
    assert phase == matched(THREE, f"{description}\n{prompt}")


@pytest.mark.parametrize(
    ("text", "agent", "phase"),
    [
        ("Phase 2: Build", "builder", "phase_1"),
        ("Phase 2: Build it", "someone", "phase_1"),
        ("Phase 2", "builder", "phase_1"),
        ("Phase 2", "tester", "phase_2"),
        ("Phase 2", "someone", "phase_1"),
        ("Phase 1", "someone", "phase_1"),
        ("phase_2", "builder", "phase_2"),
    ],
)
def test_a_bare_number_means_what_fits(text: str, agent: str, phase: str) -> None:
    """Ids count from 0, the guidance from 1: a title behind the number decides, then the agent, then what is due."""
    phases: tuple[tuple[str, str, Status], ...] = (
        ("Design", "planner", "completed"),
        ("Build", "builder", "active"),
        ("Test", "tester", "pending"),
    )
    assert matched(workflow(*phases, current=2), text, agent) == phase


def test_what_is_named_as_finished_does_not_swallow_what_is_asked_for() -> None:
    """A prompt may tell what is done already, or what comes later; the agent's own phase is meant."""
    flow = workflow(
        ("Design the API", "planner", "completed"),
        ("Build the API", "builder", "active"),
        ("Test it all", "t", "pending"),
    )
    assert matched(flow, "The phase 'Design the API' is done. Now: Build the API.", "builder") == "phase_1"
    assert matched(flow, "Test it all comes later. Now: Build the API.", "builder") == "phase_1"
    assert matched(flow, "Look at Design the API again", "builder") == "phase_0"


def test_the_longer_of_two_titles_that_begin_alike_counts() -> None:
    """A title that is the beginning of another does not swallow it."""
    flow = workflow(("Write tests", "a", "pending"), ("Write tests for the API", "b", "pending"))
    assert matched(flow, "Write tests for the API") == "phase_1"
    assert matched(flow, "Write tests") == "phase_0"


def test_an_explicit_phase_counts_whatever_its_status() -> None:
    """A launch that names a finished phase is for that phase, not for the next one with its agent."""
    flow = workflow(("A b", "x", "completed"), ("C d", "x", "pending"))
    assert matched(flow, "A b again", "x") == "phase_0"


def test_an_agents_name_counts_for_the_first_pending_phase_only() -> None:
    """I000-15: by its name alone an agent works on the current or next phase, nothing further on."""
    assert matched(THREE, "go", "tester") is None
    started = replace(THREE, phases=(replace(THREE.phases[0], status="completed"), *THREE.phases[1:]), current=2)
    assert matched(started, "go", "tester") == "phase_1"
    assert matched(started, "go", "other") is None
    assert matched(started, "go", "") is None


def test_an_agents_name_does_not_count_where_another_unfinished_phase_has_it() -> None:
    """I000-15: helpers of the same kind would complete the wrong phase."""
    assert matched(THREE, "help me", "general-purpose") is None
    alone = replace(THREE, phases=(*THREE.phases[:2], replace(THREE.phases[2], status="completed")))
    assert matched(alone, "help me", "general-purpose") == "phase_0"


def test_nothing_matches_in_a_finished_workflow_by_name() -> None:
    """All phases are completed: an agent is just an agent."""
    assert matched(workflow(("A b", "x", "completed")), "go", "x") is None


@pytest.mark.parametrize(
    ("text", "deliverables", "handover"),
    [
        ("DELIVERABLES: a.py, b.py\nCONTEXT_FOR_NEXT: use a", ("a.py", "b.py"), "use a"),
        ("Deliverables: 4 functions, all tested\nContext for next: x", ("4 functions, all tested",), "x"),
        ("deliverables: one; two things; c.py\n", ("one", "two things", "c.py"), ""),
        ('DELIVERABLES: ["a.py", "add, subtract"]', ("a.py", "add, subtract"), ""),
        ("Done.\n\n**DELIVERABLES:**\n- `a.py`\n- add, subtract\n\nBye", ("a.py", "add, subtract"), "Done."),
        (
            "## Deliverables\n\n1. a.py\n2. b.py\n\n## Context for next phase\n\nUse a.\nThen b.\n",
            ("a.py", "b.py"),
            "Use a.\nThen b.",
        ),
        ("**Deliverables**\n* a\n* a\n", ("a",), ""),
        ("DELIVERABLES: none\nCONTEXT_FOR_NEXT:\nline one\nline two\n\nRest", (), "line one\nline two"),
        ("All good.\nReally.\n\nMore.", (), "All good. Really."),
        ("# Summary\n\nIt works.", (), "It works."),
        ("The deliverables are fine", (), "The deliverables are fine"),
        ("", (), ""),
    ],
)
def test_results_give_deliverables_and_handover(text: str, deliverables: tuple[str, ...], handover: str) -> None:
    """I000-14: marker lines in the forms models write them, else the first paragraph."""
    assert extract_result(text) == (deliverables, handover)


def test_a_long_first_paragraph_is_shortened_at_a_word() -> None:
    """I000-14: at most 300 characters, no word cut in two."""
    _, handover = extract_result("word " * 100)
    assert len(handover) <= 300
    assert handover.endswith("word…")


@given(st.text(max_size=500), st.text(max_size=20))
def test_any_text_is_accepted(text: str, agent: str) -> None:
    """Whatever an agent says or is called, nothing raises."""
    deliverables, handover = extract_result(text)
    assert all(isinstance(item, str) for item in deliverables)
    assert isinstance(handover, str)
    match_phase(THREE, text, agent)


@pytest.mark.parametrize("title", ["*Build*", "#build", "Build:", "`build`", "..", "***"])
def test_a_title_of_one_word_in_decoration_is_found_on_a_line_of_its_own(title: str) -> None:
    """The decoration of the line and of the title are alike no part of the word."""
    flow = replace(THREE, phases=(replace(THREE.phases[0], title=title), *THREE.phases[1:]))
    assert matched(flow, f"Please:\n{title}\nnow") == "phase_0"
    assert matched(flow, f"Please:\n**{title}**\nnow") == ("phase_0" if title.strip("*.") else None)
    assert matched(flow, f"Please {title} it\n\nnow") is None
