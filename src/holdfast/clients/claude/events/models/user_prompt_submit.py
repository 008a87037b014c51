"""`UserPromptSubmit` fires before a prompt is processed, including prompts that the client made itself.

The client makes one when a background task ends, or on a schedule. A prompt can't be rewritten.

Example::

    from holdfast import advise, hookimpl

    @hookimpl
    def on_user_prompt_submit(event):
        if "deploy" in event.prompt and not event.task_notification:
            return advise("Deployments of this project go through the release branch.")
"""

from __future__ import annotations

from holdfast.clients.claude.events.agents import TaskNotification
from holdfast.clients.claude.events.event import Event


class UserPromptSubmit(Event):
    """A prompt is about to be processed: the user's, or one the client made itself (a task's end, a schedule).

    Attributes:
        prompt: the complete prompt.
        source: who made it: `user`, `sdk`, `system`, `loop_wakeup`, …; most clients leave it out.
        session_title: the session's title.
    """

    accepts = frozenset({"advise", "block", "title", "suppress_prompt", "tell_user", "stop", "terminal"})
    strictable = True
    deadline = 30.0

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
