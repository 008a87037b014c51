"""The fields that all events about a single tool call share."""

from typing import Any

from pydantic import Field

from holdfast.clients.claude.events.event import Event
from holdfast.clients.claude.events.record import Identifier, Record

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
