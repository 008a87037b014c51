"""The warm server of a double, from its first sign of life until it has ended for certain."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import HoldfastError
from holdfast.server import servers
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.profile.double import Double

START_TIMEOUT_S = 20.0
"""Seconds it has to say something of itself."""
SETTLE_TIMEOUT_S = 1.0
"""Seconds in which one that an event had started has come up."""


@contextmanager
def server(double: Double) -> Iterator[None]:
    """Have a server for the double's launcher while the block runs; whatever ends the block, it has ended afterwards.

    Raises:
        HoldfastError: it did not start.
    """
    program = [str(double.launcher), "--serve"]
    process = subprocess.Popen(
        program,
        env=Client(double, double.root).environ,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for us, and we end it
    )
    try:
        _wait(double, process)
        yield
    finally:
        double.launcher.unlink(missing_ok=True)  # from now on no event starts another
        family = servers.family(process.pid)
        process.terminate()
        ours = any(servers.holder(address) == process.pid for address in servers.addresses(double.servers))
        with suppress(subprocess.TimeoutExpired):
            process.wait(servers.END_TIMEOUT_S)
        process.kill()
        process.wait()
        until = time.monotonic() + SETTLE_TIMEOUT_S
        while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < until:
            time.sleep(0.01)  # one that gets ready for an event may still write into the folder that is to go
        if not ours:  # it ended before its time, and an event may have started another
            time.sleep(SETTLE_TIMEOUT_S)
        for address in servers.addresses(double.servers):
            servers.stop(address)


def _wait(double: Double, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < until:
        if any(servers.ask(address) for address in servers.addresses(double.servers)):
            return
        time.sleep(0.02)
    raise HoldfastError(f"no warm server started for the replay; --cold does without it (see {paths.log_file()})")
