"""Play rows, several at a time, each in its own throw-away home and project."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.testkit import place
from tools import belongings
from tools.survival import result
from tools.survival.rows import ROWS
from tools.survival.samples import FORMATS
from tools.survival.scene import Scene
from tools.survival.workflow_files import BY_HAND, Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tools.survival.result import Result

ADVERSE = 3  # compactions of a row in which something goes wrong
LEAST = 16  # the fewest facts, so that there is one of each kind
WORKERS = 2
BEGIN = datetime(2025, 6, 2, 9, 0, tzinfo=UTC)  # in the past, so that files written now are never old
_LIMIT_S = 120.0  # a process that takes longer has failed


@dataclass(frozen=True, slots=True)
class Job:
    """What to play.

    Attributes:
        rows: the rows' names; by default all that are played unasked.
        formats: the formats of the main workflow; the row without a workflow is played in any case.
        cycles: compactions of the long rows.
        adverse: compactions of the other rows.
        facts: how many facts are planted.
        seed: the seed of the planted words.
        instants: at how many boundaries a process is killed; None for all.
        spread: play each row in one format only, each in another than the row before.
        here: a project whose trusted handlers and configuration are used with the user's own, if any.
    """

    rows: Sequence[str] = ()
    formats: Sequence[str] = FORMATS
    cycles: int = 10
    adverse: int = ADVERSE
    facts: int = 29
    seed: int = 0
    instants: int | None = None
    spread: bool = False
    here: Path | None = None

    @property
    def parts(self) -> list[tuple[str, str]]:
        """(row, format) for everything to play, in the table's order."""
        rows = self.rows or [name for name, row in ROWS.items() if row.unasked]
        formats = {row: ROWS[row].formats for row in ROWS if row in rows}
        found: list[tuple[str, str]] = []
        for number, (row, own) in enumerate(formats.items()):
            names = [name for name in own if name in self.formats or name not in FORMATS]
            if set(BY_HAND) <= set(own):  # people write the files of a format without code by hand too
                names += [name for name in self.formats if name not in FORMATS]
            found += [(row, name) for name in ([names[number % len(names)]] if self.spread and names else names)]
        return found


def play(job: Job, done: Callable[[Result], None] = lambda _: None) -> list[Result]:
    """Play a job and return the results in the table's order; `done` is called with each as soon as it is there."""
    results: dict[tuple[str, str], Result] = {}
    with ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        longest_first = sorted(job.parts, key=lambda part: (ROWS[part[0]].unasked, not ROWS[part[0]].long))
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
    cycles = job.cycles if ROWS[row].long else job.adverse
    with place.opened() as made, Scene(made, job.seed) as scene:
        made.now, made.limit_s = BEGIN, _LIMIT_S
        if job.here is not None:
            belongings.take_along(job.here, made.root, made.home)
        scene.format, scene.facts, scene.cycles, scene.instants = format_name, job.facts, cycles, job.instants
        found = scene.found
        try:
            ROWS[row].play(scene)
        except Broken as error:
            found.faults.append(f"{found.where or 'it'} could not go on: {error}")
        found.close(scene.clients)
        errors = [line for line in made.log() if line.split(" ", 2)[1:2] == ["error"]]
        rest: dict[str, Any] = {"skipped": scene.skipped, "log": errors}
        return result.summed(row, format_name, found.readings, found.faults, found.repeats, **rest)
