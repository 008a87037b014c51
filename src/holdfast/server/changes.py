"""Notice when files that the server has loaded have changed on disk."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from holdfast import paths

Look = tuple[int, int, int] | None

_ANYTHING = 0x2 | 0x4 | 0xC0 | 0x300 | 0xC00  # IN_MODIFY, IN_ATTRIB, IN_MOVE, IN_CREATE and _DELETE, IN_*_SELF


class Changes:
    """The status of files and folders at the time the server loaded them.

    For Holdfast itself each file counts, because people edit checkouts. For another package its folder counts, which an
    installer always changes; for the standard library, the interpreter. Looking at all of them takes a third of a
    millisecond, so where inotify is available this looks only after a change.
    """

    def __init__(self, entry: str) -> None:
        """Look at everything that is loaded, the entrypoint's file, the user's configuration and the format index."""
        self._seen = {
            each: _look(each)
            for each in sorted(_loaded() | {entry, str(paths.user_config()), str(paths.format_index())})
        }
        self._watch = _Watch()
        self._watch.over(self._seen)

    def since(self, moment: float) -> str:
        """Return the first file that changed after a time (seconds since 1970), or an empty string.

        Folders are left out, because any process that loads a package may write its bytecode there.
        """
        young = (path for path, seen in self._seen.items() if seen and seen[2] > moment * 1e9)
        return next((path for path in young if Path(path).is_file()), "")

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when something may have changed; -1 without inotify."""
        return self._watch.descriptor

    def found(self) -> str:
        """Return the first path whose status has changed, or an empty string."""
        if not self._watch.stirred():
            return ""
        self._watch.over(self._seen)  # watch folders that didn't exist before
        return next((path for path, seen in self._seen.items() if _look(path) != seen), "")

    def close(self) -> None:
        """Stop watching."""
        self._watch.close()


class _Watch:
    """An inotify watch on folders; without inotify, `stirred` is always true."""

    def __init__(self) -> None:
        self.descriptor = -1
        try:
            import ctypes

            self._libc = ctypes.CDLL(None, use_errno=True)
            self.descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)  # inotify(7): the same flags
        except (ImportError, OSError, AttributeError):  # no Linux
            return

    def over(self, files: dict[str, Look]) -> None:
        """Watch the folders of files, or their nearest existing parents; if one can't be watched, watch nothing."""
        for folder in {_existing(Path(file).parent) for file in files} | {Path(file) for file in files}:
            if self.descriptor >= 0 and folder.is_dir() and self._add(folder) < 0:
                self.close()

    def _add(self, folder: Path) -> int:
        return int(self._libc.inotify_add_watch(self.descriptor, os.fsencode(folder), _ANYTHING))

    def stirred(self) -> bool:
        """Return whether something may have changed since the last call."""
        if self.descriptor < 0:
            return True
        told = False
        try:
            while os.read(self.descriptor, 65_536):
                told = True
        except BlockingIOError:
            return told
        return True

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _existing(folder: Path) -> Path:
    return next((each for each in (folder, *folder.parents) if each.is_dir()), Path("/"))


def _loaded() -> set[str]:
    """Return the loaded files of Holdfast, the folders of other loaded packages, and the interpreter."""
    wanted = {os.path.realpath(sys.executable), str(paths.shipped("handlers"))}
    standard = sysconfig.get_path("stdlib") + os.sep
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not file or not Path(file).is_absolute() or module.__name__ == "__main__":
            continue  # `__main__` is the entrypoint, whose folder is no package
        if module.__name__.partition(".")[0] == "holdfast":
            wanted.add(file)
        elif not file.startswith(standard) or f"{os.sep}site-packages{os.sep}" in file:
            wanted.add(str(Path(file).parent))
    return wanted


def _look(path: str) -> Look:
    try:
        found = os.stat(path)  # noqa: PTH116 - quicker; without inotify each event looks at hundreds
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
