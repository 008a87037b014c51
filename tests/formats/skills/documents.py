"""The files that document 004 shows, byte for byte, and a project to put them into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.formats.skills import paths

if TYPE_CHECKING:
    from holdfast.workflow.records import Records

DATA = Path(__file__).parent / "data"
DEV = (DATA / "dev.json").read_bytes()
TDD = (DATA / "tdd.json").read_bytes()


def state(name: str) -> dict[str, Any]:
    """Return one of the document's states: `dev` or `tdd`."""
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_bytes())
    return found


def put(project: Records, name: str, raw: bytes) -> Path:
    """Write an unfinished workflow's file and return its path."""
    path = paths.active(project.root) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path
