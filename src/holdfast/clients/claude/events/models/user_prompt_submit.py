"""The fields of `UserPromptSubmit`."""

from __future__ import annotations

from holdfast.clients.claude.events.agents import TaskNotification
from holdfast.clients.claude.events.event import Event


class UserPromptSubmit(Event):
    """What the client sends with `UserPromptSubmit`.

    Attributes:
        prompt: the complete prompt.
        source: who made it: `user`, `sdk`, `system`, `loop_wakeup`, …; most clients leave it out.
        session_title: the session's title.
    """

    prompt: str
    source: str | None = None
    session_title: str | None = None

    @property
    def from_person(self) -> bool:
        """Whether a person gave this prompt: no notification, nor another prompt that the client made itself."""
        return self.source in (None, "user", "sdk") and self.task_notification is None

    @property
    def task_notification(self) -> TaskNotification | None:
        """The notification this prompt consists of; `None` for a prompt in a person's words."""
        if not self.prompt.lstrip().startswith("<task-notification>"):
            return None
        return TaskNotification.read(self.prompt)
