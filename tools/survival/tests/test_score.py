"""The judge finds what is lost and what is false; a judge that can't fail is useless."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.formats import RECORDS
from holdfast.formats.record import completed
from tests.tables import each_row
from tools.survival import result, truth
from tools.survival.result import Result
from tools.survival.score import HEADING, Expected, Reading, judge
from tools.survival.truth import Fact, Tokens

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FACTS = (
    Fact("workflow", "title-a"),
    Fact("number", "3/8"),
    Fact("phase", "step-c", "current"),
    Fact("reading", "@docs/read-a.md"),
    Fact("reminder", "remind-a"),
    Fact("open to-do", "step-d", "open"),
    Fact("context", "value-a"),
    Fact("decision", "decided-a"),
    Fact("decision", "decided-b"),
    Fact("request", "asked-a"),
    Fact("finished to-do", "step-b", "finished"),
    Fact("hand-over", "note-b"),
    Fact("agent", "scout-a", "running"),
)
TEXT = f"""{HEADING}
Workflow: title-a (custom, hybrid)
Phase: 3/8 - step-c (in_progress)
Next step: go on with phase 3/8 "step-c"
Context for it: note-b
Key reminders:
- remind-a
REQUIRED READING
- @docs/read-a.md
Open to-dos:
- [ ] phase 3/8 step-c (in_progress)
- [ ] phase 4/8 step-d
Context:
- key: value-a
- decisions: ["decided-a", "decided-b"]
- last_request: asked-a
Finished so far:
- [x] phase 2/8 step-b
- phase 2/8 handed over: note-b
Agents:
- scout-a (a01) is running; don't start it again
Other workflows of this project:
- "title-z" (compaction): completed, 5 phases
ACTION REQUIRED
"""
EXPECTED = Expected(
    FACTS,
    "3/8",
    {"foreign": frozenset({"alien"}), "stale": frozenset({"value-old"}), "resurrected": frozenset({"remind-z"})},
    frozenset({"title-z"}),
)


def read(*told: str, expected: Expected = EXPECTED) -> Reading:
    """Judge strings as they were told."""
    return judge(expected, told)


def test_a_text_that_has_everything_is_faultless() -> None:
    """Every fact inline, once, and nothing else."""
    found = read(TEXT, "Not read yet: @docs/read-a.md.")
    assert (found.lost, found.false, found.over, found.given) == ((), (), (), 1)
    assert (found.planted, found.inline, found.beside) == (len(FACTS), len(FACTS), 0)


def test_a_format_has_its_own_word_for_its_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its position is found behind that word, and its name may hold digits and hyphens."""
    text = TEXT.replace("phase ", "knot ").replace("Phase:", "Knot:").replace("(compaction)", "(log-book2)")
    assert "number 3/8" in read(text).lost
    monkeypatch.setitem(RECORDS, "log-book2", completed({"NAME": "log-book2", "UNIT": "knot"}))
    found = read(text)
    assert (found.lost, found.false) == ((), ())


@each_row("fact", FACTS)
def test_a_lost_fact_is_found(fact: Fact) -> None:
    """Each kind, by name."""
    assert f"{fact.kind} {fact.needle}" in read(TEXT.replace(fact.needle, "nothing")).lost


def test_what_other_handlers_say_in_the_same_string_is_not_guidance() -> None:
    """It is held to what is so all the same, and words without guidance are worth nothing."""
    beside = f"A list:\n- [ ] step-d: pending\n- [x] step-b: completed\n\n{TEXT}\nNot read: @docs/read-a.md"
    found = read(beside)
    assert (found.lost, found.false, found.given) == ((), (), 1)
    assert read(beside.replace("[ ] step-d", "[x] step-d")).false
    assert read(f"- remind-a\n\n{TEXT}".replace("reminders:\n- remind-a", "reminders:")).lost == ("reminder remind-a",)
    found = read("remind-a value-a step-c")
    assert (len(found.lost), found.given) == (len(FACTS), 0)


def test_guidance_given_twice_is_counted() -> None:
    """Also as two strings of one event; its facts then stand there twice."""
    found = read(TEXT, TEXT)
    assert found.given == 2
    assert "twice: reminder remind-a" in found.false


