"""The survival score: plant facts in workflows, compact again and again, and see what reaches the model.

    python -m tools.survival [--row NAME …] [--format NAME …] [--cycles N] [--facts N] [--write] …

Each event runs the registered command, in a throw-away home and project. Without options every row is played in every
format, which takes most of an hour. The exit code is 1 if a row loses a fact, says something false, or gives guidance
twice or unasked.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.survival import result, trials
from tools.survival.rows import ROWS
from tools.survival.samples import FORMATS

if TYPE_CHECKING:
    from tools.survival.result import Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "survival-score.md"
BEGIN, END = "<!-- score: written by make score -->", "<!-- end of the score -->"


def main() -> int:
    """Play rows, and print the table or write it into docs/survival-score.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", choices=ROWS, help="play only this row; repeat it")
    parser.add_argument("--format", action="append", choices=FORMATS, help="play only this format; repeat it")
    parser.add_argument("--cycles", type=int, default=10, metavar="N", help="compactions of the long row")
    parser.add_argument("--facts", type=int, default=29, metavar="N", help=f"facts of a workflow, from {trials.LEAST}")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the planted words")
    parser.add_argument(
        "--instants", type=int, default=25, metavar="N", help="kill at N writes of each step, evenly spread; 0 for all"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/survival-score.md")
    options = parser.parse_args()
    job = trials.Job(
        options.row or tuple(ROWS),
        options.format or FORMATS,
        options.cycles,
        facts=max(options.facts, trials.LEAST),
        seed=options.seed,
        instants=options.instants or None,
    )

    def tell(each: Result) -> None:
        print("\n".join([f"{each.verdict} {each.row} ({each.format})", *each.lines()[1:]]), flush=True)

    results = trials.play(job, tell)
    summary = f"`--cycles {job.cycles} --facts {job.facts}`: {result.moral(results)}"
    table = f"{summary}\n\n{result.markdown(results)}"
    if options.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")
    print(summary if options.write else table)
    return 0 if all(each.holds for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
