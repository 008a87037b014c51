"""A program is run to see how it ends, and no process it started survives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.process.run_program import CompletedProgram, run_program
from tests import waiting
from tests.warmth import gone


def run(script: str, cwd: Path, stdin: bytes = b"", limit: float = 30.0) -> CompletedProgram:
    return run_program(["/bin/sh", "-c", script], stdin, {"PATH": os.defpath, "WORD": "hello"}, cwd, limit)


def test_what_it_said_and_how_it_ended(tmp_path: Path) -> None:
    """Exit code, both streams, the environment and the folder it was given."""
    ended = run("cat; echo $WORD; pwd >&2; exit 3", tmp_path, b"in ")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (3, "in hello\n", f"{tmp_path}\n")


def test_one_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """Its children too, which would keep the pipes open; what it said until then is kept."""
    ended = run("echo said; sleep 600 & echo $! > child; sleep 600", tmp_path, limit=0.3)
    assert (ended.exit_code, ended.stdout) == (None, "said\n")
    child = int((tmp_path / "child").read_text())
    waiting.until(lambda: gone(child))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_what_it_leaves_behind_is_ended(tmp_path: Path) -> None:
    """A child in the background that holds no pipe."""
    ended = run("sleep 600 >/dev/null 2>&1 </dev/null & echo $! > child", tmp_path)
    assert ended.exit_code == 0
    child = int((tmp_path / "child").read_text())
    waiting.until(lambda: gone(child))


def test_what_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    """The system says why."""
    with pytest.raises(FileNotFoundError):
        run_program([str(tmp_path / "none")], b"", {}, tmp_path, 1.0)


def test_one_that_does_not_read_its_stdin_is_fine(tmp_path: Path) -> None:
    """However much it is given."""
    assert run("exit 0", tmp_path, b"x" * 1_000_000).exit_code == 0
