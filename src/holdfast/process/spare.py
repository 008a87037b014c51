"""A child process for an event's handlers, forked before the event comes because forking takes longest."""

from __future__ import annotations

import os
import pickle
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.process.child import CHUNK_BYTES, Child

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = struct.Struct("!Q")


@dataclass
class Spare:
    """A child process that waits for instructions and works in parallel to its parent.

    Attributes:
        child: the process.
    """

    child: Child

    @classmethod
    def fork(cls, work: Callable[[Told, int, int, int], None]) -> Spare:
        """Start a child.

        Args:
            work: what the child runs. It gets the parent's instructions and the child's ends of the pipes
                (`Child.fork`).
        """
        return cls(Child.fork(lambda report, captured, heard: work(Told(heard), report, captured, heard)))

    def tell(self, *given: Any) -> None:
        """Send pickled copies of `given` to the child; nothing happens if it is dead."""
        data = pickle.dumps(given, pickle.HIGHEST_PROTOCOL)
        view = memoryview(_HEAD.pack(len(data)) + data)
        with suppress(OSError):
            while view:
                view = view[os.write(self.child.verdict, view) :]

    def close(self) -> None:
        """Let the child end, if it hasn't: its next instruction is None. Wait for its end."""
        if self.child.pid:
            self.child.close()
            os.waitpid(self.child.pid, 0)
            self.child.pid = 0


class Told:
    """The instructions for a spare child, on the child's side."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def next(self) -> tuple[Any, ...] | None:
        """Wait for the next instruction; None if none will come, because the parent doesn't need this child."""
        head = self._read(_HEAD.size)
        body = self._read(_HEAD.unpack(head)[0]) if head else b""
        given: tuple[Any, ...] | None = pickle.loads(body) if body else None
        return given

    def _read(self, size: int) -> bytes:
        """Read exactly `size` bytes; return b"" if they don't all come."""
        parts = bytearray()
        while len(parts) < size:
            part = os.read(self._descriptor, min(size - len(parts), CHUNK_BYTES))
            if not part:
                return b""
            parts += part
        return bytes(parts)
