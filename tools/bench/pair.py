"""Measure another tree and this one in turns, in one run, and print the ratios.

    python -m tools.bench.pair OLD [--rounds N] [--calls N] [--client VERSION]

OLD is a checkout in which `make test` or `make demo` has made the virtual environment. Each tree gets a home of its
own, with one user handler for Bash and a workflow.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.testkit.client import encoded
from tests import warmth
from tools.bench import CLIENT, client, firing, machine, peers, race
from tools.bench import place as places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.bench.place import Place

TREES = ("old", "new")
AT_ONCE = 20
"""Events that come at the same moment."""


def main() -> None:
    """Measure both trees, and print one line per figure: old, new, ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a checkout with a virtual environment in .venv")
    parser.add_argument("--rounds", type=int, default=30, help="how many times of each event count")
    parser.add_argument("--calls", type=int, default=50, help="how many tool calls of each client count")
    parser.add_argument("--client", default=CLIENT, help="the real client's version, fetched by make clients")
    options = parser.parse_args()
    pythons = (options.old.resolve() / ".venv" / "bin" / "python", Path(sys.executable))
    print(f"{', '.join(machine.described().values())}\n\n| | old | new | new / old |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="hf-pair-", ignore_cleanup_errors=True) as folder:
        tops = {tree: Path(folder).resolve() / tree for tree in TREES}
        try:
            homes = {tree: places.make(tops[tree], python) for tree, python in zip(TREES, pythons, strict=True)}
            events(homes, options.rounds)
            at_once(homes)
            row("memory of the server and its children, MB", {tree: places.memory_mb(homes[tree]) for tree in TREES})
            if program := client.binary(options.client):
                on_client(homes, program, options.calls)
        finally:
            for top in tops.values():
                warmth.end(top / "home")


def events(homes: Mapping[str, Place], rounds: int) -> None:
    """Time the registered command for each event of a session, warm and cold."""
    contestants = peers.floors()
    for tree, place in homes.items():
        places.warm_up(place)
        contestants += [replace(each, kind=f"{tree} {each.kind}") for each in firing.contestants(place)]
    medians = race.run(contestants, {}, rounds)
    for place in homes.values():
        places.still_warm(place)
    for kind in ("warm", "cold"):
        by_tree = {tree: {name: ms for (who, name), ms in medians.items() if who == f"{tree} {kind}"} for tree in TREES}
        for name in firing.EVENTS:
            row(f"{name}, {kind}, ms", {tree: by_tree[tree][name] for tree in TREES})
        for title, times in {"without a guard": 0, "with a guard on Bash": firing.BASH_TIMES}.items():
            whole = {tree: firing.session_s(by_tree[tree], times) for tree in TREES}
            row(f"a session of 100 calls {title}, {kind}, s", whole)
    row("the status line, ms", {tree: medians[f"{tree} status", firing.STATUS_LINE] for tree in TREES})
    for (kind, name), ms in medians.items():
        if kind == "floor":
            print(f"| floor: {name}, ms | | {ms:.2f} | |", flush=True)


def at_once(homes: Mapping[str, Place]) -> None:
    """Time the last answer of many events that come at once, in turns; the median of five."""
    took_ms: dict[str, list[float]] = {tree: [] for tree in TREES}
    for _ in range(5):
        for tree, place in homes.items():
            data = encoded(place.payload("PreToolUse-Bash", tool_input={"command": "ls"}))
            fire = partial(race.once, places.command("PreToolUse"), data, place.environ)
            began = time.perf_counter()
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for each in [pool.submit(fire) for _ in range(AT_ONCE)]:
                    each.result()
            took_ms[tree].append((time.perf_counter() - began) * 1000)
            time.sleep(1)
    row(
        f"{AT_ONCE} at once, until the last answer, ms",
        {tree: statistics.median(each) for tree, each in took_ms.items()},
    )


def on_client(homes: Mapping[str, Place], program: Path, calls: int) -> None:
    """Time what a hook adds to a tool call of the real client."""
    added = client.measure(homes, program, calls)
    for way in (client.TRUE, client.WARM, client.COLD):
        row(f"client: {way} adds to a Read, ms", {tree: statistics.median(added[tree, way]) for tree in TREES})


def row(name: str, figures: Mapping[str, float]) -> None:
    """Print one line of the table."""
    ratio = f"{figures['new'] / figures['old']:.2f}" if figures["old"] else ""
    print(f"| {name} | {figures['old']:.2f} | {figures['new']:.2f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
