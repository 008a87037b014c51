"""Foreign text on a page is always text: redacted and cleaned, wherever it appears."""

from __future__ import annotations

from holdfast.report.markup import foreign_text, html, tag
from tests.played import SECRET
from tests.storied import markup
from tests.tables import each_row

ODD = f"a\x1b[31m\u202e \udc80 {SECRET}"
CLEAN = "a[31m � [redacted]"


@each_row("place", ["the text", "text after an element", "more text", "an attribute"])
def test_others_words_are_cleaned_wherever_they_stand(place: str) -> None:
    """Secrets, control characters and half characters, of which no page could be written."""
    element = {
        "the text": tag("p", ODD),
        "text after an element": tag("p", tag("b"), ODD),
        "more text": tag("p", ["", ODD]),
        "an attribute": tag("p", title=ODD),
    }[place]
    text = html(element)
    assert CLEAN in text
    assert SECRET not in text
    assert text.encode()


def test_words_of_others_keep_their_own_direction() -> None:
    """So that an Arabic title does not turn the line it stands in."""
    assert markup(foreign_text("عنوان")) == "<bdi>عنوان</bdi>"
