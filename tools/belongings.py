"""Copy a user's configuration and handlers, and a project's trusted ones, to a throw-away home and project."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.files import trust

if TYPE_CHECKING:
    from pathlib import Path

_DEFINITIONS = ("formats", "machines")
_CONFIG = (".config/holdfast", "Library/Application Support/holdfast")  # on Linux and on macOS


def take_along(here: Path, root: Path, home: Path) -> None:
    """Copy the user's configuration, handlers and templates, and the project's trusted files. Originals are only read.

    Args:
        here: the user's project.
        root: the throw-away project, where the same files become trusted.
        home: the throw-away home.
    """
    own = paths.config_dir()
    trusted = {name: digest for name, digest in _files(here).items() if trust.trusted(here, name, digest)}
    for name in trusted:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(here / name, root / name)
    for folder in (home / name for name in _CONFIG):
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        if paths.user_config().is_file():
            shutil.copyfile(paths.user_config(), folder / paths.user_config().name)
        for name in ("handlers", "templates", *_DEFINITIONS):
            if (own / name).is_dir():
                shutil.copytree(own / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "trust.json").write_text(json.dumps({str(root.resolve()): trusted}), "utf-8")


def describe(source: str, home: Path) -> None:
    """Copy the file that describes a format without code to a throw-away home, as the user's own."""
    for folder in (home / name / "formats" for name in _CONFIG):
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        shutil.copy(source, folder)


def _files(here: Path) -> dict[str, str]:
    """Return the project's handlers, definitions and configuration: relative path → SHA-256."""
    defined = [each for kind in _DEFINITIONS for each in sorted((here / ".claude" / kind).glob("*.toml"))]
    found = [*sorted(paths.project_handlers(here).glob("*.py")), *defined, paths.project_config(here)]
    return {trust.relative_name(here, path): trust.digest(path.read_bytes()) for path in found if path.is_file()}
