"""What is wrong with the files of the `wfs` format, with a fix where there is one (R002-10, R002-33)."""

from __future__ import annotations

import copy
import os
import re
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from holdfast.errors import BrokenError, ChangedError, MissingError, SchemaMismatch, StateError, command_line
from holdfast.files import access, document
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, ids, moves, paths, rules, schema, session, todo_list, tree, view
from holdfast.formats.wfs.moves import NewTask
from holdfast.workflow import statefile
from holdfast.workflow.findings import Finding, notice, problem
from holdfast.workflow.model import Foreign
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.tree import Task, Tree
    from holdfast.workflow.records import Records

FIX = "holdfast doctor --fix"
_WHY = "doctor"  # what the versions are called that a fix writes
_TOPIC = re.compile(r"(?m)^# (?:Tasks: |Implementation Plan: )(\S.*)$")


def findings(project: Records) -> Iterator[Finding]:
    """Yield the problems of markers, states, tasks and lists. Each fix looks at the files again before it writes."""
    top = paths.top(project)
    if access.is_link(top):
        return  # the check of folders reports it; links are not followed
    yield from _markers(project)
    yield from _not_sessions(project)
    for folder in paths.folders(project):
        yield from _session(project, folder)


def _not_sessions(project: Records) -> Iterator[Finding]:
    """Yield the entries where sessions should be that aren't read."""
    top = paths.top(project)
    if os.path.lexists(top) and not top.is_dir():
        text = f"{paths.TOP} isn't a folder, so no session can be kept in it"
        yield problem(text, "move it away", code="folder", path=top)
    for each in paths.links(project):
        text = f"{paths.TOP}/{each.name} is a symbolic link, which is not followed, so it isn't a session"
        yield notice(text, "put the folder itself there", code="link", path=each)
    for other in foreign(project):
        text = f"{paths.shown(project, other.path)} {other.meaning}"
        yield notice(text, other.remedy, code="elsewhere", path=other.path)


def foreign(project: Records) -> Iterator[Foreign]:
    """Yield the folders with sessions one level too deep, each with a command that moves one; none is read."""
    for folder, sessions in groupby(paths.elsewhere(project), key=lambda each: each.parent):
        first, *others = sessions
        number = count(1 + len(others), "session")
        text = f"has {number}, which Holdfast doesn't read: it works on sessions directly in {paths.TOP}/"
        yield Foreign(folder, text, remedy=paths.moving(first))


def _markers(project: Records) -> Iterator[Finding]:
    """Yield markers of no session, and all but the newest of several (I002-11)."""
    elsewhere = {each.name for each in (*paths.elsewhere(project), *paths.links(project))}
    marked = session.active(project)
    for name in marked:
        if not paths.exists(project, name) and name not in elsewhere:
            yield _marker(project, name, "marks a session that is not there")
    newest, *others = session.newest_first(project, [each for each in marked if paths.exists(project, each)]) or [""]
    for name in others:
        yield _marker(project, name, f"is one of several; {newest} was marked last and stays active")


def _marker(project: Records, name: str, text: str) -> Finding:
    path = paths.marker(project, name)
    text = f"{paths.TOP}/{path.name} {text}"
    unmark = partial(_unmark, project, name, f"{text}: the marker is removed")
    return notice(f"{text}; --fix removes the marker", FIX, unmark, code="marker", path=path)


def _unmark(project: Records, name: str, text: str) -> str:
    if name not in session.marked(project):
        return ""
    session.unmark(project, name)
    return text


def _session(project: Records, folder: Path) -> Iterator[Finding]:
    """Yield the problems of a session, its tasks and its list."""
    path, marked = paths.state(folder), folder.name in session.marked(project)
    tasks = tree.read(project, folder)
    try:
        now = session.view(statefile.read(project, path), folder, marked=marked)
    except StateError as error:
        yield from _state(project, folder, error)
        yield from _tasks(project, folder, tasks, fixable=True)
        return
    is_open = now.standing != "completed"
    if now.file.repairable:
        yield from _state(project, folder, BrokenError(path, now.file.broken))
    elif now.file.broken:
        return  # nothing is written into a session whose state can't be read, which is reported for all formats alike
    for fault in schema.faults(schema.SessionFile, now.file.data, schema.Strict(os.path.exists, now.name)):
        text = rules.described(f"{now.name}/{paths.SESSION}", fault)
        yield notice(text, fault.remedy, code="state", path=path, field=fault.field)
    if now.marker_mismatch:
        text = f"{now.name}: {now.marker_mismatch}"
        done = f"its status becomes {now.standing}" if is_open else "the marker is removed"
        match = partial(_match_marker, project, folder, f"{text}: {done}")
        text = f"{text}; --fix {f'makes its status {now.standing}' if is_open else 'removes the marker'}"
        yield notice(text, FIX, match, code="status", path=path, field="status")
    for text, remedy in view.contradictions(now, tasks):
        yield notice(f"{now.name}: {text}", remedy, code="status", path=path, field="status")
    if is_open and moves.followed(now.file.data, tasks) != now.file.data:
        text = f"{now.name}/{paths.SESSION} does not say what follows from its tasks (type, current_phase, progress)"
        yield notice(text, FIX, partial(_follow, project, folder), code="behind", path=path)
    yield from _tasks(project, folder, tasks, fixable=is_open)
    if is_open:
        yield from _list(project, now, tasks)


