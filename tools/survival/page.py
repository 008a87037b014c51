"""Playing the Compaction Survival Score and writing its table into docs/survival-score.md, between its two markers.

python -m tools.survival.page [--instants N]    kill a process at N instants, evenly spread, in place of every boundary
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.survival import report, trials
from tools.survival.rows import ROWS
from tools.survival.trials import Job

if TYPE_CHECKING:
    from tools.survival.result import Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "survival-score.md"


def main() -> int:
    """Play every row, write the table, and return 1 if a row doesn't hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instants", type=int)
    job = Job(tuple(ROWS), instants=parser.parse_args().instants)

    def tell(each: Result) -> None:
        print(f"{'✓' if each.holds else '✗'} {each.row} ({each.format})", flush=True)

    results = trials.play(job, tell)
    for line in report.complaints(results):
        print(line)
    PAGE.write_text(report.written(PAGE.read_text("utf-8"), report.markdown(job, results)), "utf-8")
    print(report.moral(results))
    return 0 if all(each.holds for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
