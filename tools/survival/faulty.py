"""Faults for a launcher in a throw-away home: it is killed at a write, or runs without root's privileges.

Only such a launcher loads this module, before the real program; nothing here is on a real hook path. A boundary is a
moment when something has just been written permanently: a statement of the ledger, a file's bytes (of which only half
are written when the process is killed there), a rename, an fsync, a removal, the reply.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sqlite3
import stat
import subprocess
from pathlib import Path
from typing import Any

NEVER = -1
_ROOT = Path(__file__).resolve().parents[2]  # where `tools` lies
_SIZE_BYTES = 16  # of the counter's file: the count of boundaries, and the number at which to kill
_CALLS = ("replace", "rename", "link", "unlink", "remove", "mkdir", "fsync")
_READING = ("SELECT", "PRAGMA")
_OVERRIDE = 0b110  # Linux: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, by which root ignores permissions
_CAPABILITIES = 0x20080522  # version of the structures for capget and capset
_TEXT = """\
#!{interpreter} {flags}
import sys
sys.path.insert(0, {root!r})
from tools.survival import faulty
faulty.{call}
sys.path.pop(0)
real = {real!r}
sys.argv[0] = real
exec(compile(open(real, encoding="utf-8").read(), real, "exec"))
"""


class Strokes:
    """The counter of boundaries that a row shares with its launchers through a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.expect(NEVER)

    def expect(self, stop: int) -> None:
        """Reset the counter; the launcher is killed at boundary number `stop`, from 1."""
        self.file.write_bytes((0).to_bytes(8, "little", signed=True) + stop.to_bytes(8, "little", signed=True))

    @property
    def count(self) -> int:
        """The number of boundaries since the last reset."""
        return int.from_bytes(self.file.read_bytes()[:8], "little", signed=True)


def arm(program: Path, call: str, *, interpreter: str, flags: str = "-IS") -> None:
    """Replace a program by one that calls a function of this module and then runs the original.

    Args:
        program: the launcher or the command, which is renamed.
        call: the call, such as `obey()`.
        interpreter: the Python that runs it.
        flags: the interpreter's options; the launcher runs without site-packages, the command with them.
    """
    real = program.with_name(f"{program.name}.real")
    if not real.exists():
        program.rename(real)
    program.write_text(
        _TEXT.format(interpreter=interpreter, flags=flags, root=str(_ROOT), call=call, real=str(real)), "utf-8"
    )
    program.chmod(0o755)


def strike(file: str) -> None:
    """Count the boundaries of this process and its children, and kill them at the number set by `Strokes.expect`."""
    with Path(file).open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), _SIZE_BYTES)
    first = os.getpid()

    def boundary() -> None:
        number = int.from_bytes(shared[:8], "little", signed=True) + 1
        shared[:8] = number.to_bytes(8, "little", signed=True)
        if number == int.from_bytes(shared[8:], "little", signed=True):
            os.kill(first, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    def next_ends() -> bool:
        return int.from_bytes(shared[:8], "little", signed=True) + 1 == int.from_bytes(
            shared[8:], "little", signed=True
        )

    _patch_files(boundary, next_ends)
    _patch_ledger(boundary)


def _patch_files(boundary: Any, next_ends: Any) -> None:
    for name in _CALLS:
        setattr(os, name, _followed(getattr(os, name), boundary))
    write = os.write

    def half(descriptor: int, data: Any) -> int:
        if next_ends() and stat.S_ISREG(os.fstat(descriptor).st_mode):
            data = memoryview(data)[: max(len(data) // 2, 1)]
        written = write(descriptor, data)
        boundary()
        return written

    os.write = half


def _patch_ledger(boundary: Any) -> None:
    connect = sqlite3.connect

    class Counted(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            cursor = super().execute(sql, *values)
            if not sql.lstrip().upper().startswith(_READING):
                boundary()
            return cursor

    def counted(*given: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **{**more, "factory": Counted})
        return connection

    sqlite3.connect = counted  # type: ignore[assignment]


def _followed(call: Any, boundary: Any) -> Any:
    def followed(*given: Any, **more: Any) -> Any:
        result = call(*given, **more)
        boundary()
        return result

    return followed


def obey() -> bool:
    """Make this process obey file permissions, even as root. Return whether that worked."""
    if os.geteuid() != 0:
        return True
    library: Any = ctypes.CDLL(None)
    head, sets = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()  # effective first, of two halves
    if not hasattr(library, "capset") or library.capget(head, sets) != 0:
        return False
    sets[0] &= ~_OVERRIDE
    return bool(library.capset(head, sets) == 0)


def obeys(interpreter: str) -> bool:
    """Return whether a process can be made to obey file permissions here."""
    words = "import runpy, sys; sys.exit(not runpy.run_path(sys.argv[1])['obey']())"
    return subprocess.run([interpreter, "-IS", "-c", words, __file__], check=False).returncode == 0
