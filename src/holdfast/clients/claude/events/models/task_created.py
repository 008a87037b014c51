"""`TaskCreated` fires when the model creates a task in the client's task list; blocking deletes it again.

Example::

    from holdfast import block, hookimpl

    @hookimpl
    def on_task_created(event):
        if not event.task_description:
            return block("a task needs a description")
"""

from holdfast.clients.claude.events.task import TaskEvent


class TaskCreated(TaskEvent):
    """A task was created; blocking deletes it again."""

    accepts = frozenset({"block", "tell_user", "terminal"})
