"""The ledger a project had through its `project.id` before that had to be trusted."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from holdfast import paths
from holdfast.config import Config
from holdfast.project import Project

PATIENCE_S = 0.5  # to wait for another process: an event waits for the answer


def find(project: Project) -> Path | None:
    """Return the ledger that trusting the project's `holdfast.toml` brings back; None if it never had that.

    A ledger of the same id that only other repositories have used is not named: a clone could ask for it.
    """
    file = project.untrusted_ledger
    if file is None:
        return None
    known: list[str] = []
    with suppress(sqlite3.Error), closing(_reader(file)) as connection:
        known = [str(row[0]) for row in connection.execute("SELECT DISTINCT worktree FROM sessions")]
    return file if any(Project(Path(each), Config()).location == project.location for each in known) else None


def notice(project: Project) -> str:
    """Return what to tell the user of that ledger, with the command that brings it back; empty without one."""
    file = find(project)
    if file is None:
        return ""
    place = paths.project_config(project.root)
    return (
        f"project.id in {place} doesn't count until you trust that file. What Holdfast knew of this project is in "
        f"{file}. To use it again, read the file, then run: {command(project)}"
    )


def command(project: Project) -> str:
    """Return the command that trusts the project's `holdfast.toml`."""
    place = paths.project_config(project.root)
    return shlex.join(["holdfast", "handlers", "trust", "--project", str(project.root), str(place)])


def _reader(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", timeout=PATIENCE_S, uri=True)
