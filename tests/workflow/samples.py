"""The plans and memory files of `data`, each with what it is to be read as."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Sample:
    """A file somebody may have written.

    Attributes:
        name: of the file, without its ending.
        raw: its bytes.
        expected: `name` and `at` of the workflow it names with what else is expected, or `why` it names none.
    """

    name: str
    raw: bytes
    expected: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def why(self) -> str:
        """A part of the reason why there is no workflow; empty where there is one."""
        return str(self.expected.get("why", ""))


def of(folder: str) -> list[Sample]:
    """Return the samples of a folder by name."""
    expected = tomllib.loads((DATA / folder / "expected.toml").read_text(encoding="utf-8"))
    files = {path.stem: path.read_bytes() for path in (DATA / folder).glob("*.md")}
    assert files.keys() == expected.keys(), f"{folder}: {sorted(files.keys() ^ expected.keys())} without its other half"
    return [Sample(name, files[name], expected[name]) for name in sorted(files)]
