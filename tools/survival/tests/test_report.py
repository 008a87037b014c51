"""The table, sums and sentence of the results, and the page's copy of the table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.processes import ROOT
from tools.survival import report
from tools.survival.result import Result, summed
from tools.survival.rows import ROWS
from tools.survival.score import Reading
from tools.survival.trials import Job

PAGE = (ROOT / "docs" / "survival-score.md").read_text("utf-8")
GOOD = Reading(Counter(reminder=3, context=2), Counter(reminder=3, context=1), Counter(context=1), (), (), (), 900, 1)


def result(
    *readings: Reading, faults: tuple[str, ...] = (), repeats: tuple[bool, ...] = (True,), **more: str
) -> Result:
    """Sum readings up."""
    return summed("warm", "hybrid", readings or (GOOD,), faults, repeats, **more)


def changed(**fields: Any) -> Reading:
    """Return the good reading with something else in it."""
    return replace(GOOD, **fields)


def cells(found: Result) -> dict[str, str]:
    """Return the one row of a table by its columns."""
    (row,) = report.rows([found])
    return dict(zip(report.COLUMNS, row, strict=True))


def test_a_result_that_holds() -> None:
    """Counts are sums over all compactions; the longest string is the longest."""
    found = result(GOOD, changed(units=1_200))
    assert found.holds
    assert (found.planted, found.inline, found.recoverable, found.units) == (10, 8, 10, 1_200)
    assert found.kinds == {"reminder": (6, 6, 0), "context": (4, 2, 2)}
    assert cells(found) == {
        "row": "warm",
        "format": "hybrid",
        "compactions": "2",
        "inline": "80.0 %",
        "recoverable": "100 %",
        "false": "0",
        "longest": "1,200",
        "once": "yes",
        "same bytes": "yes",
        "": "✓",
    }
    assert report.moral([found]) == "100 % of 10 facts kept, 0 false, in 1 row."
    assert list(report.complaints([found])) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            result(changed(inline=Counter(reminder=2, context=1), lost=("reminder x",))),
            "lost: compaction 1: reminder x",
        ),
        (result(changed(inline=Counter(reminder=2, context=1))), "nothing was judged"),
        (result(GOOD, changed(false=("foreign: x",))), "false: compaction 2: foreign: x"),
        (result(changed(over=("9600 units",))), "budget: compaction 1: 9600 units"),
        (result(changed(given=0)), "compaction 1: no guidance"),
        (result(faults=("guidance of compaction 1 came 2 times: x",)), "guidance of compaction 1 came 2 times: x"),
        (result(faults=("it could not go on: x",)), "it could not go on: x"),
        (result(repeats=(True, False)), "nothing was judged"),
        (Result("warm", "hybrid"), "nothing was judged"),
    ],
)
def test_a_result_that_does_not_hold_says_why(found: Result, words: str) -> None:
    """One complaint is enough; nothing judged is no success either."""
    assert not found.holds
    assert list(report.complaints([found])) == ["warm (hybrid)", f"  {words}"]
    assert cells(found)[""] == "✗"
    assert report.moral([found, result()]).endswith("; 1 of them does not hold.")


def test_almost_all_is_not_all() -> None:
    """No rounding up to 100 %."""
    assert report.share(99_999, 100_000) == "99.9 %"
    assert report.share(0, 0) == "–"


def test_guidance_that_does_not_come_once_shows_in_its_column() -> None:
    """Too often, never, or unasked."""
    for fault in ("guidance of compaction 2 came 0 times: with no event", "guidance without a compaction, with Stop"):
        assert cells(result(faults=(fault,)))["once"] == "no"
    assert cells(result(repeats=(False,)))["same bytes"] == "no"
    assert cells(result(repeats=()))["same bytes"] == "–"


def test_a_skipped_row_says_so() -> None:
    """It neither holds anything nor fails."""
    found = result(skipped="no reason")
    assert found.holds
    assert cells(found)[""] == "skipped: no reason"
    assert report.moral([found]).endswith("in 0 rows; 1 skipped.")


def test_many_complaints_are_counted() -> None:
    """The first are named."""
    found = result(changed(lost=tuple(f"reminder {number}" for number in range(50))))
    assert len(found.lost) == 21
    assert found.lost[-1] == "and 30 more"


def test_the_json_has_all_of_it() -> None:
    """For programs: numbers as numbers."""
    told = report.as_json(Job(cycles=2, facts=16, seed=3), [result(faults=("x",)), result()])
    assert (told["holds"], told["cycles"], told["facts"], told["seed"]) == (False, 2, 16, 3)
    assert told["kinds"]["context"] == {"planted": 4, "inline": 2, "sidecar": 2}
    assert told["rows"][0]["faults"] == ["x"]
    assert [row["holds"] for row in told["rows"]] == [False, True]


def test_a_page_gets_the_table_between_its_markers() -> None:
    """All else stays as it is; a page without them is refused."""
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    new = report.written(page, report.markdown(Job(), [result()]))
    assert new.startswith(f"before\n{report.BEGIN}\n`--cycles 10 --facts 29`: 100 % of 5 facts kept")
    assert "| warm | hybrid | 1 | 80.0 % | 100 % | 0 | 900 | yes | yes | ✓ |" in new
    assert new.endswith(f"|\n{report.END}\nafter\n")
    with pytest.raises(ValueError, match="lacks the lines"):
        report.written("a page", "a table")


def test_the_page_has_a_row_for_every_row() -> None:
    """`make score` wrote it from the rows that there are; its figures are not looked at."""
    table = PAGE.split(report.BEGIN)[1].split(report.END)[0]
    named = re.findall(r"^\| ([^|]+) \| (\w+) \|", table, re.MULTILINE)[1:]
    assert named == [(row, name) for row in ROWS for name in ROWS[row].formats]
