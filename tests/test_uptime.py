"""Tests that use the clock pass however long the machine has run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.processes import ROOT

UPTIMES_S = (6_000.0, 600_000.0)
"""0.1 s is rounded up at the first, and down at the second."""
CLOCK = re.compile(r"monotonic|one_moment")
# What a test starts as a program has the real clock.
PROGRAMS = re.compile(r"^from tests(?: import .*|\.)\b(?:processes|warmth)\b", re.MULTILINE)
LONG = ("test_contract.py",)  # thousands of cases, where one fake clock stands still
FAKE_FROM_REAL = re.compile(r"(?:setattr\(.*|SimpleNamespace\(.*|monotonic=.*|= \[(?:time\.)?)\bmonotonic(?:_ns)?\(\)")
TESTS = {file.relative_to(ROOT): file.read_text("utf-8") for file in sorted((ROOT / "tests").rglob("test_*.py"))}


@pytest.mark.nightly
@pytest.mark.parametrize("uptime", UPTIMES_S)
def test_clock_tests_pass_at_any_uptime(uptime: float) -> None:
    """Those in process that name the monotonic clock, each time as if the machine had started so many seconds ago."""
    files = [
        str(name)
        for name, text in TESTS.items()
        if CLOCK.search(text) and not PROGRAMS.search(text) and name.name not in LONG
    ]
    words = ["-p", "tests.uptime", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow and not nightly"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *files],
        env=os.environ | {"HOLDFAST_UPTIME": str(uptime)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_fake_clocks_start_at_a_constant() -> None:
    """A sum with the real clock is rounded differently at each uptime."""
    lines = [f"{name}: {line}" for name, text in TESTS.items() for line in FAKE_FROM_REAL.findall(text)]
    assert lines == []
