"""Required reading that leads out of the project is told, however it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workflow.outside_reading import outside
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

UNSEEN = (
    "\0",
    "\x01",
    "\x1b",
    "\x7f",
    "\u200b",
    "\u200d",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\u00ad",
    "\ufe0f",
    "\U000e0020",
)


@each_row("sign", UNSEEN, ids=ascii)
@each_row("entry", ["@?/etc/passwd", "@?~/.ssh/id_rsa", "@.?./.?./secret", "@src?/../../secret"])
def test_a_sign_that_nobody_sees_hides_no_path(tmp_path: Path, sign: str, entry: str) -> None:
    """A model reads the rest as the path it is."""
    assert outside(tmp_path, entry.replace("?", sign))


@each_row("entry", ["@docs/a.md", "@app/(admin)/page.tsx", "@docs/naïve.md", "@文档/a.md", "@a/../b", "x"])
def test_what_lies_inside_stays_inside(tmp_path: Path, entry: str) -> None:
    """In every language."""
    assert not outside(tmp_path, entry)
