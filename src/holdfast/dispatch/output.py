"""Write a reply where the client reads it: stdout, stderr and the environment file."""

from __future__ import annotations

import os
import re
import select
import signal
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from holdfast import log

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Reply:
    """The merged outcomes of one event.

    Attributes:
        stdout: the printed text; empty if there is nothing to say, never `{}`.
        stderr: the reason, with exit code 2 or where silence is a failure; otherwise empty.
        exit_code: 0, or 2 for a refusal on events that know no JSON decision.
        delivered: positions, among the merged outcomes, of advice and messages that the reply contains in full.
        variables: environment variables for the model's commands.
        path: folders to append to the model's PATH.
        shares: position of a merged outcome → UTF-16 units of its text for the model, before it is cut to fit. What
            goes only to the user, a permission or the client itself doesn't count.
    """

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    delivered: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    shares: Mapping[int, int] = field(default_factory=dict, compare=False)


class Streams:
    """The client's stdout and stderr, out of reach of everything that prints while handlers run.

    Here the client waits for this process itself. In a worker of the server it waits for the relay (`server.worker`).

    Attributes:
        private: descriptors that no handler may inherit.
        answered: whether the event is answered; a second answer would make both unreadable.
        exit_code: the code with which the client's process ends.
    """

    answered = False
    exit_code = 0
    _reply: Reply | None = None

    def __init__(self) -> None:
        """Keep private copies of the client's streams and point the standard descriptors to /dev/null."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        self.private: tuple[int, ...] = (_copy(1, nowhere), _copy(2, nowhere))
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def expect(self, until: float) -> None:
        """Announce by which `time.monotonic()` the reply comes."""

    def write(self, reply: Reply) -> None:
        """Take the reply.

        The client waits until this process has ended, so the reply is printed last (`close`). If the process is killed
        before that, it has printed nothing, and the registered command can refuse.
        """
        self.answered, self.exit_code, self._reply = True, reply.exit_code, reply

    def delivered(self) -> bool:
        """Return whether the client has the reply; wait until that is known."""
        self.close()
        return True

    def release(self) -> None:
        """Let the client go on, if it needn't wait until this process has ended."""

    def close(self) -> None:
        """Print the reply, unless that is done; it is no error if the client is gone.

        From here on no signal that can be caught ends this process: with another exit code than the reply's, the
        registered command would print a refusal behind it.
        """
        if not self._reply:
            return
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, lambda *_: None)
        reply, self._reply = self._reply, None
        for descriptor, text in zip(self.private, (reply.stdout, reply.stderr), strict=True):
            try:
                _print(descriptor, text)
            except OSError:
                return

    def refuse(self, event: str, why: str, guard: str) -> None:
        """Have `refuse.sh` refuse the event instead of this process.

        Args:
            event: the event's name.
            why: what happened, in letters that need no escape in JSON (`plain`).
            guard: the strict handlers that would have been called.

        Raises:
            OSError: the shell can't be started. The registered command then tries.
        """
        for number, descriptor in enumerate(self.private, start=1):
            os.dup2(descriptor, number)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the client is not to end the refusal
        script = str(Path(__file__).parents[1] / "refuse.sh")
        os.execv("/bin/sh", ["sh", script, event, why, "", "", "", "", guard])


def _print(descriptor: int, text: str) -> None:
    """Write a text, also to a pipe that the client made non-blocking."""
    data = memoryview(text.encode("utf-8", errors="replace"))
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def _copy(stream: int, nowhere: int) -> int:
    """Return a copy of a standard stream, or of /dev/null if it is closed."""
    try:
        return os.dup(stream)
    except OSError:
        return os.dup(nowhere)


def plain(text: str) -> str:
    """Return a text with only the characters that `refuse.sh` quotes."""
    return re.sub(r"[^A-Za-z0-9_.,' ()-]", " ", text)


def write_environment(reply: Reply, target: str | None) -> None:
    """Append a reply's variables to the file that the client reads before each Bash command, unless it has them.

    Args:
        reply: the reply, with variables and folders for PATH.
        target: the file's path, if the client named one.
    """
    if not target or not (reply.variables or reply.path):
        return
    lines = [f"export {name}={quote(value)}" for name, value in reply.variables.items()]
    lines += [f'export PATH="$PATH":{quote(folder)}' for folder in reply.path]
    try:
        known = Path(target).read_text("utf-8", "surrogateescape") if Path(target).exists() else ""
        new = "".join(f"{line}\n" for line in lines if f"\n{line}\n" not in f"\n{known}\n")
        if new:
            with Path(target).open("a", encoding="utf-8") as file:
                file.write(new if not known or known.endswith("\n") else "\n" + new)
    except (OSError, ValueError) as error:
        log.write("warning", f"the environment file couldn't be written: {error}")
