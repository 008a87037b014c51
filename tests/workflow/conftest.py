"""A project to keep workflows in, the documents' own examples, and files with modification times of choice."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

import pytest

from holdfast.project import Project

DATA = Path(__file__).parent / "data" / "seeds"


class Put(Protocol):
    """Writes a file of the project and returns its path."""

    def __call__(self, place: str, content: str | bytes | dict[str, Any], *, age: float = 0.0) -> Path: ...


class Seed(Protocol):
    """Returns one of the documents' examples, word for word."""

    def __call__(self, name: str) -> str: ...


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    (tmp_path / "project").mkdir()
    return Project.open(tmp_path / "project")


@pytest.fixture
def put(project: Project) -> Put:
    """Write a file below the project's root, `age` seconds older than a fixed moment in the past."""

    def write(place: str, content: str | bytes | dict[str, Any], *, age: float = 0.0) -> Path:
        path = project.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=2) if isinstance(content, dict) else content
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
        return path

    return write


@pytest.fixture
def seed() -> Seed:
    """Read an example of the documents."""
    return lambda name: (DATA / name).read_text(encoding="utf-8")
