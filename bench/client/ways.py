"""The ways in which a hook can be registered: none, floors, Holdfast's, and those that Holdfast does not ship."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.alternatives import starting
from bench.place import COLD
from holdfast.install import registration

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from bench.place import Place

EVENT = "PreToolUse"
TOOL = "Read"
NONE = "no hook"
BARE = "python3 -I -S -c pass"
WARM = "the registered command, warm"
C = "C client, as registered"
REFUSED = "would print secrets"
_FIELDS = ("hook_event_name", "session_id", "cwd", "tool_name")


@dataclass(frozen=True)
class Way:
    """One way of registration.

    Attributes:
        name: what the table calls it.
        hook: the hook as settings.json holds it; None for none.
        does: whether it does the trivial job.
        environ: what the client's environment has beside the usual.
        servers: the MCP servers that the client is to start.
        note: what a reader should know about it.
        asks: whether the warm server is to answer it.
        kind: what it belongs to: floor, warm, cold, or way for those that are not shipped.
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
        """Return the client's settings: this hook and no other."""
        return {"hooks": {EVENT: [{"matcher": TOOL, "hooks": [self.hook]}]}} if self.hook else {}


def floors() -> list[Way]:
    """Return no hook, and hooks that do nothing."""
    return [
        Way(NONE, None, does=False, kind="floor"),
        Way("/bin/true", _shell(shutil.which("true") or "/bin/true"), does=False, kind="floor"),
        Way(BARE, _shell(f"{shlex.quote(sys.executable)} -I -S -c pass"), does=False, kind="floor"),
    ]


def cold() -> Way:
    """Return the registered command without a server."""
    return Way("the registered command, cold", _shell(registration.command(EVENT)), environ=COLD, kind="cold")


def warm(place: Place) -> list[Way]:
    """Return what asks the warm server from a process of its own: as registered, and without shell and launcher."""
    direct = {"type": "command", "command": sys.executable, "args": ["-IS", str(place.launcher), EVENT]}
    return [
        Way(WARM, _shell(registration.command(EVENT)), kind="warm", asks=True),
        Way(
            "without the launcher, warm",
            direct,
            note="exec form: interpreter and entrypoint, no shell",
            kind="warm",
            asks=True,
        ),
    ]


def alternatives(place: Place, stack: ExitStack, *, server: bool) -> list[Way]:
    """Return the ways that are not shipped; what they need runs until `stack` is closed.

    Args:
        place: the home that the server answers for.
        stack: where processes are ended.
        server: whether a warm server answers; else only those that need none are returned.
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
        Way("mcp_tool, to the server", mcp_hook(), servers=mcp_server(place, place.launcher), note=through, asks=True),
        Way("HTTP, to the server", http_hook(place, stack, place.launcher), note=through, asks=True),
    ]
    program = starting.compiled(place)
    if program:
        direct = {"type": "command", "command": str(program), "args": [EVENT]}
        found += [
            Way(C, _shell(in_place_of_launcher(program)), note="in the launcher's place", asks=True),
            Way("C client, exec form", direct, note="no shell", asks=True),
        ]
    return found


def in_place_of_launcher(program: Path) -> str:
    """Return the registered command with another program than the launcher in it."""
    return registration.command(EVENT).replace(f'"{registration.LAUNCHER}"', shlex.quote(str(program)))


def _shell(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command}


def mcp_hook() -> dict[str, Any]:
    """Return a hook that calls an MCP server's tool.

    Only the fields that are named here reach the tool; an object would arrive as a text.
    """
    event: dict[str, Any] = {name: "${" + name + "}" for name in _FIELDS}
    event["tool_input"] = {"file_path": "${tool_input.file_path}"}
    return {"type": "mcp_tool", "server": "bench", "tool": "event", "input": event}


def mcp_server(place: Place, *launcher: Path) -> dict[str, Any]:
    """Return the MCP servers that such a client is to start, as its configuration holds them."""
    command, *arguments = starting.mcp(*launcher)
    return {"bench": {"type": "stdio", "command": command, "args": arguments, "env": starting.environ(place)}}


def http_hook(place: Place, stack: ExitStack, *launcher: Path) -> dict[str, Any]:
    """Return a hook that asks an HTTP server, which runs until `stack` is closed."""
    return {"type": "http", "url": f"http://127.0.0.1:{starting.http(place, stack, *launcher)}/"}
