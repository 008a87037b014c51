"""An ordinary session is written as the client writes it, and the judge of its trail finds faults."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import trail as reader
from holdfast.clients.claude.entries import typed
from holdfast.testkit import recorded
from holdfast.trail import text as trail
from tests.tables import each_row
from tests.trail.transcribed import CLIENTS, WRITTEN, Transcript, written
from tools.survival import ordinary, score, worklog
from tools.survival.ordinary import GOAL, PLANTED, Ordinary
from tools.survival.result import Result
from tools.survival.score import HEADING, TRAIL, TRAIL_LIMIT_UNITS, Reading

if TYPE_CHECKING:
    from pathlib import Path

FOREIGN = ("alien",)


def session() -> Ordinary:
    """Return the facts of a session."""
    return ordinary.plant(Transcript(), "TodoWrite", mark="canary-1", branch="feature/one")


def text(planted: Ordinary, leave_out: int = 0) -> str:
    """Return a trail that has all facts but some."""
    return "\n".join([f"{TRAIL} (…)", *(f"- {fact.needle}" for fact in planted.facts[leave_out:]), "</workflow-data>"])


def read(planted: Ordinary, *told: str) -> Reading:
    """Judge strings as they were told."""
    return score.judge_trail(planted, FOREIGN, told, [len(each) for each in told])


def test_what_is_shipped_is_what_a_client_wrote() -> None:
    """Each shape, word for word, and all that the work of a session needs."""
    wrote = [line for file in WRITTEN.glob("worked-2.1.329-*.jsonl") for line in file.read_text("utf-8").splitlines()]
    entries = recorded.transcript()
    assert all(entry in map(json.loads, wrote) for entry in entries)
    for kind in ("prompt", "attachment", "answer", "result", "notification"):
        assert worklog.shape(kind, entries) == worklog.shape(kind, written(CLIENTS[0]))


@each_row("leave_out", [0, PLANTED - GOAL, PLANTED - GOAL + 1, PLANTED])
def test_a_trail_holds_with_enough_of_its_facts(leave_out: int) -> None:
    """27 of 29 are enough; the percentage says how many there were."""
    planted = session()
    found = read(planted, text(planted, leave_out))
    assert (found.inline, len(found.lost), found.false, found.over) == (PLANTED - leave_out, leave_out, (), ())
    row = Result("no workflow", "trail", [found])
    assert row.holds == (leave_out <= PLANTED - GOAL)
    assert row.verdict == f"{'✓' if row.holds else '✗'} (goal: 27 of 29)"


@each_row(
    "words, why",
    [
        ("- alien", "foreign: alien"),
        ("- canary-1-SIDECHAIN", "foreign: canary-1-SIDECHAIN"),
        ("- [Request interrupted by user]", "foreign: interrupted by user"),
        ("- canary-1-OLD-TODO", "stale: canary-1-OLD-TODO"),
        ("- \x1b[31m", "raw: '\\x1b'"),
        (HEADING, f"foreign: {HEADING}"),
    ],
)
def test_what_is_foreign_or_stale_lowers_the_score(words: str, why: str) -> None:
    """Another session's, out of date, a workflow's, and what could pass for the client's; beside the trail too."""
    planted = session()
    for told in ([f"{text(planted)}\n{words}"], [text(planted), words]):
        found = read(planted, *told)
        assert [complaint for complaint in found.false if complaint.startswith(why)] or why.startswith("raw")


def test_a_trail_given_twice_is_counted_and_one_too_long_is_found() -> None:
    """Also where both stand in one string; the budget is the trail's own, not the whole string's."""
    planted = session()
    assert read(planted, f"{text(planted)}\n\n{text(planted)}").given == 2
    assert read(planted, f"{text(planted)}\n\n{'x' * TRAIL_LIMIT_UNITS}").over == ()
    assert read(planted, f"{text(planted)}\n{'x' * TRAIL_LIMIT_UNITS}").over


def test_what_is_told_apart_by_its_words_is_the_trail(tmp_path: Path) -> None:
    """The judge knows a trail by words that `workflow.trail` really says, and its cap."""
    made = Transcript()
    ordinary.plant(made, "TodoWrite", mark="canary-1", branch="feature/one")
    said, _ = trail.text(reader.trail(typed(enumerate(made.entries))), branch=None, root=tmp_path)
    assert TRAIL in said
    assert score.guidance(f"before\n\n{said}\n\nafter", TRAIL) == said
    assert TRAIL_LIMIT_UNITS == trail.LIMIT_UNITS


def test_the_facts_move_with_the_work() -> None:
    """What failed and passes is stale; what was asked before is not owed any more, nor is it false."""
    made = Transcript(branch="feature/one")
    planted = ordinary.plant(made, "Task tools", mark="canary-1", branch=made.branch)
    before: dict[str, Any] = {"failing": planted.failing, "asked": planted.asked}
    ordinary.go_on(made, planted, 1)
    assert len(planted.facts) == PLANTED
    assert planted.stale >= set(before["failing"])
    assert not {fact.needle for fact in planted.facts} & {*before["failing"], before["asked"]}
    said, _ = trail.text(reader.trail(typed(enumerate(made.entries))), branch=made.branch, root=WRITTEN)
    found = read(replace(planted, facts=[fact for fact in planted.facts if fact.kind != "file"]), said)
    assert (found.lost, found.false) == ((), ())
