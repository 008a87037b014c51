"""The memory of which handlers were strict, so that a guard that no longer loads still refuses."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.errors import HoldfastError
from holdfast.scan import Route
from holdfast.state import atomic, lock
from holdfast.state.unchanged import Kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
PATIENCE = 0.5  # seconds to wait for another process: no event waits longer to be answered


def known() -> Mapping[str, list[dict[str, Any]]]:
    """Return all that is remembered, by the files' paths; read again only when the memory's file changes."""
    return _kept.get(_file())


def recall(path: Path) -> tuple[Route, ...]:
    """Return the strict routes a handler file had when it was last readable; none if it never had any."""
    try:
        return tuple(Route(**values) for values in known().get(str(path), ()))
    except TypeError:  # not what this version writes
        return ()


def remember(path: Path, routes: Iterable[Route]) -> None:
    """Keep a handler file's strict routes, writing only when they differ from what is known.

    A memory that cannot be written is logged: the guard still works, it is only forgotten if its file breaks.
    """
    strict = [asdict(route) for route in routes if route.strict]
    if known().get(str(path), []) == strict:
        return
    try:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=PATIENCE):
            entries = _load(_file())
            entries.pop(str(path), None)
            if strict:
                entries[str(path)] = strict
            atomic.write(_file(), json.dumps(entries, indent=2).encode(), mode=0o600)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"the strict handlers of {path} could not be remembered: {error}")


def _load(file: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log.write("error", f"{file}: cannot be read ({error}); strict handlers that no longer load are not known")
        return {}
    return content if isinstance(content, dict) else {}


def _file() -> Path:
    return paths.state_dir() / "strict.json"


_kept: Kept[dict[str, list[dict[str, Any]]]] = Kept(_load)
