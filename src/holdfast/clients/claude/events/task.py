"""The fields that the events about a task of the client's task list share."""

from holdfast.clients.claude.events.event import Event
from holdfast.clients.claude.events.record import Identifier


class TaskEvent(Event):
    """An event about one task of the client's task list.

    Attributes:
        task_id: the task; opaque.
        task_subject: its title.
        task_description: the task's description.
        teammate_name: the team member who works on it.
        team_name: deprecated by the client.
    """

    task_id: Identifier = ""
    task_subject: str = ""
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None
