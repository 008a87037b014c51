"""Whether the time of one event grows with what is there: workflows, tasks, handlers, transcripts, ledgers, responses.

Each range is measured side by side: all its points take turns, round after round, so that noise meets them alike, and
what counts is the ratio of each point to the smallest of its range. Two ways of measuring:

- `cold`: the registered command as a whole process, without the server (with `--server` as it is installed);
- `fork`: the engine in a process forked from one that has everything loaded, as a warm server has it.

What is called `holdfast …` is no event but a command: it looks at every task, so its time may grow with them.

    python -m bench.growth [--range NAME …] [--rounds N] [--quick] [--json] [--server] [--only cold|fork]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import grown
from bench.grown import COMMAND, Place
from holdfast import paths

MEMORY = ("PreCompact-auto", "SessionStart-compact", "UserPromptSubmit", "PostToolUse-Agent")
SIZES = {
    "workflows": (1, 100, 10_000),
    "finished": (1, 100, 10_000),
    "plans": (1, 100, 10_000),
    "handlers": (10, 100, 1_000),
    "project_handlers": (10, 100, 1_000),
    "transcript": (1 << 10, 1 << 20, 1 << 24, 1 << 30),
    "ledger": (10, 1_000, 100_000, 1_000_000),
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
    "tasks": (*MEMORY, "PreToolUse-Agent", "holdfast wfs task next", "holdfast wfs task validate"),
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
    parser.add_argument("--server", action="store_true", help="leave the server on in the cold way")
    parser.add_argument("--only", choices=("cold", "fork"))
    options = parser.parse_args()
    rows = []
    for name in options.ranges or SIZES:
        sizes = (QUICK if options.quick else SIZES)[name]
        with tempfile.TemporaryDirectory(prefix="holdfast-growth-") as folder:
            places = {size: grown.make(name, size, Path(folder).resolve() / str(size), EVENTS[name]) for size in sizes}
            time.sleep(2.5)  # files just written are read again each time
            for event in EVENTS[name]:
                rows += _measured(name, event, places, options)
    if options.json:
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {platform.python_version()}"
        print(json.dumps({"machine": machine, "rounds": options.rounds, "points": rows}, indent=2))


def _measured(name: str, event: str, places: dict[int, Place], options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for way, once in (("cold", Place.time), ("fork", _forked)):
        if options.only in (None, way):
            rows += _race(name, event, way, once, places, options)
    return rows


def _race(
    name: str, event: str, way: str, once: Any, places: dict[int, Place], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Measure all points of a range in turns; the first two rounds only warm the caches."""
    times: dict[int, list[float]] = {size: [] for size in places}
    for number in range(options.rounds + 2):
        for size, place in places.items():
            took = once(place, event, options.server)
            if number > 1:
                times[size].append(took * 1000)
            if took > 5 and len(times[size]) > 1:
                break
    medians = {size: statistics.median(each) for size, each in times.items() if each}
    first, least = next(iter(medians.values())), {size: min(each) for size, each in times.items() if each}
    if not options.json:
        told = "".join(
            f"{size:>11,}: {each:>8.2f} ms ×{each / first:<4.2f} (least {least[size]:.1f})"
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
            "ratio": round(each / first, 3),
            "least_ms": round(least[size], 3),
        }
        for size, each in medians.items()
    ]


def _forked(place: Place, event: str, server: bool) -> float:
    """Run the engine in a forked process and return the seconds from the fork to its end."""
    _preload(place)
    data = place.stdin(event)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        started = time.perf_counter()
        pid = os.fork()
        if not pid:
            try:
                os.dup2(stdin.fileno(), 0)
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.chdir(place.root)
                if event.startswith(COMMAND):
                    from holdfast import cli

                    cli.main(event.removeprefix(COMMAND).split())
                from holdfast import engine

                engine.main(event.split("-")[0])
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        return time.perf_counter() - started


def _preload(place: Place) -> None:
    """Load everything that an event may need, and set the environment of a hook."""
    from importlib import import_module

    from holdfast import events
    from holdfast.plugins import loader

    if not _loaded:
        names = {
            *events.EVENTS.values(),
            "holdfast.engine",
            "holdfast.cli",
            "holdfast.formats.wfs.commands.sessions",
            "holdfast.dispatch.isolation",
            "holdfast.clients.claude.replies",
            "sqlite3",
        }
        root = paths.package_root()
        for folder in ("sessions", "workflow", "formats", "files", "ledger"):
            modules = (root / "holdfast" / folder).rglob("[a-z]*.py")
            names |= {".".join(each.relative_to(root).with_suffix("").parts) for each in modules}
        for name in sorted(names):
            import_module(name)
        import tomllib  # noqa: F401

        _loaded.append(True)
        import gc

        gc.freeze()
    os.environ.clear()
    os.environ.update(place.environ)
    loader.preload()


_loaded: list[bool] = []


if __name__ == "__main__":
    main()
