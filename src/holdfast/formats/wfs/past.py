"""Contents of a `wfs` session's files that Holdfast did not just write: earlier ones, and edits by others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import SchemaMismatch
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats.wfs import change as changes
from holdfast.formats.wfs import ids, index, markers, places, store
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import session as sessions
from holdfast.formats.wfs import view as views
from holdfast.workflow import statefile
from holdfast.workflow.model import Restored
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the session that a content of its state file, or of one of its task files, belongs to.

    For a task file, the workflow has that path and content. Raises SchemaMismatch, or StateError if it is broken.
    """
    file = StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw)
    folder = path.parent.parent if path.parent.name == places.TASKS else path.parent
    if folder.parent != places.top(project):
        raise SchemaMismatch(path, f"does not lie in a session's folder in {places.TOP}/")
    marked = folder.name in markers.active(project)
    if path.name == places.SESSION:
        return views.workflow(project, sessions.view(file, folder, marked=marked), index.board(project, folder))
    if ids.key(path.stem) is None or "status" not in file.data:
        raise SchemaMismatch(path, "isn't a task of a session")
    now = views.workflow(project, sessions.load(project, folder, marked=marked), index.board(project, folder))
    return replace(now, path=path, raw=raw)


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Restore an earlier content of a state or task file, then update state and list.

    Nothing can be in the way, so `replace` has no effect. Raises SchemaMismatch, StateError.
    """
    wanted = parsed(project, path, raw)
    folder = places.top(project) / wanted.id

    def attempt() -> tuple[bool, Path | None]:
        before = statefile.present(project, path)
        if before is not None and before.present == raw:
            return False, None
        return True, statefile.restore(project, path, raw, before, why=why)

    with locked(folder):
        changed, aside = statefile.insist(attempt)
        session, board = store.get(project, folder.name), index.board(project, folder)
        if session.standing != "completed":
            session = changes.follow(project, session, board, why=why)
            lists.write(project, session, board, before=None)
        return Restored(views.of_session(project, session), changed, aside)


def written(project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
    """Return the session that a written file belongs to, None for none; after a task file, update state and list.

    A task file is kept as a generation. Edits of a list, which is never read back, are in the session's warnings.
    Raises TransitionError if the session is completed, StateError if the file or the state is broken.
    """
    if path == workflow.path:
        return workflow
    if path == workflow.path.parent / places.LIST:
        session, board = store.get(project, workflow.id), index.board(project, path.parent)
        news = lists.news(project, session, board, lists.content(session, board))
        return replace(workflow, warnings=(*workflow.warnings, *([news] if news else ())))
    if path.parent != workflow.path.parent / places.TASKS:
        return None
    raw, _ = document.read(path, statefile.LIMIT_BYTES, within=project.root)
    document.parse(path, raw, 0.0)
    project.keep(path, raw, why=why)
    with changes.changing(project, store.get(project, workflow.id), why=why) as change:
        pass  # what follows from the tasks is written at the end
    now = views.workflow(project, change.session, change.board)
    return replace(now, warnings=(*now.warnings, *change.notes))
