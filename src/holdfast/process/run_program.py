"""Run a program and see how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """How a program ended; `exit_code` is None if it took too long and was killed."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float


def run_program(
    command: Sequence[str], stdin: bytes, environ: Mapping[str, str], cwd: Path, limit: float
) -> CompletedProgram:
    """Run a program for at most `limit` seconds, and kill everything that it started with it.

    Raises OSError if it can't be started.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        cwd=cwd,
        start_new_session=True,
    )
    with process:
        try:
            out, err = process.communicate(stdin, timeout=limit)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            _end(process.pid)
            out, err = process.communicate()
            code = None
        finally:
            _end(process.pid)
    return CompletedProgram(
        code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), time.monotonic() - began
    )


def _end(group: int) -> None:
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)
