"""Play the scenarios with a revision and with this tree, and print what differs; exit code 1 if anything does."""

from __future__ import annotations

import argparse
import difflib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tests.behaviour.scenarios import scenarios
from tests.behaviour.stage import ROOT, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Tape = list[tuple[str, str]]
STEPS_SHOWN = 5  # of those of a scenario that differ
LINES_SHOWN = 30  # of what differs in a step
WIDTH_SHOWN = 160


def main() -> int:
    """Return the exit code: 0 if nothing differs, 1 if something does."""
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour", description=__doc__)
    parser.add_argument("base", metavar="REVISION", help="what this tree is compared with; a folder is taken as it is")
    parser.add_argument("--only", default="", metavar="REGEX", help="only scenarios whose name this matches")
    parser.add_argument("--rows", action="store_true", help="also the rows of the survival score; takes long")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what was recorded of both, a file a scenario")
    asked = parser.parse_args()
    chosen = [each for each in scenarios(rows=asked.rows) if re.search(asked.only, each[0])]
    with checkout(asked.base) as base:
        differing = sum(differs(base, name, play, warm=warm, keep=asked.keep) for name, warm, play in chosen)
    print(f"{differing} of {len(chosen)} scenarios differ" if differing else f"{len(chosen)} scenarios are the same")
    return 1 if differing else 0


@contextmanager
def checkout(base: str) -> Iterator[Path]:
    """Yield a folder with a revision's files, or the folder that is named; raises CalledProcessError for neither."""
    if Path(base).is_dir():
        yield Path(base).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="behaviour-") as folder:
        archive = subprocess.run(["git", "archive", base], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="fully_trusted")
        yield Path(folder)


def differs(base: Path, name: str, play: Callable[[Stage], None], *, warm: bool, keep: Path | None) -> bool:
    """Play one scenario with both trees, side by side; print what differs, and return whether anything does."""
    now = datetime.now(UTC)
    with ThreadPoolExecutor() as pool:
        before, after = pool.map(lambda tree: record(tree, now, play, warm=warm), (base, ROOT))
    if keep:
        for side, tape in (("before", before), ("after", after)):
            (keep / side).mkdir(parents=True, exist_ok=True)
            (keep / side / f"{name}.txt").write_text("".join(map(shown, tape)), "utf-8")
    steps = [pair for pair in zip_longest(before, after, fillvalue=("", "")) if pair[0] != pair[1]]
    print(f"{f'{len(steps)} of ' if steps else ''}{len(after)} steps {'differ' if steps else 'are the same'}: {name}")
    for old, new in steps[:STEPS_SHOWN]:
        lines = difflib.unified_diff(shown(old).splitlines(), shown(new).splitlines(), lineterm="", n=1)
        print(*(line[:WIDTH_SHOWN] for line in list(lines)[2 : 2 + LINES_SHOWN]), sep="\n    ", flush=True)
    return bool(steps)


def record(tree: Path, now: datetime, play: Callable[[Stage], None], *, warm: bool) -> Tape:
    """Play a scenario with a tree at a time; return what each step answered and wrote."""
    with tempfile.TemporaryDirectory(prefix="behaviour-") as folder:
        stage = Stage(tree, Path(folder), now, warm=warm)
        try:
            play(stage)
        finally:
            stage.close()
    return stage.tape


def shown(step: tuple[str, str]) -> str:
    """Return a step as text, its title before it."""
    title, text = step
    return f"===== {title}\n{text}"


if __name__ == "__main__":
    sys.exit(main())
