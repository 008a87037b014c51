"""`PreSkillShellCommand` fires before an inline shell command of a skill or slash command runs (client 2.1.332).

Skills write such commands as `` !`git status` ``. No PreToolUse fires for them, so `on_pre_tool_use` functions whose
matcher selects Bash get this event too; they usually suffice. Deny, ask and defer all keep the command from running.

Example::

    from holdfast import deny, hookimpl

    @hookimpl
    def on_pre_skill_shell_command(event):
        if event.command_source == "projectSettings":
            return deny(f"/{event.command_name} runs a command of this repository: {event.tool_input['command']}")
"""

from typing import Any, ClassVar

from holdfast.clients.claude.events.models.pre_tool_use import PreToolUse


class PreSkillShellCommand(PreToolUse):
    """An inline shell command of a skill or slash command is about to run.

    Attributes:
        tool_name: the shell that runs it, `Bash` or `PowerShell`.
        tool_input: the command, with the skill's arguments filled in.
        tool_use_id: the command's id; no call in the transcript has it.
        command_name: the skill or slash command.
        command_source: where that is defined, such as `projectSettings`.
        invoked_by: who loaded the skill: `user`, `claude` or `other`, which includes a subagent's preload.
    """

    accepts = frozenset({"deny", "ask", "defer", "tell_user", "stop", "terminal"})
    drops: ClassVar[dict[str, str]] = {
        "allow": "an approval changes nothing for a skill's command",
        "advise": "the client passes no advice on for a skill's command",
        "change_input": "the client refuses a skill's command if its input is changed",
    }

    tool_input: dict[str, Any]
