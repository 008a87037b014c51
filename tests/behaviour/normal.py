"""Normalise texts: replace what differs between runs, such as paths, ids, times and durations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?|\b\d{8}-\d{6}\b")
_DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b20\d{6}\b")
_ID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|(?<![0-9a-zA-Z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}(?![0-9a-zA-Z])"
)
_SCRATCH = re.compile(r"(?<=/tmp/holdfast-)[a-z0-9_]{8}(?!\w)")
_TOOK = re.compile(r"(?:< ?)?\b\d+(\.\d+)? ?(ms|s|seconds?)\b *")
_SHARE = re.compile(r"(?<=left:)[\d.]+%|(?<=width:)[\d.]+%|(?<=\"seconds\": )[\d.]+")  # of a time that is real
_PROCESS = re.compile(r"(?<=pid )\d+|(?<=process )\d+|(?<=\"pid\": )\d+|(?<=\"mtime_ns\": )\d+")


class Normal:
    """Takes out of texts what says nothing. Two equal ids of one recording become the same name, others do not.

    Args:
        places: what stands for which folder, by path.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = sorted(places.items(), key=lambda place: -len(place[0]))
        self._ids: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return a text without what differs."""
        for path, name in self._places:
            text = text.replace(path, name)
        text = _SCRATCH.sub("<folder>", text)
        text = _DAY.sub("<day>", _TIME.sub("<time>", text))
        text = _SHARE.sub("<share>", _PROCESS.sub("<pid>", _TOOK.sub("<took>", text)))
        return _ID.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"<id {len(self._ids) + 1}>")
