"""The files of a described format: which there are, and each change as one read and write under the lock."""

from __future__ import annotations

import copy
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.described import description as described
from holdfast.formats.described import edits, fields, view
from holdfast.workflow import places, statefile, views
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.formats.described.description import Description
    from holdfast.workflow.model import Start, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

MAX_FILES = 10_000  # of one format that are listed
_MAX_SAME = 1000  # files of one title
_TITLE_LIMIT_CHARS = 60  # of a title in a file's name


def files(project: Records, rules: Description, *, theirs: bool = False) -> Iterator[Path]:
    """Yield the files that may hold a workflow: none where none may lie, and none that another format keeps.

    With `theirs`, yield those that are left out.
    """
    seen = 0
    for pattern in rules.files:
        for path in sorted(project.root.glob(pattern)) if "*" in pattern else [project.root / pattern]:
            seen += 1
            if seen > MAX_FILES:
                return
            if is_place(project.root, rules, path) is not theirs:
                yield path


def is_place(root: Path, rules: Description, path: Path) -> bool:
    """Return whether a file of this format may lie at a path: its pattern says so, and no other format comes first."""
    keepers = places.keepers(root, path)
    return keepers[:1] == [rules.name] and not described.misplaced(path.relative_to(root).as_posix())


def read(project: Records, rules: Description, path: Path) -> StateFile:
    """Return a state file. Raises MissingError, SchemaMismatch for one of something else, StateError."""
    file = statefile.read(project, path)
    view.check(rules, path, file.data)
    return file


def top(project: Records, rules: Description) -> Path:
    """Return the folder whose lock is held while a file changes."""
    return project.root / rules.top


