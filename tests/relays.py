"""The relay as tests start it: with limits of their choice, and with sanitizers."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from holdfast.install import native
from tests import processes
from tests.processes import INTERPRETER

LONG_S = 500.0
"""A limit that nothing runs into, however busy the machine is."""
LIMITS = ("READY_TIMEOUT_S", "FINISH_TIMEOUT_S")
SANITIZED = (
    "-include",
    str(Path(__file__).with_name("sanitized.h")),
    "-O1",
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
)
_MORE = ("-Wpedantic", "-Wconversion", "-Wshadow")


@cache
def folder() -> Path:
    """Return this process's folder for what it compiles."""
    made = tempfile.mkdtemp(prefix="hf-relays-")
    import atexit

    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@cache
def compiled(*flags: str) -> Path:
    """Compile the relay with more warnings than an install, all of them errors; skip without a compiler."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    target = folder() / f"relay-{len(list(folder().iterdir()))}"
    native.compile_to(target, *_MORE, *flags)
    return target


def limited(**limits: float) -> Path:
    """Return the relay with sanitizers and other limits in seconds, each by its name in `relay.c` with `_S`."""
    patient = dict.fromkeys(LIMITS, LONG_S) | limits
    return compiled(*SANITIZED, *(f"-D{name[:-2]}_MS={round(value * 1000)}" for name, value in sorted(patient.items())))


def put(run: Path, root: Path, **limits: float) -> list[str]:
    """Put a relay where an install does, and return the command that starts it.

    Args:
        run: the launcher's place.
        root: the folder of the package.
        limits: what else than patience it has.
    """
    processes.copy_of_entrypoint(run.with_suffix(".py"), str(root))
    conf = ["holdfast relay 1", INTERPRETER[0], str(run.with_suffix(".py")), str(run.with_name("refuse.sh")), ""]
    run.with_name("run.conf").write_text("\n".join(conf))
    new = run.with_name("run.new")
    shutil.copy(limited(**limits), new)
    os.replace(new, run)  # noqa: PTH105 - the one in place may be running
    return [str(run)]
