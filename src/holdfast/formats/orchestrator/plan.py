"""What the task document changes in a run: its pending tasks, and the notes of what it said last."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, MissingError, StateError
from holdfast.formats.orchestrator import schema, taskdoc
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from holdfast.formats.orchestrator.taskdoc import TaskDocument
    from holdfast.workflow.records import Records


def path(project: Records, run: Run) -> Path:
    """Return the task document's path; a relative one counts from the project. Raises HoldfastError for none."""
    given = values.text(run.head.get("task_doc"))
    if not given.strip() or "\0" in given:
        raise HoldfastError("the state names no task document")
    return project.root / given


def load(project: Records, run: Run) -> tuple[TaskDocument, int]:
    """Return a run's task document and its `st_mtime_ns`.

    Raises StateError if it can't be read or lies outside the project.
    """
    try:
        return taskdoc.read(path(project, run), within=project.root)
    except StateError:
        raise
    except (HoldfastError, ValueError, OSError) as error:
        raise MissingError(schema.state_path(project.root), str(error)) from error


def note(run: Run, doc: TaskDocument, mtime: int) -> None:
    """Write into the notes what the document says now: its title, the names of phases, the agents of tasks.

    Of the tasks' names it keeps marks, by which a name that was changed in the document is told from one that a person
    changed in the state. A task at work has its name in the notes, because its entry in the state has none.
    """
    if doc.title:
        run.notes["title"] = doc.title
    run.notes["document"] = {"mtime_ns": mtime, "tasks": {each.id: _mark(each.name) for each in doc.tasks}}
    run.notes["phases"] = {str(number): name for number, name in doc.phases}
    for each in doc.tasks:
        if each.agent:
            run.note(each.id)["agent"] = each.agent
        if run.executor(each.id) and not run.noted(each.id).get("name"):
            run.note(each.id)["name"] = each.name


def stale(project: Records, run: Run) -> bool:
    """Return whether the document was changed since the run was last brought in step with it."""
    with suppress(OSError, ValueError, HoldfastError):
        return path(project, run).stat().st_mtime_ns != values.members(run.notes.get("document")).get("mtime_ns")
    return False


def follow(project: Records, run: Run) -> list[str]:
    """Bring the pending tasks in step with an edited document; return what changed, as sentences.

    A new task becomes pending. A pending one that is gone from the document goes; one that a person put into the state
    stays. Tasks that were started, completed or skipped are never touched. Nothing happens while the document is
    missing, or names no task at all.
    """
    if run.terminal or not stale(project, run):
        return []
    try:
        doc, mtime = load(project, run)
    except StateError:
        return []
    if not doc.tasks:
        return []
    phase = (values.number(run.head.get("current_phase")) or 0) + 1
    before = run.in_phase(phase)
    known = values.members(values.members(run.notes.get("document")).get("tasks"))
    named = {each.id: each.name for each in doc.tasks}
    settled = {id_ for id_, status in run.statuses().items() if status != "pending"} | set(run.skipped())
    kept, gone, renamed = [], [], []
    for entry in schema.objects(run.data.get("pending_tasks")):
        id_ = schema.task_of(entry)
        if id_ in known and id_ not in named:
            gone.append(id_)
            continue
        if id_ in named and named[id_] != entry.get("name") and known.get(id_) == _mark(entry.get("name")):
            entry = {**entry, "name": named[id_]}
            renamed.append(id_)
        kept.append(entry)
    there = {schema.task_of(each) for each in kept} | settled
    new = [each for each in doc.tasks if each.id not in there]
    run.data["pending_tasks"] = kept
    run.queue(*(pending(each.id, each.name) for each in new))
    run.head["total_phases"] = max(len(doc.phases), 1)
    _recount(run, before, run.in_phase(phase))
    note(run, doc, mtime)
    parts = {"added": [each.id for each in new], "removed": gone, "renamed": renamed}
    said = "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in parts.items() if ids)
    if said:
        run.notes["news"] = f"{run.stamp}: {said}"
    return [f"the task document changed: {said}"] if said else []


def _recount(run: Run, before: Sequence[str], after: Sequence[str]) -> None:
    """Correct where the current task stands in its phase (R003-07), given the ids there before and now.

    What doesn't fit those before was written by a person, and stays.
    """
    place = run.head.get("current_task")
    for at, id_ in enumerate(["", *before]):
        if place == f"{at}/{len(before)}":
            run.head["current_task"] = f"{after.index(id_) + 1 if id_ in after else 0}/{len(after)}"
            return


def pending(task: str, name: str) -> dict[str, Any]:
    """Return the entry of a pending task (R003-16); its phase counts from 0 (I003-1)."""
    number = schema.phase_of(task)
    return {"phase": 0 if number is None else number - 1, "task": task, "name": name}


def _mark(name: object) -> str:
    import hashlib

    return hashlib.sha256(values.text(name).encode("utf-8", "replace")).hexdigest()[:8]
