"""Figures of a run's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Results = dict[str, Any]


def medians(race: Results, kind: str) -> dict[str, float]:
    """Return the medians in milliseconds by name, for one kind of contestant."""
    return {row["name"]: row["ms"] for row in race.get("rows", ()) if row["kind"] == kind}


def growth(points: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], float]:
    """Return (range, event, mode) → the ratio of the slowest size to the smallest size (`tools/bench/growth.py`)."""
    curves: dict[tuple[str, str, str], float] = {}
    for point in points:
        curve = point["range"], point["event"], point["mode"]
        curves[curve] = max(point["ratio"], curves.get(curve, 1.0))
    return curves