def _list(project: Records, now: Session, tasks: Tree) -> Iterator[Finding]:
    """Yield differences between the list and the tasks, and tasks that look finished (I002-30)."""
    path = now.folder / paths.LIST
    left_alone = todo_list.is_left_alone(now, tasks)
    for text in todo_list.differences(now, tasks):
        fix = None if left_alone else partial(_follow, project, now.folder)
        remedy = todo_list.STAYS if left_alone else FIX
        yield notice(f"{now.name}/{paths.LIST}: {text}", remedy, fix, code="list", path=path)
    for task in tasks.leaves:
        why = tasks.looks_finished.get(task.id)
        if why and task.key not in tasks.ticked:  # else the list's differences say so
            text = (
                f"{now.name}: {task.id} looks finished: {why}, but its file says {task.status}. If it is, complete it"
            )
            remedy = command_line("wfs", "task", "complete", task.id, "--session", now.name)
            yield notice(text, remedy, code="looks-finished", path=paths.summary(now.folder, task.id))


def _tasks(project: Records, folder: Path, tasks: Tree, *, fixable: bool) -> Iterator[Finding]:
    """Yield broken task files without a version, and what breaks the rules; a completed session's are not fixed."""
    unread = {ids.key(each.path.stem) for each in tasks.problems}
    for each in tasks.problems:
        try:
            statefile.read(project, each.path)
        except (BrokenError, SchemaMismatch):
            text = f"{paths.shown(project, each.path)}: {each.reason}"
            yield problem(text, "write it again as JSON", code="broken", path=each.path)
        except StateError:
            pass  # reported for all formats alike
    for task, fault in rules.check(tasks, lambda path: (project.root / path).exists()):
        text = rules.described(f"{folder.name}/{paths.TASKS}/{task.name}.json", fault)
        own, right = tasks.parent_id(task), _corrections(task, tasks)
        needs_parent = (fault.rule, fault.field) == (3, "id") and task.id == task.name and ids.key(own) not in unread
        fix = None
        if fixable and fault.field in right:
            text, fix = f"{text}; --fix writes {right[fault.field]}", partial(_correct, project, folder, task)
        elif fixable and needs_parent:
            text, fix = f"{text}; --fix makes {own} as a container", partial(_create_parent, project, folder, own)
        code, path = f"rule-{fault.rule}" if fault.rule else "remark", paths.task(folder, task.name)
        yield notice(text, FIX if fix else fault.remedy, fix, code=code, path=path, field=fault.field)


def _state(project: Records, folder: Path, error: StateError) -> Iterator[Finding]:
    """Yield the finding for a session's state that can't be used (I002-23)."""
    path = paths.state(folder)
    where = paths.shown(project, path)
    if isinstance(error, SchemaMismatch) and not (folder / paths.TASKS).is_dir():
        text = f"{where}: {error.reason}; it is left alone"
        yield notice(text, "move it away if it is not meant so", code="foreign", path=path)
    elif isinstance(error, MissingError | BrokenError | SchemaMismatch):  # any other is reported for all formats alike
        done, fix = "it is rebuilt from what is left", "rebuilds it from what is left"
        if _earlier(project, path):
            done, fix = "its last content is put back", "puts its last content back"
        if not isinstance(error, MissingError):
            done, fix = f"{done}, and this one kept next to it", f"{fix}, and keeps this one next to it"
        text = f"{where}: {error.reason}"
        recreate = partial(_recreate, project, folder, f"{text}: {done}")
        yield problem(f"{text}; --fix {fix}", FIX, recreate, code="broken", path=path)


