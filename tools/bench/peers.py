"""What Holdfast is compared with: programs that do nothing, and other frameworks that do the same trivial job."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.testkit.client import encoded
from tools.bench.firing import SECRET
from tools.bench.place import JOBS
from tools.bench.race import Contestant

if TYPE_CHECKING:
    from tools.bench.place import Place

FETCHED = Path(__file__).resolve().parents[2] / ".bench"
"""Where `make bench` fetches frameworks to: `venv` and `js`. Those that it couldn't fetch are named and left out."""
BARE = "python -I -S -c pass"
COLD = "cold floor"
_IMPORTS = """
import hashlib, json, sqlite3
import platformdirs, pluggy, pydantic
class Model(pydantic.BaseModel):
    name: str
    number: int = 0
Model.model_validate({"name": "x", "number": 1})
"""


class Peer(NamedTuple):
    """One framework.

    Attributes:
        name: its name in its registry.
        program: its program in `tools/bench/jobs` or `.bench/js`.
        code: the exit code with which it refuses.
    """

    name: str
    program: str
    code: int = 0


PEERS = (
    Peer("cchooks", "with_cchooks.py"),
    Peer("claude-hook-utils", "with_claude_hook_utils.py"),
    Peer("cc-hooks-ts", "cc-hooks-ts.mjs"),
    Peer("@mizunashi_mana/claude-code-hook-sdk", "claude-code-hook-sdk.mjs", code=2),
    Peer("@goodfoot/claude-code-hooks", "built/bin/claude-code-hooks.mjs"),
)


def floors() -> list[Contestant]:
    """Return programs that do nothing, as far as this machine has them, and one that imports what Holdfast imports."""
    commands: dict[str, tuple[str, ...]] = {
        "/bin/true": ("/bin/true",),
        BARE: (sys.executable, "-I", "-S", "-c", "pass"),
        "node -e 0": ("node", "-e", "0"),
        COLD: (sys.executable, "-I", "-c", _IMPORTS),
    }
    return [
        Contestant(name, "floor", (program, *words[1:]))
        for name, words in commands.items()
        if (program := shutil.which(words[0]))
    ]


def contestants(place: Place) -> tuple[list[Contestant], list[str]]:
    """Return what does the trivial job by hand and by each framework that is there, and the names of the others."""
    data = encoded(place.payload("PreToolUse-Bash", tool_input=SECRET))
    node = shutil.which("node")
    by_hand = (sys.executable, "-I", "-S", str(JOBS / "plain.py"))
    programs: list[tuple[str, tuple[str, ...], int]] = [("by hand, Python with json (-I -S)", by_hand, 0)]
    if node:
        programs.append(("by hand, JavaScript", (node, str(JOBS / "plain.mjs")), 0))
    missing = []
    for peer in PEERS:
        version, file = _version(peer), JOBS / peer.program
        runner: str | None = str(FETCHED / "venv/bin/python")
        if file.suffix == ".mjs":
            runner, file = node, FETCHED / "js" / peer.program
        if version and runner and file.exists():
            programs.append((f"{peer.name} {version}", (runner, str(file)), peer.code))
        else:
            missing.append(peer.name)
    return [
        Contestant(name, "peer", ("/bin/sh", "-c", shlex.join(words)), data, "would print secrets", code)
        for name, words, code in programs
    ], missing


def _version(peer: Peer) -> str:
    """Return the version of a fetched framework, or an empty string."""
    if peer.program.endswith(".mjs"):
        file = FETCHED / "js" / "node_modules" / peer.name / "package.json"
        return str(json.loads(file.read_text("utf-8"))["version"]) if file.exists() else ""
    folders = [str(folder) for folder in (FETCHED / "venv/lib").glob("python*/site-packages")]
    found = importlib.metadata.distributions(name=peer.name, path=folders)
    return next((each.version for each in found), "")
