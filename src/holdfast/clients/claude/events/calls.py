"""Events about a tool call before it runs, and what all events about one call share."""

from typing import Any

from pydantic import Field

from holdfast.clients.claude.events.event import Event, Identifier, Record

AGENT_TOOLS = frozenset({"Agent", "Task"})  # `Task` before client 2.1.63 (client fact §3.4)


class McpServer(Record):
    """The MCP server a tool comes from.

    Attributes:
        name: the server's name.
        source: where it was configured, such as `dynamic`.
    """

    name: str = ""
    source: str = ""


class Todo(Record):
    """One item of a `TodoWrite` list, from any client version (client fact §3.2, §7).

    Attributes:
        content: the item's text.
        status: `pending`, `in_progress`, `completed` or a newer one.
        active_form: (`activeForm`) the text shown while the item is in progress; older clients send none.
        id: the item's id; only older clients send one.
        priority: only older clients send one.
    """

    content: str = ""
    status: str = ""
    active_form: str = Field("", alias="activeForm")
    id: Identifier | None = None
    priority: str | None = None


class ToolEvent(Event):
    """An event about one tool call.

    Attributes:
        tool_name: the tool; MCP tools are `mcp__<server>__<tool>`.
        tool_input: the tool's arguments, by the tool's own names.
        mcp_server: the MCP server of the tool, if it has one.
    """

    tool_name: str
    tool_input: dict[str, Any] = Field(default_factory=dict)
    mcp_server: McpServer | None = None

    @property
    def is_agent_launch(self) -> bool:
        """Whether the call launches a subagent (`Agent`, or `Task` as older clients say)."""
        return self.tool_name in AGENT_TOOLS

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The items a `TodoWrite` call writes; empty for every other tool. Entries that aren't objects are left out."""
        items = self.tool_input.get("todos") if self.tool_name == "TodoWrite" else None
        if not isinstance(items, list):
            return ()
        return tuple(Todo.model_validate(item) for item in items if isinstance(item, dict))


class PreToolUse(ToolEvent):
    """A tool is about to be called.

    Attributes:
        tool_input: the arguments, with the changes of earlier handlers.
        tool_use_id: the call; absent on older clients.
        invoked_by: for a skill's inline shell command who loaded the skill: `user`, `claude` or `other`. `None` for a
            tool call.
        command_name: for such a command the skill or slash command.
        command_source: for such a command where that is defined, such as `projectSettings`.
    """

    tool_input: dict[str, Any]
    tool_use_id: str | None = None
    invoked_by: str | None = None
    command_name: str | None = None
    command_source: str | None = None


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

    tool_input: dict[str, Any]
