"""The marks: Holdfast's goals for speed, and whether a run met them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.bench import firing, floors, mix
from tools.bench.client import ways
from tools.bench.grown import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WARM = (
    ("Warm, unmatched", (firing.UNMATCHED,), 0.45),
    ("Warm, matched, the trivial job", (firing.MATCHED,), 0.75),
    ("Warm UserPromptSubmit, PreCompact", ("UserPromptSubmit", "PreCompact"), 1.2),
    ("Warm SessionStart (compact), PostToolUse (Agent)", ("SessionStart (compact)", firing.AGENT), 2.0),
)
"""Goals for whole processes, as ratios to a bare Python: what, the events of which the slowest counts, at most."""
ADDED, COLD, GROWTH, STATUS_LINE = 2.0, 1.15, 1.20, 0.5
SESSION_S = 1.0
MEGABYTES = 55.0

Results = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """One row of the table of marks.

    Attributes:
        name: what is measured.
        goal: the goal, in words.
        figure: the measured figure, in words.
        met: whether the goal was met; None if it wasn't measured.
    """

    name: str
    goal: str
    figure: str
    met: bool | None


def marks(results: Results) -> list[Mark]:
    """Return all marks with a run's figures."""
    race, client, server = (results.get(part) or {} for part in ("race", "client", "server"))
    return [
        *(_warm(mark, medians(race, "warm"), medians(race, "floor")) for mark in WARM),
        _status_line(medians(race, "status"), medians(race, "floor")),
        _added(client),
        _session(medians(race, "warm")),
        _cold(medians(race, "cold"), medians(race, "floor")),
        _unregistered(client),
        _growth((results.get("growth") or {}).get("points", [])),
        _memory(server),
        _idle(server),
    ]


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


def _unmeasured(name: str, goal: str) -> Mark:
    return Mark(name, goal, "not measured", None)


def _warm(mark: tuple[str, tuple[str, ...], float], warm: dict[str, float], floor: dict[str, float]) -> Mark:
    name, events, most = mark
    goal = f"at most {most} × `{floors.BARE}`"
    if floors.BARE not in floor or any(event not in warm for event in events):
        return _unmeasured(name, goal)
    slowest = max(events, key=lambda event: warm[event])
    ratio = warm[slowest] / floor[floors.BARE]
    which = f"{slowest}, " if len(events) > 1 else ""
    return Mark(name, goal, f"{ratio:.2f} × ({which}{warm[slowest]:.1f} ms)", ratio <= most)


def _status_line(status: dict[str, float], floor: dict[str, float]) -> Mark:
    name, goal = firing.STATUS_LINE, f"at most {STATUS_LINE} × `{floors.BARE}`"
    if floors.BARE not in floor or firing.STATUS_LINE not in status:
        return _unmeasured(name, goal)
    ratio = status[firing.STATUS_LINE] / floor[floors.BARE]
    return Mark(name, goal, f"{ratio:.2f} × ({status[firing.STATUS_LINE]:.1f} ms)", ratio <= STATUS_LINE)


def _added(client: Results) -> Mark:
    name, goal = "Warm, added to a tool call of the real client", f"at most {ADDED} × what `{ways.TRUE}` adds"
    added = {way["name"]: way["added_ms"] for way in client.get("ways", ())}
    if ways.WARM not in added or added.get(ways.TRUE, 0) <= 0:
        return _unmeasured(name, goal)
    ratio = added[ways.WARM] / added[ways.TRUE]
    figure = f"{ratio:.2f} × ({added[ways.WARM]:.1f} ms beside {added[ways.TRUE]:.1f} ms)"
    return Mark(name, goal, figure, ratio <= ADDED)


def _session(warm: dict[str, float]) -> Mark:
    name, goal = "Hook time of a session of 100 calls, warm", f"at most {SESSION_S:.1f} s"
    took = mix.seconds(warm)
    return _unmeasured(name, goal) if took is None else Mark(name, goal, f"{took:.2f} s", took <= SESSION_S)


def _cold(cold: dict[str, float], floor: dict[str, float]) -> Mark:
    name, goal = "Cold, the slowest of the five named events", f"at most {COLD} × the cold floor"
    if floors.COLD not in floor or any(event not in cold for event in firing.NAMED):
        return _unmeasured(name, goal)
    ratios = {event: cold[event] / floor[floors.COLD] for event in firing.NAMED}
    slowest = max(ratios, key=lambda event: ratios[event])
    figure = f"{ratios[slowest]:.2f} × ({slowest}); matched {ratios[firing.MATCHED]:.2f} ×"
    return Mark(name, goal, figure, ratios[slowest] <= COLD)


def _unregistered(client: Results) -> Mark:
    name, goal = "An event nobody registered, on the real client", "no process"
    run = client.get("hooks_run")
    if not run or not run["registered"]:  # if no registered hook ran, the zero proves nothing
        return _unmeasured(name, goal)
    return Mark(name, goal, f"{run['unregistered']} hooks run", run["unregistered"] == 0)


def _growth(points: Iterable[Mapping[str, Any]]) -> Mark:
    name, goal = "Growth", f"flat within {GROWTH - 1:.0%} over each range"
    found = growth(each for each in points if not each["event"].startswith(COMMAND))
    if not found:
        return _unmeasured(name, goal)
    worst = max(found, key=lambda curve: found[curve])
    above = sum(ratio > GROWTH for ratio in found.values())
    figure = f"{found[worst]:.2f} × at worst ({', '.join(worst)}); {above} of {len(found)} curves above"
    return Mark(name, goal, figure, above == 0)


def _memory(server: Results) -> Mark:
    name, goal = "The server's memory, its children's included", f"at most {MEGABYTES:.0f} MB"
    if not server.get("processes"):
        return _unmeasured(name, goal)
    figure = f"{server['pss_mb']:.1f} MB (PSS of {server['processes']} processes)"
    return Mark(name, goal, figure, server["pss_mb"] <= MEGABYTES)


def _idle(server: Results) -> Mark:
    name, goal = "The server's CPU while idle", "zero"
    if not server.get("processes"):
        return _unmeasured(name, goal)
    exact = "" if server["idle_ms"] is None else f", {server['idle_ms']:.2f} ms"
    figure = f"{server['idle_ticks']} clock ticks{exact} in {server['seconds']:.0f} s"
    return Mark(name, goal, figure, server["idle_ticks"] == 0)
