"""The native relay: the program `relay.c` for this machine, shipped in the package or compiled here."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from holdfast import paths

SWITCH = "HOLDFAST_RELAY"
"""The variable that keeps an install from using the relay, with the value `python`: then every event starts cold."""
COMPILE_TIMEOUT_S = 60.0
RUN_TIMEOUT_S = 10.0

CURRENT = "of this version"
"""What `running` says of a native relay that is as it should be."""
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
"""What the relay is compiled with everywhere."""
_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe")  # of programs for Linux, and for macOS on 64 bits
_APPLE_TOOLS = ("/Library/Developer/CommandLineTools", "/Applications/Xcode.app")


def source() -> Path:
    """Return the relay's C file."""
    return Path(__file__).parents[1] / "relay.c"


def digest() -> str:
    """Return the relay's version: the start of its source's SHA-256. Raises OSError."""
    return hashlib.sha256(source().read_bytes()).hexdigest()[:16]


def shipped() -> Path:
    """Return the program that this package brings for this platform; it may not exist."""
    relays = paths.plugin_root() / "plugin" / "relays"  # of a checkout, or of a copy of the plugin
    if not relays.is_dir():
        return Path(__file__).parents[1] / "_shipped" / "relay"
    system = os.uname()
    return relays / f"{system.sysname}-{system.machine}".lower()


def switched_off() -> bool:
    """Return whether the environment asks for no relay."""
    return os.environ.get(SWITCH, "").lower() == "python"


def find() -> bytes:
    """Return the native relay for this machine: the package's, the one in place, or one compiled now; else nothing."""
    if switched_off():
        return b""
    for file in (shipped(), paths.launcher()):
        if is_native(file):
            with suppress(OSError):
                program = file.read_bytes()
                if version(program) == digest():
                    return program
    return _compiled()


def is_native(program: Path) -> bool:
    """Return whether a file is a compiled program, and not a script."""
    try:
        with program.open("rb") as file:
            return file.read(4) in _MAGIC
    except OSError:
        return False


def version(program: bytes, place: Path | None = None) -> str:
    """Run a relay and return which version it says it is (`digest`); empty if it doesn't run here.

    Args:
        program: the relay.
        place: the private folder to try it in, by default the launcher's: one for temporary files may run none.

    Raises:
        OSError: it can't be written there.
    """
    with tempfile.TemporaryDirectory(dir=place or paths.ensure_private(paths.launcher().parent)) as folder:
        tried = Path(folder) / "relay"
        tried.write_bytes(program)
        tried.chmod(0o755)
        return _said(tried)


def running() -> tuple[str, str]:
    """Return which relay the launcher is, `native` or `none` (empty: there is no launcher), and why, as a clause."""
    if not paths.launcher().exists():
        return "", "holdfast is not installed"
    if is_native(paths.launcher()):
        found = _said(paths.launcher())
        if found == digest():
            return "native", CURRENT
        return "native", "of another version; `holdfast install` replaces it" if found else "but it does not run here"
    if is_native(shipped()) or _compiler():
        return "none", "`holdfast install` would put a native one in place"
    return "none", "this package brings none for this platform, and there is no C compiler"


def compile_to(
    target: Path, *flags: str, compiler: tuple[str, ...] = ("cc",), timeout_s: float = COMPILE_TIMEOUT_S
) -> None:
    """Compile the relay. Raises OSError, subprocess.SubprocessError."""
    command = [*compiler, *FLAGS, *flags, f'-DSOURCE="{digest()}"', "-o", str(target), str(source())]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True)


def _compiled() -> bytes:
    """Return the relay compiled with this machine's compiler; nothing without one, or if what it makes doesn't run."""
    compiler = _compiler()
    if not compiler:
        return b""
    with tempfile.TemporaryDirectory() as folder, suppress(OSError, subprocess.SubprocessError):
        target = Path(folder) / "relay"
        compile_to(target, compiler=(compiler,))
        program = target.read_bytes()
        if version(program) == digest():
            return program
    return b""


def _compiler() -> str:
    """Return the path of a C compiler, or an empty string."""
    found = shutil.which("cc") or ""
    stub = sys.platform == "darwin" and found == "/usr/bin/cc"  # without Apple's tools it opens a dialogue
    return "" if stub and not any(Path(each).exists() for each in _APPLE_TOOLS) else found


def _said(program: Path) -> str:
    command = [str(program), "--version"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    words = done.stdout.decode("utf-8", "replace").split()
    return words[2] if len(words) == 3 and words[:2] == ["holdfast", "relay"] else ""
