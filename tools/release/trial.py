"""Trying what was built as its users do: installed without a network, in an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT_S = 600
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


class TrialError(Exception):
    """A command of a trial failed, or did other than it should; the text says which and how."""


def wheelhouse(root: Path, wheel: Path, folder: Path) -> None:
    """Download into a folder all that installing the wheel takes, and what builds a wheel of the sdist."""
    build = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    _run([sys.executable, *_PIP, "download", "--dest", str(folder), str(wheel), *build], dict(os.environ), root)


def attempt(archive: Path, packages: Path, version: str, *, brings_relay: bool = False) -> None:
    """Install an sdist or wheel from a folder of packages alone, and use it in a home that holds nothing.

    With `brings_relay`, no C compiler is on PATH, and the native relay has to run all the same.

    Raises:
        TrialError: it can't be installed, or a command doesn't do what it should.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-release-") as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        path = _without_compiler(folder / "programs") if brings_relay else os.environ["PATH"]
        environ = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "PIP_CONFIG_FILE": os.devnull}
        _run([sys.executable, "-m", "venv", str(folder / "venv")], environ, home)
        bin_folder = folder / "venv" / "bin"
        install = ["install", "--no-index", "--find-links", str(packages), str(archive)]
        _run([str(bin_folder / "python"), *_PIP, *install], environ, home)
        use(str(bin_folder / "holdfast"), version, environ, home, brings_relay=brings_relay)


def _without_compiler(folder: Path) -> str:
    """Fill a folder with links to all programs on PATH except C's compiler `cc`; return a PATH of that folder."""
    folder.mkdir()
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name != "cc" and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def use(holdfast: str, version: str, environ: dict[str, str], home: Path, *, brings_relay: bool = False) -> None:
    """Run an installed `holdfast` as a newcomer does, in an empty home.

    Raises TrialError if a command does other than it should.
    """
    said = _run([holdfast, "--version"], environ, home)
    if version not in said.split():
        raise TrialError(f"holdfast --version prints {said.strip()!r}, not {version}")
    settings = home / ".claude" / "settings.json"
    _run([holdfast, "demo"], environ, home)
    _run([holdfast, "install"], environ, home)
    if not settings.is_file():
        raise TrialError("holdfast install registered nothing")
    _run([holdfast, "doctor", "--fire"], environ, home)
    if brings_relay:
        said = _run([holdfast, "server", "--json"], environ, home)
        if json.loads(said)["relay"] != "native":
            raise TrialError(f"the relay that it brings doesn't run: {said}")
    _run([holdfast, "uninstall"], environ, home)
    if settings.exists():
        raise TrialError("holdfast uninstall left the settings that holdfast install made")


def _run(command: Sequence[str], environ: dict[str, str], folder: Path) -> str:
    """Run a program and return what it printed. Raises TrialError with all of it if it fails."""
    done = subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise TrialError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
