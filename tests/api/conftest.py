"""What the tests of the handler API share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import processes
from tests.api.author import Authors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.processes import Place


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authors:
    """Makes projects in which a row of a table writes handlers and fires events, in this process."""
    return Authors(tmp_path, monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project whose events go through the registered command."""
    return processes.make(tmp_path)
