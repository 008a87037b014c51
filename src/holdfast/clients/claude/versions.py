"""Which version of Claude Code is installed, and which events it knows."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from holdfast.clients.claude.events import EVENTS, OLDEST_CLIENT_EVENTS, SINCE
from holdfast.process.run_program import run_program

_TIMEOUT_S = 5.0
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_AGENT = re.compile(r"claude-code[_/](\d+)[.-](\d+)[.-](\d+)(?:[_/]|$)")

Version = tuple[int, int, int]


def version() -> Version | None:
    """Return the version of the client whose session this is, else of the `claude` on PATH.

    Returns:
        The version, or None if there is no client or it doesn't answer within 5 seconds.
    """
    if here := of_session():
        return here
    program = shutil.which("claude")
    return read(_output([program, "--version"])) if program else None


def of_session() -> Version | None:
    """Return the version of the client that runs this process as a hook or a command; None outside a session."""
    return _read(_AGENT.match(os.environ.get("AI_AGENT", "")))


def read(text: str) -> Version | None:
    """Return the first version in a text, or None if it has none."""
    return _read(_VERSION.search(text))


def shown(version: Version) -> str:
    """Return a version as people write it: `2.1.332`."""
    return ".".join(map(str, version))


def known_events(version: Version | None) -> frozenset[str]:
    """Return the events that a client knows; for an unknown client, those of the oldest supported one.

    A settings file that names another event opens a dialog at a client's start, or is ignored as a whole.
    """
    newer = {name for name, since in SINCE.items() if version and version >= since}
    return (OLDEST_CLIENT_EVENTS | newer).intersection(EVENTS)


def _read(found: re.Match[str] | None) -> Version | None:
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _output(call: list[str]) -> str:
    """Return a program's output, empty if it fails. After the timeout it is killed with its child processes."""
    try:
        ended = run_program(call, b"", os.environ, Path("/"), _TIMEOUT_S)
    except OSError:
        return ""
    return ended.stdout if ended.exit_code == 0 else ""
