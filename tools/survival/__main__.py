"""The survival score: `python -m tools.survival` compacts planted workflows and shows what survives."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from holdfast.clock import duration
from holdfast.commands import options, terminal
from holdfast.errors import HoldfastError
from holdfast.formats import DESCRIBED
from holdfast.workflow import wording
from tools import program
from tools.survival import report, samples, trials
from tools.survival.rows import ROWS
from tools.survival.samples import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.survival.result import Result
    from tools.survival.trials import Job

CYCLES = 10  # compactions of the long row, unless the run is quick
_WIDTHS = (11, 12, 6, 6, 6, 5, 7, 4, 5, 6)  # of the table's columns in 80 columns, so that no name or number is cut
_WIDE = 100  # columns in which the table needs no such widths
QUICK = 1  # compactions of each row of a quick run, before the one that is repeated


@click.command()
@click.option("--full", is_flag=True, help="Play every row in every format. This takes minutes.")
@click.option(
    "--cycles",
    type=click.IntRange(1),
    metavar="N",
    help=f"How many compactions the long row has. Default: {CYCLES}, or {QUICK} in a quick run.",
)
@click.option(
    "--facts",
    type=click.IntRange(trials.LEAST),
    default=29,
    show_default=True,
    metavar="N",
    help="How many facts a workflow gets.",
)
@click.option("--kill", is_flag=True, help="Also kill the entrypoint at every write. This takes minutes.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the planted words.")
@click.option("--format", "formats", multiple=True, metavar="FORMAT", help="Play only this format. Repeat it.")
@click.option(
    "--row",
    "names",
    type=click.Choice(tuple(ROWS)),
    multiple=True,
    metavar="NAME",
    help="Play only this row. Repeat it.",
)
@click.option("--here", is_flag=True, help="Use your own configuration and handlers, and the project's trusted ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--project", "project_dir", metavar="DIR", help="The project's folder. Default: the nearest one.")
def command(
    full: bool,
    cycles: int | None,
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

    Each event runs the registered command, in a throw-away home and project.
    Holdfast leaves your own alone and uses no model and no network.

    Each row is something that goes wrong. A quick run plays a few of them, each in
    one format. --full plays all. The exit code is 1 if a row loses a fact, says
    something false, or gives guidance twice or unasked.

    The row "no workflow" has no format. It plants 29 facts for the trail, of which
    27 must arrive.

    \b
    Examples:
      python -m tools.survival
      python -m tools.survival --full --format hybrid
    """
    quick = not (full or names)
    rows = names or tuple(
        name for name, row in ROWS.items() if (kill and not row.unasked) or (row.quick if quick else row.unasked)
    )
    project = options.open_project(project_dir)
    root = project.root if here else None
    playable = (*FORMATS, *samples.described_formats())
    if unknown := [name for name in formats if name not in playable]:
        if unknown[0] in DESCRIBED:
            fields = "reading, reminders, context and notes"
            raise HoldfastError(f"{unknown[0]} can't be played: its description needs fields for {fields}")
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(playable)}", param_hint="--format")
    lengths = (cycles or QUICK, QUICK) if quick else (cycles or CYCLES, trials.ADVERSE)
    job = trials.Job(rows, formats or FORMATS, *lengths, facts=facts, seed=seed, here=root, spread=quick)
    results = _played(job)
    if as_json:
        options.print_json(report.as_json(job, results))
    else:
        _print(results)
        if line := "" if names else _left_out(rows, quick=quick):
            click.echo(line)
    sys.exit(0 if all(each.holds for each in results) else 1)


def _played(job: Job) -> list[Result]:
    """Play the rows, with a progress bar on a terminal; elsewhere, a line on stderr for each row when it ends."""
    console = terminal.console(stderr=True)
    if not console.is_terminal:
        return trials.play(job, _Lines(len(job.parts)))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("the first rows", total=len(job.parts))
        return trials.play(job, lambda each: bar.update(task, advance=1, description=each.row))


class _Lines:
    """Prints a line for each finished row, with an estimate for the rest."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()
        click.echo(f"Playing {wording.count(total, 'row')} …", err=True)

    def __call__(self, each: Result) -> None:
        self._done += 1
        rest = self._total - self._done
        left = duration((time.monotonic() - self._began) / self._done * rest)
        what = f"{each.row} ({each.format}): {'holds' if each.holds else 'does not hold'}"
        click.echo(f"{self._done}/{self._total} {what}{f'; about {left} left' if rest else ''}", err=True)


def _left_out(rows: Sequence[str], *, quick: bool) -> str:
    """Return a line about what was not played; empty if nothing was left out."""
    if quick:
        missing = len(ROWS) - len(rows)
        return f"This quick run left out {missing} rows, and played each of the others in one format: --full plays all."
    missed = [name for name in ROWS if name not in rows]
    return f"Left out, because it takes minutes: {', '.join(missed)}. --kill plays it too." if missed else ""


def _print(results: Sequence[Result]) -> None:
    console = terminal.console()
    table = Table(**terminal.NARROW)
    for name, width in zip(report.COLUMNS, _WIDTHS, strict=True):
        table.add_column(name, width=None if console.width >= _WIDE else width, overflow="fold")
    for cells in report.rows(results):
        table.add_row(*map(Text, cells))
    console.print(table)
    kinds = Table("kind", "planted", "inline", "in the sidecar", "lost", **terminal.NARROW)
    for kind, (planted, inline, beside) in report.kinds(results).items():
        kinds.add_row(kind, *(f"{count:,}" for count in (planted, inline, beside, planted - inline - beside)))
    console.print(kinds)
    for line in report.complaints(results):
        console.print(Text(line))
    console.print(Text(report.moral(results)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    program.run(command, "survival", arguments)


if __name__ == "__main__":
    main()
