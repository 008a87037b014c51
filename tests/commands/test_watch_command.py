"""`holdfast watch` keeps the page up to date, restores the terminal and doesn't touch the project."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from holdfast.commands import watch
from tests.commandline import holdfast
from tests.processes import FOREGROUND
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
WATCH = [sys.executable, "-m", "holdfast", "watch"]
PATIENCE = 60.0  # seconds until a process that says nothing is given up
ENTER, LEAVE, SHOW_CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal of whoever runs the tests is like."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def plain(screen: str) -> str:
    """Return what is to be read of what a terminal was sent."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "")


@each_row("interval", ["0", "-1", "x", "nan"])
def test_an_interval_must_be_one(tmp_path: Path, interval: str) -> None:
    """No busy loop by accident."""
    assert "--interval" in holdfast("watch", "--interval", interval, root=tmp_path, code=2).err


def test_an_output_that_fails_otherwise_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk under `holdfast watch > file` is no good end."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(watch, "tell", full)

    assert "No space left on device" in holdfast("watch", root=tmp_path, code=1).err


@pytest.mark.parametrize("number", [5, 32])
def test_an_output_that_is_gone_is_a_good_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The reader closed the pipe, or the terminal's window was closed."""

    def gone(*_: object) -> None:
        raise OSError(number, "gone")

    monkeypatch.setattr(watch, "tell", gone)

    assert holdfast("watch", root=tmp_path).err == ""


ON_PIPE = [*FOREGROUND, *WATCH]
# Its stdin becomes the terminal whose Ctrl-C and Ctrl-Z reach it.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
ON_TERMINAL = [sys.executable, "-c", TAKE, *ON_PIPE]


class Terminal:
    """A process on a pseudo-terminal."""

    def __init__(self, root: Path, *, size: tuple[int, int] = (40, 80), **environ: str) -> None:
        self.said = ""
        self._end, other = os.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen(
            ON_TERMINAL,
            cwd=root,
            env={**os.environ, "TERM": "xterm-256color", **environ},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)

    def type(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._end, key)

    def until(self, words: str) -> None:
        """Read until some words were said."""
        deadline = time.monotonic() + PATIENCE
        while words not in plain(self.said) and words not in self.said:
            assert time.monotonic() < deadline, f"{words!r} never came: {self.said!r}"
            assert self._read(), f"it ended before {words!r}: {self.said!r}"

    def until_stopped(self) -> None:
        """Wait until the process was stopped (Ctrl-Z)."""
        self._until(lambda: os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None)

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        self._until(lambda: self.process.poll() is not None)
        return self.process.returncode

    def close(self) -> None:
        """Let nothing be left behind."""
        os.close(self._end)
        self.process.kill()
        self.process.wait()

    def _until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            self._read(0.05)
            assert time.monotonic() < deadline, f"it never happened: {self.said!r}"
        while self._read(0.05):
            pass

    def _read(self, patience: float = 1.0) -> bool:
        """Read what there is; tell whether there may be more."""
        if not select.select([self._end], [], [], patience)[0]:
            return patience >= 1
        try:
            data = os.read(self._end, 65_536)
        except OSError:  # Linux, once the other end is closed
            return False
        self.said += data.decode("utf-8", "replace")
        return bool(data)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Close what a test opened."""
    opened: list[Terminal] = []
    yield opened
    for each in opened:
        each.close()


def command(root: Path, *arguments: str) -> None:
    """Run a command as a process of its own."""
    subprocess.run([sys.executable, "-m", "holdfast", *arguments], cwd=root, capture_output=True, check=True)


@pytest.mark.slow
def test_on_a_real_terminal(tmp_path: Path, terminals: list[Terminal]) -> None:
    """It starts, shows, changes with a `holdfast done`, stops and goes on, and ends on Ctrl-C with 0."""
    (tmp_path / ".claude").mkdir()
    command(tmp_path, "start", "Book", "--phase", "Draft", "--phase", "Review")
    terminal = Terminal(tmp_path)
    terminals.append(terminal)
    terminal.until("[>] 1. Draft")
    assert terminal.said.count(ENTER) == 1

    command(tmp_path, "done")
    terminal.until("[>] 2. Review")

    terminal.type(b"\x1a")
    terminal.until_stopped()
    assert terminal.said.index(SHOW_CURSOR) < terminal.said.index(LEAVE)
    terminal.said = ""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.until("[>] 2. Review")
    assert terminal.said.count(ENTER) == 1
    terminal.until("Ctrl-C ends")

    terminal.type(b"\x03")
    assert terminal.ended() == 0
    end = terminal.said.rpartition(LEAVE)
    assert SHOW_CURSOR in end[0]
    assert "[>] 2. Review" in plain(end[2])
    assert "Ctrl-C ends" not in end[2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_clean_terminal(tmp_path: Path, terminals: list[Terminal], number: signal.Signals) -> None:
    """Whoever ends it, the terminal is as it was; the exit code says which signal it was."""
    terminal = Terminal(tmp_path)
    terminals.append(terminal)
    terminal.until("Ctrl-C ends")

    terminal.process.send_signal(number)

    assert terminal.ended() == 128 + number
    assert terminal.said.rstrip().endswith(LEAVE)
    assert SHOW_CURSOR in terminal.said


def test_a_dumb_terminal_gets_no_sequences(tmp_path: Path, terminals: list[Terminal]) -> None:
    """TERM=dumb is told the page like a pipe."""
    terminal = Terminal(tmp_path, TERM="dumb")
    terminals.append(terminal)
    terminal.until("starts one.")
    terminal.type(b"\x03")

    assert terminal.ended() == 0
    assert "\x1b" not in terminal.said


def test_on_a_pipe_it_ends_on_an_interrupt(tmp_path: Path) -> None:
    """With exit code 0 and nothing on stderr; until then the page comes again when something changed."""
    with subprocess.Popen(ON_PIPE, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert watching.stdout.readline() == b"No workflow is in progress here.\n"
        command(tmp_path, "start", "Book", "--phase", "Draft")
        while watching.stdout.readline() != b"Book\n":
            assert watching.poll() is None
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 0
        assert watching.stderr.read() == b""
        assert b"\x1b" not in watching.stdout.read()


def test_a_pipe_that_is_closed_ends_it(tmp_path: Path) -> None:
    """Though nothing changes, so that it has nothing to write."""
    with subprocess.Popen(ON_PIPE, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        watching.stdout.readline()
        watching.stdout.close()
        assert watching.wait(PATIENCE) == 0
        assert watching.stderr.read() == b""


def test_a_pipe_that_is_closed_while_it_writes_ends_it(tmp_path: Path) -> None:
    """The interpreter has nothing to complain of at its end either."""
    reading, writing = os.pipe()
    os.close(reading)
    watching = subprocess.run(
        WATCH, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    os.close(writing)

    assert (watching.returncode, watching.stderr) == (0, b"")
