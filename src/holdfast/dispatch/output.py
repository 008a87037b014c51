"""Write a reply where the client reads it: stdout, stderr and the environment file."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
        shares: position of a merged outcome → UTF-16 units that it puts into the model's context. What goes only to
            the user, a permission or the client itself doesn't count.
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

    Attributes:
        private: descriptors that no handler may inherit.
        written: whether a reply was written; a second one would make both unreadable.
    """

    written = False

    def __init__(self, private: Sequence[int] = ()) -> None:
        """Keep private copies of the client's streams and point the standard descriptors to /dev/null.

        Args:
            private: more descriptors that no handler may inherit.
        """
        self._client = (os.dup(1), os.dup(2))
        self.private = (*self._client, *private)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def write(self, reply: Reply) -> None:
        """Write the reply, uninterrupted; it is no error if the client is gone."""
        self.written = True
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # half a reply is useless
        try:
            self._write(reply)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def _write(self, reply: Reply) -> None:
        for descriptor, text in zip(self._client, (reply.stdout, reply.stderr), strict=True):
            data = memoryview(text.encode("utf-8", errors="replace"))
            try:
                while data:
                    data = data[os.write(descriptor, data) :]
            except OSError:
                return

    def expect(self, until: float) -> None:
        """Announce when the answer will have come, to a relay that waits for it. Here the client itself waits: a no-op.

        Args:
            until: the `time.monotonic()` by which the answer comes.
        """

    def give_back(self) -> None:
        """Make the client's streams the standard ones again, for a program that replaces this process."""
        for number, descriptor in enumerate(self._client, start=1):
            os.dup2(descriptor, number)

    def answerable(self) -> bool:
        """Return whether anybody still waits for a reply from this process."""
        return not self.written

    def close(self) -> None:
        """Close the client's streams, because the client waits as long as any process holds them open."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, *self._client):
            os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def let_go(self, code: int) -> bool:
        """Release a client that waits for another process than this one. Return whether it does.

        Here it waits for this process itself, so it can't be released early.

        Args:
            code: the exit code for the client.
        """
        return False


def write_environment(reply: Reply, target: str | None) -> None:
    """Append a reply's variables to the file that the client reads before each Bash command, unless it has them.

    Args:
        reply: the reply, with variables and folders for PATH.
        target: the file's path, if the client named one.
    """
    if not target or not (reply.variables or reply.path):
        return
    from shlex import quote

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
