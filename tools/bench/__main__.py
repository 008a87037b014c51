"""Measuring what Holdfast costs, side by side with others, and writing it down.

    python -m tools.bench [PART…] [--rounds N] [--growth-rounds N] [--range NAME …] [--quick] [--calls N]
                    [--client VERSION | --no-client]

Without a PART all are measured. With some, the others' figures stay as the last run left them in .bench/results.json,
and with a range those of the other ranges; `page` alone only writes docs/benchmarks.md and its pictures again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.bench import machine, page, parts
from tools.bench.race import WrongAnswerError

PARTS = ("processes", "client", "growth")
WAITS = {
    "processes": "processes: each event as a whole process; takes minutes",
    "client": "client: tool calls of the real client; takes minutes",
    "growth": "growth: events beside more and more files; takes minutes",
}
"""What a part measures, said before it begins."""
SHOWN = {"processes": "race"}
"""The name of a part's figures, if it differs from the part's."""


def main() -> int:
    """Measure, and write the page."""
    parser = _parser()
    options = parser.parse_args()
    unknown = set(options.parts) - {*PARTS, "page"}
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    file = parts.FETCHED / "results.json"
    results: dict[str, Any] = {}
    if options.parts and file.exists():
        results = json.loads(file.read_text("utf-8"))
    failed = False
    asked = options.parts or PARTS
    for number, part in enumerate(asked, 1):
        print(f"{number}/{len(asked)} {WAITS.get(part, part)} …", file=sys.stderr, flush=True)
        try:
            results |= _measured(part, options, results)
        except (WrongAnswerError, TimeoutError, subprocess.CalledProcessError) as error:  # the other parts still count
            print(f"{part}: {error}", file=sys.stderr)
            results[SHOWN.get(part, part)] = {"why": f"it failed: {type(error).__name__}"}
            failed = True
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(results, indent=1), "utf-8")
    options.out.mkdir(exist_ok=True)
    (options.out / "benchmarks.md").write_text(page.text(results), "utf-8")
    complaint = parts.draw(file, options.out)
    if complaint:
        print(complaint, file=sys.stderr)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join((*PARTS, "page")))
    parser.add_argument("--rounds", type=int, default=25, help="rounds of the whole processes")
    parser.add_argument("--growth-rounds", type=int, default=11, help="rounds of the growth curves")
    parser.add_argument("--range", action="append", default=[], dest="ranges", help="only this growth curve's range")
    parser.add_argument("--quick", action="store_true", help="growth curves with fewer sizes")
    parser.add_argument("--calls", type=int, default=50, help="tool calls of each way on the real client")
    parser.add_argument("--client", default="2.1.329", metavar="VERSION", help="the real client's version")
    parser.add_argument("--no-client", action="store_true", help="leave the real client out")
    parser.add_argument("--out", type=Path, default=parts.ROOT / "docs", help="where the page is written")
    return parser


def _measured(part: str, options: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    if part == "processes":
        return {"machine": machine.described(), **parts.processes(options.rounds)}
    if part == "client" and options.no_client:
        return {"client": {"why": "left out with --no-client"}}
    if part == "client":
        return parts.client(options.client, options.calls)
    if part == "growth":
        words = [word for name in options.ranges for word in ("--range", name)]
        found = parts.growth("--rounds", str(options.growth_rounds), *(["--quick"] if options.quick else []), *words)
        return parts.merged(before, found, options.ranges) if options.ranges else found
    return {}


if __name__ == "__main__":
    sys.exit(main())
