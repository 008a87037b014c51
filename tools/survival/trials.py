"""Play rows, several at a time, each in its own throw-away home and project."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from holdfast.testkit import place
from tools.survival.result import Result
from tools.survival.rows import ROWS
from tools.survival.samples import FORMATS
from tools.survival.scene import Scene
from tools.survival.workflow_files import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.testkit.place import Place

LEAST = 16  # the fewest facts, so that there is one of each kind
WORKERS = 2
BEGIN = datetime(2025, 6, 2, 9, 0, tzinfo=UTC)  # in the past, so that files written now are never old
_LIMIT_S = 120.0  # a process that takes longer has failed


@dataclass(frozen=True, slots=True)
class Job:
    """What to play.

    Attributes:
        rows: the rows' names.
        formats: the formats of the main workflow; the row without a workflow is played in any case.
        cycles: compactions of the long row.
        adverse: compactions of the other rows.
        facts: how many facts are planted.
        seed: the seed of the planted words.
        instants: at how many writes of each step a process is killed; None for all.
        prepare: changes the throw-away home before a row begins.
    """

    rows: Sequence[str] = tuple(ROWS)
    formats: Sequence[str] = FORMATS
    cycles: int = 10
    adverse: int = 3
    facts: int = 29
    seed: int = 0
    instants: int | None = None
    prepare: Callable[[Place], object] = lambda made: None

    @property
    def parts(self) -> list[tuple[str, str]]:
        """(row, format) for everything to play, in the table's order."""
        return [
            (name, each)
            for name, row in ROWS.items()
            if name in self.rows
            for each in row.formats
            if each in self.formats or each not in FORMATS
        ]


def play(job: Job, done: Callable[[Result], None]) -> list[Result]:
    """Play a job and return the results in the table's order; `done` is called with each as soon as it is there."""
    results: dict[tuple[str, str], Result] = {}
    with ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        longest_first = sorted(job.parts, key=lambda part: part[0] not in ("kill -9", "warm"))
        running = {pool.submit(one, job, *part): part for part in longest_first}
        try:
            for each in as_completed(running):
                results[running[each]] = each.result()
                done(each.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [results[part] for part in job.parts]


def one(job: Job, row: str, format_name: str) -> Result:
    """Play one row in one format."""
    cycles = job.cycles if row == "warm" else job.adverse
    with place.opened() as made, Scene(made, job.seed, format_name, job.facts, cycles, job.instants) as scene:
        made.now, made.limit_s = BEGIN, _LIMIT_S
        job.prepare(made)
        found = scene.found
        try:
            ROWS[row].play(scene)
        except Broken as error:
            found.faults.append(f"{found.where or 'it'} could not go on: {error}")
        found.close(scene.clients)
        errors = [line for line in made.log() if line.split(" ", 2)[1:2] == ["error"]]
        return Result(row, format_name, found.readings, found.faults, found.repeats, scene.skipped, errors)
