"""What the acceptance tests of document 000 share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.requirements.document_000 import Calculator

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject


@pytest.fixture
def calculator(holdfast_project: Callable[..., HoldfastProject]) -> Calculator:
    """An empty project for the workflow of document 000."""
    return Calculator(holdfast_project({}))
