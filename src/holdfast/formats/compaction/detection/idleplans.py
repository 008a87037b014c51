"""Which plans were not in progress when they were last read: one that did not change since need not be read again.

There may be ten thousand. So their stamps are one string of bytes, in the folder's order, and are compared at once. In
an event's process, whose memory is all new, an object for each plan takes as long as to look at its file.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.files import cache
from holdfast.files.file_memo import Stamp, stamp
from holdfast.formats.compaction.detection import memoryphases, phaselist, planstatus, plantext
from holdfast.workflow import markdown, prose, scanner, statuses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEPT = 20_000
"""Plans in the cache at most."""
_FORMAT = 2
_RECORD = struct.Struct("=QQqq")
REFUSED = bytes(_RECORD.size)
"""The record of a plan that can't be looked at."""
_READ = b"\xff" * _RECORD.size  # of a plan that must be read, whatever its record is now


def packed(info: os.stat_result) -> bytes:
    """Return the record of a plan: its stamp, as bytes."""
    try:
        return _RECORD.pack(info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    except struct.error:  # a time after the year 2262
        most = (1 << 63) - 1
        return _RECORD.pack(info.st_ino, info.st_size, *(min(each, most) for each in stamp(info)[2:]))


def changed(names: Sequence[str], records: bytes, idle: bytes) -> list[tuple[str, Stamp | None]]:
    """Return the plans that must be read: their names and stamps (None: it can't be looked at).

    Args:
        names: the plans, named by their folders.
        records: their records now.
        idle: their records when they were not in progress (`known`).
    """
    if records == idle:
        return []
    found: list[tuple[str, Stamp | None]] = []
    for name, now, then in zip(names, _each(records), _each(idle) if idle else [_READ] * len(names), strict=True):
        if now != then:
            found.append((name, None if now == REFUSED else _RECORD.unpack(now)))
    return found


def known(top: Path, names: Sequence[str]) -> tuple[bytes, bool]:
    """Return the cached records of plans, and whether the cache is of just these plans.

    Empty if nothing is cached, or if the cache is broken, of another folder, or made by other rules.

    Args:
        top: the folder of all plans.
        names: the plans.
    """
    kept, records = _load(top)
    if not records or kept == "\0".join(names):
        return records, True
    cached = dict(zip(kept.split("\0"), _each(records), strict=True))
    return b"".join([cached.get(name, _READ) for name in names]), False


def keep(top: Path, names: Sequence[str], idle: bytes, found: Mapping[str, Stamp], *, others: bool) -> None:
    """Cache that plans are not in progress.

    Args:
        top: the folder of all plans.
        names: the plans that were looked at.
        idle: what was `known` of them.
        found: plans that were read just now and are old enough for their stamps to be trusted.
        others: whether there are plans that were not looked at; what is known of these stays.
    """
    kept = dict(zip(names, _each(idle) if idle else [_READ] * len(names), strict=True))
    kept |= {name: _RECORD.pack(*seen) for name, seen in found.items()}
    if others:
        before, records = _load(top)
        rest = zip(before.split("\0"), _each(records), strict=True) if records else ()
        kept |= {name: record for name, record in rest if name not in kept}
    chosen = list(kept)[:KEPT]
    records = b"".join([kept[name] for name in chosen])
    cache.write(file(top), marshal.dumps((os.fsencode(top), _rules(), "\0".join(chosen), records)))


def file(top: Path) -> Path:
    """Return the cache file of a folder of plans."""
    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.idle"


def _each(records: bytes) -> list[bytes]:
    return [records[at : at + _RECORD.size] for at in range(0, len(records), _RECORD.size)]


def _load(top: Path) -> tuple[str, bytes]:
    """Return the names in the cache, with a zero between two, and their records; nothing if there are none."""
    body = cache.read(file(top))
    if body is None:
        return "", b""
    try:
        place, rules, names, records = marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return "", b""
    return (names, records) if (place, rules) == (os.fsencode(top), _rules()) else ("", b"")


def _rules() -> tuple[int | Stamp, ...]:
    """Return what identifies the rules for plans in progress: the cache's version, and the stamps of the code."""
    modules = (plantext, planstatus, phaselist, memoryphases, markdown, scanner, prose, statuses)
    return (_FORMAT, *(stamp(Path(str(each.__file__)).stat()) for each in modules))
