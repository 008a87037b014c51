"""A format from another package, tests/checkbox, installed in process."""

from __future__ import annotations

import importlib
import shutil
import sys
import tomllib
from typing import TYPE_CHECKING

from holdfast import formats
from holdfast.formats import RECORDS
from holdfast.install import format_index
from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from holdfast.formats.record import Record

NAME = "checkbox"
EXAMPLE = ROOT / "tests" / NAME


def lay(folder: Path, name: str = NAME) -> Path:
    """Put the example into a folder as an installer does, with everything in it that says `checkbox` renamed."""
    package = folder / f"holdfast_{name}"
    shutil.copytree(EXAMPLE / "holdfast_checkbox", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in package.glob("*.py"):
        text = file.read_text("utf-8").replace("holdfast_checkbox", package.name)
        file.write_text(text.replace('NAME = "checkbox"', f'NAME = "{name}"'), "utf-8")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    info = folder / f"{package.name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: holdfast-{name}\nVersion: {project['version']}\n")
    points = [f"[{group}]\n{each} = {own[each]}\n" for group, own in project["entry-points"].items() for each in own]
    (info / "entry_points.txt").write_text("".join(points).replace("checkbox", name))
    return package


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """Install the packages in a folder; this process knows their formats then as a new one does."""
    for package in folder.glob("holdfast_*"):
        unload(package.name)
    monkeypatch.syspath_prepend(folder)
    format_index.refresh()
    found = formats.brought()
    for each in found.values():
        monkeypatch.setitem(RECORDS, each.NAME, each)
    monkeypatch.setattr(formats, "NAMES", tuple(RECORDS))
    monkeypatch.setattr(formats, "WITH_AGENTS", tuple(name for name, each in RECORDS.items() if each.AGENTS))
    return list(found.values())


def unload(package: str) -> None:
    """Forget the modules of a package, as a process that starts now has none."""
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        del sys.modules[name]
    importlib.invalidate_caches()
