"""Telling whether what the server has loaded is still what lies on the disk."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from holdfast import paths

Look = tuple[int, int, int] | None


@dataclass(frozen=True)
class Stamps:
    """How files and folders looked when what they hold was loaded.

    Of Holdfast itself each file counts, since people edit checkouts; of other packages the folder, which an
    installer never leaves as it was; of the standard library the interpreter.

    Attributes:
        seen: by path, the inode, size and time of change; None for what was not there.
    """

    seen: dict[str, Look]

    @classmethod
    def of(cls, entry: str) -> Stamps:
        """Return how all that is loaded looks now, the entrypoint's file and the user's configuration among it."""
        wanted = {entry, str(paths.user_config()), os.path.realpath(sys.executable), str(paths.shipped("handlers"))}
        standard = sysconfig.get_path("stdlib") + os.sep
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if not file:
                continue
            ours = module.__name__.partition(".")[0] == "holdfast"
            outside = not file.startswith(standard) or f"{os.sep}site-packages{os.sep}" in file
            if ours or outside:
                wanted.add(file if ours else str(Path(file).parent))
        return cls({each: _look(each) for each in sorted(wanted)})

    def changed(self) -> str:
        """Return the first path that looks otherwise by now, or nothing."""
        return next((path for path, seen in self.seen.items() if _look(path) != seen), "")


def _look(path: str) -> Look:
    try:
        found = os.stat(path)  # noqa: PTH116 - for each event, and of hundreds
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
