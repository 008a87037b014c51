"""Limit the time for which an event searches for workflows, and note what it leaves out."""

from __future__ import annotations

import hashlib
import marshal
import os
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

from holdfast.files import cache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

SEARCH_TIMEOUT_S = 0.5  # seconds after which an event's search for workflows ends, in all formats together
_FORMAT = 1
_ends: list[float] = []  # when the present search ends, by the monotonic clock; empty outside `limited`


@contextmanager
def limited() -> Iterator[None]:
    """End the searches in the block, all of them together, after `SEARCH_TIMEOUT_S` seconds (`out_of_time`).

    Also a decorator: each call of the function is a block.
    """
    _ends.append(monotonic() + SEARCH_TIMEOUT_S)
    try:
        yield
    finally:
        _ends.pop()


def out_of_time() -> bool:
    """Return whether the present search has to end; always False outside `limited`."""
    return bool(_ends) and monotonic() >= _ends[-1]


def newest(
    entries: Mapping[str, int], changed: Callable[[str], int], wanted: Collection[str] = ()
) -> tuple[dict[str, int], int]:
    """Look at the entries of a folder until the search is out of time.

    First come those that are wanted, then those that were probably created last (by their inodes).

    Args:
        entries: the inode of each entry by name, from listing the folder.
        changed: looks at an entry and returns when it was changed, in nanoseconds since 1970; 0 if unknown.
        wanted: names that come first.

    Returns:
        The result of `changed` for each entry that was looked at, and how many were not.
    """
    found: dict[str, int] = {}
    for name in dict.fromkeys([*wanted, *sorted(entries, key=entries.__getitem__, reverse=True)]):
        if out_of_time():
            break
        if name in entries:
            found[name] = changed(name)
    return found, len(entries) - len(found)


def note_omitted(top: Path, left: int) -> None:
    """Store how many entries of a folder the last event left out."""
    if left:
        cache.write(_file(top, "left"), marshal.dumps((_FORMAT, os.fsencode(top), left)))
    else:
        with suppress(OSError):
            _file(top, "left").unlink()


def omitted_count(top: Path) -> int:
    """Return how many entries of a folder were left out, as stored by `leave`."""
    body = cache.read(_file(top, "left"))
    try:
        form, place, count = marshal.loads(body) if body else (_FORMAT, os.fsencode(top), 0)
    except (ValueError, EOFError, TypeError):
        return 0
    return int(count) if (form, place) == (_FORMAT, os.fsencode(top)) else 0


def _file(top: Path, ending: str) -> Path:
    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.{ending}"
