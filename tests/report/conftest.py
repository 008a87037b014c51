"""What the tests of reports share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.played import Days

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject


@pytest.fixture
def days(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> HoldfastProject:
    """Three days of work."""
    project = holdfast_project({})
    Days(project, monkeypatch, tmp_path).play()
    return project
