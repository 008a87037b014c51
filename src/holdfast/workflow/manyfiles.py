"""Limit what an event looks at: which entries of a very large folder, and for how long it searches."""

from __future__ import annotations

import marshal
import os
from bisect import bisect_right
from contextlib import contextmanager, suppress
from itertools import chain, islice
from time import monotonic
from typing import TYPE_CHECKING

from holdfast.files import cache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

MOST = 10_000  # entries that one event looks at
HOT = 512  # last changed entries among them, as far as known
SEARCH_TIMEOUT_S = 0.5  # seconds after which an event's search for workflows ends, in all formats together
_FORMAT = 1


class Search:
    """A search that ends at a time of the monotonic clock; `cut` tells whether that time came before its end."""

    def __init__(self) -> None:
        self.ends = monotonic() + SEARCH_TIMEOUT_S
        self.cut = False


_searches: list[Search] = []


@contextmanager
def limited() -> Iterator[Search]:
    """End the searches in the block, all of them together, after `SEARCH_TIMEOUT_S` seconds (`out_of_time`)."""
    _searches.append(Search())
    try:
        yield _searches[-1]
    finally:
        _searches.pop()


def out_of_time() -> bool:
    """Return whether the present search has to end, and note that it was cut then; always False outside `limited`."""
    if not _searches:
        return False
    _searches[-1].cut |= monotonic() >= _searches[-1].ends
    return _searches[-1].cut


def newest(
    top: Path, entries: Mapping[str, int], changed: Callable[[str], int], wanted: Collection[str] = ()
) -> tuple[dict[str, int], int]:
    """Look at the entries of a folder, or at some of very many.

    First come those that are wanted, those found to be the last changed at earlier events, those with the highest
    number at the beginning of their names, and those that were probably created last (by their inodes). The rest take
    turns, so that every entry is looked at within a few events. Nothing more is looked at once the search is out of
    time.

    Args:
        top: the folder.
        entries: the inode of each entry by name, from listing the folder.
        changed: looks at an entry and returns when it was changed, in nanoseconds since 1970; 0 if unknown.
        wanted: names that are always looked at.

    Returns:
        The result of `changed` for each entry that was looked at, and how many were not.
    """
    if len(entries) <= MOST:
        found = _looked_at([*(name for name in wanted if name in entries), *entries], changed)
        return found, len(entries) - len(found)
    import heapq  # only here: few folders have that many

    cursor, hot = _kept(top)
    first = [
        *(name for name in (*wanted, *hot) if name in entries),
        *heapq.nlargest(MOST // 4, entries, key=_number),
        *heapq.nlargest(MOST // 4, entries, key=entries.__getitem__),
    ]
    chosen = dict.fromkeys(first)
    names = sorted(entries)
    begin, room = bisect_right(names, cursor), MOST - len(chosen)
    others = (name for name in chain(names[begin:], names[:begin]) if name not in chosen)
    turn = list(islice(others, max(room, MOST // 8)))
    found = _looked_at([*chosen, *turn], changed)
    last = next((name for name in reversed(turn) if name in found), cursor)
    _keep(top, last, heapq.nlargest(HOT, found, key=found.__getitem__))
    return found, len(entries) - len(found)


def _looked_at(names: Iterable[str], changed: Callable[[str], int]) -> dict[str, int]:
    """Return the result of `changed` for each entry until the search is out of time."""
    found: dict[str, int] = {}
    for name in names:
        if out_of_time():
            break
        if name not in found:
            found[name] = changed(name)
    return found


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


def _number(name: str) -> tuple[int, str]:
    """Return the number that a name begins with, -1 without one, and the name."""
    digits = name[: len(name) - len(name.lstrip("0123456789"))][:18]
    return int(digits) if digits.isascii() and digits.isdecimal() else -1, name


def _kept(top: Path) -> tuple[str, list[str]]:
    """Return the last entry that had its turn, and the last changed entries."""
    body = cache.read(_file(top, "turn"))
    try:
        form, place, cursor, hot = marshal.loads(body) if body else (None, b"", "", [])
    except (ValueError, EOFError, TypeError):
        return "", []
    return (cursor, hot) if (form, place) == (_FORMAT, os.fsencode(top)) else ("", [])


def _keep(top: Path, cursor: str, hot: list[str]) -> None:
    cache.write(_file(top, "turn"), marshal.dumps((_FORMAT, os.fsencode(top), cursor, hot)))


def _file(top: Path, ending: str) -> Path:
    import hashlib

    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.{ending}"
