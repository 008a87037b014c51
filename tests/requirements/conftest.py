"""The projects in which the acceptance tests of the documents run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.requirements.document_000 import Calculator
from tests.requirements.document_002 import Workflows
from tests.requirements.document_003 import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject


@pytest.fixture
def calculator(holdfast_project: Callable[..., HoldfastProject]) -> Calculator:
    """An empty project for the workflow of document 000."""
    return Calculator(holdfast_project({}))


@pytest.fixture
def workflows(holdfast_project: Callable[..., HoldfastProject]) -> Workflows:
    """A project without sessions of document 002."""
    return Workflows(holdfast_project({}))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A project with the task document, and no run yet."""
    return Scene(tmp_path / "project", monkeypatch)
