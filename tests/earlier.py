"""A project's ledger as an earlier version of Holdfast left it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.sessions.workspace import Workspace


@contextmanager
def ledger(project: Workspace) -> Iterator[sqlite3.Connection]:
    """Take a project's ledger back to before its first migration, to be changed; the project opens it anew after that.

    Args:
        project: whose; its ledger is begun if there is none.
    """
    assert project.ledger.problem is None
    project.close()
    del project.__dict__["ledger"]
    with closing(sqlite3.connect(project.ledger_file, isolation_level=None)) as raw:
        raw.execute("DROP VIEW agents")
        raw.execute("DROP TABLE migrations")
        yield raw
