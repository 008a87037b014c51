"""`holdfast server`: show, start or stop the warm server."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import clock, log, paths
from holdfast.commands import options
from holdfast.errors import HoldfastError, MissingError
from holdfast.files import document
from holdfast.install import launcher, native
from holdfast.server import control, protocol
from holdfast.workflow import wording

if TYPE_CHECKING:
    from holdfast.server.control import Running

_START_TIMEOUT_S = 20.0  # until a server must answer; it may have to end a hanging one first


@click.group(name="server")
def command() -> None:
    """Show, start and stop the warm server, which answers events without a cold start.

    The first event starts it. It stops after 15 minutes without an event, and when the code that it loaded changes. To
    switch it off, set HOLDFAST_SERVER=off in a session's environment, or `server = false` in your holdfast.toml.

    \b
    Examples:
      holdfast server status
      holdfast server stop
    """


@command.command()
@options.json_option
def status(as_json: bool) -> None:
    """Show the servers that run, and what they have answered.

    \b
    Examples:
      holdfast server status
      holdfast server status --json
    """
    found, why = control.running_servers(), control.off()
    if as_json:
        relays = dict(zip(("relay", "relay_reason"), native.running(), strict=True))
        options.print_json({"disabled_by": why, **relays, "servers": [_json(each) for each in found]})
        return
    for each in found:
        options.say(_line(each))
    kind, reason = native.running()
    if kind == "native":
        options.say(f"The relay is {kind}, {reason}.")
    elif kind:
        options.say(f"No relay is installed, so each event starts cold: {reason}.")
    if why:
        options.say(f"The server is switched off ({why}), so each event starts cold.")
    elif nowhere := _nowhere():
        options.say(f"No server can run: {nowhere}.")
    elif not found:
        options.say("No server runs. The next event of a session starts one, if Holdfast is installed.")


@command.command()
def start() -> None:
    """Start the server, and wait until it answers.

    \b
    Example:
      holdfast server start
    """
    if why := control.off():
        raise HoldfastError(f"the server is switched off ({why}); remove that, then run holdfast server start again")
    if nowhere := _nowhere():
        raise HoldfastError(f"no server can run: {nowhere}")
    entry = launcher.entry()
    _check(entry)
    if running := _of(entry):
        options.say(f"Already running. {_line(running)}")
        return
    known = log.tail(1)
    pid = control.begin([str(paths.launcher()), "--serve"])
    until = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < until:
        ended = bool(os.waitpid(pid, os.WNOHANG)[0]) if pid else True
        if running := _of(entry):
            options.say(f"Started. {_line(running)}")
            return
        if ended and not _claimed(entry):
            raise HoldfastError(f"the server stopped before it answered: {_reason(known)}")
        pid = 0 if ended else pid
        time.sleep(0.05)
    where = f"{paths.log_file()} or holdfast doctor may say why"
    raise HoldfastError(f"the server didn't answer within {_START_TIMEOUT_S:g} seconds; {where}")


@command.command()
def stop() -> None:
    """Stop all of your servers; events that are running finish.

    \b
    Example:
      holdfast server stop
    """
    found = control.running_servers()
    left = [each for each in found if not _ended(each)]
    if not found:
        options.say("No server runs.")
    if left:
        how = "; ".join(f"the {_name(each)}: {_ending(each)}" for each in left)
        raise HoldfastError(f"couldn't stop {how}")
    if not control.off():
        options.say(
            "The next event of a session starts another one. To prevent that, set HOLDFAST_SERVER=off in a session's "
            f"environment, or `server = false` at the top of {paths.user_config()}."
        )


def _nowhere() -> str:
    """Return why no server can listen on this machine, and what to do; empty if one can."""
    if protocol.address(str(launcher.entry()), dict(os.environb)):
        return ""
    return f"{control.folder()} is too long a path for a socket; set XDG_STATE_HOME to a shorter folder"


def _claimed(entry: Path) -> bool:
    """Return whether another process holds the launcher's address: it may be about to answer."""
    return bool(control.holder(Path(os.fsdecode(protocol.address(str(entry), dict(os.environb))))))


def _reason(known: list[str]) -> str:
    """Return why a server has ended, or where to look if the log doesn't say.

    Args:
        known: the log's last line before the server was started.
    """
    try:
        tempfile.TemporaryFile(dir=paths.ensure_own(control.folder())).close()
    except OSError as error:
        return f"{control.folder()} cannot be written ({error.strerror})"
    said = log.tail(1)
    return said[0] if said != known else f"{paths.log_file()} may say why, holdfast doctor too"


def _check(entry: Path) -> None:
    """Raise HoldfastError if the launcher is missing or wasn't written by Holdfast."""
    how = "holdfast install writes it (a plugin needs none: its next event starts its server)"
    try:
        text = document.read(entry)[0].decode("utf-8", "replace")
    except MissingError as error:
        raise HoldfastError(f"there is no launcher {entry} to start a server with; {how}") from error
    if launcher.started(text) is None:
        raise HoldfastError(f"{entry} is not a launcher that Holdfast wrote; {how}")


def _ended(each: Running) -> bool:
    """End a server and tell the user. Return whether it has ended."""
    try:
        ended = control.stop(each.address) or not control.holder(each.address)  # it may have ended by itself
    except OSError:  # somebody else's process
        return False
    if ended:
        options.say(f"Stopped the {_name(each)}.")
    return ended


def _ending(each: Running) -> str:
    """Return the command with which you can get rid of a server that doesn't end."""
    return f"kill -9 {each.pid}" if each.pid > 0 else f"remove {each.address.with_suffix('.lock')}"


def _of(entry: Path) -> Running | None:
    return next((each for each in control.running_servers() if each.answers and each.entry == str(entry)), None)


def _name(each: Running) -> str:
    process = f"process {each.pid}" if each.pid > 0 else "an unknown process"
    return f"server of {each.entry or each.address} ({process})"


def _line(each: Running) -> str:
    name = f"The {_name(each)}"
    if not each.answers:
        return f"{name} doesn't answer. Stop it with holdfast server stop, or the next server that starts will."
    parts = [f"{wording.count(each.answered, 'event')} answered since {_stamp(each)}"]
    if each.memory:
        parts.append(f"{each.memory / 1e6:.0f} MB of memory with its children")
    return f"{name}: {', '.join(parts)}."


def _stamp(each: Running) -> str:
    return clock.stamp(clock.from_mtime(each.started))


def _json(each: Running) -> dict[str, object]:
    names = ("pid", "answers", "answered", "memory")
    known = {name: getattr(each, name) for name in names}
    started = _stamp(each) if each.answers else None
    return {"address": str(each.address), "started_at": started, "launcher": each.entry, **known}
