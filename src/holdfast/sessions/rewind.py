"""Show, compare and restore the versions of a state file, for `holdfast log`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import (
    ChoiceError,
    HoldfastError,
    MissingError,
    SchemaMismatch,
    StateError,
    command_line,
)
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.sessions import archive, contents, selection
from holdfast.workflow import names, places, registry, statefile
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Restored, Workflow
    from holdfast.workflow.records import Version

NOW = "now"  # in place of a version's number: the file's present content


@dataclass(frozen=True, slots=True)
class Content:
    """A content of a state file: its name in a diff, and its bytes."""

    name: str
    raw: bytes


def find(project: Workspace, wanted: str | None, session: str | None) -> Path:
    """Return the path of the state file that a command is about; the file need not exist any more.

    `wanted` is the id, title or path of a workflow, archived ones included, or the path of a file that has versions;
    None means the current one of the session that asks, if a model does. Raises HoldfastError if there is none, or if
    it could be several.
    """
    if wanted is not None and (path := _kept(project, wanted)):
        return path
    if wanted is None:
        try:
            return selection.select(project, None, session, ended=True).path
        except HoldfastError as error:
            lost = gone(project)
            if lost and isinstance(error, ChoiceError):
                raise ChoiceError(f"{lost}; {error.reason}", error.choices, more=error.more) from None
            if lost:
                raise HoldfastError(f"{error}. {lost}") from None
            raise
    try:
        return project.root / selection.anywhere(project, wanted)[0].place
    except HoldfastError:
        if path := _formerly(project, wanted):
            return path
        raise


def read(project: Workspace, path: Path, number: str) -> Content:
    """Return a version of a state file by its number, or the file's present content (`NOW`).

    Raises:
        HoldfastError: there is no such version; the message says which there are.
        StateError: the file can't be read.
    """
    place = project.place(path)
    if number == NOW:
        return Content(f"{place} now", document.read(path, within=project.root)[0])
    versions = contents.list_versions(project, path)
    version = next((each for each in versions if str(each.number) == number), None)
    raw = contents.content(project, path, version.number) if version else None
    if version is None or raw is None:
        raise HoldfastError(f"there is no version {number} of {place}; {_known(versions)}")
    return Content(f"{place} version {version.number}, {version.at[:19]}Z", raw)


def last_two(project: Workspace, path: Path) -> tuple[str, str]:
    """Return the numbers of the last two versions of a state file; of a single one, that and `NOW`.

    Raises HoldfastError if there is none.
    """
    numbers = [str(each.number) for each in contents.list_versions(project, path)[:2]]
    if not numbers:
        raise HoldfastError(f"{project.place(path)} has no saved version, so there is nothing to compare")
    return (numbers[1], numbers[0]) if len(numbers) > 1 else (numbers[0], NOW)


def diff(before: Content, after: Content) -> str:
    """Return a unified diff; empty if the contents are the same."""
    old, new = (each.raw.decode("utf-8", "backslashreplace") for each in (before, after))
    return document.difference(old, new, before.name, after.name)


def restore(project: Workspace, path: Path, number: str, *, replace: bool = False) -> Restored:
    """Restore a version of a state file byte for byte. The present content is saved as a version first.

    Nothing is written if the file holds that very content. Another, unfinished workflow that is in the file by now is
    only replaced with `replace`. Raises HoldfastError if there is no such version, or if the path or the version
    is no state file of a workflow.
    """
    content = read(project, path, number)
    name = next(
        (name for name in places.keepers(project.root, path) if _parsed(project, name, path, content.raw)), None
    )
    if name is None:
        raise HoldfastError(
            f"{content.name} isn't a workflow's state, so it can't be put back; "
            f"`holdfast restore {number} --show` prints it"
        )
    aside = _clear(project, name, path, number, replace=replace)
    put = registry.get(name).restore(project, path, content.raw, why=f"restore of {number}", replace=replace)
    return put._replace(aside=aside) if aside else put


def gone(project: Workspace) -> str:
    """Return how to put back the last unfinished workflow that is in no file any more; empty if there is none."""
    lost = missing(project)
    if not lost:
        return ""
    number, last = lost[0]
    what, options = ("holds something else now", ["--replace"]) if last.path.exists() else ("is gone", [])
    way = command_line("restore", number, *options, "--workflow", last.place)
    more = f" ({count(len(lost) - 1, 'more workflow')} can be put back, too)" if len(lost) > 1 else ""
    return f"The file of {quoted(last.title)} {what}{more}: `{way}` puts it back"


def missing(project: Workspace) -> list[tuple[str, Workflow]]:
    """Return the unfinished workflows whose files were deleted or hold something else now, the last changed first.

    Each has the number of its file's last version. A file in which only a field has to be corrected counts as the
    workflow's: an earlier content would drop what somebody edited. Raises LedgerError.
    """
    found = registry.all_found(project).workflows
    held = {each.path.parent if each.spread else each.path for each in found}
    held |= {each.path for each in registry.foreign(project) if each.field}
    over = {(each.workflow.place, each.workflow.title) for each in archive.entries(project)}
    known = [project.root / each for each in contents.paths(project)]
    others = [each for each in known if held.isdisjoint({each, *each.parents})]
    empty = [each for each in others if not _holds_state(project, each)]
    states = [state for each in empty if (state := last_state(project, each))]
    here = {each.id for each in found}
    lost: dict[tuple[str, str], tuple[str, Workflow]] = {}
    for number, each in sorted(states, key=lambda state: state[1].updated_at, reverse=True):
        if not each.finished and each.id not in here and (each.place, each.title) not in over:
            lost.setdefault((each.format, each.id), (number, each))  # one of several files, each with versions
    return list(lost.values())


def _holds_state(project: Workspace, path: Path) -> bool:
    """Return whether a file holds a workflow's state, or can't be read, so that its last version counts."""
    try:
        raw = document.read(path, within=project.root)[0]
        document.parse(path, raw, 0.0)
    except (MissingError, SchemaMismatch):
        return False
    except StateError:
        return True
    return any(_parsed(project, name, path, raw) for name in places.keepers(project.root, path))


def last_state(project: Workspace, path: Path) -> tuple[str, Workflow] | None:
    """Return the number of the last version of a file that is a workflow's state, with the workflow.

    None without one. Raises LedgerError.
    """
    names = places.keepers(project.root, path)
    for version in contents.list_versions(project, path):
        raw = contents.content(project, path, version.number) or b""
        for name in names:
            if (workflow := _parsed(project, name, path, raw)) is not None:
                return str(version.number), workflow
    return None


def _parsed(project: Workspace, name: str, path: Path, raw: bytes) -> Workflow | None:
    """Return a content of a state file as its format reads it; None if it is no state of that very file."""
    try:
        workflow = registry.get(name).parsed(project, path, raw)
    except StateError:
        return None
    return workflow if workflow.path == path else None


def _clear(project: Workspace, name: str, path: Path, number: str, *, replace: bool) -> Path | None:
    """Set a file aside that is JSON but no workflow's state, and return where it is; None if there is none.

    It may be another program's, so this raises SchemaMismatch without `replace`.
    """
    try:
        registry.get(name).parsed(project, path, document.read(path, within=project.root)[0])
    except SchemaMismatch as error:
        if not replace:
            way = f"`{putting_back(path, number)}` keeps it aside and puts version {number} in its place"
            raise SchemaMismatch(path, f"{error.reason}; {way}") from None
        statefile.guard(project.root, path)
        with locked(path.parent):
            return document.set_aside(path)
    except StateError:  # no file, or a broken one, which the format replaces
        return None
    return None


def putting_back(path: Path, number: str) -> str:
    """Return the command that restores a version over a file that is no workflow's state."""
    return command_line("restore", number, "--replace", "--workflow", str(path))


def _formerly(project: Workspace, wanted: str | None) -> Path | None:
    """Return the path of the one state file that held the workflow named, and that is gone or holds no state now."""
    states = [last_state(project, project.root / place) for place in contents.paths(project)] if wanted else []
    meant = names.matching([each[1] for each in states if each], wanted or "", whole=True)
    return meant[0].path if len(meant) == 1 else None


def _kept(project: Workspace, wanted: str) -> Path | None:
    """Return `wanted` as a path if it has saved versions, else None."""
    path = project.root / wanted  # an absolute one replaces the root
    return path if contents.list_versions(project, path) else None


def _known(versions: Sequence[Version]) -> str:
    if not versions:
        return "none is saved"
    first, last = versions[-1].number, versions[0].number
    return f"there are {first} to {last}" if len(versions) > 1 else f"there is only {first}"
