"""The ledger's own tests let it make its file itself."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def made_once() -> None:
    """Nothing is made beforehand."""
