"""A starting point for the tests of all checks."""

from __future__ import annotations

from tests.checks.conftest import elsewhere, root

__all__ = ["elsewhere", "root"]
