"""Planting a bug in a scratch tree and running the tests that reach it."""

from __future__ import annotations

import bisect
import functools
import itertools
import json
import operator
import os
import signal
import subprocess
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tools.mutants.bug import Bug

HANG_S = 600  # a bug with which the tests take longer is found: they hang


@dataclass
class Coverage:
    """Which tests reach a line, and how many seconds each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, int] = field(default_factory=dict)  # by FILE:LINE: bit N is the Nth test of `seconds`

    @classmethod
    def of(cls, folder: Path) -> Coverage:
        """Return what the processes of a run wrote down."""
        spans = sorted(
            (each["from"], each["to"], each["worker"], each["test"]) for each in _records(folder) if "test" in each
        )
        coverage = cls({test: end - start for start, end, _, test in spans})
        bits = {test: 1 << number for number, test in enumerate(coverage.seconds)}
        for record in _records(folder):
            reached = sum(bits[test] for test in _during(spans, record)) if "ran" in record else 0
            for line in record.get("ran", ()):
                coverage.tests[line] = coverage.tests.get(line, 0) | reached
        return coverage

    def reaching(self, bug: Bug) -> list[str]:
        """Return the tests that run a changed line, those first that run much of its file in little time.

        For a line that only a killed process runs, these are the tests that run anything of its file.
        """
        of_file = [tests for line, tests in self.tests.items() if line.startswith(f"{bug.file}:")]
        found = functools.reduce(operator.or_, (self.tests.get(f"{bug.file}:{line}", 0) for line in bug.lines))
        found = found or functools.reduce(operator.or_, of_file, 0)
        names = list(self.seconds)
        cost = {
            names[bit]: self.seconds[names[bit]] / sum(tests >> bit & 1 for tests in of_file)
            for bit in range(len(names))
            if found >> bit & 1
        }
        return sorted(cost, key=cost.__getitem__)

    def cheapest(self, tests: Sequence[str], seconds: float) -> list[str]:
        """Return as many of these tests, in their order, as take that many seconds together."""
        total = itertools.accumulate(self.seconds[test] for test in tests)
        return [test for test, spent in zip(tests, total, strict=True) if spent <= seconds]


class Tree:
    """A scratch checkout with an environment of its own, in which bugs are planted."""

    def __init__(self, root: Path, commit: str) -> None:
        """Make it at `root`, or take the one that is there."""
        self.root = root
        if not root.exists():
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(root), commit], check=True)
        subprocess.run(["make", "--quiet", ".venv/.ready"], cwd=root, check=True, stdout=subprocess.DEVNULL)

    def coverage(self, tests: Sequence[str]) -> Coverage:
        """Run the tests once and return what they reach; the first time, for it is kept beside the tree."""
        folder, package = self.root / ".mutants", "src/holdfast/__init__.py"
        if not folder.exists():
            folder.mkdir()
            before = (self.root / package).read_text("utf-8")
            here = str(self.root / "tools/mutants")
            self._write(
                package,
                f"{before}\nimport sys\nsys.path.append({here!r})\nimport recorder\nsys.path.pop()\nrecorder.begin()\n",
            )
            try:
                self._pytest(["-p", "recorder", "-n", "auto", "--quiet", *tests], seconds=None, path=here)
            finally:
                self._write(package, before)
        return Coverage.of(folder)

    def killer(self, bugs: Iterable[Bug], tests: Sequence[str]) -> str:
        """Plant bugs, run tests until the first fails, and return that one's id; "" if all pass.

        A bug with which nothing can be collected, or with which the tests hang, returns what pytest said.
        """
        planted = list(bugs)
        try:
            for bug in planted:
                self._write(bug.file, bug.after)
            listed = self.root / ".mutants-tests"
            listed.write_text("\n".join(tests))
            return self._pytest(["-x", "--timeout", "150", "--tb=no", "-rfE", f"@{listed.name}"], seconds=HANG_S)
        finally:
            for bug in planted:
                self._write(bug.file, bug.before)

    def _write(self, name: str, text: str) -> None:
        """Write a file that Python compiles anew: a compiled file counts as current by whole seconds and size."""
        path = self.root / name
        newer = int(path.stat().st_mtime) + 2
        path.write_text(text, "utf-8")
        os.utime(path, (newer, newer))

    def _pytest(self, more: Sequence[str], *, seconds: float | None, path: str = "") -> str:
        """Run pytest in the tree and return its first failure, or why it ran no test."""
        command = [".venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", *more]
        output = self.root / ".mutants-output"  # not a pipe: a server that a test left may hold it open
        with (
            output.open("wb") as file,
            subprocess.Popen(
                command,
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": path},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "the tests hang"
        printed = output.read_text("utf-8", "replace")
        failures = [line.split()[1] for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if failures or process.returncode == 0:
            return failures[0] if failures else ""
        return printed.strip().splitlines()[-1]


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what the processes wrote (`recorder.append`)."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            while size := file.read(4):
                yield json.loads(zlib.decompress(file.read(int.from_bytes(size, "big"))))


def _during(spans: list[tuple[float, float, str, str]], record: dict[str, Any]) -> set[str]:
    """Return the tests that were running when a process wrote its lines: the worker's that started it, else any."""
    latest = bisect.bisect_right(spans, record["at"], key=lambda span: span[0])
    around = spans[max(latest - 50, 0) : latest]
    running = [(worker, test) for _, end, worker, test in around if record["at"] <= end]
    return {test for worker, test in running if worker in record["place"]} or {test for _, test in running}
