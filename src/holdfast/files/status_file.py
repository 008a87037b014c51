"""The small file behind the client's status line: one for each session, with the time of the last save and the line.

Events and commands write it, as long as `holdfast install --statusline` has made its folder.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.files import access, atomic

if TYPE_CHECKING:
    from pathlib import Path

ARGUMENT = "--status"
"""The relay's argument for the status line."""
STALE_S = 7 * 86400.0
"""Age at which the file of a session that never ended is removed."""
_SESSION = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)
_LIMIT_BYTES = 4096
_PAYLOAD_LIMIT_BYTES = 1 << 20


def folder() -> Path:
    """Return the folder of the files; it exists as long as somebody wants a status line."""
    return paths.state_dir() / "status"


def path(session: str) -> Path | None:
    """Return a session's file, or None for an id that names none."""
    return folder() / session if _SESSION.fullmatch(session) else None


def write(session: str, line: str, saved_at_s: int) -> None:
    """Write what a session's status line shows, unless it is there already; an empty line removes the file.

    `saved_at_s` is when the workflow was saved last, in seconds since 1970, or 0. Raises StateError.
    """
    place = path(session)
    if place is None:
        return
    if not line:
        if os.path.lexists(place):  # a session without a workflow, or a rehearsal, only looks
            place.unlink(missing_ok=True)
        return
    data = f"{saved_at_s}\n{line}\n".encode()
    if access.read_own(place, _LIMIT_BYTES) != data:
        atomic.write(place, data, mode=0o600, durable=False)


def sweep() -> None:
    """Remove the files of sessions that were silent for `STALE_S`. Never raises."""
    with suppress(OSError):
        for each in folder().iterdir():
            if each.lstat().st_mtime < time.time() - STALE_S:
                each.unlink()


def main(argument: str | None = None, entry: str = "") -> int:
    """Print the status line that `text` returns, and return the exit code 0. The arguments are every program's."""
    os.write(1, text())
    return 0


def text() -> bytes:
    """Return the status line of the session that the client names on stdin, or nothing."""
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        place = path(str(json.loads(_payload())["session_id"]))
        saved, line, _ = ((place and access.read_own(place, _LIMIT_BYTES)) or b"").decode().split("\n", 2)
        when = f" · saved {age(int(time.time()) - int(saved))}" if int(saved) else ""
        return f"{line}{when}\n".encode()
    return b""


def _payload() -> bytes:
    """Return the client's input; empty on a terminal, where no client sends any."""
    with suppress(OSError), os.fdopen(0, "rb", closefd=False) as stdin:
        return b"" if stdin.isatty() else stdin.read(_PAYLOAD_LIMIT_BYTES)
    return b""


def age(seconds: int) -> str:
    """Return how long ago something was, in words; a time to come counts as now."""
    if seconds < 60:
        return "just now"
    length, unit = next(each for each in ((86400, "d"), (3600, "h"), (60, "min")) if seconds >= each[0])
    return f"{seconds // length} {unit} ago"
