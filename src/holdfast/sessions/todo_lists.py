"""What a conversation knows of its to-do list, and the ids that its Task tools gave to tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.memory.rows import Task
from holdfast.sessions import conversations, messages, progress
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

    `event` is the `PreToolUse` of TodoWrite.

    Returns:
        The corrected list for `change_input`; None if nothing needs correcting.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    workflow = progress.session_workflow(project, conversation)
    written = event.tool_input.get("todos")
    if workflow is None or not isinstance(written, list):
        return None
    corrected, titles = todos.correct(written, workflow)
    known = partial(messages.tell, project, conversation, messages.TODO_LIST, workflow.key, todos.digest(workflow))
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
    """Note what a Task tool did to a task that may represent a phase: its opaque id, and its subject without secrets.

    `event` is the `PostToolUse` of a TaskCreate or TaskUpdate.
    """
    conversation = conversations.of(context.project, event.session_id)
    table, values = context.project.ledger.table(Task), event.tool_input
    response = event.tool_response if isinstance(event.tool_response, dict) else {}
    if event.tool_name == "TaskCreate":
        task = response.get("task")
        if isinstance(task, dict) and task.get("id") and task.get("subject"):
            table.put(Task(conversation, str(task["id"]), redact(str(task["subject"])), clock.stamp()))
    elif response.get("success") is not False and values.get("taskId"):
        row = {"conversation": conversation, "task_id": str(values["taskId"])}
        if values.get("status") == "deleted":
            table.drop(**row)
        elif isinstance(values.get("subject"), str) and values["subject"]:
            table.update({"subject": redact(values["subject"]), "changed_at": clock.stamp()}, **row)


def task_ids(project: OpenProject, conversation: str) -> dict[str, str]:
    """Return the known task ids by subject; if several tasks have the same subject, the latest."""
    rows = project.ledger.table(Task).where(conversation=conversation)
    return {row.subject: row.task_id for row in sorted(rows, key=lambda row: (row.changed_at, row.task_id))}
