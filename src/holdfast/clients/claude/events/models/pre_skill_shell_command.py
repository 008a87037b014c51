"""The fields of `PreSkillShellCommand`."""

from typing import Any

from holdfast.clients.claude.events.models.pre_tool_use import PreToolUse


class PreSkillShellCommand(PreToolUse):
    """What the client sends with `PreSkillShellCommand`.

    Attributes:
        tool_name: the shell that runs it, `Bash` or `PowerShell`.
        tool_input: the command, with the skill's arguments filled in.
        tool_use_id: the command's id; no call in the transcript has it.
        command_name: the skill or slash command.
        command_source: where that is defined, such as `projectSettings`.
        invoked_by: who loaded the skill: `user`, `claude` or `other`, which includes a subagent's preload.
    """

    tool_input: dict[str, Any]
