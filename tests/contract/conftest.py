"""The contract is tested in the same projects as the neutral model."""

from __future__ import annotations

from tests.workflow.conftest import project

__all__ = ["project"]