def _earlier(project: Records, path: Path) -> dict[str, Any] | None:
    """Return the last saved content of a state file that is a session's, or None."""
    with suppress(StateError):
        data = statefile.recovered(project, path, MissingError(path, "no such file")).data
        return data if session.is_session(data) else None
    return None


def _recreate(project: Records, folder: Path, text: str) -> str:
    """Put a session's last state back, else make one from the template and its tasks; the old file stays next to it."""
    path, marked = paths.state(folder), folder.name in session.marked(project)
    with locked(folder):
        if os.path.lexists(path):
            _set_aside(project, path)
        data = _earlier(project, path)
        if data is None:
            kind = choice.complexity(len(tree.read(project, folder).leaves))
            data = session.new_state(folder.name, _topic(folder), kind)
            data["status"] = "active" if marked else "paused"
        statefile.write(project, path, data, None, why=_WHY)
    _follow(project, folder)
    return text


def _set_aside(project: Records, path: Path) -> None:
    """Rename an invalid state file out of the way; one that is being saved is left alone. Raises StateError."""
    try:
        statefile.set_aside(project, path)
    except SchemaMismatch:
        document.set_aside(path)
    except ChangedError:
        if session.is_session(document.load(path, within=project.root).data):
            raise
        document.set_aside(path)  # it is valid JSON, but no session


def _topic(folder: Path) -> str:
    """Return a session's topic from its list or plan, else its name."""
    for name in (paths.LIST, paths.PLAN):
        try:
            text = document.read(folder / name, within=folder.parent.parent)[0].decode("utf-8", "replace")
        except StateError:
            continue
        if match := _TOPIC.search(text):
            return match[1].strip()
    return folder.name


def _match_marker(project: Records, folder: Path, text: str) -> str:
    """Make marker and status agree: the marker decides, but for a completed session (I002-14)."""
    now = session.get(project, folder.name)
    if not now.marker_mismatch:
        return ""
    settle = {"active": session.activate, "paused": session.pause, "completed": session.unmark}
    settle[now.standing](project, now.name)
    return text


def _follow(project: Records, folder: Path) -> str:
    """Write a session's state and list from its tasks, because a process was killed in between, or a person edited."""
    now = session.get(project, folder.name)
    tasks = tree.read(project, folder)
    is_current = moves.followed(now.file.data, tasks) == now.file.data and not todo_list.differences(now, tasks)
    if now.standing == "completed" or is_current:
        return ""
    with moves.changing(project, now, why=_WHY):
        pass  # what follows from the tasks is written at the end
    return f"wrote what follows from the tasks of {now.name} into its state and its list"


def _corrections(task: Task, tasks: Tree) -> dict[str, str]:
    """Return the right status and parent of a task, by field, where its file has another."""
    right = dict[str, str]()
    if tasks.children(task) and not task.marked_container:
        right["status"] = "container"
    elif task.raw_status and task.raw_status not in schema.STATUSES:
        right["status"] = task.status
    own = tasks.parent_id(task) if ids.key(task.id) == ids.key(task.name) else ""  # else either may be right
    if own and ids.key(task.parent) != ids.key(own) and isinstance(task.data.get("context"), dict | None):
        right["context.parent"] = own
    return right


def _correct(project: Records, folder: Path, task: Task) -> str:
    """Write a task's right status and parent into its file."""
    with moves.changing(project, session.get(project, folder.name), why=_WHY) as change:
        now = next((each for each in change.tree.tasks if each.name == task.name), None)
        right = _corrections(now, change.tree) if now else {}
        if now is None or not change.edit(now, partial(_apply, right)):
            return ""
    written = " and ".join(f"{field} {value}" for field, value in right.items())
    return f"wrote {written} into {folder.name}/{paths.TASKS}/{task.name}.json"


def _apply(right: Mapping[str, str], data: dict[str, Any]) -> None:
    if "status" in right:
        data["status"] = right["status"]
    if "context.parent" in right:
        data["context"] = {**copy.deepcopy(data.get("context") or {}), "parent": right["context.parent"]}


def _create_parent(project: Records, folder: Path, id_: str) -> str:
    """Create a missing parent as a container (I002-22)."""
    with moves.changing(project, session.get(project, folder.name), why=_WHY) as change:
        if change.tree.get(id_):
            return ""
        change.create(id_, moves.content(id_, NewTask(f"Tasks of {id_}")) | {"status": "container"})
    return f"made {id_} a container in {folder.name}"
