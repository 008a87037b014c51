"""Faults that a launcher on the stage suffers before it runs: killed at a write, or without root's privileges.

Only the stage's own copy of the launcher loads this, ahead of the real one; nothing here is on anybody's hook path.
A boundary is a moment at which something has just been written for good: a statement of the ledger, a file's bytes
(for which half of them are written), its rename, its synchronisation, its removal, the reply.
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
_SIZE_BYTES = 16  # bytes of the counter's file: how many boundaries came, and at which one all ends
_CALLS = ("replace", "rename", "link", "unlink", "remove", "mkdir", "fsync")
_READING = ("SELECT", "PRAGMA")
_OVERRIDE = 0b110  # Linux: CAP_DAC_OVERRIDE, with which root writes everything, and CAP_DAC_READ_SEARCH
_CAPABILITIES = 0x20080522  # the version of the structures that capget and capset take
_TEXT = """\
#!{interpreter} {flags}
import sys
sys.path.insert(0, {root!r})
from holdfast.survival import faulty
faulty.{call}
sys.path.pop(0)
real = {real!r}
sys.argv[0] = real
exec(compile(open(real, encoding="utf-8").read(), real, "exec"))
"""


class Strokes:
    """The counter that a world shares with its launchers."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.expect(NEVER)

    def expect(self, stop: int) -> None:
        """Begin to count anew; the launcher ends at boundary number `stop`, from 1."""
        self.file.write_bytes((0).to_bytes(8, "little", signed=True) + stop.to_bytes(8, "little", signed=True))

    @property
    def count(self) -> int:
        """How many boundaries came since."""
        return int.from_bytes(self.file.read_bytes()[:8], "little", signed=True)


def arm(program: Path, call: str, *, interpreter: str, root: Path, flags: str = "-IS") -> None:
    """Put a program on the stage behind one that calls a function of this module first.

    Args:
        program: the launcher or the command, which is moved aside.
        call: the call, such as `obey()`.
        interpreter: the Python that runs it.
        root: the folder from which Holdfast is loaded.
        flags: what the interpreter is started with; the launcher leaves out site-packages, the command does not.
    """
    real = program.with_name(f"{program.name}.real")
    if not real.exists():
        program.rename(real)
    program.write_text(
        _TEXT.format(interpreter=interpreter, flags=flags, root=str(root), call=call, real=str(real)), "utf-8"
    )
    program.chmod(0o755)


def strike(file: str) -> None:
    """Count this process's boundaries, and those of what it forks; at the awaited one kill it with them."""
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
    """Have this process obey the permissions of files and folders, also as root; false where it cannot be had."""
    if os.geteuid() != 0:
        return True
    library: Any = ctypes.CDLL(None)
    head, sets = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()  # effective first, of two halves
    if not hasattr(library, "capset") or library.capget(head, sets) != 0:
        return False
    sets[0] &= ~_OVERRIDE
    return bool(library.capset(head, sets) == 0)


def obeys(interpreter: str) -> bool:
    """Tell whether a process can be made to obey the permissions of files."""
    words = "import runpy, sys; sys.exit(not runpy.run_path(sys.argv[1])['obey']())"
    return subprocess.run([interpreter, "-IS", "-c", words, __file__], check=False).returncode == 0
