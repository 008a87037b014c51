"""Describe the machine, and the versions of what is measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from holdfast import paths, version


def described() -> dict[str, str]:
    """Return the machine's and the programs' descriptions, by name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("pydantic", "pluggy", "platformdirs")
    )
    return {
        "Machine": f"{_processor()}, {os.cpu_count()} CPUs, {memory:.0f} GB, {platform.system()} {platform.release()}",
        "Python": f"{platform.python_version()} ({packages})",
        "node": _output("node", "--version") or "not installed",
        "Holdfast": f"{version.version()} at {_revision()}",
    }


def now() -> str:
    """Return the present time, the measured commit and the machine's load."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {_revision()}, load {load}"


def _revision() -> str:
    """Return the measured commit, with a plus sign if files differ from it."""
    root = str(paths.plugin_root())
    commit = _output("git", "-C", root, "rev-parse", "--short", "HEAD")
    changed = _output("git", "-C", root, "status", "--porcelain", "--", "src", "hooks", "handlers")
    return f"{commit or 'no commit'}{'+' if changed else ''}"


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _output(program: str, *arguments: str) -> str:
    path = shutil.which(program)
    if not path:
        return ""
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=False).stdout.strip()
