"""A pytest plugin: `HOLDFAST_UPTIME=SECONDS pytest -p tests.uptime` runs tests as if the machine had started then.

How a sum such as `time.monotonic() + 0.1` is rounded depends on how long the machine has run.
"""

from __future__ import annotations

import os
import time

_real, _real_ns = time.monotonic, time.monotonic_ns
_shift_ns = int(float(os.environ["HOLDFAST_UPTIME"]) * 1e9) - _real_ns()


def _monotonic_ns() -> int:
    return _real_ns() + _shift_ns


time.monotonic = lambda: _monotonic_ns() / 1e9
time.monotonic_ns = _monotonic_ns
