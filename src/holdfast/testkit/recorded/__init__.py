"""Payloads and entries of the real client, recorded by running it: what the simulated client sends, and tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError

_FOLDER = Path(__file__).parent
_ALIKE = {"PermissionDenied": "PreToolUse-Bash"}  # event that was never recorded → a payload with its required fields


def names() -> list[str]:
    """Return the names of all recorded payloads, sorted: the event's name, then `-variant` where there are several."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def names_of(event: str) -> list[str]:
    """Return the names of the payloads recorded of one event, sorted; none for an event that was never recorded."""
    return [name for name in names() if name.partition("-")[0] == event]


def load(name: str, **changes: Any) -> dict[str, Any]:
    """Return a recorded payload, a fresh copy each time.

    Args:
        name: as in `names()`, such as `PreCompact-manual`.
        changes: top-level keys to set, also new ones.

    Raises:
        HoldfastError: no payload of that name was recorded.
    """
    if name not in names():
        raise HoldfastError(f"no recorded payload is named {name!r}; recorded are {', '.join(names())}")
    payload: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return payload | changes


def sent(name: str, session: str, root: Path, **changes: Any) -> dict[str, Any]:
    """Return a payload as if a session sent it from a project, without a transcript.

    Args:
        name: as in `names()`; or an event's name, for the first payload recorded of it. If none was, the payload has
            the common fields only.
        session: the session's id.
        root: the project's folder.
        changes: top-level keys to set, among them those that are the session's own.

    Raises:
        HoldfastError: `name` names a variant, and no payload of that name was recorded.
    """
    fields = {"session_id": session, "cwd": str(root), "transcript_path": "", **changes}
    if "-" in name or name in names():
        return load(name, **fields)
    if name in _ALIKE:
        return load(_ALIKE[name], **{"hook_event_name": name, **fields})
    found = names_of(name)
    return load(found[0], **fields) if found else {"hook_event_name": name, **fields}


def transcript() -> list[dict[str, Any]]:
    """Return one entry of each shape that a session's work takes in the client's transcript, fresh copies each time."""
    lines = (_FOLDER / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
