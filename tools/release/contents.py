"""What has to be in an sdist and a wheel: the files of the repository, and nothing else."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from typing import TYPE_CHECKING

from tools.release import wheels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_NAMED = 5  # of the files at fault
# Where the wheel has what lies in these folders of the repository.
_IN_WHEEL = {
    "src/holdfast/": "holdfast/",
    "catalogue/": "holdfast/_shipped/catalogue/",
    "handlers/": "holdfast/_shipped/handlers/",
    "hooks/": "holdfast/_shipped/hooks/",
    "skills/": "holdfast/_shipped/skills/",
}


def tracked(root: Path) -> set[str]:
    """Return the paths of the repository's files."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True)
    return set(listed.stdout.split("\0")) - {""}


def sdist_problems(sdist: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with an sdist: it has every file of the repository, and its own PKG-INFO."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    yield from _difference(sdist.name, names, {*files, "PKG-INFO"})


def wheel_problems(wheel: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with a wheel: it has the package, what comes with it, metadata and license.

    One for a platform has the relay too.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    known = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    wanted = {f"{folder}/{name}" for name in known}
    for place, inside in _IN_WHEEL.items():
        wanted |= {inside + file.removeprefix(place) for file in files if file.startswith(place)}
    if not wheel.name.endswith("-none-any.whl"):
        wanted.add(wheels.RELAY)
    yield from _difference(wheel.name, names, wanted)


def _difference(archive: str, names: set[str], wanted: set[str]) -> Iterator[str]:
    for what, which in (("lacks", wanted - names), ("has, but should not,", names - wanted)):
        if which:
            more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
            yield f"{archive} {what} {', '.join(sorted(which)[:_NAMED])}{more}."
