"""Fit the texts of several handlers into the client's limit, counted as the client counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.outcomes import Outcome

LIMIT_UNITS = 9_500
"""The client replaces a string of more than 10,000 UTF-16 units by a 2 KB preview (client fact §1.9)."""
_SEPARATOR = "\n\n"
NOTE_UNITS = 80
"""Room for the note about lines that were left out."""


def units(text: str) -> int:
    """Return a text's length as the client counts it: in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class Piece(NamedTuple):
    """One text to fit: the text, whether it is kept before all others, and its priority among the rest."""

    text: str
    must_keep: bool = False
    priority: int = 0


class Fitted(NamedTuple):
    """The pieces joined within the limit.

    Attributes:
        text: the joined text.
        whole: the positions of the pieces that it contains in full.
    """

    text: str
    whole: tuple[int, ...]


def fit(pieces: Sequence[Piece], cap: int = LIMIT_UNITS) -> Fitted:
    """Join pieces in their order. If they don't fit, drop the last lines of the least important ones, and say so.

    Args:
        pieces: the texts, in the order of the result.
        cap: the largest size of the result in UTF-16 units, at least `NOTE_UNITS`.

    Returns:
        The text, never over the cap and never cut inside a line, and the pieces it contains in full. If lines were
        left out, its last line says how many.
    """
    everything = [_lines(piece) for piece in pieces]
    lines = everything
    if units(_joined(everything)) > cap:
        lines = _most_important_lines(pieces, cap - NOTE_UNITS)
    text = _joined(lines)
    cut = [index for index, all_lines in enumerate(everything) if len(lines[index]) < len(all_lines)]
    if cut:
        left_out = sum(map(len, everything)) - sum(map(len, lines))
        note = f"(+{left_out} more lines, left out to stay under Claude Code's limit)"
        text += f"{_SEPARATOR}{note}" if text else note
    whole = [index for index, piece in enumerate(pieces) if piece.text and index not in cut]
    return Fitted(text, tuple(whole))


def of(outcomes: Sequence[Outcome], *kinds: str) -> list[Outcome]:
    """Return the outcomes of the given kinds, in their order."""
    return [outcome for outcome in outcomes if outcome.kind in kinds]


def join_texts(outcomes: Sequence[Outcome], kind: str) -> str:
    """Return the different texts of one kind joined within the limit."""
    texts = list(dict.fromkeys(outcome.text for outcome in of(outcomes, kind) if outcome.text.strip()))
    if kind == "tell_user" and not all(text.isascii() and text.isprintable() for text in texts):
        from holdfast.process.terminal_text import printable  # the client prints these, and hardly any needs it

        texts = [printable(text) for text in texts]
    return fit([Piece(text) for text in texts]).text


def _joined(lines: Sequence[Sequence[str]]) -> str:
    return _SEPARATOR.join("\n".join(each) for each in lines if each)


def _most_important_lines(pieces: Sequence[Piece], room: int) -> list[list[str]]:
    """Return as many of each piece's first lines as fit, served in order of importance."""
    lines: list[list[str]] = [[] for _ in pieces]
    for index in sorted(range(len(pieces)), key=lambda i: (not pieces[i].must_keep, -pieces[i].priority, i)):
        for line in _lines(pieces[index]):
            cost = units(line) + (1 if lines[index] else len(_SEPARATOR))
            if cost > room:
                break
            room -= cost
            lines[index].append(line)
    return lines


def _lines(piece: Piece) -> list[str]:
    return piece.text.split("\n") if piece.text else []
