"""`holdfast status --watch` keeps the page up to date, and restores the terminal."""

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

from tests.commandline import holdfast
from tests.processes import FOREGROUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
WATCH = [sys.executable, "-m", "holdfast", "status", "--watch"]
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


# Its stdin becomes the terminal whose Ctrl-C reaches it.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
ON_TERMINAL = [sys.executable, "-c", TAKE, *FOREGROUND, *WATCH]


class Terminal:
    """A process on a pseudo-terminal."""

    def __init__(self, root: Path, *arguments: str, size: tuple[int, int] = (40, 80), **environ: str) -> None:
        self.said = ""
        self._end, other = os.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen(
            [*ON_TERMINAL, *arguments],
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
        poll = select.poll()  # select() takes no descriptor above 1023
        poll.register(self._end, select.POLLIN)
        if not poll.poll(patience * 1000):
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
    """It waits for a workflow, shows it, follows `holdfast done`, and ends on Ctrl-C with 0 and the page."""
    (tmp_path / ".claude").mkdir()
    terminal = Terminal(tmp_path)
    terminals.append(terminal)
    terminal.until("no workflow is in progress")
    assert terminal.said.count(ENTER) == 1

    command(tmp_path, "start", "Book", "--phase", "Draft", "--phase", "Review")
    terminal.until("[>] 1. Draft")
    command(tmp_path, "done")
    terminal.until("[>] 2. Review")

    terminal.type(b"\x03")
    assert terminal.ended() == 0
    end = terminal.said.rpartition(LEAVE)
    assert SHOW_CURSOR in end[0]
    assert "[>] 2. Review" in plain(end[2])


@pytest.mark.slow
def test_what_does_not_fit_is_counted(tmp_path: Path, terminals: list[Terminal]) -> None:
    """A small terminal gets the phases that matter now, and the end of the page is cut off."""
    (tmp_path / ".claude").mkdir()
    phases = [word for number in range(1, 20) for word in ("--phase", f"Part {number}")]
    command(tmp_path, "start", "Book", *phases)
    command(tmp_path, "done")
    terminal = Terminal(tmp_path, size=(16, 80))
    terminals.append(terminal)
    terminal.until("more lines")

    page = plain(terminal.said)
    assert "1 completed" in page
    assert "2. Part 2" in page
    assert re.search(r"\d+ more$", page, re.MULTILINE) or "more lines" in page
    assert "Part 19" not in page


def test_a_signal_leaves_a_clean_terminal(tmp_path: Path, terminals: list[Terminal]) -> None:
    """Whoever ends it, the terminal is as it was; the exit code says which signal it was."""
    terminal = Terminal(tmp_path)
    terminals.append(terminal)
    terminal.until("no workflow is in progress")

    terminal.process.send_signal(signal.SIGTERM)

    assert terminal.ended() == 128 + signal.SIGTERM
    assert terminal.said.rstrip().endswith(LEAVE)
    assert SHOW_CURSOR in terminal.said


def test_without_a_terminal_it_names_another_command(tmp_path: Path, terminals: list[Terminal]) -> None:
    """A pipe and TERM=dumb can't be drawn on."""
    assert "`holdfast status` prints" in holdfast("status", "--watch", root=tmp_path, code=1).err
    terminal = Terminal(tmp_path, TERM="dumb")
    terminals.append(terminal)
    terminal.until("`holdfast status` prints")
    assert terminal.ended() == 1
    assert "\x1b" not in terminal.said


def test_an_unknown_name_ends_it(tmp_path: Path, terminals: list[Terminal]) -> None:
    """It waits for a first workflow, but not for one with a name that may be misspelt."""
    terminal = Terminal(tmp_path, "nosuch")
    terminals.append(terminal)
    terminal.until("nosuch")
    assert terminal.ended() == 1
