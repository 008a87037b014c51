"""The small file behind the client's status line: one for each session, printed by the relay.

Events and commands write it, as long as `holdfast install --statusline` has made its folder. Relays of earlier versions
read it themselves, so neither its place nor its form may change: an installed relay outlives an upgrade.
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
LIMIT_BYTES = 512
"""The largest file; a larger one isn't printed."""
STALE_S = 7 * 86400.0
"""Age at which the file of a session that never ended is removed."""
_HEAD = b"holdfast status 1\n"
_SESSION = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)
# No control characters: C0, DEL, and C1, which is C2 80 to C2 9F in UTF-8.
_CONTENT = re.compile(rb"([0-9]{1,12})\n((?:[^\0-\x1f\x7f\xc2]|\xc2(?![\0-\x9f]))+)\n")
_PAYLOAD_LIMIT_BYTES = 1 << 20


def folder() -> Path:
    """Return the folder of the files; it exists as long as somebody wants a status line."""
    return paths.state_dir() / "status"


def path(session: str) -> Path | None:
    """Return a session's file, or None for an id that names none."""
    return folder() / session if _SESSION.fullmatch(session) else None


def write(session: str, line: str, saved_at_s: int) -> None:
    """Write what a session's status line shows, unless it is there already; an empty line removes the file.

    A line that is too long is cut. `saved_at_s` is when the workflow was saved last, in seconds since 1970, or 0.
    Raises StateError.
    """
    place = path(session)
    if place is None:
        return
    head = _HEAD + b"%d\n" % saved_at_s
    text = line.encode("utf-8")[: LIMIT_BYTES - len(head) - 1].decode("utf-8", "ignore").encode("utf-8")
    if not text:
        if os.path.lexists(place):  # a session without a workflow, or a rehearsal, only looks
            place.unlink(missing_ok=True)
        return
    data = head + text + b"\n"
    if _read(place) != data:
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
    session = ""
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        session = str(json.loads(_payload())["session_id"])
    place = path(session)
    found = _CONTENT.fullmatch(_read(place).removeprefix(_HEAD)) if place and place.is_absolute() else None
    if not found:
        return b""
    saved = int(found[1])
    when = f" · saved {age(int(time.time()) - saved)}" if saved else ""
    return found[2] + when.encode("utf-8") + b"\n"


def _payload() -> bytes:
    """Return the client's input; empty on a terminal, where no client sends any."""
    with suppress(OSError), os.fdopen(0, "rb", closefd=False) as stdin:
        return b"" if stdin.isatty() else stdin.read(_PAYLOAD_LIMIT_BYTES)
    return b""


def _read(place: Path) -> bytes:
    """Return a file's content, or nothing if it isn't one of ours, in a folder that is ours alone."""
    try:
        above = place.parent.stat()
    except OSError:
        return b""
    private = above.st_uid == os.getuid() and not above.st_mode & 0o077
    data = access.read_own(place, LIMIT_BYTES) if private else None
    return data if data and data.startswith(_HEAD) else b""


def age(seconds: int) -> str:
    """Return how long ago something was, in words; a time to come counts as now."""
    if seconds < 60:
        return "just now"
    length, unit = next(each for each in ((86400, "d"), (3600, "h"), (60, "min")) if seconds >= each[0])
    return f"{seconds // length} {unit} ago"
