"""Fit the texts of several handlers into the client's limit, counted as the client counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.outcomes import Outcome

LIMIT_UNITS = (
    9_500  # the client replaces a string of more than 10,000 UTF-16 units by a 2 KB preview (client fact §1.9)
)
_SEPARATOR = "\n\n"
_NOTE_RESERVE_UNITS = 80


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
        shares: the UTF-16 units of the text that each piece takes, including the separator before it. The note about
            omitted lines counts for the first piece that lost any. The sum is the text's length.
    """

    text: str
    whole: tuple[int, ...]
    shares: tuple[int, ...] = ()


def fit(pieces: Sequence[Piece], cap: int = LIMIT_UNITS) -> Fitted:
    """Join pieces in their order, dropping whole lines of the least important ones until the text fits.

    Args:
        pieces: the texts, in the order of the result.
        cap: the largest size of the result in UTF-16 units.

    Returns:
        The text, never over the cap and never cut inside a line, and the pieces it contains in full. If lines were
        left out and there is room, its last line says how many.
    """
    kept = _kept_lines(pieces, cap)
    if _cut(pieces, kept):
        shorter = _kept_lines(pieces, cap - _NOTE_RESERVE_UNITS)
        if not _cut(pieces, shorter) - _cut(pieces, kept):
            kept = shorter  # room for the note doesn't cut any more pieces
    left_out = sum(len(_lines(piece)) for piece in pieces) - sum(map(len, kept))
    text = _SEPARATOR.join("\n".join(lines) for lines in kept if lines)
    note = f"(+{left_out} more lines, left out to stay under the client's limit)"
    shares, cut = _shares(kept), _cut(pieces, kept)
    if left_out and units(text) + units(_SEPARATOR + note) <= cap:
        note = f"{_SEPARATOR}{note}" if text else note
        text += note
        shares[min(cut)] += units(note)
    whole = set(range(len(pieces))) - cut
    return Fitted(text, tuple(sorted(index for index in whole if pieces[index].text)), tuple(shares))


def of(outcomes: Sequence[Outcome], *kinds: str) -> list[Outcome]:
    """Return the outcomes of the given kinds, in their order."""
    return [outcome for outcome in outcomes if outcome.kind in kinds]


def join_texts(outcomes: Sequence[Outcome], kind: str) -> str:
    """Return the different texts of one kind joined within the limit."""
    return fit([Piece(text) for text in _texts(outcomes, kind)]).text


def _texts(outcomes: Sequence[Outcome], kind: str) -> list[str]:
    texts = list(dict.fromkeys(outcome.text for outcome in of(outcomes, kind) if outcome.text.strip()))
    if kind != "tell_user" or all(text.isascii() and text.isprintable() for text in texts):
        return texts
    from holdfast.process.terminal_text import printable  # the client prints these, and hardly any needs it

    return [printable(text) for text in texts]


def joint_shares(outcomes: Sequence[Outcome], kind: str) -> dict[int, int]:
    """Return each outcome's share (UTF-16 units) of what `join_texts` makes; of equal texts the first gets it."""
    texts = _texts(outcomes, kind)
    shares = dict(zip(texts, fit([Piece(text) for text in texts]).shares, strict=True))
    found: dict[int, int] = {}
    for position, outcome in enumerate(outcomes):
        if outcome.kind == kind and outcome.text in shares:
            found[position] = shares.pop(outcome.text)
    return found


def _cut(pieces: Sequence[Piece], kept: Sequence[list[str]]) -> set[int]:
    return {index for index, piece in enumerate(pieces) if len(kept[index]) < len(_lines(piece))}


def _shares(kept: Sequence[list[str]]) -> list[int]:
    """Return the UTF-16 units of each piece's lines, with the separator before all but the first piece."""
    first = next((index for index, lines in enumerate(kept) if lines), 0)
    return [
        units("\n".join(lines)) + (len(_SEPARATOR) if index != first else 0) if lines else 0
        for index, lines in enumerate(kept)
    ]


def _kept_lines(pieces: Sequence[Piece], room: int) -> list[list[str]]:
    """Return as many of each piece's first lines as fit, served in order of importance."""
    kept: list[list[str]] = [[] for _ in pieces]
    order = sorted(range(len(pieces)), key=lambda i: (not pieces[i].must_keep, -pieces[i].priority, i))
    for index in order:
        for line in _lines(pieces[index]):
            cost = units(line) + (1 if kept[index] else len(_SEPARATOR))
            if cost > room:
                break
            room -= cost
            kept[index].append(line)
    return kept


def _lines(piece: Piece) -> list[str]:
    return piece.text.split("\n") if piece.text else []
