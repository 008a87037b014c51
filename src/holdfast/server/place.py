"""What a process takes over to answer an event in another one's place."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from holdfast.process import caller


@dataclass(frozen=True, slots=True)
class Place:
    """All that a hook's process was started with beside its descriptors.

    Attributes:
        environ: its environment.
        folder: its current folder.
        mask: its umask.
        process: its id.
    """

    environ: dict[bytes, bytes]
    folder: bytes
    mask: int
    process: int

    def enter(self) -> None:
        """Be in its folder. Raises OSError where that cannot be entered."""
        os.chdir(self.folder)

    def take(self) -> None:
        """Have all the rest of it."""
        os.umask(self.mask)
        zone = os.environb.get(b"TZ")
        if os.environb != self.environ:
            os.environb.clear()
            os.environb.update(self.environ)
        if self.environ.get(b"TZ") != zone:
            time.tzset()
        caller.set_process(self.process)
