"""Which version of Claude Code is installed, and which events it knows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress

from holdfast.clients.claude.events import EVENTS, OLDEST_CLIENT_EVENTS

ALL_EVENTS_SINCE = (2, 1, 251)
"""The first client that has every event Holdfast knows (client fact §1.1)."""

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
    return _read(_VERSION.search(_output([program, "--version"]))) if program else None


def of_session() -> Version | None:
    """Return the version of the client that runs this process as a hook or a command; None outside a session."""
    return _read(_AGENT.match(os.environ.get("AI_AGENT", "")))


def knows_all_events() -> bool:
    """Return whether the installed client is new enough for every event."""
    return _new(version())


def session_knows_all_events() -> bool:
    """Return whether this is a session of a client that is new enough for every event; starts no program."""
    return _new(of_session())


def why_not_registered() -> str:
    """Return why an event that older clients lack isn't registered, and the command that registers it."""
    installed, since = version(), _words(ALL_EVENTS_SINCE)
    if installed is None:
        return (
            f"clients older than {since} don't know it, and there is no claude on PATH to ask for its version."
            " With claude on PATH: holdfast install"
        )
    if not _new(installed):
        return f"the installed client is {_words(installed)}. After an update to {since} or newer: holdfast install"
    return "it wasn't when you ran the last install. To register it: holdfast install"


def _new(installed: Version | None) -> bool:
    return installed is not None and installed >= ALL_EVENTS_SINCE


def _read(found: re.Match[str] | None) -> Version | None:
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _words(number: Version) -> str:
    return ".".join(map(str, number))


def known_events(everything: bool) -> frozenset[str]:
    """Return the events that may be registered; with an older client, an unknown name can silence a whole file."""
    return frozenset(EVENTS) if everything else OLDEST_CLIENT_EVENTS


def _output(call: list[str]) -> str:
    """Return what a program prints, empty if it fails. After the timeout it is killed with its child processes."""
    try:
        process = subprocess.Popen(
            call,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return ""
    with process:
        try:
            printed = process.communicate(timeout=_TIMEOUT_S)[0]
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return ""
    return printed.decode("utf-8", "replace") if process.returncode == 0 else ""