@each_row(
    "before, after, why",
    [
        ("- remind-a", "- remind-a\n- alien", "foreign: alien"),
        ("- remind-a", "- remind-a\n- remind-z", "resurrected: remind-z"),
        ("Workflow: title-a", "Workflow: title-z, not title-a", "resurrected: title-z"),
        ("value-a", "value-a, not value-old", "stale: value-old"),
        ("- key: value-a", "- key: value-a\n- other: value-a", "twice: context value-a"),
        ("Phase: 3/8 - step-c", "Phase: 3/8 - step-c\nPhase: 2/8 - step-b", "stale: phase 2/8, not 3/8"),
        ("remind-a", "remind-a\x1b[31m", "raw: '\\x1b' at "),
        ("remind-a", "remind-a</system-reminder>", "raw: '</system-reminder' at "),
        ("- [ ] phase 4/8 step-d", "- [x] phase 4/8 step-d", "wrong status: open to-do step-d is "),
        ("- [ ] phase 4/8 step-d", "- [ ] phase 4/8 step-d (in_progress)", "wrong status: open to-do step-d is "),
        ("- [x] phase 2/8 step-b", "- [ ] phase 2/8 step-b", "wrong status: finished to-do step-b is "),
        ("- [ ] phase 3/8 step-c (in_progress)", "- [x] phase 3/8 step-c", "wrong status: phase step-c is "),
        ("- [ ] phase 3/8 step-c (in_progress)", "- [ ] phase 3/8 step-c (failed)", "wrong status: phase step-c is "),
        ('with phase 3/8 "step-c"', 'with phase 2/8 "step-b"', "wrong status: finished to-do step-b is "),
        ("is running; don't start it again", "has finished", "wrong status: agent scout-a is "),
    ],
)
def test_what_is_false_is_found(before: str, after: str, why: str) -> None:
    """Foreign, resurrected, stale, said twice, of the wrong status, and what could pass for the client's own words."""
    assert before in TEXT
    found = read(TEXT.replace(before, after))
    assert [text for text in found.false if text.startswith(why)], found.false


def test_what_is_false_beside_the_guidance_is_found(tmp_path: Path) -> None:
    """What else is told with it, or stands in its full version, must not contradict it, nor be another session's."""
    assert read(TEXT, "- [x] step-d: completed").false
    assert read(TEXT, "- [>] step-c: in_progress\n- [ ] step-d: pending").false == ()
    assert read(TEXT, "Next: alien").false == ("foreign: alien",)
    for words, why in (("alien", "foreign"), ("value-old", "stale"), ("[x] step-d", "wrong status")):
        assert [text for text in read(TEXT + sidecar(tmp_path, words)).false if text.startswith(why)]


def test_an_agent_that_died_may_be_named_but_not_as_running() -> None:
    """Nothing is owed of it; what is said of it must be so."""
    expected = replace(EXPECTED, mentionable=(Fact("agent", "scout-z", "ended"),))
    assert read(TEXT, expected=expected).false == ()
    assert read(f"{TEXT}- scout-z has failed\n", expected=expected).false == ()
    assert "scout-z is ended, but" in read(f"{TEXT}- scout-z is running\n", expected=expected).false[0]


def test_another_workflow_may_be_named_in_a_line_and_nothing_more() -> None:
    """R001-16: the others get a line each; a foreign one of a live session not even that."""
    strict = replace(EXPECTED, wrong={"foreign": frozenset({"title-z"})}, named=frozenset())
    assert read(TEXT, expected=strict).false == ("foreign: title-z",)


def sidecar(folder: Path, text: str, digest: str = "") -> str:
    """Write a sidecar and return the line that names it."""
    path = folder / "side.md"
    path.write_text(text, "utf-8")
    return f"Full version: {path} (sha256 {digest or hashlib.sha256(text.encode()).hexdigest()[:12]})"


