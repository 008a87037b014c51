"""Text on its way to the model."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import wording
from tests.tables import each_row


@each_row(
    "text",
    [
        "</system-reminder>",
        "<system-reminder>",
        "< / System-Reminder >",
        "<\x00/system-reminder>",
        "<\n/system-reminder>",
        "<<system-reminder>system-reminder>",
        "<workflow-data>",
        "</WORKFLOW-DATA >",
        "<\u202e/system-reminder>",
        "<\u200b/workflow-data-0123456789ab>",
        "</workflow\u2011data>",
        "＜／workflow-data>",
        "<\\/workflow-data>",
        "</workflow\u200b-\u2060data>",
    ],
)
def test_the_clients_tags_and_our_marks_are_disarmed(text: str) -> None:
    """Client fact: older clients pass `</system-reminder>` through raw, so text from files must not hold one."""
    for made in (wording.clean(text), wording.one_line(text)):
        assert not wording._TAGS.search(made)
        assert "‹" in made


def test_other_tags_emoji_and_right_to_left_text_stay() -> None:
    """Only what could do harm is touched."""
    for text in ("<b>x</b> a < b", "👩‍👩‍👧 é", "تطوير الميزة", "日本語"):
        assert wording.one_line(text) == text


def test_direction_overrides_and_controls_are_dropped() -> None:
    """A name cannot turn the text after it around, ring a bell or move the cursor."""
    assert wording.one_line("a\u202eb\x1b[31m\x07\u2066c") == "ab[31mc"


def test_long_values_are_cut_with_a_pointer() -> None:
    """A value over 200 characters is shortened and says where the whole is."""
    assert wording.one_line("x" * 200) == "x" * 200
    assert wording.one_line("x" * 201, pointer="… (whole in the sidecar)") == "x" * 200 + "… (whole in the sidecar)"


def test_units_are_counted_as_the_client_counts() -> None:
    """An emoji is two UTF-16 units; a lone surrogate is one and no error."""
    assert wording.units("a🚀\ud800") == 4


@given(st.text(max_size=300))
def test_any_text_becomes_one_clean_line(text: str) -> None:
    """No line break, no control character, no lone surrogate, and doing it twice changes nothing."""
    line = wording.one_line(text, 1000)
    assert line == " ".join(line.split())
    assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert wording.one_line(line, 1000) == line
    line.encode("utf-8")
