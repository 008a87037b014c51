"""The record of what was installed where, so that it can be undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations of `Install`
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path  # noqa: TC003 - likewise
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from holdfast import paths
from holdfast.clients.claude.scopes import Scope  # noqa: TC001 - likewise
from holdfast.errors import BrokenError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.install.register import Wish  # noqa: TC001 - likewise

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class Install:
    """What Holdfast added to one settings file.

    Attributes:
        settings: the file's real path.
        scope: the scope of the settings.
        root: the project it was installed from.
        containers: what to put back into objects and arrays that are empty once Holdfast's entries are gone
            (`Settings.containers`); None if an install hasn't changed the file yet.
        allowed: the permission rules that Holdfast added.
        skill: the copy of the skill, if Holdfast made one.
        skill_digest: its SHA-256.
        status_line: whether the client's status line is Holdfast's.
        projects: project root -> what its trusted handlers want registered here.
    """

    settings: Path
    scope: Scope
    root: Path
    containers: Mapping[str, str | None] | None = None
    allowed: tuple[str, ...] = ()
    skill: Path | None = None
    skill_digest: str = ""
    status_line: bool = False
    projects: Mapping[str, tuple[Wish, ...]] = dataclasses.field(default_factory=dict)

    def others(self, root: Path) -> list[Wish]:
        """Return the hooks that the handlers of all recorded projects except the one at `root` want."""
        return [wish for name, wishes in self.projects.items() if name != str(root) for wish in wishes]

    def with_project(self, root: Path, wishes: Iterable[Wish]) -> Install:
        """Return this record with the wishes of the project at `root`; only user settings keep any."""
        left = {name: known for name, known in self.projects.items() if name != str(root)}
        own = tuple(wishes) if self.scope == "user" else ()
        return dataclasses.replace(self, projects={**left, str(root): own} if own else left)


def held() -> AbstractContextManager[None]:
    """Return the lock to hold while changing settings files or this record. Raises StateError."""
    folder = paths.state_dir()
    try:
        return locked(paths.ensure_private(folder))
    except OSError as error:
        raise StateError(folder, f"cannot be created: {error.strerror or error}") from error


def load() -> dict[str, Install]:
    """Return every install by the settings file's real path; none if the record can't be read."""
    try:
        rows = document.load(file()).data.get("installs")
    except StateError:
        return {}
    known = {name: _install(row) for name, row in rows.items()} if isinstance(rows, dict) else {}
    return {name: install for name, install in known.items() if install}


def get(settings: Path) -> Install | None:
    """Return the record of a settings file, by its real path."""
    return load().get(str(settings))


def keep(install: Install) -> None:
    """Save an install's record, replacing an earlier one of the same file. Raises StateError."""
    _save({**load(), str(install.settings): install})


def forget(settings: Path) -> None:
    """Drop a file's record and those of files that are gone. Raises StateError."""
    left = others(settings)
    if left != load():
        _save(left)


def others(settings: Path) -> dict[str, Install]:
    """Return the records of the other files that still exist, by path. Raises StateError."""
    known = load().items()
    return {name: install for name, install in known if name != str(settings) and install.settings.exists()}


def file() -> Path:
    """Return the record's path."""
    return paths.state_dir() / "installs.json"


def _save(installs: dict[str, Install]) -> None:
    """Replace the record. A broken one is set aside, for it may still be useful; one that's closed is left alone."""
    with suppress(MissingError):
        try:
            document.load(file())
        except (BrokenError, SchemaMismatch):
            document.set_aside(file())
    rows = {name: _rows().dump_python(install, mode="json") for name, install in installs.items()}
    if installs != load():
        atomic.write(file(), document.render({"version": 1, "installs": rows}), mode=0o600)


def _install(row: Any) -> Install | None:
    """Return a row of the file as an Install, or None if it isn't one."""
    try:
        return _rows().validate_python(_of_0_1(row) if isinstance(row, dict) and "containers" not in row else row)
    except ValidationError:
        return None


def _of_0_1(row: dict[str, Any]) -> dict[str, Any]:
    """Return a record of version 0.1.0, which named the containers as lists of member names, as one of this version."""
    created = {"": None} if row.get("created") else {}
    return row | {"containers": created | {".".join(steps): None for steps in row.get("added", ())}}


@cache
def _rows() -> TypeAdapter[Install]:
    return TypeAdapter(Install)
