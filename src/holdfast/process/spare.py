"""A child for an event's handlers that is forked before the event comes, since forking is what takes longest."""

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
    """A child that waits to be told what to do, and does it in its own time.

    Attributes:
        child: the process.
    """

    child: Child

    @classmethod
    def fork(cls, work: Callable[[Told, int, int, int], None]) -> Spare:
        """Start one.

        Args:
            work: what it does, given what it is told and its own ends of the pipes (`Child.fork`).
        """
        return cls(Child.fork(lambda report, captured, heard: work(Told(heard), report, captured, heard)))

    def tell(self, *given: Any) -> None:
        """Tell it something; copies of what is `given` arrive there (`pickle`). One that has died hears nothing."""
        data = pickle.dumps(given, pickle.HIGHEST_PROTOCOL)
        view = memoryview(_HEAD.pack(len(data)) + data)
        with suppress(OSError):
            while view:
                view = view[os.write(self.child.verdict, view) :]

    def close(self) -> None:
        """Let it end if nobody else has: whoever waits to be told something hears that nothing comes."""
        if self.child.pid:
            self.child.close()
            os.waitpid(self.child.pid, 0)
            self.child.pid = 0


class Told:
    """What a spare child is told, as it hears it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def next(self) -> tuple[Any, ...] | None:
        """Wait for what comes next; None when nothing more does, since whoever forked us has no use for us."""
        head = self._read(_HEAD.size)
        body = self._read(_HEAD.unpack(head)[0]) if head else b""
        given: tuple[Any, ...] | None = pickle.loads(body) if body else None
        return given

    def _read(self, size: int) -> bytes:
        """Read so many bytes, and no more; nothing if they do not all come."""
        parts = bytearray()
        while len(parts) < size:
            part = os.read(self._descriptor, min(size - len(parts), CHUNK_BYTES))
            if not part:
                return b""
            parts += part
        return bytes(parts)
