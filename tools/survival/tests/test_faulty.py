"""The throw-away launcher suffers the fault it is told to, and nothing else does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools.survival import faulty
from tools.survival.faulty import Strokes

PROGRAM = """#!/bin/sh
import os, sqlite3, sys
ledger = sqlite3.connect(sys.argv[1] + "/ledger", isolation_level=None)
ledger.execute("CREATE TABLE IF NOT EXISTS t (a TEXT)")
ledger.execute("SELECT a FROM t").fetchall()
descriptor = os.open(sys.argv[1] + "/file", os.O_WRONLY | os.O_CREAT)
os.write(descriptor, b"0123456789")
os.fsync(descriptor)
if os.fork() == 0:
    os.replace(sys.argv[1] + "/file", sys.argv[1] + "/renamed")
    os._exit(0)
os.wait()
ledger.execute("INSERT INTO t VALUES ('x')")
print(sys.argv[0])
"""
WRITTEN = (b"", b"01234", b"0123456789", b"0123456789", b"0123456789")
"""The file after each boundary: the table, the bytes, the sync, the rename in the child, the row. A read is none."""


def run(program: Path) -> subprocess.CompletedProcess[str]:
    """Run it in its own folder."""
    return subprocess.run([program, program.parent], capture_output=True, text=True, timeout=500, check=False)


def armed(folder: Path, text: str, call: str) -> Path:
    """Write a program with a fault in front of it."""
    folder.mkdir()
    program = folder / "run"
    program.write_text(text)
    program.chmod(0o755)
    faulty.arm(program, call, interpreter=sys.executable)
    return program


def test_a_process_is_killed_right_after_a_boundary(tmp_path: Path) -> None:
    """With what was written until then, of a file's bytes half; boundaries of children count too."""
    program = armed(tmp_path / "whole", PROGRAM, f"strike({str(tmp_path / 'strokes')!r})")
    strokes = Strokes(tmp_path / "strokes")
    ended = run(program)
    assert (ended.returncode, ended.stderr, Path(ended.stdout.strip()).name) == (0, "", "run.real")
    assert strokes.count == len(WRITTEN)

    for stop, held in enumerate(WRITTEN, 1):
        program = armed(tmp_path / str(stop), PROGRAM, f"strike({str(tmp_path / 'strokes')!r})")
        strokes.expect(stop)
        assert run(program).returncode == -signal.SIGKILL
        files = [each for each in (program.with_name("file"), program.with_name("renamed")) if each.exists()]
        assert (files[0].read_bytes() if files else b"") == held
        assert program.with_name("renamed").exists() == (stop >= 4)


def test_permissions_bind_root_too(tmp_path: Path) -> None:
    """Where that can be had."""
    if not faulty.obeys(sys.executable):
        pytest.skip("root obeys no permissions here")
    text = "import pathlib, sys\npathlib.Path(sys.argv[1], 'file').write_text('x')\n"
    program = armed(tmp_path / "locked", text, "obey()")
    assert run(program).returncode == 0
    program.with_name("file").unlink()
    program.parent.chmod(0o555)
    try:
        assert "PermissionError" in run(program).stderr
    finally:
        program.parent.chmod(0o755)
