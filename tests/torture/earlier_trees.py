"""The trees of earlier versions, each an archive: `python -m tests.torture.earlier_trees REVISION` makes one with git.

Tests install from them, so they need neither git's history nor a package index. An archive stands for what is on users'
machines: never change it.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "data"
REVISIONS = tuple(sorted(file.name.removesuffix(".tar.xz") for file in FOLDER.glob("*.tar.xz")))
PARTS = ("src/holdfast", "handlers", "hooks", "skills", "pyproject.toml")
"""What a checkout needs to run, and a wheel is made of."""


def unpack(revision: str, target: Path) -> None:
    """Put the tree of a revision into a folder."""
    with tarfile.open(FOLDER / f"{revision}.tar.xz") as archive:
        archive.extractall(target, filter="data")


def main(revision: str) -> None:
    """Archive the tree of a revision as REVISION.tar.xz. Raises FileExistsError if there is one."""
    command = ["git", "archive", "--format=tar", revision, *PARTS]
    tree = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{revision}.tar.xz").open("xb") as file:
        file.write(lzma.compress(tree, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*sys.argv[1:])
