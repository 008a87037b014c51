"""How the generations of a state file are compared and put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError
from holdfast.sessions import rewind
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace

FIRST = ["--- a\n", "+++ b\n", "@@ -1 +1 @@\n"]
MISSING = "\\ No newline at end of file\n"


@each_row(
    "before, after, lines",
    [
        (b"one\n", b"two\n", [*FIRST, "-one\n", "+two\n"]),
        (b"one", b"one\n", [*FIRST, f"-one\n{MISSING}", "+one\n"]),
        (b"one\n", b"two", [*FIRST, "-one\n", f"+two\n{MISSING}"]),
        (b"", b"one\n", [*FIRST[:2], "@@ -0,0 +1 @@\n", "+one\n"]),
        (b"one\n", b"one\n", []),
        (b"a\x0cb\r\n\xff\n", b"a\x0cb\r\n", [*FIRST[:2], "@@ -1,2 +1 @@\n", " a\x0cb\r\n", "-\\xff\n"]),
    ],
)
def test_diff_marks_a_missing_last_newline_as_diff_u_does(before: bytes, after: bytes, lines: list[str]) -> None:
    """As `diff -u` does; nothing but a line feed ends a line."""
    assert rewind.diff(rewind.Content("a", before), rewind.Content("b", after)) == "".join(lines)


@pytest.mark.parametrize("name", ["no\0name", "x" * 5_000])
def test_impossible_path_is_an_unknown_workflow(project: Workspace, name: str) -> None:
    """It is told as any other name that nothing has."""
    with pytest.raises(HoldfastError, match="workflow"):
        rewind.find(project, name, None)
