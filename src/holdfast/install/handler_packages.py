"""Find the installed packages that bring handlers, so that events only read the index of them."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.files import atomic
from holdfast.plugins import packages
from holdfast.plugins.packages import Package

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GROUP = "holdfast.handlers"
"""The entry point group in which a package names the folder of its handlers, as a package: `acme_hooks.handlers`."""


def find() -> list[Package]:
    """Return the installed packages that bring handlers, by name. None of their handlers is loaded."""
    return sorted(package for package in _named() if package.folder)


def unusable() -> list[str]:
    """Return a sentence for each entry point that names no folder."""
    return [
        f"{each.name} {each.version} brings no handlers, because its entry point {GROUP} names no package"
        for each in _named()
        if not each.folder
    ]


def _named() -> Iterator[Package]:
    """Yield the package of each entry point; without a folder if it names none."""
    for entry in entry_points(group=GROUP):
        try:
            spec = find_spec(entry.value)
        except (ImportError, ValueError):
            spec = None
        name, number = (entry.dist.name, entry.dist.version) if entry.dist else (entry.name, "")
        for folder in (spec.submodule_search_locations if spec else None) or ("",):
            yield Package(name, number, str(Path(folder).resolve()) if folder else "")


def refresh() -> list[str]:
    """Bring the index up to date with the installed packages.

    Returns:
        Nothing if it was up to date; else a line for each package in it, and for each that is gone.

    Raises:
        StateError: the index can't be written.
    """
    found, before = find(), list(packages.installed())
    if found == before:
        return []
    if found:
        atomic.write(paths.ensure_private(paths.state_dir()) / packages.index_file().name, packages.render(found))
    else:
        packages.index_file().unlink(missing_ok=True)
    gone = sorted({each.name for each in before} - {each.name for each in found})
    lines = [f"Handlers of {each.name} {each.version}: {each.folder}" for each in found if each not in before]
    return [*lines, *(f"Handlers of {name}: removed" for name in gone)]


def unmet(requires: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each requirement of a project that isn't installed as it asks.

    Args:
        requires: requirements as pip writes them, such as `acme-hooks>=1.2`.
    """
    from packaging.requirements import (  # only a project that requires something needs it
        InvalidRequirement,
        Requirement,
    )

    for text in requires:
        try:
            wanted = Requirement(text)
        except InvalidRequirement as error:
            yield f"holdfast.toml: key 'requires': {text!r} isn't a requirement: {str(error).partition(chr(10))[0]}"
            continue
        if wanted.marker and not wanted.marker.evaluate():
            continue
        try:
            there = version(wanted.name)
        except PackageNotFoundError:
            there = ""
        if not there or not wanted.specifier.contains(there, prereleases=True):
            how = f"{there} is installed" if there else "it isn't installed"
            where = f"Install it into Holdfast's environment, {sys.prefix}. Then run `holdfast install`."
            yield f"This project requires {text}, and {how}. {where}"
