"""Trying what was built as its users do: installed without a network, in an empty home."""

from __future__ import annotations

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


def attempt(archive: Path, packages: Path, version: str) -> None:
    """Install an sdist or wheel from a folder of packages alone, and use it in a home that holds nothing.

    Raises:
        TrialError: it can't be installed, or a command doesn't do what it should.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-release-") as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PIP_CONFIG_FILE": os.devnull}
        _run([sys.executable, "-m", "venv", str(folder / "venv")], environ, home)
        bin_folder = folder / "venv" / "bin"
        install = ["install", "--no-index", "--find-links", str(packages), str(archive)]
        _run([str(bin_folder / "python"), *_PIP, *install], environ, home)
        use(str(bin_folder / "holdfast"), version, environ, home)


def use(holdfast: str, version: str, environ: dict[str, str], home: Path) -> None:
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
