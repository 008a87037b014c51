"""`holdfast server`: show or stop the warm server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast import clock, paths
from holdfast.checks import programs
from holdfast.checks import server as servers
from holdfast.commands import options
from holdfast.commands.verb import Json, verb
from holdfast.errors import HoldfastError
from holdfast.install import native
from holdfast.server import control

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
        running = [_json(each) for each in control.running_servers()]
        options.print_json({"disabled_by": control.off(), **relays, "servers": running})
    else:
        for each in (*servers.findings(), *programs.relay("holdfast install")):
            options.say(f"{each.text}. To change that: {each.remedy}" if each.remedy else each.text)


def _stop() -> None:
    """Stop all servers, and say what the next event does. Raises HoldfastError if one can't be stopped."""
    running, failed = control.running_servers(), []
    for each in running:
        if control.stop(each.address) or not control.holder(each.address):  # it may have ended by itself
            options.say(f"Stopped the {_name(each)}.")
        else:
            lock = each.address.with_suffix(".lock")
            failed.append(f"the {_name(each)}: " + (f"kill -9 {each.pid}" if each.pid > 0 else f"remove {lock}"))
    if not running:
        options.say("No server runs.")
    if failed:
        raise HoldfastError(f"couldn't stop {'; '.join(failed)}")
    if not control.off():
        options.say(
            "The next event of a session starts another one. To prevent that, set HOLDFAST_SERVER=off in a session's "
            f"environment, or `server = false` at the top of {paths.user_config()}."
        )


def _name(each: Running) -> str:
    process = f"process {each.pid}" if each.pid > 0 else "an unknown process"
    return f"server of {each.entry or each.address} ({process})"


def _json(each: Running) -> dict[str, object]:
    known = {"pid": each.pid, "answers": each.answers, "answered": each.answered}
    started = clock.stamp(clock.from_mtime(each.started)) if each.answers else None
    return {"address": str(each.address), "started_at": started, "launcher": each.entry, **known}
