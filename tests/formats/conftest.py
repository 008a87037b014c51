"""The formats are tested in the same projects as the neutral model."""

from __future__ import annotations

from tests.workflow.conftest import project, put, seed, soon_after

__all__ = ["project", "put", "seed", "soon_after"]
