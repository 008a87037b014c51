"""Measure on the real client, in a network of its own.

Run `tests/client/alone python -m tools.bench.client PROGRAM CALLS`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tools.bench.client import added, dying, silence


def main() -> None:
    """Measure, and print the figures as JSON."""
    program, calls = Path(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        top = Path(folder).resolve()
        found = added.measure(program, top / "ways", calls) | {
            "hooks_run": silence.hooks_run(program, top / "silence"),
            "killed": dying.measure(program, top / "killed"),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
