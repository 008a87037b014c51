"""Planting a bug in a scratch tree and running the tests that reach it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.mutants.coverage_by_test import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tools.mutants.bug import Bug

HANG_S = 600  # a bug with which the tests take longer is found: they hang


@dataclass
class Coverage:
    """Which tests reach a line, and how many seconds each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)

    def reaching(self, bug: Bug) -> list[str]:
        """Return the tests that run a changed line, cheapest first.

        A line outside functions runs at import. For it, and for one that only other processes run, these are the tests
        that run anything of its file.
        """
        found = {test for line in bug.lines for test in self.tests.get(f"{bug.file}:{line}", ())}
        found = found or {
            test for line, tests in self.tests.items() if line.startswith(f"{bug.file}:") for test in tests
        }
        return sorted(found, key=lambda test: self.seconds[test])

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
        folder = self.root.with_suffix(".coverage")
        if not folder.exists():
            folder.mkdir()
            plugin = ["-p", "tools.mutants.coverage_by_test", "-n", "auto", "--quiet", *tests]
            self._pytest(plugin, environment={FOLDER: str(folder)}, seconds=None)
        merged = Coverage()
        for file in folder.glob("*.json"):
            noted = json.loads(file.read_text())
            merged.seconds |= noted["seconds"]
            for line, names in noted["tests"].items():
                merged.tests.setdefault(line, []).extend(names)
        return merged

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

    def _pytest(self, more: Sequence[str], *, seconds: float | None, environment: dict[str, str] | None = None) -> str:
        """Run pytest in the tree and return its first failure, or why it ran no test."""
        command = [".venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", *more]
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=os.environ | (environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                printed = process.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "the tests hang"
        failures = [line.split()[1] for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if failures or process.returncode == 0:
            return failures[0] if failures else ""
        return printed.strip().splitlines()[-1]
