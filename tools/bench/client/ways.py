"""The ways to register a hook: none, floors, Holdfast's own, and ways that Holdfast doesn't ship."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.install import register
from tools.bench.alternatives import starting
from tools.bench.place import COLD

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from tools.bench.place import Place

EVENT = "PreToolUse"
TOOL = "Read"
NONE = "no hook"
BARE = "python3 -I -S -c pass"
TRUE = "/bin/true"
WARM = "the registered command, warm"
NATIVE = "native relay, as registered"
NO_SHELL = "native relay, no shell"
REFUSED = "would print secrets"
_FIELDS = ("hook_event_name", "session_id", "cwd", "tool_name")


@dataclass(frozen=True)
class Way:
    """One way of registration.

    Attributes:
        name: its name in the table.
        hook: the hook's object in settings.json; None for no hook.
        does: whether it does the trivial job.
        environ: additional variables for the client's environment.
        servers: the MCP servers that the client starts.
        note: a remark for the reader.
        asks: whether the warm server should answer it.
        kind: `floor`, `warm`, `cold`, or `way` for those that aren't shipped.
    """

    name: str
    hook: dict[str, Any] | None
    does: bool = True
    environ: dict[str, str] = field(default_factory=dict)
    servers: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    kind: str = "way"
    asks: bool = False

    def settings(self) -> dict[str, Any]:
        """Return client settings with only this hook."""
        return {"hooks": {EVENT: [{"matcher": TOOL, "hooks": [self.hook]}]}} if self.hook else {}


def floors() -> list[Way]:
    """Return the floors: no hook, and hooks that do nothing."""
    return [
        Way(NONE, None, does=False, kind="floor"),
        Way(TRUE, _shell(shutil.which("true") or "/bin/true"), does=False, kind="floor"),
        Way(BARE, _shell(f"{shlex.quote(sys.executable)} -I -S -c pass"), does=False, kind="floor"),
    ]


def cold() -> Way:
    """Return the registered command without a server."""
    return Way("the registered command, cold", _shell(register.command(EVENT)), environ=COLD, kind="cold")


def warm(place: Place) -> list[Way]:
    """Return the ways that start the native relay, which asks the warm server; none where there is no relay."""
    if not place.native:
        return []
    direct = {"type": "command", "command": str(place.launcher), "args": [EVENT]}
    return [
        Way(WARM, _shell(register.command(EVENT)), note="the native relay", kind="warm", asks=True),
        Way(NO_SHELL, direct, note="exec form", kind="warm", asks=True),
    ]


def alternatives(place: Place, stack: ExitStack, *, server: bool) -> list[Way]:
    """Return the ways that aren't shipped; the processes they need run until `stack` is closed.

    Args:
        place: the home that the server answers for.
        stack: ends the processes when closed.
        server: whether a warm server answers; without one, only the ways that don't need it are returned.
    """
    here = "verdict in the process itself"
    found = [
        Way("mcp_tool, by itself", mcp_hook(), servers=mcp_server(place), note=here),
        Way("HTTP, by itself", http_hook(place, stack), note=here),
    ]
    if not server:
        return found
    through = "relays to the warm server"
    found += [
        Way("mcp_tool, to the server", mcp_hook(), servers=mcp_server(place, place.entry), note=through, asks=True),
        Way("HTTP, to the server", http_hook(place, stack, place.entry), note=through, asks=True),
    ]
    return found


def _shell(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command}


def mcp_hook() -> dict[str, Any]:
    """Return a hook that calls an MCP server's tool.

    Only the fields named here reach the tool. Whole objects would arrive as text, so only one field of `tool_input` is
    passed.
    """
    event: dict[str, Any] = {name: "${" + name + "}" for name in _FIELDS}
    event["tool_input"] = {"file_path": "${tool_input.file_path}"}
    return {"type": "mcp_tool", "server": "bench", "tool": "event", "input": event}


def mcp_server(place: Place, *launcher: Path) -> dict[str, Any]:
    """Return the client's configuration of the MCP server for `mcp_hook`."""
    command, *arguments = starting.mcp(*launcher)
    return {"bench": {"type": "stdio", "command": command, "args": arguments, "env": starting.environ(place)}}


def http_hook(place: Place, stack: ExitStack, *launcher: Path) -> dict[str, Any]:
    """Return a hook that asks an HTTP server, which runs until `stack` is closed."""
    return {"type": "http", "url": f"http://127.0.0.1:{starting.http(place, stack, *launcher)}/"}
