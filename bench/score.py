"""Playing the Compaction Survival Score and writing its table into the README, between its two markers."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.simulate import playing, report
from holdfast.simulate.playing import Job
from holdfast.simulate.rows import ROWS

README = Path(__file__).resolve().parents[1] / "README.md"


def main() -> int:
    """Play every row, write the table, and return 1 if one of them does not hold."""
    job = Job(tuple(ROWS))
    results = playing.play(job, lambda each: print(f"{'✓' if each.holds else '✗'} {each.row} ({each.format})"))
    for line in report.complaints(results):
        print(line)
    README.write_text(report.written(README.read_text("utf-8"), report.markdown(job, results)), "utf-8")
    print(report.moral(results))
    return 0 if all(each.holds for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
