"""The fields of `UserPromptExpansion`."""

from holdfast.clients.claude.events.event import Event


class UserPromptExpansion(Event):
    """What the client sends with `UserPromptExpansion`.

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
