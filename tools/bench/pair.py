"""Measure another tree and this one in turns, in one run, and print the ratios.

    python -m tools.bench.pair OLD [--rounds N] [--calls N] [--client VERSION | --no-client]

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
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.testkit.client import encoded
from tools.bench import firing, floors, machine, mix, race, server
from tools.bench import place as places
from tools.bench.client import added, ways

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.bench.client.driven import Driven
    from tools.bench.place import Place

TREES = ("old", "new")
AT_ONCE = 20
"""Events that come at the same moment."""


def main() -> None:
    """Measure both trees, and print one line per figure: old, new, ratio."""
    parser = argparse.ArgumentParser("python -m tools.bench.pair", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout with a virtual environment in .venv")
    parser.add_argument("--rounds", type=int, default=30, help="how many times of each event count")
    parser.add_argument("--calls", type=int, default=added.CALLS, help="how many tool calls of each client count")
    parser.add_argument("--client", default="2.1.332", help="the real client's version, fetched by make clients")
    parser.add_argument("--no-client", action="store_true", help="leave the real client out")
    options = parser.parse_args()
    pythons = (options.old.resolve() / ".venv" / "bin" / "python", Path(sys.executable))
    described = ", ".join(machine.described().values())
    print(f"{described}\n\n| | old | new | new / old |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="hf-pair-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        homes: dict[str, Place] = {}
        for tree, python in zip(TREES, pythons, strict=True):
            top = Path(folder).resolve() / tree
            top.mkdir()
            homes[tree] = places.make(top, python)
            stack.callback(server.stop, homes[tree])
        events(homes, options.rounds)
        at_once(homes)
        used = {tree: server.measure(place) for tree, place in homes.items()}
        row(
            "memory of the server and its children, MB",
            {tree: each.pss_mb if each else 0 for tree, each in used.items()},
        )
        if not options.no_client and (program := added.binary(options.client)):
            client(homes, program, options.calls, stack)


def events(homes: Mapping[str, Place], rounds: int) -> None:
    """Time the registered command for each event of a session, warm and cold."""
    contestants = list(floors.contestants())
    for tree, place in homes.items():
        warm = places.warm_up(place)
        made = firing.contestants(place, place.home.parent, warm=warm)
        made.append(firing.status_line(place))
        for each in made:
            environ = {**place.environ, **each.environ}
            contestants.append(replace(each, kind=f"{tree} {each.kind}", environ=environ))
        places.warm_up(place)
    medians = race.run(contestants, {}, rounds)
    for place in homes.values():
        places.still_warm(place)
    for kind in ("warm", "cold"):
        found: dict[str, dict[str, float]] = {tree: {} for tree in TREES}
        for (who, name), took in medians.items():
            if who.endswith(f" {kind}"):
                found[who.split()[0]][name] = took
        for name in found["new"]:
            row(f"{name}, {kind}, ms", {tree: found[tree][name] for tree in TREES})
        for title, more in {"without a guard": {}, "with a guard on Bash": mix.BASH}.items():
            whole = {tree: mix.seconds(found[tree], mix.MIX | more) or 0.0 for tree in TREES}
            row(f"a session of 100 calls {title}, {kind}, s", whole)
    row("the status line, ms", {tree: medians[f"{tree} status", firing.STATUS_LINE] for tree in TREES})
    for (kind, name), took in medians.items():
        if kind == "floor":
            print(f"| floor: {name}, ms | | {took:.2f} | |", flush=True)


def at_once(homes: Mapping[str, Place]) -> None:
    """Time the last answer of many events that come at once, in turns; the median of five."""
    found: dict[str, list[float]] = {tree: [] for tree in TREES}
    for _ in range(5):
        for tree, place in homes.items():
            data = encoded(place.payload("PreToolUse-Bash", tool_input={"command": "ls"}))
            fire = partial(race.once, places.command("PreToolUse"), data, place.environ)
            began = time.perf_counter()
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for each in [pool.submit(fire) for _ in range(AT_ONCE)]:
                    each.result()
            found[tree].append((time.perf_counter() - began) * 1000)
            time.sleep(1)
    medians = {tree: statistics.median(each) for tree, each in found.items()}
    row(f"{AT_ONCE} at once, until the last answer, ms", medians)


def client(homes: Mapping[str, Place], program: Path, calls: int, stack: ExitStack) -> None:
    """Time what a hook adds to a tool call of the real client."""
    them: dict[tuple[str, str], Driven] = {}
    for tree, place in homes.items():
        (place.root / "a.txt").write_text("one\n")
        places.warm_up(place)
        here = [way for way in [*ways.floors(), *ways.warm(place)] if way.name in (ways.NONE, ways.TRUE, ways.WARM)]
        them |= {(tree, way.name): added.drive(place, program, way, stack) for way in here}
    steps: dict[tuple[str, str], list[float]] = {who: [] for who in them}
    for number in range(added.FIRST + calls):
        for (tree, name), driven in them.items():
            step = driven.step(ways.TOOL, file_path=str(homes[tree].root / "a.txt"))
            if number >= added.FIRST:
                steps[tree, name].append(step.request_ms)
            time.sleep(added.REST)
    for name in (ways.TRUE, ways.WARM):
        more = {
            tree: statistics.median(a - b for a, b in zip(steps[tree, name], steps[tree, ways.NONE], strict=True))
            for tree in TREES
        }
        row(f"client {program.parents[1].name}: {name} adds to a Read, ms", more)


def row(name: str, found: Mapping[str, float]) -> None:
    """Print one line of the table."""
    ratio = f"{found['new'] / found['old']:.2f}" if found["old"] else ""
    print(f"| {name} | {found['old']:.2f} | {found['new']:.2f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
