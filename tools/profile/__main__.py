"""The profile replay: `python -m tools.profile` replays recorded events and shows where the time goes."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from holdfast.clients.claude import events
from holdfast.commands import options, terminal
from holdfast.errors import HoldfastError
from holdfast.server import control
from holdfast.sessions.history import recordings
from holdfast.workflow import places
from holdfast.workflow.wording import clean, count
from tools import program
from tools.profile import double, findings, replay, selection, wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.sessions.workspace import Workspace
    from tools.profile.findings import Findings
    from tools.profile.selection import Chosen


@click.command()
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="How often each event is replayed.",
)
@click.option(
    "--event", type=click.Choice(tuple(events.EVENTS)), metavar="NAME", help="Replay only events of this name."
)
@click.option("--cold", is_flag=True, help="Do without the warm server: each event is a cold start.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="Replay only the newest N events.",
)
@options.json_option
@options.project_option
def command(rounds: int, event: str | None, cold: bool, limit: int, as_json: bool, project_dir: str | None) -> None:
    """Replay the project's recorded events and show where the time goes.

    Each event goes through the registered command, in a throw-away copy of your configuration, your handlers, the
    project's .claude, workflows, plans and memory files, and the ledger. Your own files are only read. If no event is
    recorded, samples stand in.

    Your handlers really run. One that acts outside the project, for example by sending a message, does so again for
    each event and round.

    A percentile is a time that was measured: the smallest that this percentage of all does not exceed. With fewer than
    100 events, p99 is the longest.

    \b
    Example:
      python -m tools.profile --event PreToolUse --rounds 5
    """
    project = options.open_project(project_dir)
    asked = selection.wanted(project)
    lines = [line for each in recordings.read(project).values() for line in each]
    chosen = selection.of_recordings(lines, asked, event, limit)
    if not chosen.payloads and not chosen.unwanted:
        chosen = selection.samples(project, asked, event, limit)
    if not chosen.payloads:
        raise HoldfastError(
            f"no handler wants {event or 'any event'} here, so there is nothing to measure; "
            "`holdfast handlers list` lists your handlers"
        )
    off = "" if cold else control.off()
    found, left_out = _replayed(project, chosen, rounds, cold=cold or bool(off))
    said = wording.about(chosen, rounds, event or "", off, left_out, os.getloadavg()[0])
    if as_json:
        counts = {"recorded": not chosen.samples, "rounds": rounds, "replayed": len(chosen.payloads), "notes": said}
        options.print_json(counts | found.as_json())
    else:
        _print(found, said)


def _replayed(project: Workspace, chosen: Chosen, rounds: int, *, cold: bool) -> tuple[Findings, int]:
    """Replay the events, with a progress bar on a terminal; elsewhere, a line on stderr says what is waited for.

    Returns:
        The findings, and how many files could not be copied.
    """
    console = terminal.console(stderr=True)
    total = len(chosen.payloads) * rounds
    if not console.is_terminal:
        click.echo(f"Replaying {count(total, 'event')} …", err=True)
    with (
        _orderly_end(),
        double.opened(project, places.kept_in(project.root)) as place,
        Progress(
            BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        ) as bar,
    ):  # fmt: skip
        task = bar.add_task("", total=total)
        firings = replay.replay(place, chosen.payloads, rounds, cold=cold, told=lambda: bar.advance(task))
        return findings.Findings(firings, cold), len(place.left_out)


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that the server ends and the copy is removed, as with Ctrl-C."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(found: Findings, said: Sequence[str]) -> None:
    console = terminal.console()
    for line in said[:1]:
        console.print(Text(clean(line)))
    for heading, (columns, rows) in wording.tables(found).items():
        console.print()
        table = Table(title=heading, title_justify="left", title_style="bold", **terminal.NARROW)
        for name in columns:
            table.add_column(name, justify="left" if name in wording.NAMES else "right", overflow="fold")
        for row in rows:
            table.add_row(*(Text(clean(cell)) for cell in row))
        console.print(table)
    console.print()
    for line in (*wording.verdict(found), *said[1:]):
        console.print(Text(clean(line)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    program.run(command, "profile", arguments)


if __name__ == "__main__":
    main()
