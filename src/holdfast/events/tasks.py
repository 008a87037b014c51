"""The events of the client's task list, with the team members that work on it."""

from typing import ClassVar

from holdfast.events.event import Event
from holdfast.events.record import Identifier


class TaskEvent(Event):
    """An event about one task of the client's task list.

    Attributes:
        task_id: the task; opaque.
        task_subject: its title.
        task_description: what is to be done.
        teammate_name: the team member who works on it.
        team_name: deprecated by the client.
    """

    task_id: Identifier = ""
    task_subject: str = ""
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCreated(TaskEvent):
    """A task was created; blocking deletes it again."""

    accepts = frozenset({"block", "tell_user", "terminal"})


class TaskCompleted(TaskEvent):
    """A task is about to be marked completed; blocking refuses that."""

    accepts = frozenset({"block", "stop", "tell_user", "terminal"})


class TeammateIdle(Event):
    """A team member is about to go idle; blocking keeps it working.

    Attributes:
        teammate_name: the team member.
        team_name: deprecated by the client.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"block", "stop", "tell_user", "terminal"})

    teammate_name: str | None = None
    team_name: str | None = None
