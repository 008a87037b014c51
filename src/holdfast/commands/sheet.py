"""Lay text out in lines of one width with hanging indents, and print them on a console."""

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
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType

WIDEST = 100  # columns; longer lines are hard to follow
NARROW: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "padding": 0}  # tables that fit into 80 columns
_NARROWEST = 10  # columns that text gets at least, however wide its lead is
_PLAIN = Console(width=WIDEST, color_system=None)  # rich needs one for wrapping; nothing is printed on it


class Sheet:
    """A list of lines of at most one width. Longer text wraps and is indented under its own beginning."""

    def __init__(self, width: int) -> None:
        self.lines: list[Text] = []
        self._width = min(width, WIDEST)

    def put(self, text: Text, lead: str | Text = "", hang: int = 0) -> None:
        """Add a text after its lead; its further lines are indented to its beginning plus `hang` columns."""
        lead = Text(lead) if isinstance(lead, str) else lead
        indent = cell_len(lead.plain) + hang
        room = max(self._width - indent, _NARROWEST)
        fits = "\n" not in text.plain and cell_len(text.plain) <= room  # wrapping is slow, and most texts fit
        for number, part in enumerate([text] if fits else _wrapped(text, room)):
            line = Text.assemble(lead if number == 0 else " " * indent, part)
            line.rstrip()
            self.lines.append(line)

    def heading(self, words: str) -> None:
        """Begin a section with an empty line and a heading."""
        self.lines += [Text(), Text(words, "bold")]

    def fact(self, label: str, text: Text) -> None:
        """Add a text with a label in a column before it."""
        self.put(text, Text(f"  {label:<13} ", "dim"))

    def section(self, words: str, texts: Iterable[Text], bullet: str = "") -> None:
        """Add a section with its heading; without texts, add nothing."""
        for number, text in enumerate(texts):
            if number == 0:
                self.heading(words)
            self.put(text, f"  {bullet}", 0 if bullet else 2)


def _wrapped(text: Text, room: int) -> Iterator[Text]:
    """Yield a text's lines, wrapped at `room` columns; a wrapped part doesn't begin with the space before it."""
    for line in text.split("\n", allow_blank=True):
        for number, part in enumerate(line.wrap(_PLAIN, room, overflow="fold")):
            yield part[len(part.plain) - len(part.plain.lstrip(" ")) :] if number and part.plain.strip() else part


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


def tell(lines: Iterable[str], hang: int = 2) -> None:
    """Print cleaned lines. Those that are too long for a terminal wrap between words, indented `hang` columns more."""
    to = console()
    page = Sheet(to.width)
    for line in map(clean, lines):
        if wraps(to) and cell_len(line) > to.width:
            indent = line[: len(line) - len(line.lstrip())]
            page.put(Text(line.lstrip()), indent, hang)
        else:
            page.lines.append(Text(line))
    put(to, page.lines)


def cropped(page: list[Text], tail: list[Text], height: int | None) -> list[Text]:
    """Return a page and its tail in at most `height` lines; a line says how many of the page are left out."""
    if height is None or len(page) + len(tail) <= height:
        return page + tail
    room = max(height - len(tail) - 1, 0)
    more = Text(f"  +{len(page) - room} lines: `holdfast show` prints all", "dim")
    return [*page[:room], more, *tail][:height]
