"""Check sessions of the `wfs` format and report everything that is wrong at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.errors import BrokenError, MissingError, SchemaMismatch, StateError, command_line
from holdfast.files import access, document
from holdfast.formats.wfs import change as changes
from holdfast.formats.wfs import choice, index, markers, places, rules
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import session as sessions
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.finding import Finding
from holdfast.formats.wfs.foreign import foreign
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.records import Records

MEND = "holdfast wfs repair --dry-run says what can be done"
ANEW = "holdfast wfs todo writes it anew"
_CORRECT = "correct it"
AS_IT_IS = "the session is completed, so it stays as it is"


def findings(project: Records, folders: Sequence[Path]) -> Iterator[Finding]:
    """Yield what is wrong with sessions: markers, states, tasks that break the nine rules, lists."""
    marked = markers.active(project)
    if os.path.lexists(places.top(project)) and not places.top(project).is_dir():
        yield Finding(
            0, places.TOP, "", None, "it isn't a folder, so no session can be kept in it", "move it away", wrong=True
        )
    if len(active := sessions.active(project)) > 1:
        yield Finding(0, places.TOP, "markers", active, "several sessions are marked as active", MEND, wrong=True)
    linked = [each.name for each in places.links(project)]
    for name in linked:
        said = "it is a symbolic link, which is not followed, so it isn't a session"
        yield Finding(0, f"{places.TOP}/{name}", "", None, said, "put the folder itself there")
    beside = places.elsewhere(project)
    for name in marked:
        if not places.has(project, name) and name not in (*linked, *(each.name for each in beside)):
            file = f"{places.TOP}/{places.MARKER}{name}"
            yield Finding(0, file, "session", name, "there is no such session", MEND, wrong=True)
    for folder in folders:
        for found in (*_session(project, folder, marked), *tasks(project, folder)):
            yield found._replace(file=f"{folder.name}/{found.file}")


def elsewhere(project: Records) -> Iterator[Finding]:
    """Yield the folders whose sessions Holdfast doesn't read (`foreign`)."""
    for each in foreign(project):
        yield Finding(0, places.inner(project, each.path), "", None, each.meaning, each.remedy)


def tasks(project: Records, folder: Path) -> Iterator[Finding]:
    """Yield what is wrong with a session's task files, which are named relative to its folder."""
    board = index.board(project, folder)
    for problem in board.problems:
        remedy = _remedy(project, problem.path, known=problem.path.stem in board.names)
        yield Finding(5, f"{places.TASKS}/{problem.path.name}", "", None, problem.reason, remedy)
    files = {}
    for task in board.tasks:
        try:
            files[task.name] = statefile.read(project, places.task(folder, task.name)).data
        except StateError:
            files[task.name] = {}
    yield from rules.check(board, files, lambda path: (project.root / path).exists())


def _session(project: Records, folder: Path, marked: Sequence[str]) -> Iterator[Finding]:
    try:
        session = sessions.load(project, folder, marked=folder.name in marked)
    except SchemaMismatch as error:
        yield Finding(0, places.SESSION, "", None, error.reason, "it is left alone; move it away if it is not meant so")
        return
    except StateError as error:
        yield Finding(0, places.SESSION, "", None, error.reason, _remedy(project, error.path), unread=True)
        return
    board = index.board(project, folder)
    if session.file.broken:
        problem = f"{session.file.broken}{statefile.KEPT_IS_USED}"
        yield Finding(0, places.SESSION, "", None, problem, _remedy(project, session.file.path), unread=True)
    yield from _fields(session)
    over = session.standing == "completed"
    if session.drift:
        stale = over and folder.name in marked  # the marker makes other tools take it for active
        yield Finding(0, places.SESSION, "status", session.raw_status, session.drift, MEND, wrong=stale)
    for said, remedy in views.contradictions(session, board):
        yield Finding(0, places.SESSION, "status", session.raw_status, said, remedy)
    if not over and changes.followed(session.file.data, board) != session.file.data:
        said = "it does not say what follows from its tasks (type, current_phase, progress)"
        yield Finding(0, places.SESSION, "", None, said, MEND)
    remedy = AS_IT_IS if over else lists.STAYS if lists.stays(session, board) else ANEW
    for each in () if over else board.leaves:
        if (why := board.looks_finished.get(each.id)) and each.key not in board.ticked:  # else the list's drift says so
            said = f"{each.id} looks finished: {why}, but its file says {each.status}. If it is, complete it"
            remedy = command_line("wfs", "task", "complete", each.id, "--session", session.name)
            yield Finding(0, places.SUMMARIES, "", None, said, remedy)
    for line in lists.drift(session, board):
        yield Finding(0, places.LIST, "", None, line, remedy)


def _remedy(project: Records, path: Path, *, known: bool = True) -> str:
    """Return what to do about an unusable file. A repair fixes one that is missing, or broken and `known`."""
    try:
        statefile.guard(project.root, path)
        document.load(path, statefile.LIMIT_BYTES)
    except (MissingError, BrokenError, SchemaMismatch):
        return MEND if known else "write it anew as JSON"
    except StateError:
        above = (path, *(each for each in path.parents if each.is_relative_to(project.root)))
        link = next((each for each in above if access.is_link(each)), path)
        return access.unlinking(link) or access.remedy(path) or f"look at {path}"
    return MEND


def _fields(session: Session) -> Iterator[Finding]:
    """Yield values in a session's state that the schema doesn't know (R002-08)."""
    data = session.file.data
    known = {"type": choice.COMPLEXITIES, "current_phase": sessions.PHASES}
    if data.get("session_id") != session.name:
        yield Finding(0, places.SESSION, "session_id", data.get("session_id"), "its folder says another name", _CORRECT)
    for field, allowed in known.items():
        if data.get(field) not in allowed:
            yield Finding(0, places.SESSION, field, data.get(field), f"it is not one of {', '.join(allowed)}", _CORRECT)
    progress = data.get("progress")
    for field in ("completed_phases", "current_tasks"):
        if not isinstance(progress, dict) or not isinstance(progress.get(field), list):
            value = progress.get(field) if isinstance(progress, dict) else progress
            yield Finding(0, places.SESSION, f"progress.{field}", value, "it is not a list", _CORRECT)
