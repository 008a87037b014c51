"""The lowest possible cost of a hook: programs that do nothing, and one that only imports what Holdfast imports."""

from __future__ import annotations

import shutil
import sys

from tools.bench.race import Contestant

BARE = "python -I -S -c pass"
COLD = "cold floor"
NODE = "node -e 0"

_IMPORTS = """
import hashlib, json, sqlite3
import platformdirs, pluggy, pydantic
class Model(pydantic.BaseModel):
    name: str
    number: int = 0
Model.model_validate({"name": "x", "number": 1})
"""


def contestants() -> list[Contestant]:
    """Return the floors whose programs exist on this machine."""
    python, node = sys.executable, shutil.which("node")
    commands = {
        "/bin/true": (shutil.which("true") or "/bin/true",),
        "bash -c :": (shutil.which("bash") or "bash", "-c", ":"),
        BARE: (python, "-I", "-S", "-c", "pass"),
        "python -c pass": (python, "-c", "pass"),
        **({NODE: (node, "-e", "0")} if node else {}),
        COLD: (python, "-I", "-c", _IMPORTS),
    }
    return [Contestant(name, "floor", command) for name, command in commands.items()]
