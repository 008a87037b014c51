"""A project to check, on a machine without a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import scopes, versions
from tests import permissions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither a client nor an administrator's settings of whoever runs the tests; where the latter are looked for."""
    monkeypatch.setattr(versions, "version", lambda: None)
    monkeypatch.setattr(scopes, "MANAGED", tmp_path / "managed")
    return tmp_path / "managed"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project's folder."""
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    return folder


@pytest.fixture
def anybody() -> Iterator[None]:
    """Permissions count, whoever runs the tests."""
    with permissions.counting():
        yield
