"""What the task document gives a run: its tasks, with names and agents. An edit of it adds tasks, and nothing else."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import HoldfastError, MissingError, StateError
from holdfast.files.document import leads_out
from holdfast.formats.orchestrator import schema, taskdoc
from holdfast.workflow import values

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run
    from holdfast.formats.orchestrator.taskdoc import TaskDocument
    from holdfast.workflow.records import Records

TASKS = ".claude/tasks"
"""The folder of task documents: in your home folder, and in a project for those that Holdfast writes."""
OUTSIDE = "is outside the project, and no run was started from it here"


def path(project: Records, run: Run) -> Path:
    """Return the task document's path; a relative one counts from the project. Raises HoldfastError for none."""
    given = values.text(run.head.get("task_doc"))
    if not given.strip() or "\0" in given:
        raise HoldfastError("the state names no task document")
    return project.root / given


def content(project: Records, run: Run) -> tuple[str, int]:
    """Return the text of a run's task document and its `st_mtime_ns`.

    A state in a cloned repository may name any file of yours. So a document outside the project is read only if it lies
    in the folder of your task documents, or if you started a run from it, which kept a version of it.

    Raises:
        StateError: it can't be read, or is outside.
        HoldfastError: the state names none.
    """
    doc = path(project, run)
    outside = leads_out(doc, project.root) and leads_out(doc, paths.home() / TASKS)
    if outside and not project.versions(Path(os.path.realpath(doc))):
        raise StateError(doc, OUTSIDE)
    return taskdoc.content(doc)


def load(project: Records, run: Run) -> tuple[TaskDocument, int]:
    """Return a run's task document and its `st_mtime_ns`. Raises StateError if it can't be read."""
    try:
        said, mtime = content(project, run)
    except StateError:
        raise
    except (HoldfastError, ValueError, OSError) as error:
        raise MissingError(schema.state_path(project.root), str(error)) from error
    return taskdoc.parse(said), mtime


def note(run: Run, doc: TaskDocument, mtime: int) -> None:
    """Write into the notes what the document says of tasks and phases that the run doesn't know yet."""
    if doc.title:
        run.notes.setdefault("title", doc.title)
    names = {each.id: each.name for each in doc.tasks} | run.documented()  # an edit renames nothing
    run.notes["document"] = {"mtime_ns": mtime, "tasks": names}
    named = values.members(run.notes.get("phases"))
    run.notes["phases"] = {**{str(number): name for number, name in doc.phases}, **named}
    for each in doc.tasks:
        if each.agent:
            run.note(each.id).setdefault("agent", each.agent)


def stale(project: Records, run: Run) -> bool:
    """Return whether the document was changed since the run was last brought in step with it."""
    with suppress(OSError, ValueError, HoldfastError):
        return path(project, run).stat().st_mtime_ns != values.members(run.notes.get("document")).get("mtime_ns")
    return False


def follow(project: Records, run: Run) -> list[str]:
    """Add the new tasks of an edited document to the known ones; return what was added, as sentences.

    Nothing happens while the document is missing, or names no task at all.
    """
    if run.terminal or not stale(project, run):
        return []
    try:
        doc, mtime = load(project, run)
    except StateError:
        return []
    if not doc.tasks:
        return []
    known = {*run.statuses(), *run.skipped()}
    new = [each.id for each in doc.tasks if each.id not in known]
    note(run, doc, mtime)
    run.head["total_phases"] = max(values.number(run.head.get("total_phases")) or 0, len(doc.phases), 1)
    if not new:
        return []
    run.notes["news"] = f"{run.stamp}: added {', '.join(new)}"
    return [f"the task document changed: added {', '.join(new)}"]
