"""Events about the client's task list and an agent team."""

from holdfast.clients.claude.events.event import Event, Identifier


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


class TaskCreated(TaskEvent):
    """A task was created."""


class TaskCompleted(TaskEvent):
    """A task is about to be marked completed."""


class TeammateIdle(Event):
    """A team member is about to go idle.

    Attributes:
        teammate_name: the team member.
        team_name: deprecated by the client.
    """

    teammate_name: str | None = None
    team_name: str | None = None