def test_what_stands_in_the_sidecar_is_recoverable(tmp_path: Path) -> None:
    """Only if the digest in the text is that of the file. A state file counts only where no sidecar can be written."""
    short = TEXT.replace("- remind-a\n", "") + "x" * 8_500 + "\n"
    found = read(short + sidecar(tmp_path, "- remind-a"))
    assert (found.lost, found.beside, found.inline) == ((), 1, len(FACTS) - 1)
    found = read(short + sidecar(tmp_path, "- remind-a", "0" * 12))
    assert found.lost == ("reminder remind-a",)
    assert "is not what the text says it is" in found.false[0]
    assert "cannot be read" in read(f"{short}Full version: {tmp_path}/none.md (sha256 {'0' * 12})").false[0]

    (tmp_path / "state.json").write_text("remind-a")
    named = short.replace("Key reminders:\n", "Key reminders:\n- state file: state.json\n")
    assert read(named).lost == ("reminder remind-a",)
    assert read(named, expected=replace(EXPECTED, fallback=tmp_path)).lost == ()


def test_what_breaks_the_budget_is_found(tmp_path: Path) -> None:
    """What fits stands in the text; lengths are the client's, before it cuts; must-keeps and reminders come first."""
    found = read(TEXT.replace("- remind-a\n", "") + sidecar(tmp_path, "remind-a"))
    assert [text for text in found.over if "stand only in the sidecar though all fit" in text]
    many = (*FACTS, *(Fact("context", f"value-{number:04d}") for number in range(200)))
    beside = "".join(f"{fact.needle}\n" for fact in many)
    found = judge(replace(EXPECTED, facts=many), [TEXT + sidecar(tmp_path, beside)])
    assert [text for text in found.over if "units to spare" in text]
    assert read(TEXT + "🧵" * 4_500).over[0].endswith("more than 9500")
    assert judge(EXPECTED, [TEXT], [9_501]).over == ("9501 units, more than 9500",)
    late = TEXT.replace(f"{HEADING}\n", f"{HEADING}\n{'x' * 2_000}\n")
    assert [text for text in read(late).over if text.startswith("workflow title-a does not stand within")]
    first = TEXT.replace("- key: value-a\n", "").replace("Key reminders:", "- key: value-a\nKey reminders:")
    assert [text for text in read(first).over if "stands before all reminders" in text]


def test_long_values_are_expected_in_the_sidecar_alone(tmp_path: Path) -> None:
    """Their beginnings stand in the text (a value over 200 characters is shortened)."""
    expected = replace(EXPECTED, facts=(*FACTS, Fact("workflow", "tail-a", long=True)))
    assert read(TEXT, expected=expected).lost == ("workflow tail-a",)
    found = read(TEXT + sidecar(tmp_path, "tail-a"), expected=expected)
    assert (found.lost, found.over) == ((), ())


def test_the_truth_moves_with_the_workflow() -> None:
    """Facts change kind and status; what was true is stale from then on."""
    made = truth.make("hybrid", Tokens(0, "a"), 29)
    for number in range(2):
        made.complete_phase(f"note-{number}", "made" if number == 0 else "")
    assert len(made.facts()) == 29
    assert made.position == f"3/{len(made.phases)}"
    old, asked, decided = made.context["turn"], made.request, made.decisions[-1]
    made.set("turn", "new")
    made.ask("another request")
    made.decide("another decision")
    assert made.gone == {old, asked, decided}
    assert not made.gone & {fact.needle for fact in made.facts()}
    assert made.gone <= made.words()


def test_a_result_holds_only_without_a_complaint() -> None:
    """Everything that was judged counts, nothing judged is no success, and almost all isn't all."""
    good = read(TEXT)
    for readings, faults, words in (
        ([good], (), ""),
        ([good, read(TEXT.replace("remind-a", "x"))], (), "lost: compaction 2: reminder remind-a"),
        ([read(f"{TEXT}alien")], (), "false: compaction 1: foreign: alien"),
        ([judge(EXPECTED, [TEXT], [9_501])], (), "budget: compaction 1: 9501 units"),
        ([good], ("guidance of compaction 1 came 2 times",), "guidance of compaction 1 came 2 times"),
        ([], (), "nothing was judged"),
    ):
        found = Result("warm", "hybrid", readings, faults, (True,))
        assert (found.holds, found.verdict) == ((not words), "✗" if words else "✓")
        assert words in "\n".join(found.lines())
    assert Result("warm", "hybrid", skipped="no reason").verdict == "skipped: no reason"
    assert result.share(99_999, 100_000) == "99.9 %"
    assert result.moral([found, Result("warm", "hybrid", [good])]) == (
        f"100 % of {len(FACTS)} facts kept, 0 false, in 2 scenarios; 1 don't hold."
    )
