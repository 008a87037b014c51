"""The handlers that installed packages bring, as the index names them that `holdfast install` writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from holdfast import paths
from holdfast.files.file_memo import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Package(NamedTuple):
    """A package that brings handlers.

    Attributes:
        name: the package's name.
        version: its version.
        folder: the folder of its handlers.
    """

    name: str
    version: str
    folder: str


def installed() -> Sequence[Package]:
    """Return the packages in the index. Without an index, this only looks whether there is one."""
    return _index.get(index_file())


def of(path: Path) -> str:
    """Return the name and version of the package that brings a handler file; empty if none does."""
    return next((f"{each.name} {each.version}" for each in installed() if each.folder == str(path.parent)), "")


def index_file() -> Path:
    """Return the index's path; it exists only if a package brings handlers."""
    return paths.state_dir() / "handler_packages.json"


def render(found: Sequence[Package]) -> bytes:
    """Return the content of an index of these packages."""
    return (json.dumps([each._asdict() for each in found], indent=1) + "\n").encode()


def _read(file: Path) -> Sequence[Package]:
    try:
        paths.check_own(file)
        return [Package(**each) for each in json.loads(file.read_bytes())]
    except (OSError, ValueError, TypeError):
        return ()


_index: Kept[Sequence[Package]] = Kept(_read)
