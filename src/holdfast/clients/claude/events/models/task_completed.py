"""The fields of `TaskCompleted`."""

from holdfast.clients.claude.events.task import TaskEvent


class TaskCompleted(TaskEvent):
    """What the client sends with `TaskCompleted`."""
