"""The programs that an install writes: the launcher that settings.json names, its fallback, and the command.

The launcher is the native relay, where there is one for this machine (`native`). It starts the entrypoint next to it,
which the file `run.conf` names. Where there is no relay, the launcher is a copy of that entrypoint.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from holdfast import paths
from holdfast.errors import ConfigError, StateError
from holdfast.files import atomic, document
from holdfast.install import native

_EVENT_FALLBACK = 'sh "${0%/*}/refuse.sh" "$1"; exit 0'
_COMMAND_FALLBACK = 'sh "${0%/*}/../refuse.sh" --command; exit 1'
_ROOT = re.compile(r'^ROOT = ""$', re.MULTILINE)
_FILLED = re.compile(r"^ROOT = (.+)$", re.MULTILINE)
_FIRST = re.compile(r"""#!(/bin/sh\n''':'\n(?:\[ -x .+\n)?exec )?(.+?) -IS?(?: "\$0" "\$@")?\n""")

_COMMAND = """\
\"\"\"The holdfast command of this machine, written by holdfast install.\"\"\"

import sys

ROOT = ""
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
try:
    from holdfast.cli import main
except ImportError as error:
    import os

    print(f"holdfast: can't be loaded from {ROOT}: {error}", file=sys.stderr, flush=True)
    fallback = os.path.join(os.path.dirname(__file__), "..", "refuse.sh")
    os.execv("/bin/sh", ("sh", fallback, "--command", "Holdfast does not load"))
sys.exit(main())
"""


class Started(NamedTuple):
    """What a program starts: the interpreter, and the folder it loads Holdfast from."""

    interpreter: str
    root: str


def write() -> list[Path]:
    """Write the programs for the running interpreter and package; return the paths of those that changed.

    The launcher comes last, when all that it needs is there.

    Raises StateError or OSError if one can't be written, ConfigError if a program can't name this interpreter.
    """
    contents = {path: text.encode("utf-8") for path, text in texts().items()}
    contents[paths.launcher()] = native.find() or contents[paths.entrypoint()]
    return [path for path, data in contents.items() if _put(path, data)]


def texts(interpreter: str | None = None) -> dict[Path, str]:
    """Return the text of each file that an install writes for the launcher, by its path.

    Args:
        interpreter: the Python that they start, by default the running one.

    Raises StateError if the shipped entrypoint can't be read, ConfigError if a program can't name the interpreter.
    """
    entry = document.read(paths.shipped("hooks") / "dispatch.py")[0].decode("utf-8")
    _, command, refuse = programs()
    start = interpreter or sys.executable
    return {
        paths.entrypoint(): program(entry, "-IS", _EVENT_FALLBACK, start),
        command: program(_COMMAND, "-I", _COMMAND_FALLBACK, start),
        refuse: fallback(arguments(start, requirement())),
        paths.relay_conf(): conf_of(start, paths.entrypoint(), refuse),
    }


def conf_of(interpreter: str, entry: Path, refuse: Path) -> str:
    """Return the text of the file next to a native relay that names what it may start (`relay.c`)."""
    return "\n".join(["holdfast relay 1", interpreter, str(entry), str(refuse), ""])


def fallback(filled: str = "") -> str:
    """Return the text of `refuse.sh`, which refuses events when the launcher fails, with its second line filled in.

    Raises StateError if the shipped file can't be read.
    """
    source = Path(__file__).parents[1] / "refuse.sh"
    first, rest = document.read(source)[0].decode("utf-8").split("\n", 1)
    return f"{first}\n{filled}\n{rest}"


def arguments(interpreter: str, source: str = "") -> str:
    """Return the line that tells `refuse.sh` what the launcher needs, and what to install if that is gone.

    Args:
        interpreter: the Python that the launcher starts.
        source: what to install again; empty for a plugin.
    """
    needs = " ".join(map(shlex.quote, (interpreter, str(paths.package_root()))))
    again = shlex.quote(shlex.quote(source) if source else "")
    return f'set -- "$1" "${{2-}}" {needs} "${{5-}}" {again} "${{7-}}" # holdfast install wrote this line'


