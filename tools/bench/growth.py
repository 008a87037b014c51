"""Whether the time of one event grows with what is there: workflows, tasks, handlers, transcripts, ledgers, responses.

Each range is measured side by side: all its points take turns, round after round, so that noise meets them alike. What
counts is the ratio of each point to the smallest of its range in the same round, the median of all rounds: what else
slows the machine for a second slows both. Two ways of measuring:

- `cold`: the registered command as a whole process, without the server;
- `warm`: the same with the server, which every size has one of.

What is called `holdfast …` is no event but a command: it looks at every task, so its time may grow with them, and no
server answers it.

    python -m tools.bench.growth [--range NAME …] [--rounds N] [--quick] [--json] [--only cold|warm]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.bench import grown
from tools.bench.grown import COMMAND, REST_S, Place
from tools.bench.place import answered, run, start_server
from tools.bench.race import WrongAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

MEMORY = ("PreCompact-auto", "SessionStart-compact", "UserPromptSubmit", "PostToolUse-Agent")
SIZES = {
    "workflows": (1, 100, 10_000),
    "finished": (1, 100, 10_000),
    "plans": (1, 100, 10_000),
    "handlers": (10, 100, 1_000),
    "project_handlers": (10, 100, 1_000),
    "transcript": (1 << 10, 1 << 20, 1 << 24, 1 << 30),
    "ledger": (1_000, 100_000, 1_000_000),
    "response": (1 << 10, 200 << 10),
    "tasks": (100, 300, 1_000),
    "run": (60, 200, 500),
    "learnings": (100, 1_000, 10_000),
    "checkpoints": (10, 100, 1_000),
    "run_agents": (1, 20),
    "skills": (1, 100, 10_000),
    "agents": (10, 100, 1_000),
}
QUICK = {
    "workflows": (1, 100),
    "finished": (1, 100),
    "plans": (1, 100),
    "handlers": (10, 100),
    "project_handlers": (10, 100),
    "transcript": (1 << 10, 1 << 24),
    "ledger": (10, 10_000),
    "response": (1 << 10, 200 << 10),
    "tasks": (100, 300),
    "run": (60, 200),
    "learnings": (100, 1_000),
    "checkpoints": (10, 100),
    "run_agents": (1, 20),
    "skills": (1, 100),
    "agents": (10, 100),
}
EVENTS = {
    "workflows": MEMORY,
    "finished": MEMORY,
    "plans": MEMORY,
    "handlers": ("PreToolUse-Bash", "Stop"),
    "project_handlers": ("PreToolUse-Bash", "Stop"),
    "transcript": (*MEMORY, "Stop", "PreToolUse-Bash"),
    "ledger": (*MEMORY, "Stop", "PreToolUse-Agent", "SessionStart-startup", "SessionEnd-other", "SubagentStart"),
    "response": ("PostToolUse-Agent", "PostToolUse-Read"),
    "tasks": (*MEMORY, "PreToolUse-Agent", "holdfast wfs task show", "holdfast doctor wfs"),
    **dict.fromkeys(grown.RUN, (*MEMORY, "PreToolUse-Agent", "SubagentStart")),
    "skills": (*MEMORY, "SessionStart-startup"),
    "agents": ("PreToolUse-Agent", "PostToolUse-Agent", "SessionStart-compact", "SessionStart-startup"),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--range", action="append", choices=sorted(SIZES), dest="ranges")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=("cold", "warm"))
    options = parser.parse_args()
    rows = []
    for name in options.ranges or SIZES:
        sizes = (QUICK if options.quick else SIZES)[name]
        with tempfile.TemporaryDirectory(prefix="holdfast-growth-") as folder:
            places = {size: grown.make(name, size, Path(folder).resolve() / str(size), EVENTS[name]) for size in sizes}
            time.sleep(2.5)  # files just written are read again each time
            try:
                for event, way in itertools.product(EVENTS[name], ("cold", "warm")):
                    if options.only in (None, way) and not (way == "warm" and event.startswith(COMMAND)):
                        rows += _race(name, event, way, places, options)
            finally:
                for place in places.values():
                    run(place, "server", "--stop")
    if options.json:
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {platform.python_version()}"
        print(json.dumps({"machine": machine, "rounds": options.rounds, "points": rows}, indent=2))


def _race(
    name: str, event: str, way: str, places: dict[int, Place], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Measure all points of a range in turns; the first two rounds only warm the caches.

    Raises:
        WrongAnswerError: the servers didn't answer what is called warm.
    """
    warm = way == "warm"
    if warm:
        for place in places.values():
            start_server(place)
    before = sum(answered(each) - each.fired for each in places.values())
    times: dict[int, dict[int, float]] = {size: {} for size in places}
    for number in range(options.rounds + 2):
        for size, place in places.items():
            time.sleep(REST_S)
            took = place.time(event, warm)
            if number > 1:
                times[size][number] = took * 1000
            if took > 5 and len(times[size]) > 1:
                break
    cold = before - sum(answered(each) - each.fired for each in places.values())
    if warm and cold * 10 > sum(map(len, times.values())):
        raise WrongAnswerError(f"{cold} warm {event} were answered without a server")
    medians = {size: statistics.median(each.values()) for size, each in times.items() if each}
    least, ratios = {size: min(each.values()) for size, each in times.items() if each}, paired(times)
    if not options.json:
        told = "".join(
            f"{size:>11,}: {each:>8.2f} ms ×{ratios[size]:<4.2f} (least {least[size]:.1f})"
            for size, each in medians.items()
        )
        print(f"{name:<17}{way:<5} {event:<21}{told}", flush=True)
    return [
        {
            "range": name,
            "event": event,
            "way": way,
            "size": size,
            "ms": round(each, 3),
            "ratio": round(ratios[size], 3),
            "least_ms": round(least[size], 3),
        }
        for size, each in medians.items()
    ]


def paired(times: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """Return each size's time relative to the first size's of the same round: the median of all its rounds.

    Args:
        times: by size, the times by round. A round may lack the larger sizes.
    """
    first = next(iter(times.values()))
    return {size: statistics.median(ms / first[at] for at, ms in each.items()) for size, each in times.items() if each}


if __name__ == "__main__":
    main()
