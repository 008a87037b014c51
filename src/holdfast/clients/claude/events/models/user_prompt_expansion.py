"""`UserPromptExpansion` fires when a typed slash command, skill or MCP prompt expands, after `UserPromptSubmit`.

Example::

    from holdfast import block, hookimpl

    @hookimpl(match="release")
    def on_user_prompt_expansion(event):
        if not event.command_args:
            return block("/release needs a version")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class UserPromptExpansion(Event):
    """A typed slash command, skill or MCP prompt expands; comes after UserPromptSubmit.

    Attributes:
        prompt: the prompt as typed.
        command_name: the command, without its slash.
        command_args: the words after it.
        expansion_type: `slash_command`, `mcp_prompt` or a newer one.
        command_source: where the command is defined, such as `projectSettings`.
    """

    matcher_field: ClassVar[str | None] = "command_name"
    accepts = frozenset({"advise", "block", "suppress_prompt", "tell_user", "stop", "terminal"})
    strictable = True

    prompt: str
    command_name: str = ""
    command_args: str = ""
    expansion_type: str = ""
    command_source: str | None = None
