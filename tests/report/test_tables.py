"""The tables say everything that a reader could otherwise misunderstand."""

from __future__ import annotations

from dataclasses import replace

from holdfast.memory.rows import Cost
from holdfast.workflow.model import Phase
from tests.handmade import ME, OTHER
from tests.report.pages import page
from tests.storied import at, compaction, delivery, entry, happening, report, run, session
from tests.tables import each_row


def test_a_session_says_how_long_it_was_and_what_happened_in_it() -> None:
    """A live one lasts until now."""
    ended = session(runs=(run(), run()))
    live = session(id=OTHER, status="live", worktree="/elsewhere", compactions=1)
    assert page(report(sessions=(live, ended))).cells("sessions") == [
        ["22222222", "live", "1 Mar 2026 09:00:00", "1 Mar 2026 09:20:00, 20m 00s", "1", "–", "/elsewhere"],
        ["11111111", "ended", "1 Mar 2026 09:00:00", "1 Mar 2026 09:10:00, 10m 00s", "–", "2", "–"],
    ]


def test_a_compaction_says_where_it_went_on_and_what_came_back() -> None:
    """Also that the session had nothing, that guidance was cut, refused, or puts back a trail."""
    given = (delivery(omitted=12), delivery(state="refused"), delivery(title="", state="absent"))
    one = compaction(restored_in=OTHER, deliveries=given)
    two = compaction(workflows=(), trigger="none", announced_at=at("09:05"), restored_at=at("09:05"))
    first, second = page(report(compactions=(one, two))).cells("compactions")

    assert first[:4] == ["1 Mar 2026 09:10:00", "11111111 → 22222222", "automatic", "Calculator 1/1 Build"]
    assert first[4] == (
        "Restored, and confirmed by the transcript"
        " Calculator : 1,234 characters with SessionStart, 12 more lines in the full version; confirmed"
        " Calculator : refused: it could belong to another live session"
        " the trail : 1,234 characters with SessionStart; never arrived"
    )
    assert second == [
        "1 Mar 2026 09:05:00",
        "11111111",
        "not announced",
        "no workflow",
        "Nothing to restore",
        "–",
    ]


@each_row(
    "used, state, expected",
    [
        (True, "completed", "used, 10m 00s"),
        (False, "completed", "finished, 10m 00s; its result was not used"),
        (False, "failed", "failed, 10m 00s; its result was not used"),
        (True, "failed", "failed, 10m 00s"),
        (False, "running", "running, 10m 00s"),
        (False, "missing", "interrupted, 10m 00s"),
    ],
)
def test_an_agent_whose_result_was_not_used_is_told_so(used: bool, state: str, expected: str) -> None:
    """Unless it has none yet, or will have none."""
    runs = (run(used_at=at("09:10") if used else "", state=state),)
    ((*_, how, _),) = page(report(sessions=(session(runs=runs),))).cells("agents")
    assert how == expected


def test_agents_are_listed_with_their_phase_and_their_words_in_short() -> None:
    """The latest first, of whichever session; an agent's words can be a book."""
    phases = (Phase("one", 1, "Build the core", "active"),)
    built = replace(entry().workflow, phases=phases)
    early = run("09:00", "09:02", result="x" * 5_000, phase="one", workflow=built.key)
    late = run("09:03", "09:04", result="", agent_type="", description="")
    listed = page(report(sessions=(session(runs=(early, late)),), workflows=(entry(workflow=built),))).cells("agents")
    assert [row[:5] for row in listed] == [
        ["1 Mar 2026 09:03:00", "a1", "11111111", "–", "used, 1m 00s"],
        ["1 Mar 2026 09:00:00", "builder", "11111111", "Build the core", "used, 2m 00s"],
    ]
    assert [row[5] for row in listed] == ["–", f"{'x' * 300}…"]


def test_a_workflow_says_where_it_lies_and_how_each_phase_stands() -> None:
    """In this checkout, in another, or in the archive alone."""
    phases = (Phase("one", 1, "Build", "completed"), Phase("two", 2, "Test", "failed"))
    here = entry(workflow=replace(entry().workflow, phases=phases))
    drawn = page(report(workflows=(here, entry(worktree="/elsewhere", owner=""), entry(archived=True))))
    place = here.workflow.place

    assert [row[3:] for row in drawn.cells("workflows")] == [
        ["11111111", place],
        ["–", f"{place} in /elsewhere"],
        ["11111111", f"{place} (in the archive)"],
    ]
    assert drawn.cells("workflows")[0][2] == "Build completed Test failed"
    classes = [attributes.get("class") for name, attributes in drawn.elements if name == "li"]
    assert list(filter(None, classes))[:2] == ["completed", "failed"]


def test_what_was_put_into_the_context_is_summed_by_session() -> None:
    """With its share of the whole and its tokens, rounded up; what a subagent got is said."""
    plain = Cost(ME, "SessionStart", "shipped/restore_workflow", agent=False, characters=3_000, replies=2, last_at="")
    costs = (plain, replace(plain, event="SubagentStart", agent=True, characters=1_001, replies=1))
    drawn = page(report(costs=(*costs, replace(plain, conversation=OTHER, characters=1_000))))

    assert drawn.cells("context") == [
        ["11111111", "all", "", "", "4,001", "1,001"],
        ["11111111", "SessionStart", "shipped/restore_workflow", "2", "3,000", "750"],
        ["11111111", "SubagentStart (of a subagent)", "shipped/restore_workflow", "1", "1,001", "251"],
        ["22222222", "all", "", "", "1,000", "250"],
        ["22222222", "SessionStart", "shipped/restore_workflow", "2", "1,000", "250"],
    ]
    shares = [attributes["style"] for name, attributes in drawn.elements if name == "i"]
    assert shares == ["width:80.0%", "width:20.0%"]


def test_the_log_has_the_newest_first_and_says_what_was_in_another_checkout() -> None:
    """As it is given; each row can be hidden by its kind."""
    happened = (
        happening(at=at("09:05"), kind="owner", what="released", session="", title="Calculator"),
        happening(worktree="/elsewhere"),
        happening(worktree=""),
    )
    drawn = page(report(events=happened))
    assert drawn.cells("happened") == [
        ["1 Mar 2026 09:05:00", "–", 'released: "Calculator"'],
        ["1 Mar 2026 09:00:00", "11111111", "session began (in /elsewhere)"],
        ["1 Mar 2026 09:00:00", "11111111", "session began"],
    ]
    rows = [attributes["class"] for name, attributes in drawn.elements if name == "tr" and attributes]
    assert rows == ["kind-owner", "kind-session", "kind-session"]
    boxes = [attributes["id"] for name, attributes in drawn.elements if name == "input"]
    assert boxes == ["show-session", "show-owner"]
    assert "input" not in dict(page(report(events=happened[1:])).elements)  # one kind alone is not hidden
