"""The state file of a run: each change is one read and write under a lock (R003-23, R003-24, I003-7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import BrokenError, HoldfastError, MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.orchestrator import bounds, learnings, plan, schema, snapshots, taskdoc, view
from holdfast.formats.orchestrator import repair as repairs
from holdfast.formats.orchestrator.run import Run, stamp
from holdfast.workflow import extras, names, statefile, values, views, wording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.workflow.model import Start, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_UNTOLD = "untold"  # the note of what is still to be said of changes that were made in silence
_A_TASK = "a heading such as `#### Task 1.1: Name`"


class Changed(NamedTuple):
    """The result of a change: the workflow as it is now, whether the state was written, and the run."""

    workflow: Workflow
    changed: bool
    run: Run


def load(project: Records) -> StateFile:
    """Return the state file; for a broken one its last generation, else its newest snapshot (R003-28). Never writes.

    Raises MissingError, SchemaMismatch if it is not ours, StateError if it is broken and there is nothing to fall back
    on.
    """
    path = schema.state_path(project.root)
    try:
        file = statefile.read(project, path)
    except BrokenError as error:
        if (snapshot := _last_snapshot(project)) is None:
            raise
        found = snapshot.document
        held = document.Document(path, found.data, found.raw, found.mtime)
        return statefile.StateFile(held, f"{error.reason}; {found.path.name} is read instead")
    schema.check(file)
    return file


def current(project: Records) -> tuple[StateFile, Run]:
    """Return the state file and its run, for reading. Raises StateError; MissingError says how to begin."""
    try:
        file = load(project)
    except MissingError as error:
        raise MissingError(error.path, "there is no run; `holdfast orchestrator start TASK_DOC` starts one") from error
    except StateError as error:
        if "`holdfast " in error.reason:
            raise
        raise type(error)(error.path, wording.with_remedy(error.reason)) from error
    return file, view.opened(project, file)


def change(
    project: Records,
    edit: Callable[[Run], object],
    *,
    why: str,
    run_id: str | None = None,
    error: str = "",
    repair: bool = False,
    silent: bool = False,
) -> Changed:
    """Run `edit` on the state and the notes beside it under the lock, then write what follows from it.

    First, the known tasks follow an edited task document. Afterwards warnings about bounds are added, each task is put
    into one list, learnings go to their log, and a checkpoint that is due is written. `edit` may run several times, if
    somebody else saves meanwhile.

    Args:
        project: the project.
        edit: changes the run.
        why: what the generation is called.
        run_id: the run that is meant; another one in the file is refused.
        error: what a failed task said, for the ledger.
        repair: write a broken file anew from its last generation, even if nothing changes.
        silent: nobody is told of this change, so what there is to say of it is left to the next one.

    Raises:
        MissingError: there is no state.
        SchemaMismatch: the file is another program's.
        StateError: it can't be read or written.
    """
    path = schema.state_path(project.root)
    statefile.guard(project.root, path)

    def attempt() -> tuple[StateFile, Run, str, bool]:
        file, recovered = _readable(project)
        schema.check(file)
        if run_id not in (None, schema.run_id(file.data)):
            raise HoldfastError(f"{path} holds the run {schema.run_id(file.data)}, not {run_id}")
        before = view.opened(project, file)
        run = before.copy()
        run.said += [*recovered, *values.texts(run.notes.pop(_UNTOLD, None), "", []), *plan.follow(project, run)]
        edit(run)
        run.said += bounds.warn(run)
        if run.unlisted() or not document.same(run.data, file.data):
            repairs.settle(run)
        still = run.checkpoint is None and document.same(run.data, file.data)
        if still and not (repair and file.broken):
            if silent and run.said:
                run.notes[_UNTOLD] = run.said
            if run.notes != before.notes:
                extras.write_notes(project, path, schema.run_id(run.data), run.notes)
            return file, run, "", False
        project.observe(view.workflow(project, file, before)[0])  # what was moved by hand before keeps its own time
        if file.broken:
            run.said.append(f"the state {file.broken}{statefile.KEPT_IS_USED}, and what it held is kept beside it")
        if silent and run.said:
            run.notes[_UNTOLD] = run.said
        name = snapshots.enter(project, run, run.checkpoint) if run.checkpoint is not None else ""
        extras.write_notes(project, path, schema.run_id(run.data), run.notes)
        return statefile.write(project, path, run.data, file, why=why), run, name, True

    with locked(path.parent):
        file, run, name, changed = statefile.insist(attempt)
        try:  # the state is written: what fails from here on is told, because nothing has to be done again
            learnings.log_run(project, run)
            if name:
                run.said += snapshots.write(project, name, file.document.raw)
                snapshots.drop(project, run.outdated)
        except StateError as lost:
            run.said.append(f"the change was made, but {lost}")
        workflow = told(view.workflow(project, file, run)[0], run.said)
        project.observe(workflow, error=error, at=clock.stamp() if changed else None)
        return Changed(workflow, changed, run)


def _readable(project: Records) -> tuple[StateFile, list[str]]:
    """Return the state file for a change; a broken one without a generation gives way to its newest snapshot."""
    path = schema.state_path(project.root)
    try:
        file = statefile.present(project, path)
        said = list[str]()
    except BrokenError as error:
        if (snapshot := _last_snapshot(project)) is None:
            raise
        aside = statefile.set_aside(project, path)
        name = snapshot.document.path.name
        statefile.restore(project, path, snapshot.document.raw, None, why=name)
        file = statefile.present(project, path)
        said = [f"the state {error.reason}, so {name} was restored; what it held is kept as {aside.name}"]
    if file is None:
        raise MissingError(path, "there is no run; `holdfast orchestrator start TASK_DOC` starts one")
    return file, said


def _last_snapshot(project: Records) -> snapshots.Snapshot | None:
    """Return the newest snapshot of the run whose state is broken; None for none. Its notes say which run that is."""
    return next(snapshots.newest(project, [], extras.owner(project, schema.state_path(project.root))), None)


def told(workflow: Workflow, said: list[str]) -> Workflow:
    """Return a workflow with what to tell about the change that was just made."""
    return replace(workflow, warnings=(*workflow.warnings, *said)) if said else workflow


def create(project: Records, start: Start, doc: Path, *, given: dict[str, Any] | None = None) -> Workflow:
    """Begin a run of a task document (R003-22); a finished one gives way, and stays in the archive.

    Args:
        project: the project.
        start: what else `holdfast start` was given; its phases are not looked at.
        doc: the document's absolute path.
        given: bounds that go before the document's.

    Raises:
        TransitionError: an unfinished run is in its way, or the document names no task.
        SchemaMismatch: the file is another program's.
        StateError: the document or the state can't be read or written.
    """
    try:
        said, mtime = taskdoc.content(doc)
    except StateError as error:
        raise StateError(doc, f"{error.reason}; name a Markdown file with {_A_TASK}") from error
    found = taskdoc.parse(said)
    if not found.tasks:
        raise TransitionError(f"{doc} names no task; give it {_A_TASK}, with four #")
    path = schema.state_path(project.root)
    statefile.guard(project.root, path)
    with locked(path.parent):
        made = statefile.insist(lambda: _created(project, start, doc, found, mtime, given or {}))
    project.keep(doc, said.encode("utf-8", "replace"), why="start of a run")
    return told(made, [f"{doc.name}: {fault}" for fault in found.faults])


def compose(project: Records, title: str, tasks: tuple[tuple[str, str], ...]) -> Path:
    """Write the task document of a run that is given its tasks, and return its path.

    Nothing is overwritten: a document of that name with another content gets a neighbour with a number. Raises
    StateError.
    """
    text = taskdoc.written(title, tasks).encode("utf-8", "replace")
    for number in range(1, 10_000):
        path = project.root / plan.TASKS / f"{names.slug(title)}{f'-{number}' if number > 1 else ''}.md"
        statefile.guard(project.root, path)
        try:
            if document.read(path)[0] == text:
                return path
        except MissingError:
            atomic.replace(path, text, None)
            return path
    raise StateError(path, "and all similar names are taken; move old task documents away")


def must_be_free(project: Records, *, replace: bool) -> StateFile | None:
    """Return the state that a new run replaces, None for none. Raises TransitionError over an unfinished run.

    Raises SchemaMismatch over another program's file, and StateError over a broken one that has no generation.
    """
    file = statefile.present(project, schema.state_path(project.root))
    if file is None:
        return None
    try:
        schema.check(file)
    except SchemaMismatch as error:
        raise SchemaMismatch(error.path, f"{error.reason}; move it away to start a run here") from error
    there = view.workflow(project, file)[0]
    if not there.finished and not replace:
        raise TransitionError(views.in_the_way(project, there))
    return file


def _created(
    project: Records, start: Start, doc: Path, found: taskdoc.TaskDocument, mtime: int, given: dict[str, Any]
) -> Workflow:
    path = schema.state_path(project.root)
    aside: Path | None = None
    try:
        before = must_be_free(project, replace=start.replace)
    except (SchemaMismatch, MissingError):
        raise
    except StateError as error:
        before, aside = None, statefile.set_aside(project, error.path)
    if before is not None:  # store its end now: it may have been completed by hand
        gone = view.workflow(project, before)[0]
        project.observe(gone)
        project.keep(path, before.document.raw, why="before start")
        aside = statefile.keep_aside(project, path, before.document.raw)
    first = found.in_phase(1)
    data = schema.fresh(str(doc), _started(before), max(len(found.phases), 1), len(first), {**found.bounds, **given})
    run = Run(data, {})
    data["pending_tasks"] = [schema.pending(each.id, each.name) for each in sorted(found.tasks, key=_order)]
    plan.note(run, found, mtime)
    id_ = schema.run_id(data)
    with extras.begun(project, path, id_, start):
        file = statefile.write(project, path, data, before, why="start")
    extras.write_notes(project, path, id_, run.notes)
    if before is not None:
        project.shelve(gone)
    workflow = view.workflow(project, file)[0]
    project.observe(workflow, at=clock.stamp())
    return told(workflow, [f"what {workflow.place} held before is kept as {aside.name} beside it"] if aside else [])


def _order(task: taskdoc.Task) -> tuple[int, int, str]:
    return schema.key(task.id)


def _started(before: StateFile | None) -> str:
    """Return the moment as a run's start; if the previous run started within this second, the next one."""
    last = schema.run_id(before.data) if before else ""
    moment = clock.now()
    for seconds in range(60):
        started = stamp(moment + timedelta(seconds=seconds))
        if schema.run_id({"orchestrator": {"start_time": started}}) > last or seconds == 59:
            return started
    return stamp(moment)
