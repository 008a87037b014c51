"""`holdfast simulate`: plant facts, compact again and again, and see what survives."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from holdfast.commands import options, sheet
from holdfast.commands.moments import duration
from holdfast.survival import report, trials
from holdfast.survival.rows import ROWS
from holdfast.survival.workflow_files import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.survival.result import Result
    from holdfast.survival.trials import Job


@click.command(name="simulate")
@click.option(
    "--cycles", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Compactions of the long row."
)
@click.option(
    "--facts",
    type=click.IntRange(trials.LEAST),
    default=29,
    show_default=True,
    metavar="N",
    help="Facts planted in a workflow.",
)
@click.option("--kill", is_flag=True, help="Also kill the entrypoint at every write; takes long.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="What the planted words are made of.")
@click.option(
    "--format", "formats", type=click.Choice(FORMATS), multiple=True, help="Only this format; may be repeated."
)
@click.option(
    "--row",
    "names",
    type=click.Choice(tuple(ROWS)),
    multiple=True,
    metavar="NAME",
    help="Only this row of the table; may be repeated.",
)
@click.option(
    "--here", is_flag=True, help="Take your own configuration and handlers, and the project's trusted ones, along."
)
@options.json_option
@options.project_option
def command(
    cycles: int,
    facts: int,
    kill: bool,
    seed: int,
    formats: tuple[str, ...],
    names: tuple[str, ...],
    here: bool,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Plant facts in workflows, compact again and again, and see what reaches the model.

    Every event goes through the registered command, as a process of its own, in a
    throw-away home and project; your own are not touched. No model, no network.

    Each row is something that goes wrong. Exit code 1 if in any of them a fact is
    lost, something false is said, or guidance comes twice or unasked.

    The row "no workflow" has no format but the trail, and always 29 facts, of
    which 27 must stand in the text; the percentages are of all 29.
    """
    rows = names or tuple(name for name, row in ROWS.items() if row.unasked or kill)
    root = options.open_project(project_dir).root if here else None
    job = trials.Job(rows, formats or FORMATS, cycles, facts=facts, seed=seed, here=root)
    results = _played(job)
    if as_json:
        options.print_json(report.as_json(job, results))
    else:
        _print(results, kill or "kill -9" in rows)
    sys.exit(0 if all(each.holds for each in results) else 1)


def _played(job: Job) -> list[Result]:
    """Run the trials, with a progress bar on a terminal; elsewhere, a line on stderr for each finished row."""
    console = sheet.console(stderr=True)
    if not console.is_terminal:
        return trials.play(job, _Lines(len(job.parts)))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("playing", total=len(job.parts))
        return trials.play(job, lambda each: bar.update(task, advance=1, description=each.row))


class _Lines:
    """Prints a line for each finished row, with an estimate for the rest."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()

    def __call__(self, each: Result) -> None:
        self._done += 1
        rest = self._total - self._done
        left = duration((time.monotonic() - self._began) / self._done * rest)
        what = f"{each.row} ({each.format}): {'holds' if each.holds else 'does not hold'}"
        click.echo(f"{self._done}/{self._total} {what}{f'; about {left} left' if rest else ''}", err=True)


def _print(results: Sequence[Result], with_kill: bool) -> None:
    console = sheet.console()
    table = Table(*report.COLUMNS)
    for cells in report.rows(results):
        table.add_row(*map(Text, cells))
    console.print(table)
    kinds = Table("kind", "planted", "inline", "in the sidecar", "lost")
    for kind, (planted, inline, beside) in report.kinds(results).items():
        kinds.add_row(kind, *(f"{count:,}" for count in (planted, inline, beside, planted - inline - beside)))
    console.print(kinds)
    for line in report.complaints(results):
        console.print(Text(line))
    if not with_kill:
        console.print(Text("kill -9 was not played; it takes long: --kill"))
    console.print(Text(report.moral(results)))
