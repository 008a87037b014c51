"""Formats without code: the examples under `examples/formats`, described for a test's user."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from holdfast import formats, paths
from holdfast.formats.described import catalog
from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = sorted((ROOT / "examples" / "formats").glob("*.toml"))
NAMES = tuple(each.stem for each in EXAMPLES)


def lay(name: str) -> Path:
    """Put an example where the user's own formats are, and return that file."""
    folder = paths.config_dir() / "formats"
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.copyfile(next(each for each in EXAMPLES if each.stem == name), folder / f"{name}.toml")


def use(root: Path, *names: str) -> None:
    """Describe these examples, and make them known to this process for a project; `forget` ends that."""
    for name in names:
        lay(name)
    catalog.use(root)


def forget() -> None:
    """Make formats without code unknown again."""
    formats.describe({}, {})
