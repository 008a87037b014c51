"""Names of sessions and scratch files are cut at a word and use the available length."""

from __future__ import annotations

from holdfast.formats.wfs import names
from tests.tables import each_row

FITS = f"{'a' * 22}-{'b' * 23}"  # with the prefix just as long as a name can be


@each_row(
    "topic, name",
    [
        (f"{FITS} more", FITS),
        (f"{FITS}b more", "a" * 22),
        ("c" * 60, "c" * 46),
    ],
)
def test_as_many_whole_words_as_fit_make_a_sessions_name(topic: str, name: str) -> None:
    """R002-13: of a first word that doesn't fit, its beginning."""
    assert names.session(topic, lambda _: False) == f"WFS-{name}"


def test_a_number_behind_a_name_takes_its_room_from_the_words() -> None:
    """R002-12, R002-13: a name is no longer for it."""
    first = names.session(FITS, lambda _: False)
    second = names.session(FITS, lambda name: name == first)

    assert (first, second) == (f"WFS-{FITS}", f"WFS-{'a' * 22}-002")
