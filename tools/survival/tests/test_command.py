"""The survival score on the command line: its table, its JSON, its exit codes."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests import commandline
from tools.survival import __main__, trials
from tools.survival.result import Result
from tools.survival.rows import ROWS
from tools.survival.samples import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tools.survival.trials import Job

survival = partial(commandline.run, __main__.main)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Play nothing; return what was to be played. The row `fork` does not hold."""
    found: list[Job] = []

    def play(job: Job, done: Callable[[Result], None]) -> list[Result]:
        found.append(job)
        results = [
            Result(row, name, 3, {"reminder": (9, 8, 0 if row == "fork" else 1)}, units=900) for row, name in job.parts
        ]
        for each in results:
            done(each)
        return results

    monkeypatch.setattr(trials, "play", play)
    return found


def test_in_full_every_row_is_played_in_every_format_but_those_that_take_long(jobs: list[Job]) -> None:
    """`--kill` adds them; what is left out is said."""
    said = survival("--full", code=1).out
    assert said.splitlines()[-1] == "Left out, because it takes minutes: kill -9. --kill plays it too."
    assert "Left out" not in survival("--full", "--kill", code=1).out
    assert {row for row, _ in jobs[0].parts} == {*ROWS} - {"kill -9"}
    assert jobs[1].parts == [(row, name) for row in ROWS for name in ROWS[row].formats]
    assert (jobs[0].cycles, jobs[0].adverse, jobs[0].facts, jobs[0].seed, jobs[0].here) == (10, 3, 29, 0, None)


def test_unasked_a_few_rows_are_played_in_one_format_each(jobs: list[Job]) -> None:
    """So that it is quick; all formats have a turn, and what is left out is said in a line."""
    said = survival().out
    survival("--kill", "--cycles", "7")
    survival("--format", "wfs")
    few = [name for name, row in ROWS.items() if row.quick]
    parts = jobs[0].parts
    assert [row for row, _ in parts] == few
    assert {name for _, name in parts} == {*FORMATS, "trail"}
    assert said.splitlines()[-1] == (
        f"This quick run left out {len(ROWS) - len(few)} rows, and played each of the others in one format: "
        "--full plays all."
    )
    assert [(each.cycles, each.adverse) for each in jobs[:2]] == [(1, 1), (7, 1)]
    assert {row for row, _ in jobs[1].parts} == {*few, "kill -9"}
    assert {name for _, name in jobs[2].parts} == {"wfs", "trail"}


def test_rows_formats_and_numbers_are_chosen(jobs: list[Job], tmp_path: Path) -> None:
    """Each option reaches the job."""
    words = ["--cycles", "2", "--facts", "40", "--seed", "7", "--format", "hybrid", "--row", "two sessions"]
    survival(*words, "--row", "warm", "--here", "--project", str(tmp_path))
    (job,) = jobs
    assert job.parts == [("warm", "hybrid"), ("two sessions", "hybrid")]
    assert (job.cycles, job.facts, job.seed, job.here) == (2, 40, 7, tmp_path.resolve())


def test_the_table_says_what_holds_and_what_does_not(jobs: list[Job]) -> None:
    """A row for each, the kinds of facts, the complaints and a sentence; exit code 1."""
    said = survival("--format", "hybrid", "--row", "warm", "--row", "fork", code=1)
    begun, first, last = said.err.splitlines()
    assert begun == "Playing 2 rows …"
    assert re.fullmatch(r"1/2 warm \(hybrid\): holds; about \S+ left", first)
    assert last == "2/2 fork (hybrid): does not hold"
    for words in ("warm", "88.9 %", "100 %", "✗", "✓", "reminder", "in the sidecar", "fork (hybrid)"):
        assert words in said.out
    assert "94.4 % of 18 facts kept, 0 false, in 2 rows; 1 of them does not hold." in said.out
    assert "--full" not in said.out  # what was named was played
    assert "100 % of 9 facts kept" in survival("--format", "hybrid", "--row", "warm").out


def test_json_is_for_programs(jobs: list[Job]) -> None:
    """With the same exit code."""
    told = survival("--json", "--row", "fork", code=1).json
    assert [row["row"] for row in told["rows"]] == ["fork"] * len(FORMATS)
    assert told["holds"] is False
    assert survival("--json", "--row", "warm").json["holds"] is True


def test_a_wrong_call_is_refused() -> None:
    """Too few facts for every kind to have one, no such row, no such format."""
    for words in (["--facts", "3"], ["--row", "nothing"], ["--format", "md"], ["--cycles", "0"]):
        survival(*words, code=2)


@pytest.mark.slow
def test_a_row_is_really_played(home: Path) -> None:
    """From the command to the table, with the shipped handlers; nothing of the user's is touched."""
    before = sorted(home.rglob("*"))
    said = survival("--row", "warm", "--format", "compaction", "--cycles", "1", "--facts", "16")
    assert "100 % of 34 facts kept, 0 false, in 1 row." in said.out
    assert sorted(home.rglob("*")) == before
