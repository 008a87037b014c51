"""The two relays, in Python and in C, as tests start them: with limits of their choice, and with sanitizers."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from holdfast.install import native
from tests import processes
from tests.processes import INTERPRETER, SOURCE

LONG_S = 500.0
"""A limit that nothing runs into, however busy the machine is."""
LIMITS = ("LIFE_TIMEOUT_S", "READY_TIMEOUT_S", "ANSWER_TIMEOUT_S", "LAST_WORD_S")
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
KINDS = ("python", "native")


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
    """Return the native relay with sanitizers and other limits in seconds, each by its name in `relay.py`."""
    patient = dict.fromkeys(LIMITS[:2], LONG_S) | limits
    return compiled(*SANITIZED, *(f"-D{name[:-2]}_MS={round(value * 1000)}" for name, value in sorted(patient.items())))


def text(**limits: float) -> str:
    """Return the text of `relay.py` with other limits in seconds."""
    patient, made = dict.fromkeys(LIMITS[:2], LONG_S) | limits, (SOURCE / "holdfast" / "relay.py").read_text("utf-8")
    for name, value in patient.items():
        made, times = re.subn(f"(?m)^{name} = .*$", f"{name} = {value}", made)
        assert times == 1
    return made


def put(kind: str, run: Path, root: Path, **limits: float) -> list[str]:
    """Put a relay where an install does, and return the command that starts it.

    Args:
        kind: `python` or `native`.
        run: the launcher's place.
        root: the folder of the package, whose `relay.py` has the same limits.
        limits: what else than patience it has.
    """
    if kind == "python":
        processes.copy_of_entrypoint(run, str(root))
        return [*INTERPRETER, str(run)]
    processes.copy_of_entrypoint(run.with_suffix(".py"), str(root))
    conf = ["holdfast relay 1", INTERPRETER[0], str(run.with_suffix(".py")), str(run.with_name("refuse.sh")), ""]
    run.with_name("run.conf").write_text("\n".join(conf))
    new = run.with_name("run.new")
    shutil.copy(limited(**limits), new)
    os.replace(new, run)  # noqa: PTH105 - the one in place may be running
    return [str(run)]


def entry(kind: str, run: Path) -> Path:
    """Return the entrypoint by which a relay's server is known."""
    return run if kind == "python" else run.with_suffix(".py")
