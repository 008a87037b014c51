"""What a session knows of its to-do list, and the ids that its Task tools gave to tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.sessions import progress
from holdfast.workflow import todos, wording

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Call, Context, Returned
    from holdfast.workflow.wording import Message

NAMED = 20  # corrected to-dos that are named


class Corrected(NamedTuple):
    """A to-do list as it should be written, and the messages that tell the model what was corrected."""

    todos: list[Any]
    messages: list[Message]


def correct_todos(event: Call, context: Context) -> Corrected | None:
    """Correct the status of to-dos that represent phases and contradict the workflow (R000-32).

    Args:
        event: the `PreToolUse` of TodoWrite.
        context: its context.

    Returns:
        The corrected list for `change_input`; None if nothing needs correcting.
    """
    workflow = progress.session_workflow(context.project, event.session_id)
    given = event.tool_input.get("todos")
    if workflow is None or not isinstance(given, list):
        return None
    corrected, titles = todos.correct(given, workflow)
    known = partial(tell, context.project, event.session_id, workflow.key, todos.digest(workflow))
    covers = todos.covers(corrected, workflow)
    if not titles:
        if covers:
            known()
        return None
    named = [f"- {wording.one_line(title)}" for title in titles[:NAMED]]
    named += [f"+{len(titles) - NAMED} more"] if len(titles) > NAMED else []
    lead = f"Holdfast set the status of these to-dos to their {workflow.unit}'s status."
    return Corrected(corrected, [wording.Message(wording.fenced(lead, named), on_delivered=known if covers else None)])


def note_task(event: Returned, context: Context) -> None:
    """Note what a Task tool did to a task that may represent a phase.

    Args:
        event: the `PostToolUse` of a TaskCreate or TaskUpdate.
        context: its context.
    """
    response = event.tool_response if isinstance(event.tool_response, dict) else {}
    given = event.tool_input
    if event.tool_name == "TaskCreate":
        task = response.get("task")
        if isinstance(task, dict) and task.get("id") and task.get("subject"):
            remember_task(context.project, event.session_id, str(task["id"]), str(task["subject"]))
    elif response.get("success") is not False and given.get("taskId"):
        change_task(
            context.project,
            event.session_id,
            str(given["taskId"]),
            subject=given.get("subject") if isinstance(given.get("subject"), str) else None,
            status=given.get("status") if isinstance(given.get("status"), str) else None,
        )


def last_sent(project: OpenProject, session: str, workflow: str) -> str | None:
    """Return the digest of the list that a session was last told, or wrote itself, for a workflow; None for none."""
    row = project.ledger.one(
        "SELECT digest FROM todo_lists WHERE project = ? AND session = ? AND workflow = ?",
        *(project.key, session, workflow),
    )
    return str(row["digest"]) if row else None


def recipients(project: OpenProject, workflow: str) -> list[dict[str, str]]:
    """Return a row (session, digest, told_at) for each session that knows a list of a workflow, the last told first."""
    return project.ledger.rows(
        "SELECT session, digest, told_at FROM todo_lists WHERE project = ? AND worktree = ? AND workflow = ?"
        " ORDER BY told_at DESC, session",
        *(project.key, project.worktree, workflow),
    )


def tell(project: OpenProject, session: str, workflow: str, digest: str) -> None:
    """Note that a session knows the list with this digest for a workflow."""
    project.ledger.run(
        "INSERT INTO todo_lists (project, session, workflow, worktree, host, client, digest, told_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, workflow)"
        " DO UPDATE SET digest = excluded.digest, told_at = excluded.told_at",
        *(project.key, session, workflow, project.worktree, project.host, project.client.NAME, digest, clock.stamp()),
    )


def remember_task(project: OpenProject, session: str, task_id: str, subject: str) -> None:
    """Store a task of the client's Task tools: its opaque id and its subject, which names the phase, secrets masked."""
    project.ledger.run(
        "INSERT INTO todo_tasks (project, session, task_id, worktree, host, client, subject, status, changed_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, task_id)"
        " DO UPDATE SET subject = excluded.subject, status = excluded.status, changed_at = excluded.changed_at",
        *(project.key, session, task_id, project.worktree, project.host, project.client.NAME),
        *(redact(subject), "pending", clock.stamp()),
    )


def change_task(project: OpenProject, session: str, task_id: str, *, subject: str | None, status: str | None) -> None:
    """Store what TaskUpdate changed in a known task; the status `deleted` removes it."""
    task = (project.key, session, task_id)
    if status == "deleted":
        project.ledger.run("DELETE FROM todo_tasks WHERE project = ? AND session = ? AND task_id = ?", *task)
        return
    project.ledger.run(
        "UPDATE todo_tasks SET subject = COALESCE(?, subject), status = COALESCE(?, status), changed_at = ?"
        " WHERE project = ? AND session = ? AND task_id = ?",
        *(redact(subject) if subject else None, status or None, clock.stamp(), *task),
    )


def task_ids(project: OpenProject, session: str) -> dict[str, str]:
    """Return the known task ids by subject; if several tasks have the same subject, the latest."""
    rows = project.ledger.rows(
        "SELECT subject, task_id FROM todo_tasks WHERE project = ? AND session = ? ORDER BY changed_at, task_id",
        *(project.key, session),
    )
    return {row["subject"]: row["task_id"] for row in rows}
