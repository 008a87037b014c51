"""Start what the unshipped ways need: an HTTP server or an MCP server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths

if TYPE_CHECKING:
    from contextlib import ExitStack

    from tools.bench.place import Place

_ROOT = Path(__file__).parents[3]


def environ(place: Place) -> dict[str, str]:
    """Return the environment of one of these servers, which answers for a place."""
    return place.environ | {"PYTHONPATH": os.pathsep.join((str(_ROOT), str(paths.package_root())))}


def http(place: Place, stack: ExitStack, *launcher: Path) -> int:
    """Start an HTTP server and return its port; it ends when `stack` is closed.

    Args:
        place: the home and project it answers for.
        stack: ends it when closed.
        launcher: the entrypoint whose server it relays to; without one it does the trivial job itself.
    """
    command = [sys.executable, "-m", "tools.bench.alternatives.over_http", *map(str, launcher)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environ(place), cwd=place.root)
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout
    return int(process.stdout.readline())


def mcp(*launcher: Path) -> list[str]:
    """Return the command of an MCP server on stdio, relaying as `http` does."""
    return [sys.executable, "-m", "tools.bench.alternatives.over_mcp", *map(str, launcher)]
