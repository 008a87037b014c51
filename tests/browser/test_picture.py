"""The documentation's picture of the report; `HOLDFAST_PICTURE=docs/report.png make browser` takes it again."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import WIDE, write
from tests.played import Days
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from tests.browser.conftest import Opened

LARGEST = 150_000  # bytes of a picture that everybody fetches who looks at the page
MARGIN = 16
PLACE = os.environ.get("HOLDFAST_PICTURE")  # read now, for a test's own project has no HOLDFAST_ variable of ours


@pytest.fixture
def report(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The report of three days of work, with nothing hostile in it."""
    days = Days(holdfast_project({}), monkeypatch, tmp_path, other=("Release notes", "Collect them"))
    return write(days, tmp_path / "report.html")


def test_a_picture_can_be_taken_for_the_page(opened: Callable[..., Opened], tmp_path: Path) -> None:
    """It shows numbers, sessions and compactions, light, without a path; the one on the page has that form."""
    page = opened(color_scheme="light").page
    top, bottom = (
        page.eval_on_selector(selector, f"(found) => found.getBoundingClientRect().{edge}")
        for selector, edge in ((".numbers", "top"), ("#compactions", "bottom"))
    )
    place = ROOT / (PLACE or tmp_path / "report.png")
    page.screenshot(
        path=place,
        full_page=True,
        clip={"x": 0, "y": top - MARGIN, "width": WIDE[0], "height": bottom - top + 2 * MARGIN},
    )

    guide = ROOT / "docs" / "guides" / "history.md"
    shown = re.search(r"!\[[^]]+\]\((.+\.png)\)", guide.read_text("utf-8"))
    assert shown
    for picture in (place, guide.parent / shown[1]):
        data = picture.read_bytes()
        assert len(data) < LARGEST
        assert (data[:4], int.from_bytes(data[16:20])) == (b"\x89PNG", WIDE[0])
