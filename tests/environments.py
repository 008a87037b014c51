"""Virtual environments into which a test installs Holdfast as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(command: list[str], home: Path) -> str:
    """Run a program with an empty home; return what it printed."""
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PIP_NO_INPUT": "1"}
    done = subprocess.run(command, cwd=home, env=environ, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fresh_environment(folder: Path) -> Path:
    """Make a virtual environment that has our dependencies, pip among them, but not us; return its bin folder."""
    run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], folder)
    bin_folder = folder / "venv" / "bin"
    site = Path(
        run(
            [str(bin_folder / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder
        ).strip()
    )
    # The .pth of the editable checkout stays behind: a plain path line runs no other .pth files.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return bin_folder


def build_wheel(folder: Path) -> Path:
    """Build the wheel as `pip install .` builds it."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(folder)]
    run([*command, str(ROOT)], folder)
    (built,) = folder.glob("holdfast-*.whl")
    return built


def install_wheel(bin_folder: Path, wheel: Path, home: Path) -> None:
    """Install a wheel into an environment, in place of an earlier one."""
    command = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--force-reinstall", str(wheel)]
    run([str(bin_folder / "python"), *command], home)
