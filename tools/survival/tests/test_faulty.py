"""The throw-away launcher suffers the fault it is told to, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tools.survival import faulty
from tools.survival.faulty import NEVER, Strokes

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """#!/bin/sh
import os, sqlite3, sys
with open(sys.argv[1] + "/log", "a") as log:
    log.write("begun\\n")
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
BOUNDARIES = 5  # the table, the bytes, the sync, the rename in the child, the row; what is only read is none


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that writes, with the counter armed in front of it."""
    program = tmp_path / "run"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    call = f"strike({str(tmp_path / 'strokes')!r})"
    faulty.arm(program, call, interpreter=sys.executable)
    return program


def run(program: Path) -> subprocess.CompletedProcess[str]:
    """Run it in its own folder."""
    return subprocess.run([program, program.parent], capture_output=True, text=True, timeout=500, check=False)


def test_boundaries_are_counted_also_those_of_children(program: Path, tmp_path: Path) -> None:
    """Nothing is killed; the program sees its own name."""
    strokes = Strokes(tmp_path / "strokes")
    ended = run(program)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip().endswith("run.real")
    assert strokes.count == BOUNDARIES
    strokes.expect(NEVER)
    assert strokes.count == 0


@pytest.mark.parametrize("stop", range(1, BOUNDARIES + 1))
def test_the_process_is_killed_right_after_a_boundary(program: Path, tmp_path: Path, stop: int) -> None:
    """With what was written until then, of a file's bytes half."""
    Strokes(tmp_path / "strokes").expect(stop)
    ended = run(program)
    assert ended.returncode == -signal.SIGKILL
    written = [each for each in (tmp_path / "file", tmp_path / "renamed") if each.exists()]
    held = written[0].read_bytes() if written else b""
    assert held == (b"", b"01234", b"0123456789", b"0123456789", b"0123456789")[stop - 1]
    assert (tmp_path / "renamed").exists() == (stop >= 4)


def test_a_program_is_moved_aside_once(program: Path) -> None:
    """However often it is armed."""
    faulty.arm(program, "obey()", interpreter=sys.executable)
    assert program.with_name("run.real").read_text() == PROGRAM


def test_permissions_bind_root_too(tmp_path: Path) -> None:
    """Where that can be had."""
    if not faulty.obeys(sys.executable):
        pytest.skip("root obeys no permissions here")
    program = tmp_path / "run"
    program.write_text("import pathlib, sys\npathlib.Path(sys.argv[1], 'file').write_text('x')\n")
    faulty.arm(program, "obey()", interpreter=sys.executable)
    assert run(program).returncode == 0
    (tmp_path / "file").unlink()
    tmp_path.chmod(0o555)
    try:
        assert "PermissionError" in run(program).stderr
    finally:
        tmp_path.chmod(0o755)
    assert os.access(tmp_path, os.W_OK)
