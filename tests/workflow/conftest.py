"""A project to keep workflows in, the documents' own examples, and files with modification times of choice."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

import pytest

from holdfast.sessions.workspace import Workspace

_DOCUMENTS = Path(__file__).parents[1] / "requirements" / "data"  # kept once, for all tests
_EXAMPLES = {
    "compaction-migration.json": "document_001/example-3.json",
    "compaction-qa-loop.json": "document_001/example-2.json",
    "memory.md": "document_001/memory-file.md",
}


class Put(Protocol):
    """Writes a file of the project and returns its path."""

    def __call__(self, place: str, content: str | bytes | dict[str, Any], *, age: float = 0.0) -> Path: ...


class Seed(Protocol):
    """Returns one of the documents' examples, word for word."""

    def __call__(self, name: str) -> str: ...


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    (tmp_path / "project").mkdir()
    return Workspace.open(tmp_path / "project")


@pytest.fixture
def soon_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be a few minutes after the moment of `put`: an old plan is nobody's workflow."""
    monkeypatch.setenv("HOLDFAST_NOW", "2023-11-14T22:20:00Z")


@pytest.fixture
def put(project: Workspace) -> Put:
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
    return lambda name: (_DOCUMENTS / _EXAMPLES[name]).read_text(encoding="utf-8")
