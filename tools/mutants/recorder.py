"""Write down which lines a process runs, and when, from `begin()` on. It is a pytest plugin too.

The scratch tree's `holdfast/__init__.py` calls it. Most tests start processes, so what pytest itself runs
says little. A process that is killed loses what it ran since its last fork.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_TREE = Path(__file__).parents[2]
_SITE = str(next((_TREE / ".venv/lib").glob("python*/site-packages")))  # an isolated interpreter lacks it
FOLDER = _TREE / ".mutants"
_now = time.monotonic  # a test may replace the module's


class Recorder:
    """What this process has run since it was last written down."""

    def __init__(self) -> None:
        """Begin."""
        sys.path.insert(0, _SITE)
        import coverage

        del sys.path[0]
        sources = [str(_TREE / top) for top in ("src/holdfast", "handlers", "hooks")]
        self.coverage = coverage.Coverage(data_file=None, source=sources, config_file=False)
        self.coverage.start()
        atexit.register(self.write)
        os.register_at_fork(after_in_parent=self.write, after_in_child=self.lines)
        for name in ("_exit", "execv", "execve"):
            setattr(os, name, self._before(getattr(os, name)))

    def lines(self) -> list[str]:
        """Return the lines that ran since the last call, as FILE:LINE, and forget them."""
        collector = self.coverage._collector
        assert collector is not None
        ran = []
        for file, numbers in list(collector.data.items()):
            if file.startswith(f"{_TREE}{os.sep}"):
                ran += [f"{os.path.relpath(file, _TREE)}:{number}" for number in numbers]
            numbers.clear()
        return ran

    def write(self) -> None:
        """Add what ran to this process's file, with what tells which test started it."""
        if ran := self.lines():
            tells = f"{os.environ.get('PYTEST_XDIST_WORKER')} {os.environ.get('HOME')}"
            append({"at": _now(), "place": tells, "ran": ran})

    def _before(self, ends: Callable[..., Any]) -> Callable[..., Any]:
        def end(*arguments: Any) -> Any:
            self.write()
            return ends(*arguments)

        return end


def append(record: dict[str, Any]) -> None:
    """Add a record to this process's file; what can't be written is left out, for the process is a test's."""
    packed = zlib.compress(json.dumps(record).encode(), 1)
    try:
        with (FOLDER / f"{os.getpid()}").open("ab") as file:
            file.write(len(packed).to_bytes(4, "big") + packed)
    except OSError:
        pass


_recorders: list[Recorder] = []  # one, where it has begun


def begin() -> None:
    """Begin in this process."""
    _recorders.append(Recorder())


_worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # nothing in the process that only collects the results
_begun = 0.0


def pytest_runtest_logstart() -> None:
    """Note when a test begins."""
    global _begun
    _begun = _now()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note from when to when a test ran."""
    if _worker:
        for each in _recorders:
            each.write()
        append({"test": nodeid, "worker": _worker, "from": _begun, "to": _now()})
