"""Measure what Holdfast costs, side by side with others, and write docs/benchmarks.md.

    python -m tools.bench [PART…] [--rounds N] [--calls N] [--client VERSION]

Without a PART all are measured. With some, the others' figures stay as the last run left them in .bench/results.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests import warmth
from tools.bench import CLIENT, client, firing, growth, machine, page, peers, place, race

PARTS = {
    "processes": "each event as a whole process; takes minutes",
    "client": "tool calls of the real client; takes minutes",
    "growth": "events beside more and more files; takes a quarter of an hour",
}
"""The parts, and what is said before each begins."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=25, help="rounds of the whole processes")
    parser.add_argument("--calls", type=int, default=50, help="tool calls of each way on the real client")
    parser.add_argument("--client", default=CLIENT, metavar="VERSION", help="the real client's version")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    file = peers.FETCHED / "results.json"
    results: dict[str, Any] = json.loads(file.read_text("utf-8")) if options.parts and file.exists() else {}
    results["machine"] = machine.described()
    failed = False  # one part; the others still count
    for part in options.parts or PARTS:
        print(f"{part}: {PARTS[part]} …", file=sys.stderr, flush=True)
        try:
            results[part] = {**_measured(part, options), "when": machine.now()}
        except (
            race.WrongAnswerError,
            TimeoutError,
            subprocess.SubprocessError,
        ) as error:
            print(f"{part}: {error}", file=sys.stderr)
            results[part] = {"why": f"it failed: {type(error).__name__}"}
            failed = True
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(results, indent=1), "utf-8")
    PAGE.write_text(page.text(results), "utf-8")
    return 1 if failed else 0


def _measured(part: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return a part's figures as JSON values, or the reason why there are none."""
    if part == "growth":
        return {"points": [point._asdict() for point in growth.measure()]}
    program = client.binary(options.client)
    if part == "client" and program is None:
        return {"why": f"no client {options.client} is installed; `make clients` fetches it"}
    with tempfile.TemporaryDirectory(prefix="hf-bench-", ignore_cleanup_errors=True) as folder:
        here = place.make(Path(folder).resolve())
        try:
            if part == "client" and program:
                added = client.measure(here, program, options.calls)
                ways = {way: client.quartiles(each) for way, each in added.items()}
                return {"ways": ways, "version": options.client, "calls": options.calls}
            return _processes(here, options.rounds)
        finally:
            warmth.end(here.home)


def _processes(here: place.Place, rounds: int) -> dict[str, Any]:
    place.warm_up(here)
    others, missing = peers.contestants(here)
    medians = race.run([*peers.floors(), *firing.contestants(here), *others], here.environ, rounds)
    place.still_warm(here)
    rows = [{"kind": kind, "name": name, "ms": ms} for (kind, name), ms in medians.items()]
    return {"rows": rows, "missing": missing, "rounds": rounds, "memory_mb": place.memory_mb(here)}


if __name__ == "__main__":
    sys.exit(main())
