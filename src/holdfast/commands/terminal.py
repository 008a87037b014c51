"""Print on the terminal with rich: text that wraps under its own beginning, and tables."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from holdfast.process.terminal_text import printable, unguarded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType
    from rich.table import Table

WIDEST = 100  # columns; longer lines are hard to follow
_NARROWEST = 10  # columns that text gets at least, however wide its lead is
_UNLIMITED = 1_000_000  # columns
NARROW: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "padding": 0}  # tables that fit into 80 columns
_PLAIN = Console(width=WIDEST, color_system=None)  # rich needs one for wrapping; nothing is printed on it


class _Console(Console):
    """A console that writes its own escape sequences, but escapes those in the text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise  # the caller decides the exit code; rich itself would end the process with 1


def console(*, stderr: bool = False) -> Console:
    """Return a console for stdout or stderr, as wide as the terminal (without one: COLUMNS, or 80).

    Characters that the output's encoding lacks become question marks.
    """
    stream = unguarded(sys.stderr if stderr else sys.stdout)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")
    return _Console(file=stream, highlight=False)


def put(console: Console, lines: Sequence[Text]) -> None:
    """Print lines. Raises BrokenPipeError if nobody reads them."""
    console.print(Text("\n").join(lines), soft_wrap=True)


def wraps(console: Console) -> bool:
    """Return whether lines wrap: on a terminal or with COLUMNS. Elsewhere each stays whole, for programs."""
    return console.is_terminal or "COLUMNS" in os.environ


def hanging(text: Text, lead: Text, width: int, hang: int = 0) -> list[Text]:
    """Return the lines of a text behind its lead; further lines are indented to its beginning plus `hang` columns."""
    indent = cell_len(lead.plain) + hang
    room = max(min(width, WIDEST) - indent, _NARROWEST)
    fits = "\n" not in text.plain and cell_len(text.plain) <= room  # wrapping is slow, and most texts fit
    lines = []
    for number, part in enumerate([text] if fits else _wrapped(text, room)):
        line = Text.assemble(lead if number == 0 else " " * indent, part)
        line.rstrip()
        lines.append(line)
    return lines


def _wrapped(text: Text, room: int) -> Iterator[Text]:
    """Yield a text's lines, wrapped at `room` columns; a wrapped part doesn't begin with the space before it."""
    for line in text.split("\n", allow_blank=True):
        for number, part in enumerate(line.wrap(_PLAIN, room, overflow="fold")):
            yield part[len(part.plain) - len(part.plain.lstrip(" ")) :] if number and part.plain.strip() else part


def put_hanging(console: Console, text: Text, lead: Text, hang: int = 0) -> None:
    """Print a text as `hanging` does; on one line where lines don't wrap."""
    put(console, hanging(text, lead, console.width, hang) if wraps(console) else [Text.assemble(lead, text)])


def put_table(console: Console, table: Table) -> None:
    """Print a table. Where lines don't wrap, each row stays on one line, however long it is."""
    width = console.width if wraps(console) else _UNLIMITED
    lines = []
    for segments in console.render_lines(table, console.options.update(width=width), pad=False):
        lines.append(Text.assemble(*((each.text, each.style or "") for each in segments)))
        lines[-1].rstrip()
    put(console, lines)
