"""The relay's program for each platform, compiled here with Zig's C compiler (`ziglang`), twice, to the same bytes.

A platform is named as `os.uname()` names it: `linux-x86_64`. The four are Linux and macOS on x86-64 and on arm64. One
for Linux is linked with musl and needs no library. One for macOS needs macOS 11, the first for arm64; the linker signs
it, so nothing may change it afterwards.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.install import native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUMS = "SHA256SUMS"
_TIMEOUT_S = 3600.0  # Zig compiles its C library first


class Platform(NamedTuple):
    """A platform that a relay is built for.

    Attributes:
        target: what Zig calls it.
        tags: the platform tags of its wheel. A program without libraries runs with any C library, so its wheel has the
            oldest tags, of glibc and of musl, that pip knows for both processors.
    """

    target: str
    tags: tuple[str, ...]


PLATFORMS = {
    "linux-x86_64": Platform("x86_64-linux-musl", ("manylinux_2_17_x86_64", "musllinux_1_1_x86_64")),
    "linux-aarch64": Platform("aarch64-linux-musl", ("manylinux_2_17_aarch64", "musllinux_1_1_aarch64")),
    "darwin-x86_64": Platform("x86_64-macos.11.0", ("macosx_11_0_x86_64",)),
    "darwin-arm64": Platform("aarch64-macos.11.0", ("macosx_11_0_arm64",)),
}


class RelayError(Exception):
    """A relay can't be built as it should be; the text says why."""


def build() -> dict[str, bytes]:
    """Return the program for each platform, by the platform's name.

    Each is compiled twice, in two folders and with two empty caches. Raises RelayError if that fails, or if
    the two differ.
    """
    made = {}
    for name, platform in PLATFORMS.items():
        first, second = (_compiled(platform.target) for _ in range(2))
        if first != second:
            raise RelayError(f"the relay for {name} has other bytes each time it is compiled")
        made[name] = first
    return made


def _compiled(target: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="holdfast-relay-") as folder:
        caches = [f"ZIG_{which}_CACHE_DIR={folder}/{which}" for which in ("GLOBAL", "LOCAL")]
        program = Path(folder) / "relay"  # the name of the file is in its signature
        # -s as it is linked: it leaves out what could name this machine. A signed program may not be stripped later.
        flags = ("-target", target, "-mcpu=baseline", "-s")
        try:
            zig = ("env", *caches, sys.executable, "-m", "ziglang", "cc")
            native.compile_to(program, *flags, compiler=zig, timeout_s=_TIMEOUT_S)
        except subprocess.CalledProcessError as error:
            raise RelayError(f"the relay for {target} can't be compiled:\n{error.stderr.decode()}") from error
        return program.read_bytes()


def bundle(programs: Mapping[str, bytes], folder: Path) -> None:
    """Write the programs into the plugin's folder, with the hashes that `install/plugin.py` reads."""
    folder.mkdir(exist_ok=True)
    for name, program in programs.items():
        (folder / name).write_bytes(program)
    (folder / SUMS).write_text(_sums(programs), "ascii")


def bundle_problems(programs: Mapping[str, bytes], folder: Path) -> Iterator[str]:
    """Yield what differs between the programs that were built and those that the plugin brings, a sentence each."""
    for name, program in programs.items():
        file = folder / name
        if not file.is_file() or file.read_bytes() != program:
            yield f"{file} isn't what src/holdfast/relay.c compiles to. Run make plugin."
    if not (folder / SUMS).is_file() or (folder / SUMS).read_text("ascii") != _sums(programs):
        yield f"{folder / SUMS} doesn't name these programs. Run make plugin."


def _sums(programs: Mapping[str, bytes]) -> str:
    return "".join(f"{hashlib.sha256(program).hexdigest()}  {name}\n" for name, program in programs.items())


if __name__ == "__main__":
    bundle(build(), Path(__file__).resolve().parents[2] / "plugin" / "relays")
