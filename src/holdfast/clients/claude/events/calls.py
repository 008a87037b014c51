"""Events about a tool call before it runs, and what all events about one call share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import Field, PrivateAttr

from holdfast.clients.claude.events.event import Event, Identifier, Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    from holdfast.process.shell.command import Command

Input = TypeVar("Input")
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

    _asked: dict[str, Any] | None = PrivateAttr(None)

    @property
    def asked(self) -> dict[str, Any]:
        """The tool's input before any handler changed it."""
        return self.tool_input if self._asked is None else self._asked

    def replaced(self, values: Mapping[str, Any]) -> Self:
        """Return a copy in which a handler has replaced the values of some fields; `asked` stays."""
        copy = super().replaced(values)
        copy._asked = self.asked
        return copy

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands that the tool runs in a shell, as far as its text tells; empty if it runs none.

        What can't be read is a command that isn't `sure`, so it is never missing.
        """
        from holdfast.clients.claude import tool_paths

        return tool_paths.commands(self.tool_name, self.tool_input)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths in the tool's input, absolute, without following links; of globs also what they match.

        Of a shell command these are redirections and words that may be paths.
        """
        from holdfast.clients.claude import tool_paths

        return tool_paths.paths(self.tool_name, self.tool_input, self.cwd)

    def paths_of(self, command: Command) -> tuple[Path, ...]:
        """Return those of `paths` that one command names.

        Args:
            command: one of `commands`.
        """
        from holdfast.clients.claude import tool_paths

        return tool_paths.paths_of(command, self.cwd)

    def input_of(self, kind: type[Input]) -> Input | None:
        """Return the input, typed for type checkers, if the call is of that tool; None for any other call.

        Args:
            kind: a type of `holdfast.events`, named after its tool: `BashInput`, `ReadInput`, ….
        """
        tool = kind.__name__.removesuffix("Input")
        same = self.tool_name == tool or (tool == "Agent" and self.is_agent_launch)
        return cast("Input", self.tool_input) if same else None

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
