"""The package's bytecode, written once so that no cold event has to compile a module."""

from __future__ import annotations

from holdfast import paths


def write() -> None:
    """Write it as far as it is missing: not every installer does, and each cold event would.

    What cannot be written is left: Python compiles it in memory, as it would have.
    """
    import compileall

    compileall.compile_dir(paths.package_root() / "holdfast", quiet=2)
