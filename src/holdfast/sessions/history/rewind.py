"""Show, compare and restore the generations of a state file, for `holdfast log`."""

from __future__ import annotations

import difflib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, SchemaMismatch, StateError, command_line
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.sessions import selection
from holdfast.sessions.history import generations
from holdfast.workflow import places, registry, statefile, typed_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Restored, Workflow

NOW = "now"  # in place of a generation's number: the file's present content


@dataclass(frozen=True, slots=True)
class Content:
    """A content of a state file: its name in a diff, and its bytes."""

    name: str
    raw: bytes


def find(project: Workspace, wanted: str | None, session: str | None) -> Path:
    """Return the path of the state file that a command is about; the file need not exist any more.

    Args:
        project: the project.
        wanted: the id, title or path of a workflow, archived ones included, or the path of a file that has generations;
            None means the current workflow.
        session: the session that asks, if a model does.

    Raises:
        HoldfastError: there is none, or it could be several.
    """
    if wanted is not None and (path := _kept(project, wanted)):
        return path
    if wanted is None:
        return selection.select(project, None, session, ended=True).path
    try:
        return project.root / selection.anywhere(project, wanted)[0].place
    except HoldfastError:
        if path := _formerly(project, wanted):
            return path
        raise


def read(project: Workspace, path: Path, number: str) -> Content:
    """Return a generation of a state file by its number, or the file's present content (`NOW`).

    Raises:
        HoldfastError: there is no such generation; the message says which there are.
        StateError: the file can't be read.
    """
    place = _place(project, path)
    if number == NOW:
        return Content(f"{place} now", document.read(path, within=project.root)[0])
    row = generations.numbered(project, path, int(number)) if number.isascii() and number.isdigit() else None
    if row is None:
        raise HoldfastError(f"there is no generation {number} of {place}; {_known(project, path)}")
    return Content(f"{place} generation {row['number']}, {row['at'][:19]}Z", row["content"])


def last_two(project: Workspace, path: Path) -> tuple[str, str]:
    """Return the numbers of the last two generations of a state file; of a single one, that and `NOW`.

    Raises HoldfastError if none was kept.
    """
    numbers = [str(row["number"]) for row in generations.all(project, path)][:2]
    if not numbers:
        raise HoldfastError(f"no generation of {_place(project, path)} was kept, so there is nothing to compare")
    return (numbers[1], numbers[0]) if len(numbers) > 1 else (numbers[0], NOW)


def diff(before: Content, after: Content) -> Iterator[str]:
    """Yield the lines of a unified diff, each with its line break; none if the contents are the same."""
    old, new = (each.raw.decode("utf-8", "backslashreplace").split("\n") for each in (before, after))
    for line in difflib.unified_diff(_lines(old), _lines(new), before.name, after.name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def restore(project: Workspace, path: Path, number: str, *, replace: bool = False) -> Restored:
    """Restore a generation of a state file byte for byte. The present content is kept as a generation first.

    Args:
        project: the project.
        path: the state file.
        number: the generation's number.
        replace: whether to replace another, unfinished workflow that is in that file by now.

    Returns:
        What was done. Nothing is written if the file holds that very content.

    Raises:
        HoldfastError: there is no such generation, or the path or the generation is no state file of a workflow.
    """
    content = read(project, path, number)
    name = next(
        (name for name in places.keepers(project.root, path) if _parses(project, name, path, content.raw)), None
    )
    if name is None:
        raise HoldfastError(
            f"{content.name} isn't a workflow's state, so it can't be put back; `holdfast log show` prints it"
        )
    aside = _clear(project, name, path, number, replace=replace)
    put = registry.get(name).restore(project, path, content.raw, why=f"restore of {number}", replace=replace)
    return put._replace(aside=aside) if aside else put


def last_state_number(project: Workspace, path: Path) -> str:
    """Return the number of the last generation of a file that is a workflow's state; empty without one.

    Raises LedgerError.
    """
    names = places.keepers(project.root, path)
    for row in generations.all(project, path):
        raw = generations.content(project, row["id"])
        if raw is not None and any(_parses(project, name, path, raw) for name in names):
            return str(row["number"])
    return ""


def _parses(project: Workspace, name: str, path: Path, raw: bytes) -> bool:
    try:
        return registry.get(name).parsed(project, path, raw).path == path
    except StateError:
        return False


def _clear(project: Workspace, name: str, path: Path, number: str, *, replace: bool) -> Path | None:
    """Set a file aside that is JSON but no workflow's state, and return where it is; None if there is none.

    It may be another program's, so this raises SchemaMismatch without `replace`.
    """
    try:
        registry.get(name).parsed(project, path, document.read(path, within=project.root)[0])
    except SchemaMismatch as error:
        if not replace:
            way = f"`{putting_back(path, number)}` keeps it aside and puts generation {number} in its place"
            raise SchemaMismatch(path, f"{error.reason}; {way}") from None
        statefile.guard(project.root, path)
        with locked(path.parent):
            return document.set_aside(path)
    except StateError:  # no file, or a broken one, which the format replaces
        return None
    return None


def putting_back(path: Path, number: str) -> str:
    """Return the command that restores a generation over a file that is no workflow's state."""
    return command_line("log", "restore", number, "--replace", "--workflow", str(path))


def _formerly(project: Workspace, wanted: str | None) -> Path | None:
    """Return the path of the one state file that held the workflow named, and that is gone or holds no state now."""
    found: list[Workflow] = []
    for place in generations.paths(project) if wanted else ():
        path = project.root / place
        if not (number := last_state_number(project, path)):
            continue
        row = generations.numbered(project, path, int(number))
        for name in places.keepers(project.root, path):
            with suppress(StateError):
                before = registry.get(name).parsed(project, path, row["content"] if row else b"")
                if before.path == path:
                    found.append(before)
    meant = typed_names.named(found, wanted or "", whole=True)
    return meant[0].path if len(meant) == 1 else None


def _kept(project: Workspace, wanted: str) -> Path | None:
    """Return `wanted` as a path if generations of it were kept, else None."""
    try:
        path = Path(wanted) if Path(wanted).is_absolute() else project.root / wanted
        return path if generations.all(project, path) else None
    except (OSError, ValueError):
        return None


def _place(project: Workspace, path: Path) -> str:
    return (path.relative_to(project.root) if path.is_relative_to(project.root) else path).as_posix()


def _known(project: Workspace, path: Path) -> str:
    kept = [row["number"] for row in generations.all(project, path)]
    if not kept:
        return "none was kept"
    return f"there are {kept[-1]} to {kept[0]}" if len(kept) > 1 else f"there is only {kept[0]}"


def _lines(parts: list[str]) -> list[str]:
    """Return lines with their breaks; the last has none if the file doesn't end with one."""
    return [f"{part}\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]
