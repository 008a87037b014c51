"""Other frameworks that do the same trivial job; those that aren't installed are named and left out."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.testkit.client import encoded
from tools.bench.place import JOBS
from tools.bench.race import Contestant

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.place import Place


@dataclass(frozen=True)
class Peer:
    """One framework.

    Attributes:
        name: its name in the table, beginning with its name in the registry.
        program: its program, relative to the folder of fetched programs or of `tools/bench/jobs`.
        code: the exit code with which it refuses.
    """

    name: str
    program: str
    code: int = 0


BY_HAND = (
    Peer("by hand, Python with json (-I -S)", "plain.py"),
    Peer("by hand, JavaScript", "js/plain.mjs"),
)
PEERS = (
    *BY_HAND,
    Peer("cchooks (Python)", "with_cchooks.py"),
    Peer("claude-hook-utils (Python)", "with_claude_hook_utils.py"),
    Peer("cc-hooks-ts (JavaScript)", "js/cc-hooks-ts.mjs"),
    Peer("@mizunashi_mana/claude-code-hook-sdk (JavaScript)", "js/claude-code-hook-sdk.mjs", code=2),
    Peer("@goodfoot/claude-code-hooks (JavaScript, compiled)", "js/built/bin/claude-code-hooks.mjs"),
)


def contestants(place: Place, fetched: Path) -> tuple[list[Contestant], list[str]]:
    """Return a contestant for each peer that can run here, and the names of the others.

    Args:
        place: the project of the event.
        fetched: the folder into which `make bench` fetched `venv` and `js`.
    """
    data = encoded(
        place.payload("PreToolUse-Bash", tool_input={"command": "printenv SECRET", "description": "Show it"})
    )
    found, missing = [], []
    for peer in PEERS:
        command = _command(peer, fetched)
        if command is None:
            missing.append(peer.name)
        else:
            found.append(
                Contestant(
                    peer.name, "peer", ("/bin/sh", "-c", shlex.join(command)), data, "would print secrets", peer.code
                )
            )
    return found, missing


def _command(peer: Peer, fetched: Path) -> tuple[str, ...] | None:
    if peer.program == "plain.py":
        return (sys.executable, "-I", "-S", str(JOBS / peer.program))
    if peer.program.endswith(".py"):
        python = fetched / "venv" / "bin" / "python"
        package = peer.program.removeprefix("with_").removesuffix(".py")
        there = any((fetched / "venv" / "lib").glob(f"python*/site-packages/{package}"))
        return (str(python), str(JOBS / peer.program)) if there else None
    node, file = shutil.which("node"), fetched / peer.program
    return (node, str(file)) if node and file.exists() else None
