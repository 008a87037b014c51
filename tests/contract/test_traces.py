"""Days of work give the stored replies, exit codes and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import traces

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", traces.DAYS)
def test_day_of_work_gives_the_stored_trace(name: str, tmp_path: Path) -> None:
    """If the new answers are right, store them, and show the diff in the commit."""
    different = traces.difference(name, tmp_path / "day")

    assert not different, f"\n{different}\n\nIf this is what you want: {traces.WRITE} {name}"


def test_each_stored_trace_is_of_a_day() -> None:
    """A trace that no day plays would be compared with nothing."""
    assert sorted(each.stem for each in traces.FOLDER.iterdir()) == sorted(traces.DAYS)
