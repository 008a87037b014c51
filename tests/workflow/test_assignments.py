"""Which phase an agent was launched for, and what its result delivers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow.assignments import extract_result, match_phase
from holdfast.workflow.model import Phase, Status, Workflow
from tests.tables import each_row


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


@each_row(
    "text, phase",
    [
        ("phase_1", "phase_1"),
        ("PHASE_2.", "phase_2"),
        ("`phase_2`", "phase_2"),
        ("Phase 1: Write and run tests", "phase_1"),
        ("Phase 2: Write and run tests", "phase_1"),
        ("## Phase 2/3 – Write and run tests", "phase_1"),
        ("phase_1: Write and run tests", "phase_1"),
        ("Write and run tests (phase_1)", "phase_1"),
        ("2. Write and run tests", "phase_1"),
        ("WRITE-and-run  tests!", "phase_1"),
        ("Phase 2/3", "phase_1"),
        ("Phase 2 of 3", "phase_1"),
        ("Phase 1", "phase_0"),
        ("Phase 0", "phase_0"),
        ("Document\n\nContext: x", "phase_2"),
        ("**Document**", "phase_2"),
        ("go\nWrite and run tests", "phase_1"),
        ("go\n\n  \nWrite and run tests\n\nContext: none", "phase_1"),
        ("\nphase_2\n", "phase_2"),
        ("phase_1\ngo on from phase_0", "phase_1"),
        ("Write and run tests\nCreate calculator module", "phase_1"),
        ("Work\nCreate calculator module\n\nContext: phase_2 waits, see Phase 1", "phase_0"),
        ("Do PHASE_2 now", None),
        ("Phase 1: go", None),
        ("Phase 3: Write and run tests", None),
        ("Phase 2/4: Write and run tests", None),
        ("Phase 2/4", None),
        ("Phase 2", None),
        ("Phase 9", None),
        ("1", None),
        ("2/3", None),
        ("task 2/3", None),
        ("Step 2 of 3", None),
        ("Phase 2 - Document the rest", None),
        ("phase 1 of 3, please", None),
        ("Write and run\ntests", None),
        ("write and run tests for it", None),
        ("Before we write and run tests, list the files", None),
        ("go\nDo this:\nWrite and run tests", None),
        ("phase_11", None),
        ("Phase ID: phase_1", "phase_1"),
        ("Task ID: phase_1 and more", None),
        ("Rewrite and run tests", None),
        ("nothing of the kind", None),
        ("", None),
        ("\n", None),
        ("...\n---", None),
    ],
)
def test_a_reference_decides(text: str, phase: str | None) -> None:
    """I000-15: an id or exact title, alone as the description or the prompt's first line; a mention is none."""
    assert phase == matched(THREE, text)


@each_row(
    "title, text, meant",
    [
        ("Écrire les tests", "phase 1 : écrire les tests", True),
        ("编写测试", "阶段:编写测试", False),
        ("编写测试", "编写测试。", True),
        ("编写测试", "编写测试代码", False),
        ("Write C++ bindings", "Write C bindings", False),
        ("Write C++ bindings", "write c++ bindings", True),
        ("Release 1.2", "Release 12", False),
        ("Release 1.2", "release 1-2", True),
        ("3D model", "Phase 1: 3D model", True),
        ("3D model", "Phase 1 3D model", True),
        ("👍", "👍", True),
        ("***", "***", True),
        ("***", "---", False),
        ("Re-write it", "Rewrite it", True),
        ("Straße", "STRASSE", True),
        ("कि", "की", False),
    ],
)
def test_case_spacing_and_punctuation_do_not_count(title: str, text: str, meant: bool) -> None:
    """I000-15: in every language; but signs that mean something, and the borders of numbers, do."""
    flow = workflow((title, "", "pending"))
    assert matched(flow, text) == ("phase_0" if meant else None)


@each_row(
    "text, phase",
    [
        ("Phase 2: Build", "phase_1"),
        ("Phase 1: Build", "phase_1"),
        ("Phase 2", "phase_1"),
        ("Phase 1", "phase_1"),
        ("Phase 3", None),
        ("Phase 0", None),
        ("phase_0", "phase_0"),
    ],
)
def test_a_bare_number_means_what_is_due(text: str, phase: str | None) -> None:
    """Ids count from 0, the guidance from 1: a title behind the number decides, else what is due, else nothing."""
    phases: tuple[tuple[str, str, Status], ...] = (
        ("Design", "planner", "completed"),
        ("Build", "builder", "active"),
        ("Test", "tester", "pending"),
    )
    assert matched(workflow(*phases, current=2), text) == phase


