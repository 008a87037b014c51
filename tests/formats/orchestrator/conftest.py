"""A project with a task document."""

from __future__ import annotations

from tests.requirements.conftest import scene

__all__ = ["scene"]
