"""`holdfast watch`: follow the current workflow live."""

from __future__ import annotations

import math
import os
import select
import signal
import stat
import sys
from contextlib import contextmanager, suppress
from errno import EIO, EPIPE
from typing import TYPE_CHECKING

import click
from rich.live import Live
from rich.text import Text

from holdfast import clock
from holdfast.commands import layout, options, terminal
from holdfast.process.terminal_text import forget_output
from holdfast.sessions.history.succession import Following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from holdfast.sessions.history.succession import Sight

_TICK_S = 1.0  # durations are shown in seconds


def _number(context: click.Context, option: click.Parameter, value: float) -> float:
    if math.isnan(value):  # FloatRange lets it pass
        raise click.BadParameter("nan is not a number", ctx=context, param=option)
    return value


class Suspended(Exception):
    """The user pressed Ctrl-Z."""


@click.command(name="watch")
@options.workflow_argument
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3_600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    callback=_number,
    help="How long to wait between two looks for changes.",
)
@options.project_option
def command(workflow_id: str | None, interval: float, project_dir: str | None) -> None:
    """Follow the current workflow, or WORKFLOW: phases, agents, to-do list, last save and restore.

    On a terminal the page stays up to date. Elsewhere it is printed again after each change. Nothing is written to the
    project. Ctrl-C ends.

    \b
    Example:
      holdfast watch payments
    """
    following = Following(options.open_project(project_dir), workflow_id, options.session())
    console = terminal.console()
    try:
        if sys.stdout.isatty() and console.is_terminal and not console.is_dumb_terminal:
            with _signals():
                draw(following, console, interval, wait)
        else:
            tell(following, console, interval, wait)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        if error.errno not in (EPIPE, EIO):  # the reader or the terminal is gone
            raise
        forget_output()
    finally:
        following.close()


def draw(following: Following, console: Console, interval: float, pause: Callable[[float], None]) -> None:
    """Keep the page up to date on the terminal's alternate screen until Ctrl-C, then print it in full on the main one.

    Args:
        following: the workflow to follow.
        console: where the page is drawn.
        interval: seconds between two looks at the project.
        pause: sleeps for the given seconds.
    """
    live = Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    sight, drawn, waited = following.look(), None, 0.0
    try:
        with live:
            while True:
                try:
                    if waited >= interval:
                        sight, waited = following.look(), 0.0
                    drawn = _draw(live, sight, drawn)
                    pause(min(interval, _TICK_S))
                    waited += min(interval, _TICK_S)
                except Suspended:
                    live.stop()
                    os.kill(os.getpid(), signal.SIGSTOP)
                    live.start()
                    drawn = None
    except KeyboardInterrupt:
        terminal.put(console, layout.watched(sight, clock.now(), console.width))


def tell(following: Following, console: Console, interval: float, pause: Callable[[float], None]) -> None:
    """Print the page, and print it again whenever something changed; never returns.

    Args:
        following: the workflow to follow.
        console: where the page is printed.
        interval: seconds between two looks at the project.
        pause: sleeps for the given seconds.
    """
    told: Sight | None = None
    while True:
        sight = following.look()
        if sight.at_rest() != told:
            now = clock.now()
            between = [Text(), Text(f"--- {now:%Y-%m-%d %H:%M:%S} UTC ---"), Text()] if told else []
            terminal.put(console, [*between, *layout.watched(sight, now, console.width)])
            told = sight.at_rest()
        pause(interval)


def wait(seconds: float) -> None:
    """Sleep. Raises BrokenPipeError as soon as stdout is a pipe that nobody reads."""
    poll = select.poll()
    with suppress(OSError, ValueError):  # stdout is closed
        descriptor = sys.stdout.fileno()
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            poll.register(descriptor, 0)
    if poll.poll(seconds * 1_000):
        raise BrokenPipeError(EPIPE, "nobody reads the output any more")


def _draw(live: Live, sight: Sight, before: object) -> object:
    """Draw the page if it changed. Return the terminal's size with the lines on the screen."""
    size = live.console.size
    lines = layout.watched(sight, clock.now(), size.width, size.height)
    if (size, lines) != before:
        live.update(Text("\n", no_wrap=True, overflow="crop").join(lines), refresh=True)
    return size, lines


@contextmanager
def _signals() -> Iterator[None]:
    """Turn signals that end or suspend the process into exceptions, so that the terminal is restored first."""

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    def suspend(_: int, __: object) -> None:
        raise Suspended

    given: dict[int, Callable[[int, object], None]]
    given = {signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGTSTP: suspend}
    known = {number: signal.getsignal(number) for number in given}
    before = {number: handler for number, handler in known.items() if handler != signal.SIG_IGN}  # nohup, say
    for number in before:
        signal.signal(number, given[number])
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
