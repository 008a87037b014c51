"""Find files of other programs at the paths that the `hybrid` format uses, or that its document leaves to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import SchemaMismatch, StateError
from holdfast.files import access, document
from holdfast.formats.hybrid import file as hybrid_file
from holdfast.formats.hybrid import view as hybrid_view
from holdfast.workflow import statefile
from holdfast.workflow.model import Foreign

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.workflow.records import Records

_OTHERS = {
    ".claude/state/active_task_graph.json": "an orchestrator's order of tasks",
    ".claude/state/delegated_sessions.txt": "an orchestrator's list of sessions",
}


def foreign(project: Records) -> Iterator[Foreign]:
    """Yield the files of other programs, which are never changed (I000-20, R000-37)."""
    try:
        hybrid_file.load(project)
    except SchemaMismatch as error:
        yield Foreign(
            error.path,
            f"{error.reason}, so no workflow of the hybrid format can be kept here while it is there. Move it away, or "
            "start workflows with `--format compaction`",
            in_the_way=True,
        )
    except StateError:
        pass  # missing or broken, but not another program's
    view = project.root / hybrid_view.FILE
    if why := _view(project, view):
        said = f"{why}; it is left alone, so a hybrid workflow has no view here. Rename it to get one"
        yield Foreign(view, said, in_the_way=True)
    for place, what in _OTHERS.items():
        if access.is_there(project.root / place):
            yield Foreign(project.root / place, f"is {what}; Holdfast neither reads nor writes it")


def _view(project: Records, path: Path) -> str:
    """Say why the file in the view's place isn't Holdfast's; empty if it is, or if there is none."""
    begins = hybrid_view.generate_markdown({}).partition("\n")[0]
    try:
        statefile.guard(project.root, path)
        if not access.is_there(path) or document.read(path)[0].startswith(begins.encode()):
            return ""
    except StateError as error:
        return error.reason
    return f'is somebody else\'s: it does not begin with "{begins.strip()}"'
