"""What is generated from the program is current: pages, the registration and the picture."""

from __future__ import annotations

import re

import pytest

from tests.processes import ROOT
from tools.pages import picture, reference, registration

LARGEST_BYTES = 150_000  # of a picture that everybody who looks at the page fetches


def test_generated_files_are_current() -> None:
    """`make reference` writes them."""
    made = reference.pages() | registration.files()
    outdated = [str(file.relative_to(ROOT)) for file, text in made.items() if file.read_text("utf-8") != text]

    assert outdated == [], "run make reference"


@pytest.mark.slow
def test_picture_shows_the_demo() -> None:
    """`make picture` draws it. It is light, loads nothing, and names no folder of whoever drew it."""
    drawn = picture.drawn()

    assert picture.PLACE.read_text("utf-8") == drawn, "run make picture"
    assert len(drawn.encode()) < LARGEST_BYTES
    assert not re.search(r"url\(['\"]?http|@import|<script|/tmp/|/home/", drawn)
    for words in ("CLAUDE.local.md", "Page&#160;Orchestration", "4/10", "REQUIRED&#160;READING"):
        assert words in drawn
