"""Find the machine of a skill: the user's, the project's once trusted, or a shipped one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast import paths, trust
from holdfast.errors import HoldfastError, MissingError, TransitionError
from holdfast.files import document, tomlfile
from holdfast.files.file_memo import Kept
from holdfast.formats.skills import machine, places

if TYPE_CHECKING:
    from holdfast.formats.skills.machine import Machine

SHIPPED = Path(__file__).parent / "machines"
MAX_FILES = 200  # machines that are listed from one folder


class Listed(NamedTuple):
    """A machine's file.

    Attributes:
        name: the skill.
        path: the file.
        machine: what it describes; None if it isn't used.
        reason: why it isn't used; empty if it is.
        trusted: whether it may be used; false for a project's file that isn't trusted as it is now.
    """

    name: str
    path: Path
    machine: Machine | None
    reason: str
    trusted: bool = True


def user_folder() -> Path:
    """Return the folder of the user's own machines."""
    return paths.config_dir() / "machines"


def project_folder(root: Path) -> Path:
    """Return the folder of a project's machines."""
    return root / ".claude" / "machines"


def get(root: Path, skill: str) -> Machine:
    """Return the machine of a skill.

    A user's file comes first, so a project's never replaces it. A project's counts once trusted, before a shipped one.

    Raises:
        ConfigError: its file describes no machine.
        StateError: its file can't be read.
        TransitionError: there is none, or the project's isn't trusted. The message names those there are.
    """
    if places.is_skill(skill):
        for folder in (user_folder(), project_folder(root), SHIPPED):
            path = folder / f"{skill}.toml"
            if folder == project_folder(root) and not is_trusted(root, path):
                continue
            try:
                return _kept.get(path)
            except MissingError:
                continue
    waiting = project_folder(root) / f"{skill}.toml"
    if places.is_skill(skill) and waiting.is_file():
        raise TransitionError(f"{waiting} is not trusted; read it, then run `holdfast skills trust {skill}`")
    known = ", ".join(sorted({each.name for each in listed(root) if each.machine}))
    raise TransitionError(
        f"no machine is called {skill!r}; there are {known}. Describe one in {user_folder() / 'NAME.toml'}, or name "
        "its phases with --phase"
    )


def known(root: Path, skill: str) -> tuple[Machine | None, str]:
    """Return the machine of a skill, None without a usable one, and what is wrong with its file; empty for nothing."""
    try:
        return get(root, skill), ""
    except TransitionError:
        return None, ""
    except HoldfastError as error:
        return None, str(error)


def listed(root: Path) -> list[Listed]:
    """Return the files of machines: the user's, the project's, the shipped ones. The first of a name is used."""
    found: list[Listed] = []
    for folder in (user_folder(), project_folder(root), SHIPPED):
        for path in sorted(folder.glob("*.toml"))[:MAX_FILES]:
            found.append(_look(root, path, [each.name for each in found if each.machine]))
    return found


def is_trusted(root: Path, path: Path) -> bool:
    """Return whether a project's machine is trusted as it is now."""
    return path.parent != project_folder(root) or trust.trusted(
        root, trust.relative_name(root, path), _digest(root, path)
    )


def content(root: Path, path: Path) -> bytes:
    """Return the bytes of a project's machine. Raises StateError."""
    return document.read(path, tomlfile.LIMIT_BYTES, within=root)[0]


def _digest(root: Path, path: Path) -> str:
    try:
        return trust.digest(content(root, path))
    except HoldfastError:
        return ""


def _look(root: Path, path: Path, used: list[str]) -> Listed:
    if not places.is_skill(path.stem):
        return Listed(path.stem, path, None, "its name is no name of a skill")
    if not is_trusted(root, path):
        return Listed(path.stem, path, None, "it is not trusted", trusted=False)
    if path.stem in used:
        return Listed(path.stem, path, None, "another machine of this name comes first")
    try:
        return Listed(path.stem, path, _kept.get(path), "")
    except HoldfastError as error:
        return Listed(path.stem, path, None, str(error))


def _read(path: Path) -> Machine:
    return machine.parse(path.stem, tomlfile.load(path), str(path))


_kept = Kept(_read)
