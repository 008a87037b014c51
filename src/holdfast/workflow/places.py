"""The paths of workflows in a project, from the formats' records alone."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from holdfast.formats import RECORDS

if TYPE_CHECKING:
    from pathlib import Path


ASIDE = ("*.corrupt-*", "*.kept-*")  # copies that are set aside next to a file


def states() -> tuple[str, ...]:
    """Return the patterns of all state files."""
    return tuple(pattern for record in RECORDS.values() for pattern in record.STATES)


def is_state(root: Path, path: Path) -> bool:
    """Return whether a path in the project at `root` is a format's state file."""
    return _among(root, path, states())


def keepers(root: Path, path: Path) -> list[str]:
    """Return the formats that keep a workflow at a path in the project at `root`, in their order."""
    return [name for name, record in RECORDS.items() if _among(root, path, record.STATES)]


def is_list(root: Path, path: Path) -> bool:
    """Return whether a path in the project at `root` is a list that a format generates from its state."""
    return _among(root, path, tuple(pattern for record in RECORDS.values() for pattern in record.LISTS))


def private(root: Path, path: Path) -> Path | None:
    """Return the folder of private state that contains a path; None for what a team may share."""
    for record in RECORDS.values():
        if record.SHARED != record.TOP and path.is_relative_to(root / record.TOP):
            return root / record.TOP
    return None


def extras(root: Path, state: Path) -> Path:
    """Return the path of a state file's extras: next to it, or in the folder that its format's record has for them.

    That folder is the one of the pattern that ends in `.extra.json` and has a name for each state file.
    """
    name = f"{state.stem}.extra.json"
    patterns = (pattern for each in keepers(root, state) for pattern in RECORDS[each].STATES)
    apart = (pattern.rpartition("/")[0] for pattern in patterns if pattern.endswith("/*.extra.json"))
    return next((root / folder / name for folder in apart), state.with_name(name))


def is_workflow_file(root: Path, path: Path) -> bool:
    """Return whether a path in the project at `root` is a state file, a list or a source of a workflow."""
    return any(_among(root, path, (*each.STATES, *each.LISTS, *each.SOURCES)) for each in RECORDS.values())


def folders(root: Path) -> list[Path]:
    """Return the existing folders in the project at `root` that the formats write to.

    A folder may be a symbolic link itself, but folders behind a link are left out.
    """
    found = []
    for record in RECORDS.values():
        inner = (pattern.rpartition("/")[0] for pattern in (*record.STATES, *record.VIEWS))
        for pattern in dict.fromkeys([record.TOP, *inner]):
            if pattern in ("", "."):
                continue  # the root itself is the project's, and holds more than workflows
            found += [folder for folder in sorted(root.glob(pattern)) if folder.is_dir() and not _behind(root, folder)]
    return list(dict.fromkeys(found))


def _behind(root: Path, folder: Path) -> bool:
    """Return whether a folder below the root is behind a symbolic link."""
    return any(each.is_symlink() for each in folder.parents if each not in (root, *root.parents))


def _among(root: Path, path: Path, patterns: tuple[str, ...]) -> bool:
    """Return whether a path below a root matches one of the patterns, component by component."""
    top, name = os.fspath(root).rstrip("/"), os.fspath(path)
    parts = name[len(top) + 1 :].split("/") if name.startswith(f"{top}/") else []
    return any(_fits(parts, pattern.split("/")) for pattern in patterns)


def _fits(parts: list[str], pattern: list[str]) -> bool:
    """Return whether each part of a path fits a pattern's."""
    return len(parts) == len(pattern) and all(map(fnmatchcase, parts, pattern))
