"""Every format can be scored, also one that a file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import described
from tools.survival import samples, trials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IN_CI = ("orchestrator", "skills")
"""Those in which `test_rows.py` plays no row; `make nightly` plays all."""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Forget the formats that a test described."""
    yield
    described.forget()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in IN_CI else pytest.mark.nightly) for each in samples.FORMATS]
)
def test_facts_survive_a_compaction_in_each_format(name: str) -> None:
    """The fewest facts that hold one of each kind, and one compaction."""
    found = trials.one(trials.Job(cycles=1, facts=trials.LEAST), "warm", name)

    assert found.holds, "\n".join(found.lines())


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", ["warm", *(pytest.param(row, marks=pytest.mark.nightly) for row in ("two sessions", "broken files"))]
)
def test_facts_survive_a_compaction_in_a_described_format(tmp_path: Path, row: str) -> None:
    """The same for a format without code."""
    described.use(tmp_path, "progress")
    found = trials.one(trials.Job(cycles=1, adverse=1, facts=trials.LEAST), row, "progress")

    assert found.holds, "\n".join(found.lines())
