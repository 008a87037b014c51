"""`holdfast server`: the warm server that answers events without a cold start."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from holdfast import clock, launcher, paths, servers, standby
from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.state import document

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.servers import Running

_STARTS = 10.0  # seconds a server is given to say something of itself


@click.group(name="server")
def command() -> None:
    """The warm server that answers events without a cold start.

    The first event starts it by itself; it ends after 15 minutes without an event, and when what it has loaded changes.
    HOLDFAST_SERVER=off in a session's environment, or `server = false` in your holdfast.toml, switches it off.
    """


@command.command()
@options.json_option
def status(as_json: bool) -> None:
    """Say which servers run, what they have answered and what they take."""
    found = servers.found()
    if as_json:
        options.print_json({"off": servers.off(), "servers": [_json(each) for each in found]})
        return
    for each in found:
        options.say(_line(each))
    why = servers.off()
    if why:
        options.say(f"The server is off: {why}. Events are answered without it.")
    elif not found:
        options.say("No server runs; the next event starts one.")


@command.command()
def start() -> None:
    """Start the server of the launcher that settings name, and wait until it answers."""
    if why := servers.off():
        raise HoldfastError(f"the server is off: {why}; take that out and start it again")
    entry = paths.launcher()
    if launcher.started(document.read(entry)[0].decode("utf-8", "replace")) is None:
        raise HoldfastError(f"{entry} is not a launcher that this Holdfast wrote; run holdfast install")
    if running := _of(entry):
        options.say(_line(running))
        return
    standby.run([str(entry), "--serve"])
    until = time.monotonic() + _STARTS
    while time.monotonic() < until:
        if running := _of(entry):
            options.say(_line(running))
            return
        time.sleep(0.05)
    raise HoldfastError(f"the server did not start within {_STARTS:g} seconds; see {paths.log_file()}")


@command.command()
def stop() -> None:
    """End every server of yours; events that are being answered go on."""
    found = servers.found()
    for each in found:
        if not servers.stop(each.place):
            raise HoldfastError(f"the server of {each.place} (process {each.pid or 'unknown'}) could not be ended")
        options.say(f"Ended {_name(each)}.")
    if not found:
        options.say("No server runs.")
    if not servers.off():
        options.say(
            "The next event starts one; HOLDFAST_SERVER=off or `server = false` in your holdfast.toml prevents it."
        )


def _of(entry: Path) -> Running | None:
    return next((each for each in servers.found() if each.answers and each.entry == str(entry)), None)


def _name(each: Running) -> str:
    process = f"process {each.pid}" if each.pid > 0 else "a process that did not say its number"
    return f"the server of {each.entry or each.place} ({process})"


def _line(each: Running) -> str:
    if not each.answers:
        return f"{_name(each)} does not answer; holdfast server stop ends it, and so does the next one that is started"
    parts = [f"{each.answered} {'event' if each.answered == 1 else 'events'} answered since {_stamp(each)}"]
    if each.answering or each.waiting:
        parts.append(f"{each.answering} being answered, {each.waiting} waiting")
    if each.memory:
        parts.append(f"{each.memory / 1e6:.0f} MB of memory with its children")
    return f"{_name(each)}: {', '.join(parts)}"


def _stamp(each: Running) -> str:
    return clock.stamp(clock.from_mtime(each.started))


def _json(each: Running) -> dict[str, object]:
    names = ("pid", "answers", "entry", "answered", "answering", "waiting", "memory")
    started = _stamp(each) if each.answers else None
    return {"place": str(each.place), "started_at": started, **{name: getattr(each, name) for name in names}}
