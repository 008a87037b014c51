"""Run a warm server for a double, and make sure that it has ended afterwards."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import HoldfastError
from holdfast.server import control
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.profile.double import Double

START_TIMEOUT_S = 20.0
"""Time for the server to answer."""
SETTLE_TIMEOUT_S = 1.0
"""Time after which a server that an event started is running."""


@contextmanager
def server(double: Double) -> Iterator[None]:
    """Run a server for the double's launcher within the block; it has ended afterwards, whatever ends the block.

    Raises:
        HoldfastError: it doesn't start.
    """
    program = [str(double.launcher), "--serve"]
    process = subprocess.Popen(
        program,
        env=Client(double, double.root).environ,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches only this process, which then ends the server
    )
    try:
        _wait(double, process)
        yield
    finally:
        for each in (double.launcher, double.entrypoint):
            each.unlink(missing_ok=True)  # from now on no event starts another
        family = control.family(process.pid)
        process.terminate()
        ours = any(control.holder(address) == process.pid for address in control.addresses(double.servers))
        with suppress(subprocess.TimeoutExpired):
            process.wait(control.END_TIMEOUT_S)
        process.kill()
        process.wait()
        until = time.monotonic() + SETTLE_TIMEOUT_S
        while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < until:
            time.sleep(0.01)  # a worker in preparation may still write to the folder to remove
        if not ours:  # it ended early, and an event may have started another
            time.sleep(SETTLE_TIMEOUT_S)
        for address in control.addresses(double.servers):
            control.stop(address)


def _wait(double: Double, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < until:
        if any(control.ask(address) for address in control.addresses(double.servers)):
            return
        time.sleep(0.02)
    raise HoldfastError(f"no warm server started for the replay; --cold does without it (see {paths.log_file()})")
