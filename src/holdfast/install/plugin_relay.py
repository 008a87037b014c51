"""The native relay of a plugin copy: the program that it brings for this platform, put into its data folder.

`plugin/run.sh` starts the relay from there if its run.conf names that copy and its environment. A session's start never
goes through it: that event puts the relay in place, and so replaces one that no longer runs.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.errors import HoldfastError, StateError
from holdfast.files import atomic, document
from holdfast.install import launcher, native
from holdfast.install.native import Relay

if TYPE_CHECKING:
    from holdfast.install.plugin_copies import Copy

_SUMS = "SHA256SUMS"


def find(root: Path) -> Relay:
    """Return the program that the plugin at `root` brings for this platform, or why it brings none.

    Raises StateError if its file is missing, or isn't the one whose hash the plugin names.
    """
    if native.switched_off():
        return Relay(b"", f"{native.SWITCH} asks for it")
    system = os.uname()
    name = f"{system.sysname}-{system.machine}".lower()
    folder = root / "plugin" / "relays"
    lines = document.read(folder / _SUMS)[0].decode("utf-8", "replace").splitlines()
    wanted = {words[1]: words[0] for words in map(str.split, lines) if len(words) == 2}
    if name not in wanted:
        return Relay(b"", f"the plugin brings no native one for {name}")
    program = document.read(folder / name)[0]
    if hashlib.sha256(program).hexdigest() != wanted[name]:
        raise StateError(folder / name, f"isn't the program whose hash {_SUMS} names; install the plugin again")
    return Relay(program, "of the plugin")


def keep() -> None:
    """Put the relay of the copy that runs now into its data folder, or remove an earlier one; never raises."""
    interpreter = Path(sys.executable)
    try:
        _put(Path(sys.prefix).parent / "relay", str(interpreter), paths.plugin_root())
    except (HoldfastError, OSError) as error:
        log.write("warning", f"the plugin's relay couldn't be put in place: {error}")


def _put(folder: Path, interpreter: str, root: Path) -> None:
    run = folder / "run"
    try:
        program = find(root).program
    except StateError:
        atomic.remove(run)  # what the doctor calls damaged is not run
        raise
    wanted = _wanted(folder, interpreter, root, program)
    if wanted and all(path.is_file() and path.read_bytes() == data for path, data in wanted.items()):
        return
    atomic.remove(run)
    if not wanted:
        return
    paths.ensure_private(folder)
    if native.version(program, folder) != native.digest():
        raise StateError(run, "does not run here, or is of another version")
    for path, data in wanted.items():
        atomic.write(path, data, mode=0o755)


def _wanted(folder: Path, interpreter: str, root: Path, program: bytes) -> dict[Path, bytes]:
    """Return what has to be in the folder, the program last; nothing if there is none that can be started there."""
    refuse = folder / "refuse.sh"
    conf = launcher.conf_of(interpreter, str(root / "hooks" / "dispatch.py"), str(refuse))
    if not (program and conf):
        return {}
    return {
        refuse: launcher.fallback(launcher.arguments(interpreter)).encode("utf-8"),
        folder / "run.conf": conf,
        folder / "run": program,
    }


def description(copy: Copy) -> str:
    """Return which relay a copy with an environment starts, and why, as words for a sentence.

    Raises StateError as `find` does.
    """
    found = find(copy.root)
    if not found.program:
        return f"without a relay, because {found.origin}"
    folder = copy.data / "relay"
    wanted = _wanted(folder, str(copy.environment / "bin" / "python"), copy.root, found.program)
    try:
        if wanted and all((folder / name).read_bytes() == wanted[folder / name] for name in ("run.conf", "run")):
            return "through the native relay"
    except OSError:
        pass
    return "without a relay until a session has started"