def test_of_two_phases_with_one_title_the_unfinished_one_counts() -> None:
    """Its agent's own before others."""
    flow = workflow(("Review it", "a", "completed"), ("Review it", "b", "pending"), ("Review it", "c", "pending"))
    assert matched(flow, "Review it") == "phase_1"
    assert matched(flow, "Review it", "c") == "phase_2"
    assert matched(flow, "Review it", "@c") == "phase_2"
    assert (
        matched(replace(flow, phases=(*flow.phases[:2], flow.phases[2]._replace(agent="b"))), "Review it") == "phase_1"
    )
    waiting = workflow(
        ("Review it", "a", "completed"), ("Build", "", "active"), ("Review it", "a", "pending"), current=2
    )
    assert matched(waiting, "Review it", "a") == "phase_2", "also while another phase is due"
    later = workflow(("First", "", "pending"), ("Review it", "b", "pending"), ("Review it", "c", "pending"))
    assert matched(later, "Review it") is None, "in doubt nothing moves"
    assert matched(later, "Review it", "c") == "phase_2"
    twice = workflow(
        ("Review it", "b", "active"), ("Review it", "c", "pending"), ("Review it", "c", "pending"), current=1
    )
    assert matched(twice, "Review it", "c") is None, "the one that is due is another kind's"


def test_a_title_word_for_word_goes_before_one_that_is_alike() -> None:
    """Signs that do not count otherwise tell two titles apart."""
    flow = workflow(
        ("Port to C", "", "active"), ("Port to C++", "", "pending"), ("Port to C#", "", "pending"), current=1
    )
    assert matched(flow, "Port to C#") == "phase_2"
    assert matched(flow, "Phase 3: port to c#") == "phase_2"
    assert matched(flow, "Port to C") == "phase_0"
    assert matched(flow, "Port to C++") == "phase_1"


def test_a_specific_kind_counts_for_the_phase_that_is_due() -> None:
    """I000-15: it is for the current or next phase, nothing further on, and for none that failed."""
    assert matched(THREE, "go", "tester") is None
    started = replace(THREE, phases=(THREE.phases[0]._replace(status="completed"), *THREE.phases[1:]), current=2)
    assert matched(started, "go", "tester") == "phase_1"
    assert matched(started, "go", "@tester") == "phase_1"
    assert matched(started, "go", "other") is None
    assert matched(started, "go", "") is None
    failed = replace(started, phases=(started.phases[0], started.phases[1]._replace(status="failed")))
    assert matched(failed, "look for stuff", "tester") is None
    assert matched(failed, "Write and run tests", "tester") == "phase_1"


def test_while_none_is_current_the_first_pending_phase_is_due() -> None:
    """Also past one that failed: what is done there is done, though it does not become active (I000-9)."""
    flow = workflow(("Build", "builder", "completed"), ("Test", "tester", "failed"), ("Document", "writer", "pending"))
    assert matched(flow, "go", "writer") == "phase_2"
    assert matched(flow, "Phase 3") == "phase_2"


@each_row("agent", ["", "general-purpose", "Explore", "explore", "Plan", "claude", "@General-Purpose"])
def test_a_generic_kind_is_never_evidence_by_itself(agent: str) -> None:
    """I000-15: anything is asked of it, as "What is the latest numpy version?"."""
    flow = workflow(("Create calculator module", agent, "active"), current=1)
    assert matched(flow, "What is the latest numpy version?", agent) is None
    assert matched(flow, "Create calculator module", agent) == "phase_0"


def test_a_kind_that_two_unfinished_phases_name_is_evidence_of_neither() -> None:
    """I000-15: helpers of the same kind would complete the wrong phase."""
    flow = workflow(("A b", "coder", "active"), ("C d", "coder", "pending"), current=1)
    assert matched(flow, "help me", "coder") is None
    alone = replace(flow, phases=(flow.phases[0], flow.phases[1]._replace(status="completed")))
    assert matched(alone, "help me", "coder") == "phase_0"


@each_row(
    "text, deliverables, handover",
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
        ("Deliverables\nare fine", (), "Deliverables are fine"),
        ("**Deliverables**\n- a.py\n## Notes\n\nIt works.", ("a.py",), "It works."),
        ("DELIVERABLES: a{1,2}.py;b.py", ("a{1,2}.py", "b.py"), ""),
        ("DELIVERABLES: see **a.py**", ("see **a.py**",), ""),
        ("```\n\nIt works.\n\n```", (), "It works."),
        ("", (), ""),
    ],
)
def test_results_give_deliverables_and_handover(text: str, deliverables: tuple[str, ...], handover: str) -> None:
    """I000-14: marker lines in the forms models write them, else the first paragraph."""
    assert extract_result(text) == (deliverables, handover)


@given(st.text(max_size=500), st.text(max_size=20))
def test_any_text_is_accepted(text: str, agent: str) -> None:
    """Whatever an agent says or is called, nothing raises."""
    deliverables, handover = extract_result(text)
    assert all(isinstance(item, str) for item in deliverables)
    assert isinstance(handover, str)
    match_phase(THREE, text, agent)


def test_brackets_without_end_are_no_list() -> None:
    """Whatever stands behind a marker, the rest of the result counts."""
    deliverables, handover = extract_result(f"DELIVERABLES: {'[' * 50_000}\nCONTEXT_FOR_NEXT: go on")
    assert (len(deliverables), handover) == (1, "go on")
