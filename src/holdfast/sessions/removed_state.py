"""What to say about workflows whose state file was removed although nobody completed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, LedgerError, command_line
from holdfast.sessions import archive, contents, imports
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.project import OpenProject


def line(project: OpenProject, key: str) -> str:
    """Say that the workflow with this key is ignored, and how to bring it back; empty if there is nothing to say.

    There isn't if its file is there again, if it gave way to another or was completed, or if there is no version of it.
    """
    name, _, rest = key.partition(":")
    path = project.root / rest.rpartition("#")[0]
    try:
        raw = contents.latest(project, path)
        if path.exists() or raw is None or archive.holds(project, key):
            return ""
        workflow = registry.get(name).parsed(Workspace.of(project), path, raw)
        named = imports.last(project, path) is not None
    except HoldfastError:
        return ""
    if workflow.finished:
        return ""
    ignored = " What names it elsewhere is ignored until it changes." if named else ""
    return (
        f"{quoted(workflow.title)} ({workflow.progress_text}) is not restored, because its state file was removed."
        f"{ignored} To bring it back: {way(project, path)}"
    )


def way(project: OpenProject, path: Path) -> str:
    """Return the command that restores the latest version of a state file, in backticks; empty if there is none."""
    try:
        versions = contents.list_versions(project, path)
    except LedgerError:
        return ""
    place = path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)
    if not versions:
        return ""
    return f"`{command_line('restore', str(versions[0].number), '--workflow', one_line(place))}`"
