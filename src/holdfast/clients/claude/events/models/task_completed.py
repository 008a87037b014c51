"""`TaskCompleted` fires before a task is marked completed; blocking refuses that.

Example::

    from holdfast import block, hookimpl

    @hookimpl
    def on_task_completed(event, context):
        if (context.root / "FAILING").exists():
            return block("the tests have not passed yet")
"""

from holdfast.clients.claude.events.task import TaskEvent


class TaskCompleted(TaskEvent):
    """A task is about to be marked completed; blocking refuses that."""

    accepts = frozenset({"block", "stop", "tell_user", "terminal"})
