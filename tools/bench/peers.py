"""What Holdfast is compared with: programs that do nothing, and ones written by hand for the same trivial job."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING

from holdfast.testkit.client import encoded
from tools.bench.firing import SECRET
from tools.bench.place import JOBS
from tools.bench.race import Contestant

if TYPE_CHECKING:
    from tools.bench.place import Place

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


def by_hand(place: Place) -> list[Contestant]:
    """Return programs without any framework that do the trivial job, as far as this machine has them."""
    data = encoded(place.payload("PreToolUse-Bash", tool_input=SECRET))
    commands = {
        "by hand, Python with json (-I -S)": (sys.executable, "-I", "-S", str(JOBS / "plain.py")),
        "by hand, JavaScript": ("node", str(JOBS / "plain.mjs")),
    }
    return [
        Contestant(name, "by hand", ("/bin/sh", "-c", shlex.join([program, *words[1:]])), data, "would print secrets")
        for name, words in commands.items()
        if (program := shutil.which(words[0]))
    ]
