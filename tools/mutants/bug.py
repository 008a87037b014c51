"""A bug to plant: a file before and after it."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Bug:
    """One change of one file, by its path in the tree."""

    id: str
    file: str
    before: str
    after: str
    why: str = ""  # what a user would notice

    @property
    def lines(self) -> set[int]:
        """The lines of the file that it changes, from 1; a line that is only inserted counts as the one after it."""
        opcodes = difflib.SequenceMatcher(None, *self._lines(), autojunk=False).get_opcodes()
        return {
            line
            for kind, start, end, _, _ in opcodes
            if kind != "equal"
            for line in range(start + 1, max(end, start + 1) + 1)
        }

    def __str__(self) -> str:
        """The bug as a heading and the lines of its diff."""
        diff = list(difflib.unified_diff(*self._lines(), lineterm="", n=0))[3:]
        return "\n".join([f"{self.id} {self.file}:{min(self.lines)} {self.why}".rstrip(), *("    " + e for e in diff)])

    def _lines(self) -> tuple[list[str], list[str]]:
        return self.before.splitlines(), self.after.splitlines()


def chosen(root: Path, file: Path) -> Iterator[Bug]:
    """Yield the bugs of a file like chosen.toml.

    Raises:
        ValueError: The text that one of them replaces isn't in its file exactly once. It was chosen for another tree.
    """
    for row in tomllib.loads(file.read_text("utf-8"))["bug"]:
        text = (root / row["file"]).read_text("utf-8")
        if text.count(row["old"]) != 1:
            raise ValueError(f"{file.name}: {row['id']}: `old` isn't once in {row['file']}; change or delete it")
        yield Bug(row["id"], row["file"], text, text.replace(row["old"], row["new"]), row["why"])
