"""Which conversation a session id belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.memory.rows import SessionId

if TYPE_CHECKING:
    from holdfast.project import OpenProject


def of(project: OpenProject, session: str) -> str:
    """Return the id of the conversation that goes on under a session id. Raises LedgerError."""
    row = project.ledger.table(SessionId).one(id=session)
    return row.conversation if row else session
