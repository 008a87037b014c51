"""Payloads and entries of the real client, recorded by running it, for tests, `holdfast demo` and `simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all recorded payloads, sorted: the event's name, then `-variant` where there are several."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


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


def transcript() -> list[dict[str, Any]]:
    """Return one entry of each shape that a session's work takes in the client's transcript, fresh copies each time."""
    lines = (_FOLDER / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
