"""`holdfast server`: show or stop the warm server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from holdfast import clock, paths
from holdfast.commands import options
from holdfast.commands.verb import Json, verb
from holdfast.errors import HoldfastError
from holdfast.install import native
from holdfast.server import control, protocol
from holdfast.workflow import wording

if TYPE_CHECKING:
    from holdfast.server.control import Running


@verb("server")
def command(
    *,
    stop: Annotated[bool, "Stop all of your servers. Events that are running finish."] = False,
    as_json: Json = False,
) -> None:
    """Show and stop the warm server, which answers events without a cold start.

    It shows the servers that run, and what they have answered. The first event starts one. It stops after 15 minutes
    without an event, and when the code that it loaded changes. To switch it off, set HOLDFAST_SERVER=off in a session's
    environment, or `server = false` in your holdfast.toml.

    \b
    Examples:
      holdfast server
      holdfast server --stop
    """
    options.at_most_one({"--stop": stop, "--json": as_json})
    if stop:
        _stop()
    elif as_json:
        relays = dict(zip(("relay", "relay_reason"), native.running(), strict=True))
        servers = [_json(each) for each in control.running_servers()]
        options.print_json({"disabled_by": control.off(), **relays, "servers": servers})
    else:
        _show()


def _show() -> None:
    """Print a line for each server that runs, and whether the next event will be warm."""
    servers, off = control.running_servers(), control.off()
    for each in servers:
        options.say(_line(each))
    kind, reason = native.running()
    if kind == "native":
        options.say(f"The relay is native, {reason}.")
    elif kind:
        options.say(f"No relay is installed, so each event starts cold: {reason}.")
    if off:
        options.say(f"The server is switched off ({off}), so each event starts cold.")
    elif nowhere := _nowhere():
        options.say(f"No server can run: {nowhere}.")
    elif not servers:
        options.say("No server runs. The next event of a session starts one, if Holdfast is installed.")


def _stop() -> None:
    """Stop all servers, and say what the next event does. Raises HoldfastError if one can't be stopped."""
    servers, failed = control.running_servers(), []
    for each in servers:
        try:
            ended = control.stop(each.address) or not control.holder(each.address)  # it may have ended by itself
        except OSError:  # somebody else's process
            ended = False
        if ended:
            options.say(f"Stopped the {_name(each)}.")
        else:
            lock = each.address.with_suffix(".lock")
            failed.append(f"the {_name(each)}: " + (f"kill -9 {each.pid}" if each.pid > 0 else f"remove {lock}"))
    if not servers:
        options.say("No server runs.")
    if failed:
        raise HoldfastError(f"couldn't stop {'; '.join(failed)}")
    if not control.off():
        options.say(
            "The next event of a session starts another one. To prevent that, set HOLDFAST_SERVER=off in a session's "
            f"environment, or `server = false` at the top of {paths.user_config()}."
        )


def _nowhere() -> str:
    """Return why no server can listen on this machine, and what to do; empty if one can."""
    if protocol.address(str(paths.entrypoint()), dict(os.environb)):
        return ""
    return f"{control.folder()} is too long a path for a socket; set XDG_STATE_HOME to a shorter folder"


def _name(each: Running) -> str:
    process = f"process {each.pid}" if each.pid > 0 else "an unknown process"
    return f"server of {each.entry or each.address} ({process})"


def _line(each: Running) -> str:
    name = f"The {_name(each)}"
    if not each.answers:
        return f"{name} doesn't answer. Stop it with holdfast server --stop, or the next server that starts will."
    return f"{name}: {wording.count(each.answered, 'event')} answered since {_stamp(each)}."


def _stamp(each: Running) -> str:
    return clock.stamp(clock.from_mtime(each.started))


def _json(each: Running) -> dict[str, object]:
    known = {"pid": each.pid, "answers": each.answers, "answered": each.answered}
    started = _stamp(each) if each.answers else None
    return {"address": str(each.address), "started_at": started, "launcher": each.entry, **known}
