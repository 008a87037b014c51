"""Print on the terminal with rich: text that wraps under its own beginning, and tables."""

from __future__ import annotations

import os
import re
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.containers import Lines
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from holdfast import paths
from holdfast.process.terminal_text import printable, unguarded
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import ConsoleOptions, RenderableType

_UNLIMITED = 1_000_000  # columns


class _Console(Console):
    """A console that writes its own escape sequences, but escapes those in the text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise  # the caller decides the exit code; rich itself would end the process with 1


class _Text(Text):
    """Text in which a path that is wider than its column breaks after a slash."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        breaks = []
        for word in re.finditer(r"\S+", self.plain):
            begin = word.start()
            while word.end() - begin > width and (slash := self.plain.rfind("/", begin, begin + width)) >= begin:
                begin = slash + 1
                breaks.append(begin)
        parts = self.divide(breaks)  # of `Text` itself
        return Lines(line for part in parts for line in part.wrap(console, width, **options))


def console() -> Console:
    """Return a console for stdout, as wide as the terminal (without one: COLUMNS, or 80).

    Characters that the output's encoding lacks become question marks.
    """
    stream = unguarded(sys.stdout)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")
    return _Console(file=stream, highlight=False)


def text(words: str, style: str = "") -> Text:
    """Return text for people with short paths, without control characters and the client's tags."""
    return _Text(paths.shown(wording.clean(words)), style)


def table(rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return rows of cells as a table whose columns wrap."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for number, cells in enumerate(rows):
        for _ in cells if number == 0 else ():
            grid.add_column(overflow="fold")
        grid.add_row(*(text(each) if isinstance(each, str) else each for each in cells))
    return grid


def row(*cells: str | Text) -> Table:
    """Return a row of cells; the last one wraps under its own beginning."""
    grid = Table.grid(*(Column(no_wrap=True) for _ in cells[1:]), Column(overflow="fold"))
    grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return grid


def lines(console: Console, *parts: RenderableType) -> list[Text]:
    """Return the lines of texts and tables.

    They wrap on a terminal or with COLUMNS. Elsewhere each row stays on one line, however long it is, for programs.
    """
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else _UNLIMITED
    found = []
    for segments in console.render_lines(Group(*parts), console.options.update(width=width), pad=False):
        found.append(Text.assemble(*((each.text, each.style or "") for each in segments)))
        found[-1].rstrip()
    return found


def put(console: Console, lines: Sequence[Text]) -> None:
    """Print whole lines, which only the terminal wraps. Raises BrokenPipeError if nobody reads them."""
    console.print(Text("\n").join(lines), soft_wrap=True)


def put_wrapped(console: Console, *parts: RenderableType) -> None:
    """Print texts and tables as `lines` returns them."""
    put(console, lines(console, *parts))
