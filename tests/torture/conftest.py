"""Fixtures of the torture tests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.contract.traces import REPOSITORY
from tests.torture.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A home with Holdfast installed, and an empty project."""
    made = Desk(tmp_path.resolve())
    made.transcript.touch()
    described = made.home / ".config/holdfast/formats"
    described.mkdir()
    shutil.copy(REPOSITORY / "examples/formats/progress.toml", described)
    yield made
    made.close()
