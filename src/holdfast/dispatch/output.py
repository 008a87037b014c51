"""Putting a reply where the client reads it: stdout, stderr and the environment file."""

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
        stdout: what is printed; empty when there is nothing to say, never `{}`.
        stderr: only beside exit code 2, and where silence is a failure: the reason.
        exit_code: 0, or 2 where that is how the client is told no.
        delivered: positions, in the merged sequence, of the advice that stands in the reply whole.
        variables: environment variables for the model's commands.
        path: folders to append to the model's PATH.
        shares: how many UTF-16 units each of the merged sequence puts into the model's context, by position; what
            only the user, a permission or the client itself gets counts as none.
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
        private: descriptors that no handler may get hold of.
        written: whether the reply went out; a second one would make both unreadable.
    """

    written = False

    def __init__(self, private: Sequence[int] = ()) -> None:
        """Keep private copies and point the standard descriptors away from the client.

        Args:
            private: more descriptors that handlers may not get hold of.
        """
        self._client = (os.dup(1), os.dup(2))
        self.private = (*self._client, *private)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def write(self, reply: Reply) -> None:
        """Write the reply, once and whole; a client that has gone is nobody's error."""
        self.written = True
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # half a reply is none
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
        """Tell whoever waits for another process than this one that an answer may come until then.

        Args:
            until: a moment of `time.monotonic()`. Here nobody has to be told.
        """

    def give_back(self) -> None:
        """Make the client's streams the standard ones again, for a program that this process becomes."""
        for number, descriptor in enumerate(self._client, start=1):
            os.dup2(descriptor, number)

    def answerable(self) -> bool:
        """Tell whether anybody waits for a reply from this very process."""
        return not self.written

    def close(self) -> None:
        """Let go of the client's streams: as long as anybody holds them it waits for more."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, *self._client):
            os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def let_go(self, code: int) -> bool:
        """Let the client go on with an exit code if it waits for another process than this one; tell whether it does.

        Here it waits for the end of this very process.
        """
        return False


def write_environment(reply: Reply, target: str | None) -> None:
    """Append variables to the file that the client reads before each Bash command, unless they stand there."""
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
        log.write("warning", f"the environment file could not be written: {error}")
