"""A throw-away folder with a user's home and a project in it, and where in them Holdfast's entrypoint lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast import paths


@dataclass
class Throwaway:
    """A home and a project that nobody misses.

    Attributes:
        top: the folder of all of it.
    """

    top: Path

    @property
    def root(self) -> Path:
        """The project's folder; of several, the first one's."""
        return self.top / "project"

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.top / "home"

    @property
    def launcher(self) -> Path:
        """The entrypoint that settings name and the registered command runs."""
        return self.home / paths.launcher().relative_to(Path.home())
