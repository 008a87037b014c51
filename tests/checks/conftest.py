"""A project to check, on a machine without a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import permissions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def elsewhere(no_client: Path) -> Path:
    """Where an administrator's settings are looked for."""
    return no_client


@pytest.fixture
def anybody() -> Iterator[None]:
    """Permissions count, whoever runs the tests."""
    with permissions.counting():
        yield
