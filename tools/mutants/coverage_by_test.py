"""A pytest plugin that notes which tests run a line, and how long each takes.

pytest-cov's contexts write to SQLite after each test. Tests that break SQLite on purpose break them too.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

FOLDER = "HOLDFAST_COVERAGE_BY_TEST"  # the variable that names where each pytest process writes its file
_ROOT = f"{Path.cwd()}{os.sep}"
_PID = os.getpid()
_measured = coverage.Coverage(data_file=None, source=["src/holdfast", "handlers", "hooks"], config_file=False)
_measured.start()
_seconds: dict[str, float] = {}
_tests: dict[str, list[str]] = {}  # by FILE:LINE


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what one test runs."""
    _lines()
    start = time.monotonic()
    result = yield
    _seconds[item.nodeid] = time.monotonic() - start
    for line in _lines():
        _tests.setdefault(line, []).append(item.nodeid)
    return result


def pytest_sessionfinish() -> None:
    """Write what this process noted; a child that a test forked writes nothing."""
    if os.getpid() == _PID and _seconds:
        file = Path(os.environ[FOLDER]) / f"{_PID}.json"
        file.write_text(json.dumps({"seconds": _seconds, "tests": _tests}))


def _lines() -> list[str]:
    """Return the lines that ran since the last call, as FILE:LINE, and forget them."""
    collector = _measured._collector
    assert collector is not None
    ran = []
    for file, lines in list(collector.data.items()):
        if file.startswith(_ROOT):
            ran += [f"{file.removeprefix(_ROOT)}:{line}" for line in lines]
        lines.clear()
    return ran
