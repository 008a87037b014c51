"""Replace a project's folder by another one in values and in a copy of the ledger."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.ledger import connection
from holdfast.ledger.patience import COMMAND_WAIT_S, Patience

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Move:
    """A change of paths: those of the folder `before`, and of everything in it, become paths in `after`."""

    before: Path
    after: Path

    def text(self, text: str) -> str:
        """Return a text with every path in the folder changed; a folder whose name only begins the same stays."""
        return re.sub(rf"{re.escape(str(self.before))}(?![\w.-])", lambda _: str(self.after), text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with the paths changed in all its strings and keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(each) for name, each in value.items()}
        return [self.value(each) for each in value] if isinstance(value, list) else value


def ledger(source: Path, target: Path, move: Move) -> None:
    """Copy a ledger, even while it is being written, and change the paths in all its texts.

    Args:
        source: the ledger's file; it is only read.
        target: the new file.
        move: how to change paths.

    Raises:
        sqlite3.Error: the copy can't be written.
    """
    patience = Patience(COMMAND_WAIT_S)
    with closing(connection.copy(source, patience) or connection.memory()) as held:
        held.create_function("moved", 1, move.text, deterministic=True)
        for table in [row["name"] for row in held.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]:
            for column in [row["name"] for row in held.execute(f'PRAGMA table_info("{table}")')]:
                named = f'typeof("{column}") = \'text\' AND instr("{column}", ?)'
                change = f'UPDATE OR IGNORE "{table}" SET "{column}" = moved("{column}") WHERE {named}'
                held.execute(change, (str(move.before),))
        with closing(sqlite3.connect(target)) as copy:
            held.backup(copy)


def texts(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)
