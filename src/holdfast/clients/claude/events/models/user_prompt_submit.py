"""`UserPromptSubmit` fires before a prompt is processed, also one the client made itself.

Those are a background task's end, or a schedule. A prompt cannot be rewritten.

Example::

    from holdfast import advise, hookimpl

    @hookimpl
    def on_user_prompt_submit(event):
        if "deploy" in event.prompt and not event.task_notification:
            return advise("Deployments of this project go through the release branch.")
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from holdfast.clients.claude.events.event import Event

_OPENING = "<task-notification>"
_KIND = "task-notification"


class TaskNotification(NamedTuple):
    """What the client tells the model when a background task stops (client fact §3.4).

    Attributes:
        task_id: the task; a subagent's `agent_id`.
        tool_use_id: the tool call that launched it.
        status: `completed`, `failed` or another word of the client's.
        summary: one line about it.
        result: a subagent's last words; other tasks have none.
        output_file: where its whole output lies.
    """

    task_id: str = ""
    tool_use_id: str = ""
    status: str = ""
    summary: str = ""
    result: str = ""
    output_file: str = ""

    @classmethod
    def read(cls, prompt: str) -> Self | None:
        """Read a prompt that is a `<task-notification>` block.

        Args:
            prompt: the whole prompt.

        Returns:
            The notification, with empty strings for what it does not say; `None` for any other prompt: one that
            quotes such a block further on, or begins with the tag but names neither a task nor a call.
        """
        block = prompt.strip()
        if not block.startswith(_OPENING):
            return None
        # The result is a model's free text and may hold any tag: nothing else is read from inside it.
        before, _, rest = block.removeprefix(_OPENING).partition("<result>")
        result, closing, after = rest.rpartition("</result>")
        told = before + after if closing else before
        notification = cls(
            task_id=_between(told, "task-id"),
            tool_use_id=_between(told, "tool-use-id"),
            status=_between(told, "status"),
            summary=_between(told, "summary"),
            result=(result if closing else rest.removesuffix("</task-notification>")).strip(),
            output_file=_between(told, "output-file"),
        )
        return notification if notification.task_id or notification.tool_use_id else None

    @classmethod
    def noted(cls, entry: Mapping[str, Any]) -> Self | None:
        """Read an entry of a transcript that notes such a block as the client's own, and as given to the model.

        In the middle of a turn client 2.1.197 gives it without a UserPromptSubmit (seen by running it). One that is
        only queued, or that a person pasted, is none.
        """
        attachment, message = entry.get("attachment"), entry.get("message")
        prompt: object = None
        if isinstance(attachment, Mapping):
            if attachment.get("type") == "queued_command" and attachment.get("commandMode") == _KIND:
                prompt = attachment.get("prompt")
        elif isinstance(message, Mapping) and entry.get("type") == "user":
            origin = entry.get("origin")
            if isinstance(origin, Mapping) and origin.get("kind") == _KIND:
                prompt = message.get("content")
        return cls.read(prompt) if isinstance(prompt, str) else None


class UserPromptSubmit(Event):
    """A prompt is about to be processed: the user's, or one the client made itself (a task's end, a schedule).

    Attributes:
        prompt: the whole prompt.
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
    def task_notification(self) -> TaskNotification | None:
        """The notification this prompt consists of; `None` for a prompt in a person's words."""
        return TaskNotification.read(self.prompt)


def _between(text: str, tag: str) -> str:
    """Return the first `<tag>…</tag>` of a text, stripped; empty when there is none or it is not closed."""
    inside, closing, _ = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return inside.strip() if closing else ""
