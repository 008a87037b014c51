"""The fields of `TaskCreated`."""

from holdfast.clients.claude.events.task import TaskEvent


class TaskCreated(TaskEvent):
    """What the client sends with `TaskCreated`."""