def change(
    project: Records,
    rules: Description,
    workflow: Workflow,
    edit: Callable[[dict[str, Any]], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> tuple[Workflow, bool]:
    """Run `edit` on a file under the lock; return the workflow as it is now and whether it changed.

    `edit` may run several times, if somebody else saves meanwhile (`statefile.rewrite`, which explains `repair` too).
    Nothing but what it changes is written anew: unknown keys and the layout stay.

    Raises:
        MissingError: the file is gone.
        TransitionError: another workflow is in the file by now, or `edit` refuses.
        SchemaMismatch: the file is something else by now.
        StateError: it can't be read or written.
    """
    path = workflow.path
    statefile.guard(project.root, path)
    if not is_place(project.root, rules, path):
        raise StateError(path, f"is no place for a file of {rules.name}")
    if not path.exists():
        raise MissingError(path, "is gone")

    def apply(file: StateFile) -> dict[str, Any]:
        before = view.workflow(project, rules, file)
        if before.id != workflow.id:
            raise TransitionError(f"{workflow.place} holds {before.id} by now, not {workflow.id}")
        data = copy.deepcopy(file.data)
        edit(data)
        if data != file.data:
            edits.settle(rules, data)
        project.observe(before)  # what was moved by hand before keeps its own time
        return data

    with locked(top(project, rules)):
        after, changed = statefile.rewrite(project, path, apply, why=why, repair=repair)
        now = view.workflow(project, rules, after)
        project.observe(now, error=error, **({"at": clock.stamp()} if changed else {}))
        return now, changed


def create(project: Records, rules: Description, start: Start) -> Workflow:
    """Write the file of a new workflow. An unfinished one in its place gives way with `replace`.

    Raises:
        TransitionError: it has no units, something is given that the format keeps nowhere, or an unfinished
            workflow is in its place.
        SchemaMismatch: another program's file is in its place.
        StateError: the place can't be used.
    """
    if not start.phases:
        raise TransitionError(f'{rules.name} needs at least one {rules.word}: --phase "TITLE"')
    if start.total not in (None, len(start.phases)):
        raise TransitionError(f"{rules.name} has the {rules.word}s it lists; name each with --phase, without --total")
    if start.kind:
        raise TransitionError(f"{rules.name} keeps no type; leave --type out")
    if any(agent for _, agent in start.phases) and "agent" not in rules.unit:
        raise TransitionError(f"{rules.name} keeps no agents; units.agent in {rules.source} would name a field")
    statefile.guard(project.root, top(project, rules))
    with locked(top(project, rules)):
        return statefile.insist(lambda: _created(project, rules, start))


def _created(project: Records, rules: Description, start: Start) -> Workflow:
    path, before = _place(project, rules, start)
    gone = view.workflow(project, rules, before) if before is not None else None
    data = fresh(rules, start, "" if gone is None else gone.id)
    if gone is not None:
        project.observe(gone)
        if view.identity(rules, data, path) == gone.id and gone.finished:
            said = f"{gone.place} holds a finished workflow, which can't be told apart from a new one"
            raise TransitionError(f"{said}; name a field for it with workflow.id in {rules.source}, or move it away")
        project.shelve(gone)
    file = statefile.write(project, path, data, before, why="start")
    workflow = view.workflow(project, rules, file)
    project.observe(workflow, at=clock.stamp())
    return workflow


def fresh(rules: Description, start: Start, last: str) -> dict[str, Any]:
    """Return the content of a new file: what is described and nothing else, and an id that isn't `last`."""
    entries: list[dict[str, Any]] = []
    for number, (title, agent) in enumerate(start.phases, 1):
        entry: dict[str, Any] = {}
        if path := rules.unit.get("id", ""):
            fields.put(entry, path, f"{rules.word.replace(' ', '_')}_{number}")
        fields.put(entry, rules.unit["title"], title)
        fields.put(entry, rules.unit["status"], rules.statuses["pending"][0])
        if agent:
            fields.put(entry, rules.unit["agent"], agent)
        entries.append(entry)
    data: dict[str, Any] = {}
    where = rules.workflow
    values = {"id": _new_id(rules, last), "title": start.title, "created": clock.stamp()}
    for name, value in values.items():
        if where.get(name):
            fields.put(data, where[name], value)
    group = rules.unit.get("group", "")
    for key, value in fields.build(rules.units, entries, titled=(group, start.title) if group else None).items():
        data[key] = {**data[key], **value} if isinstance(data.get(key), dict) and isinstance(value, dict) else value
    edits.add(rules, data, reading=start.reading, reminders=start.reminders, context=start.context)
    edits.settle(rules, data)
    return data


def _place(project: Records, rules: Description, start: Start) -> tuple[Path, StateFile | None]:
    """Return where a new workflow goes, and the file that it replaces there, if any."""
    pattern, names = rules.files[0], [rules.files[0]]
    if "*" in pattern:
        folder, slash, last = pattern.rpartition("/")
        slug = re.sub("[^a-z0-9]+", "-", start.title.lower()).strip("-")[:_TITLE_LIMIT_CHARS] or "workflow"
        numbered = [slug, *(f"{slug}-{number}" for number in range(2, _MAX_SAME))]
        names = [f"{folder}{slash}{last.replace('*', each, 1).replace('*', '')}" for each in numbered]
    for name in names:
        path = project.root / name
        if not is_place(project.root, rules, path):
            continue  # another format keeps that file
        try:
            before = statefile.present(project, path)
            if before is None:
                return path, None
            now = view.workflow(project, rules, before)
        except SchemaMismatch:
            if "*" in pattern:
                continue  # another program's file of that name stays; there are other names
            raise
        if not now.finished and not start.replace:
            raise TransitionError(views.in_the_way(project, now))
        if not now.finished or "*" not in pattern:
            return path, before
    raise TransitionError(f"no name is left for {quoted(start.title)} in {pattern}; give it another title")


def _new_id(rules: Description, last: str) -> str:
    moment = clock.now()
    while True:
        id_ = f"{rules.name}_{clock.file_stamp(moment)}"
        if id_ != last:
            return id_
        moment += timedelta(seconds=1)
