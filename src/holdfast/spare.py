"""A child for an event's handlers that is forked before the event comes, since forking is what takes longest."""

from __future__ import annotations

import os
import pickle
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.child import CHUNK, Child

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.place import Place

_HEAD = struct.Struct("!Q")


@dataclass
class Spare:
    """A child that waits for what it is to do.

    Attributes:
        child: the process.
        place: whose place it takes; to be known by the time it begins.
        begun: whether it has something to do.
    """

    child: Child
    place: Place | None = None
    begun: bool = False

    @classmethod
    def fork(cls, prepare: Callable[[], object] = lambda: None) -> Spare:
        """Start one. It ends without a word if whoever forked it does.

        Args:
            prepare: what it does first, to let go of what is not for handlers.
        """
        return cls(Child.fork(lambda report, captured, heard: _wait(prepare, report, captured, heard)))

    def close(self) -> None:
        """Let it end if it has nothing to do."""
        if not self.begun:
            self.child.close()
            os.waitpid(self.child.pid, 0)

    def begin(self, work: Callable[..., None], *given: Any) -> Child:
        """Have it do its work, and return it as the child that it is from now on.

        Args:
            work: a function of a module; it is called with what is `given` and the child's ends of the pipes
                (`Child.fork`).
            given: what it needs; copies of it arrive there (`pickle`).

        Raises:
            OSError: the child is dead.
        """
        self.begun = True
        data = pickle.dumps((self.place, work, given), pickle.HIGHEST_PROTOCOL)
        view = memoryview(_HEAD.pack(len(data)) + data)
        while view:
            view = view[os.write(self.child.verdict, view) :]
        return self.child


def _wait(prepare: Callable[[], object], report: int, captured: int, heard: int) -> None:
    prepare()
    head = _read(heard, _HEAD.size)
    if not head:
        return
    place, work, given = pickle.loads(_read(heard, _HEAD.unpack(head)[0]))
    if place:
        place.take()
    work(*given, report, captured, heard)


def _read(descriptor: int, size: int) -> bytes:
    """Read so many bytes, and no more; nothing if they do not all come."""
    parts = bytearray()
    while len(parts) < size:
        part = os.read(descriptor, min(size - len(parts), CHUNK))
        if not part:
            return b""
        parts += part
    return bytes(parts)
