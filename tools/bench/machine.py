"""Describe the machine, and the versions of everything that is measured."""

from __future__ import annotations

import importlib.metadata
import json
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
        "node": _said("node", "--version") or "not installed",
        "bash": (_said("bash", "--version") or "not installed").split("\n")[0],
        "Holdfast": f"{version.version()} at {revision()}",
    }


def revision() -> str:
    """Return the measured commit, with a plus sign if files differ from it."""
    root = str(paths.plugin_root())
    found = _said("git", "-C", root, "rev-parse", "--short", "HEAD")
    changed = _said("git", "-C", root, "status", "--porcelain", "--", "src", "hooks", "handlers")
    return f"{found or 'no commit'}{'+' if changed else ''}"


def now() -> dict[str, str]:
    """Return the present time, the measured commit and the machine's load."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return {"at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "revision": revision(), "load": load}


def peers(fetched: Path) -> dict[str, str]:
    """Return the version of each fetched framework, by its name in the registry."""
    found = {}
    for name in ("cchooks", "claude-hook-utils"):
        for meta in (fetched / "venv" / "lib").glob(f"python*/site-packages/{name.replace('-', '_')}-*.dist-info"):
            found[name] = meta.name.removesuffix(".dist-info").rpartition("-")[2]
    for name in ("cc-hooks-ts", "@mizunashi_mana/claude-code-hook-sdk", "@goodfoot/claude-code-hooks"):
        with suppress(OSError, ValueError):
            found[name] = json.loads((fetched / "js" / "node_modules" / name / "package.json").read_text())["version"]
    return found


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _said(program: str, *arguments: str) -> str:
    path = shutil.which(program)
    if not path:
        return ""
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=False).stdout.strip()
