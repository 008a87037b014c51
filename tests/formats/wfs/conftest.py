"""A starting point for the tests of all checks."""

from __future__ import annotations

from tests.checks.conftest import elsewhere

__all__ = ["elsewhere"]
