"""Events about a prompt."""

from holdfast.clients.claude.events.agents import task_notification
from holdfast.clients.claude.events.event import Event
from holdfast.clients.client import TaskNotification


class UserPromptSubmit(Event):
    """A prompt is about to be processed.

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
        return task_notification(self.prompt)


class UserPromptExpansion(Event):
    """A typed slash command, skill or MCP prompt expands.

    Attributes:
        prompt: the prompt as typed.
        command_name: the command, without its slash.
        command_args: the words after it.
        expansion_type: `slash_command`, `mcp_prompt` or a newer one.
        command_source: where the command is defined, such as `projectSettings`.
    """

    prompt: str
    command_name: str = ""
    command_args: str = ""
    expansion_type: str = ""
    command_source: str | None = None
