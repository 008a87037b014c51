"""How far each ledger's log has been sent, and what became of it: one JSON file for all projects."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files import atomic, document

if TYPE_CHECKING:
    from pathlib import Path

_MODE = 0o600


@dataclass
class Position:
    """What was sent so far.

    Attributes:
        sent_up_to: the id of the last event of each ledger's log that was sent or dropped, by the name of its file.
        sent: how many records were sent.
        dropped: how many were dropped, because too many waited or the endpoint called them bad.
        sent_at: when a record was last sent (UTC stamp); empty for never.
        failure: why the last attempt failed; empty if it didn't.
        guards_on: the day on which the guards of this machine were last reported; empty for never.
    """

    sent_up_to: dict[str, str] = field(default_factory=dict)
    sent: int = 0
    dropped: int = 0
    sent_at: str = ""
    failure: str = ""
    guards_on: str = ""


def folder() -> Path:
    """Return the folder of the position, which only one process at a time may lock."""
    return paths.state_dir() / "telemetry"


def load() -> Position:
    """Return the position; that of a new installation if there is none, or if it can't be used."""
    with suppress(StateError, TypeError):
        return Position(**document.load(_file()).data)
    return Position()


def save(position: Position) -> None:
    """Replace the position in one step. Raises StateError or OSError."""
    atomic.write(_file(), json.dumps(asdict(position)).encode(), mode=_MODE)


def _file() -> Path:
    return folder() / "position.json"