def requirement() -> str:
    """Return the source to install this Holdfast from again: a folder, a file, a URL, or `holdfast` from an index."""
    checkout = paths.plugin_root()
    if (checkout / "pyproject.toml").is_file():
        return str(checkout)
    for file in paths.package_root().glob("holdfast-*.dist-info/direct_url.json"):
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            known = json.loads(file.read_bytes())  # the format of PEP 610
            vcs = known.get("vcs_info", {}).get("vcs")
            return f"{vcs}+{known['url']}" if vcs else unquote(known["url"].removeprefix("file://"))
    return "holdfast"


def started(text: str) -> Started | None:
    """Return the program that a launcher's text starts; None if no install wrote the text."""
    first, root = _FIRST.match(text), _FILLED.search(text)
    try:
        words = shlex.split(first[2]) if first and first[1] else [first[2]] if first else []
        folder = ast.literal_eval(root[1]) if root else None
    except (ValueError, SyntaxError):  # not written by an install
        return None
    return Started(words[0], folder) if len(words) == 1 and isinstance(folder, str) else None


def installed() -> Started | None:
    """Return the program that the installed launchers start; None without one, or if somebody else wrote them."""
    for path in (paths.entrypoint(), paths.launcher()):  # an earlier version had no entrypoint next to its launcher
        with suppress(StateError):
            return started(document.read(path)[0].decode("utf-8", "replace"))
    return None


def starts() -> bool:
    """Return whether the launcher is there, with the interpreter and the package that it starts."""
    known = installed()
    if known is None or not Path(known.root).is_dir():
        return False
    return os.access(paths.launcher(), os.X_OK) and os.access(known.interpreter, os.X_OK)


def programs() -> tuple[Path, Path, Path]:
    """Return the paths of the launcher, the command and the launcher's fallback."""
    return paths.launcher(), paths.command_dir() / "holdfast", paths.launcher().with_name("refuse.sh")


def outdated() -> bool:
    """Return whether an install would write another text; a native relay isn't looked for. Raises as `texts` does."""
    return any(not path.is_file() or path.read_bytes() != text.encode() for path, text in texts().items())


def present() -> list[Path]:
    """Return the files of an install that exist."""
    return [path for path in (*programs(), paths.entrypoint(), paths.relay_conf()) if os.path.lexists(path)]


def remove() -> list[Path]:
    """Remove the programs and their folders as far as they exist, and return the programs that were removed."""
    removed = present()
    for path in removed:
        atomic.remove(path)
    for folder in (paths.command_dir(), paths.launcher().parent):
        with suppress(OSError):  # the folder stays if it holds other files
            folder.rmdir()
    return removed


def program(source: str, flags: str, otherwise: str, start: str) -> str:
    """Return a Python program that starts itself with an interpreter.

    A `#!` line of `source` is replaced, and its line `ROOT = ""` is filled in. A shell starts it, which doesn't fail if
    the interpreter is gone, and reads a path that the kernel can't.

    Args:
        source: the program's text.
        flags: the interpreter's flags.
        otherwise: the shell command that runs instead if the interpreter is gone.
        start: the interpreter's path.

    Raises:
        ConfigError: the interpreter's path can't be written into a program.
    """
    if not Path(start).is_absolute() or not start.isprintable() or "\\" in start:
        raise ConfigError(f"the path of the interpreter, {start!r}, cannot start a program; use another Python")
    body = source.split("\n", 1)[1] if source.startswith("#!") else source
    filled = _ROOT.sub(lambda _: f"ROOT = {str(paths.package_root())!a}", body, count=1)
    name = shlex.quote(start)
    # The shell reads these lines as commands, Python as one string.
    head = f'[ -x {name} ] || {{ {otherwise}; }}\nexec {name} {flags} "$0" "$@"'
    return f"#!/bin/sh\n''':'\n{head}\n'''\n{filled}"


def _put(path: Path, data: bytes) -> bool:
    """Write `data` to the program `path` unless it holds it already. Return whether anything changed."""
    with suppress(StateError):
        if document.read(path)[0] == data and os.access(path, os.X_OK):
            return False
    paths.ensure_private(path.parent)
    atomic.write(path, data, mode=0o755)
    path.chmod(0o755)
    return True
