"""Texts are fitted to the client's limit."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.dispatch.budget import NOTE_UNITS, Fitted, Piece, fit, units
from tests import client_output
from tests.tables import each_row

PROPERTY = settings(derandomize=True, database=None, deadline=None, max_examples=200)
NOTE = re.compile(r"\(\+(\d+) more lines, left out to stay under Claude Code's limit\)")

line = st.text(st.characters(exclude_characters="\n", codec="utf-8") | st.sampled_from("😀𝔘"), max_size=60)
text = st.lists(line, min_size=1, max_size=8).map("\n".join)
piece = st.builds(Piece, text, st.booleans(), st.integers(-2, 2))
pieces = st.lists(piece, max_size=6)


def body(fitted: Fitted) -> tuple[list[str], int]:
    """Return the lines of a fitted text without its last note, and how many lines the note says are missing."""
    lines = fitted.text.split("\n") if fitted.text else []
    note = NOTE.fullmatch(lines[-1]) if lines else None
    return (lines[:-1], int(note[1])) if note else (lines, 0)


@given(st.text(st.characters() | st.sampled_from("😀𝔘")))
@PROPERTY
def test_units_are_the_clients(words: str) -> None:
    """A character outside the basic plane counts as two, as in JavaScript's `length`."""
    assert units(words) == client_output.units(words)


@given(pieces, st.integers(NOTE_UNITS, 400))
@PROPERTY
def test_the_result_is_never_over_the_cap(given_pieces: list[Piece], cap: int) -> None:
    """Whatever is fitted, the result has at most `cap` units."""
    assert client_output.units(fit(given_pieces, cap).text) <= cap


@given(pieces, st.integers(NOTE_UNITS, 400))
@PROPERTY
def test_lines_are_never_cut_and_keep_their_order(given_pieces: list[Piece], cap: int) -> None:
    """The result's lines are whole lines of the pieces, in the pieces' order."""
    lines, _ = body(fit(given_pieces, cap))
    all_lines = iter([whole for one in given_pieces for whole in [*one.text.split("\n"), ""]])
    assert all(any(whole == wanted for whole in all_lines) for wanted in lines), "not a subsequence of what was given"


@given(pieces)
@PROPERTY
def test_what_fits_is_joined_and_nothing_else(given_pieces: list[Piece]) -> None:
    """Under the cap the pieces stand whole, a blank line between two, without a note."""
    said = [one for one in given_pieces if one.text]
    fitted = fit(given_pieces, 10_000)

    assert fitted.text == "\n\n".join(one.text for one in said)
    assert fitted.whole == tuple(index for index, one in enumerate(given_pieces) if one.text)


@given(pieces, st.integers(NOTE_UNITS, 400))
@PROPERTY
def test_whole_means_whole(given_pieces: list[Piece], cap: int) -> None:
    """Every piece that is reported as whole stands in the text, from its first line to its last."""
    fitted = fit(given_pieces, cap)

    assert fitted.whole == tuple(sorted(set(fitted.whole)))
    for index in fitted.whole:
        assert given_pieces[index].text in fitted.text


@given(pieces, st.integers(NOTE_UNITS, 400))
@PROPERTY
def test_a_note_stands_only_where_something_is_missing(given_pieces: list[Piece], cap: int) -> None:
    """The note counts at least one and at most all lines, and none stands where every piece is whole."""
    fitted = fit(given_pieces, cap)
    missing = body(fitted)[1]
    cut = [one for index, one in enumerate(given_pieces) if one.text and index not in fitted.whole]

    assert missing <= sum(len(one.text.split("\n")) for one in cut)
    assert cut or not missing


@each_row("count", [12, 15, 30])
def test_the_note_is_exact(count: int) -> None:
    """Of a text that is `count` lines too long, with room for a note, `count` lines are counted as left out."""
    lines = [f"line {number:02}" for number in range(40)]
    room = len("\n".join(lines[: 40 - count])) + NOTE_UNITS + 2

    lines_kept, missing = body(fit([Piece("\n".join(lines))], room))

    assert missing == count
    assert [kept for kept in lines_kept if kept] == lines[: 40 - count]
