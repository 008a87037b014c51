"""A sheet: lines of one width with hanging indents, and the console they are printed on."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from holdfast.terminal_text import printable, unguarded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType

WIDEST = 100  # columns; longer lines are hard to follow
_NARROWEST = 10  # columns that text gets, whatever stands before it
_PLAIN = Console(width=WIDEST, color_system=None)  # what rich wants for wrapping; nothing is printed on it


class Sheet:
    """Lines of one width; what is longer goes on below, under its own beginning."""

    def __init__(self, width: int) -> None:
        self.lines: list[Text] = []
        self._width = min(width, WIDEST)

    def put(self, text: Text, lead: str | Text = "", hang: int = 0) -> None:
        """Add a text after its lead; its further lines stand under its first one, `hang` columns more to the right."""
        lead = Text(lead) if isinstance(lead, str) else lead
        indent = cell_len(lead.plain) + hang
        room = max(self._width - indent, _NARROWEST)
        fits = "\n" not in text.plain and cell_len(text.plain) <= room  # wrapping is slow, and most texts fit
        for number, part in enumerate([text] if fits else _wrapped(text, room)):
            line = Text.assemble(lead if number == 0 else " " * indent, part)
            line.rstrip()
            self.lines.append(line)

    def heading(self, words: str) -> None:
        """Begin a section, with an empty line before it."""
        self.lines += [Text(), Text(words, "bold")]

    def fact(self, label: str, text: Text) -> None:
        """Add a text with a label in front, in a column of its own."""
        self.put(text, Text(f"  {label:<13} ", "dim"))

    def section(self, words: str, texts: Iterable[Text], bullet: str = "") -> None:
        """Add a section; nothing where it is empty."""
        for number, text in enumerate(texts):
            if number == 0:
                self.heading(words)
            self.put(text, f"  {bullet}", 0 if bullet else 2)


def _wrapped(text: Text, room: int) -> Iterator[Text]:
    """Return a text's lines, each divided where there is no room; no part begins with the space it was divided at."""
    for line in text.split("\n", allow_blank=True):
        for number, part in enumerate(line.wrap(_PLAIN, room, overflow="fold")):
            yield part[len(part.plain) - len(part.plain.lstrip(" ")) :] if number and part.plain.strip() else part


class _Console(Console):
    """A console of which the escape sequences are its own: what is printed on it has none."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise  # for the caller to say what that means; rich itself would end the process with exit code 1


def console(*, stderr: bool = False) -> Console:
    """Return a console for stdout, or stderr, as wide as the terminal (80 or COLUMNS without one).

    What the output's encoding has no letter for becomes a question mark.
    """
    stream = unguarded(sys.stderr if stderr else sys.stdout)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")
    return _Console(file=stream, highlight=False)


def put(console: Console, lines: Sequence[Text]) -> None:
    """Print lines. Raises BrokenPipeError when nobody reads them."""
    console.print(Text("\n").join(lines), soft_wrap=True)


def cropped(page: list[Text], tail: list[Text], height: int | None) -> list[Text]:
    """Return a page and its tail in at most `height` lines; how many lines of the page are left out is said."""
    if height is None or len(page) + len(tail) <= height:
        return page + tail
    room = max(height - len(tail) - 1, 0)
    more = Text(f"  +{len(page) - room} lines: `holdfast show` prints all", "dim")
    return [*page[:room], more, *tail][:height]
