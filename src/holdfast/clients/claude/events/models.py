"""The model of every event, in groups: tool calls, prompts, sessions, turns, the team, files, what the user sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import AliasChoices, Field, PrivateAttr

from holdfast.clients.claude.events.agents import task_notification
from holdfast.clients.claude.events.event import Event, Identifier, Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    from holdfast.clients.client import TaskNotification
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


class ToolCall(Record):
    """One call of a batch.

    Attributes:
        tool_name: the tool.
        tool_input: the arguments as the model wrote them, also invalid ones (PostToolUse has them resolved).
        tool_use_id: the call.
        tool_response: what the model sees: a string or content blocks, not the tool's own result.
    """

    tool_name: str = ""
    tool_input: Any = None
    tool_use_id: str | None = None
    tool_response: Any = None

    @property
    def is_agent_launch(self) -> bool:
        """Whether the call launches a subagent (`Agent`, or `Task` as older clients say)."""
        return self.tool_name in AGENT_TOOLS


class PostToolUse(ToolEvent):
    """A tool call succeeded.

    Attributes:
        tool_response: the tool's own result: an object, a string, a list or `None`, by tool.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    # Some old clients' reports call it `tool_result` (client fact §7).
    tool_response: Any = Field(None, validation_alias=AliasChoices("tool_response", "tool_result"))
    tool_use_id: str | None = None
    duration_ms: int | float | None = None


class PostToolUseFailure(ToolEvent):
    """A tool call started and failed.

    Attributes:
        error: what went wrong, in the tool's words.
        is_interrupt: whether the user interrupted it.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    error: str = ""
    is_interrupt: bool = False
    tool_use_id: str | None = None
    duration_ms: int | float | None = None


class PostToolBatch(Event):
    """All calls of one assistant message are done.

    Attributes:
        tool_calls: the calls, in the model's order.
    """

    tool_calls: tuple[ToolCall, ...] = ()


class PermissionRequest(ToolEvent):
    """The user is about to be asked for a permission.

    Attributes:
        tool_input: the call's arguments.
        permission_suggestions: the rules the client would offer, each an object with a `type`.
    """

    tool_input: dict[str, Any]
    permission_suggestions: tuple[dict[str, Any], ...] = ()


class PermissionDenied(ToolEvent):
    """Auto mode denied a tool call.

    Attributes:
        reason: why.
        tool_use_id: the call.
    """

    reason: str = ""
    tool_use_id: str | None = None


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


class SessionStart(Event):
    """A session began or continues.

    Attributes:
        source: `startup`, `resume`, `clear`, `compact`, `fork` or a newer one. `compact` is where lost context
            can be restored (client fact §2.2).
        model: the model's name; absent on many starts.
        session_title: the session's title.
        seconds_since_last_response: on resume and fork, how long the conversation was idle.
        context_tokens: on resume and fork, the size of the context in tokens.
        prompt_cache_likely_expired: on resume and fork, whether the prompt cache is probably cold.
        estimated_cache_write_usd: on resume and fork, what filling it again would cost, in US dollars.
    """

    source: str = ""
    model: str | None = None
    session_title: str | None = None
    seconds_since_last_response: int | float | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None


class Setup(Event):
    """The client was run to set up or to maintain a project.

    Attributes:
        trigger: `init` or `maintenance`.
    """

    trigger: str = ""


class SessionEnd(Event):
    """A session ended.

    Attributes:
        reason: `clear`, `resume`, `logout`, `prompt_input_exit`, `other`, one of older clients
            (`bypass_permissions_disabled`, `exit`) or a newer one.
    """

    reason: str = ""


class PreCompact(Event):
    """A compaction is about to start.

    Attributes:
        trigger: `manual` or `auto`.
        custom_instructions: what the user asked the summary to keep; `None` or empty when nothing.
    """

    trigger: str = ""
    custom_instructions: str | None = None


class PostCompact(Event):
    """A compaction has taken place.

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: the summary as the model wrote it, often with `<analysis>` and `<summary>` tags; may be empty.
    """

    trigger: str = ""
    compact_summary: str = ""


class BackgroundTask(Record):
    """One task that runs in the background.

    Attributes:
        id: the task's id; a subagent's is its `agent_id`.
        type: `shell`, `subagent`, `monitor`, `workflow`, `teammate`, `MCP task` or a newer one.
        status: such as `running`.
        description: at most 1,000 characters, clipped with `… [+N chars]`.
        command: a shell's command.
        agent_type: a subagent's type.
        server: an MCP task's server.
        tool: an MCP task's tool.
        name: the task's own name.
    """

    id: str = ""
    type: str = ""
    status: str = ""
    description: str = ""
    command: str | None = None
    agent_type: str | None = None
    server: str | None = None
    tool: str | None = None
    name: str | None = None


class SessionCron(Record):
    """One prompt the session runs on a schedule.

    Attributes:
        id: the entry's id.
        schedule: when it runs, in cron notation.
        recurring: whether it runs more than once.
        prompt: the prompt's text.
    """

    id: str = ""
    schedule: str = ""
    recurring: bool = False
    prompt: str = ""


class Stop(Event):
    """The model finished a turn.

    Attributes:
        stop_hook_active: whether this turn was itself forced by a handler.
        last_assistant_message: the turn's last message.
        background_tasks: what still runs; also empty if the client didn't send it (see `model_fields_set`).
        session_crons: the session's schedule; also empty if the client didn't send it.
    """

    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


class StopFailure(Event):
    """A turn died of an API error.

    Attributes:
        error: the kind of error, such as `rate_limit`, `overloaded`, `server_error`, `max_output_tokens`.
        error_details: more about it.
        last_assistant_message: the turn's last words, often the error as the user sees it.
    """

    error: str = ""
    error_details: str | None = None
    last_assistant_message: str | None = None


class SubagentStart(Event):
    """A subagent starts.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type, such as `Explore` or `plugin:name`.
    """

    agent_id: str = ""

    @property
    def reaches_agent(self) -> bool:
        """Always true, even if the subagent has no id."""
        return True


class SubagentStop(Event):
    """A subagent finished a run.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type; empty for the agent that writes a compaction's summary.
        stop_hook_active: whether this run was itself forced by a handler.
        agent_transcript_path: the subagent's JSONL file; may be empty or not exist yet.
        last_assistant_message: its last words.
        background_tasks: what still runs, often including this very agent.
        session_crons: the session's schedule.
    """

    agent_id: str = ""
    stop_hook_active: bool = False
    agent_transcript_path: str = ""
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()

    @property
    def is_compaction(self) -> bool:
        """Whether this is a compaction's own agent, whose last message is the summary and no agent's result."""
        return self.agent_type == ""

    @property
    def reaches_agent(self) -> bool:
        """Always true, even if the subagent has no id."""
        return True


class TaskEvent(Event):
    """An event about one task of the client's task list.

    Attributes:
        task_id: the task; opaque.
        task_subject: its title.
        task_description: the task's description.
        teammate_name: the team member who works on it.
        team_name: deprecated by the client.
    """

    task_id: Identifier = ""
    task_subject: str = ""
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCreated(TaskEvent):
    """A task was created."""


class TaskCompleted(TaskEvent):
    """A task is about to be marked completed."""


class TeammateIdle(Event):
    """A team member is about to go idle.

    Attributes:
        teammate_name: the team member.
        team_name: deprecated by the client.
    """

    teammate_name: str | None = None
    team_name: str | None = None


class ConfigChange(Event):
    """A settings or skill file changed.

    Attributes:
        source: `user_settings`, `project_settings`, `local_settings`, `policy_settings`, `skills` or a newer one.
        file_path: the file.
    """

    source: str = ""
    file_path: str | None = None


class InstructionsLoaded(Event):
    """A CLAUDE.md, a rule or a file imported by one was loaded.

    Attributes:
        file_path: the file.
        memory_type: `User`, `Project`, `Local` or `Managed`.
        load_reason: `session_start`, `nested_traversal`, `path_glob_match`, `include`, `compact` or a newer one.
        globs: the path patterns of a rule that applies to some files only.
        trigger_file_path: the file whose use loaded it.
        parent_file_path: the file that imports it.
    """

    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""
    globs: tuple[str, ...] = ()
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class CwdChanged(Event):
    """The model's working directory has changed.

    Attributes:
        old_cwd: the folder before.
        new_cwd: the folder after.
    """

    old_cwd: str = ""
    new_cwd: str = ""


class FileChanged(Event):
    """A watched file changed.

    Attributes:
        file_path: the file.
        event: `change`, `add` or `unlink`.
    """

    file_path: str = ""
    event: str = ""


class DirectoryAdded(Event):
    """A folder was added to those the session may work in.

    Attributes:
        directory: the folder.
        source: `slash_command`, `register_repo_root` or a newer one.
    """

    directory: str = ""
    source: str = ""


class WorktreeCreate(Event):
    """A worktree is to be created.

    Attributes:
        name: the new worktree's name.
    """

    name: str = ""


class WorktreeRemove(Event):
    """A worktree that a handler made is to be removed.

    Attributes:
        worktree_path: its folder.
    """

    worktree_path: str = ""


class ModelSwitchEvent(Event):
    """An event about one change of model.

    Attributes:
        from_model: the model before.
        to_model: the model after; a matcher is compared with it.
        requested_model: the name that was asked for, such as `haiku`.
        source: `command`, `picker`, `sdk`; after the switch also `auto` and `resume`.
        context_tokens: the size of the context in tokens.
        prompt_cache_warm: whether the old model's prompt cache is warm.
        cache_ttl: how long a cache entry lives, `5m` or `1h`.
        estimated_cache_write_usd: what filling the new model's cache would cost, in US dollars.
        pricing: where the price comes from: `configured`, `catalog` or `default`.
    """

    from_model: str = ""
    to_model: str = ""
    requested_model: str | None = None
    source: str = ""
    context_tokens: int | None = None
    prompt_cache_warm: bool | None = None
    cache_ttl: str | None = None
    estimated_cache_write_usd: float | None = None
    pricing: str | None = None


class ElicitationEvent(Event):
    """An event about one question.

    Attributes:
        mcp_server_name: the server that asks.
        mode: `form` or `url`.
        elicitation_id: the question's id.
        action: the answer of the user or of an earlier handler: `accept`, `decline` or `cancel`; empty before there
            is one.
        content: the form's values, with `accept`.
    """

    mcp_server_name: str = ""
    mode: str | None = None
    elicitation_id: str | None = None
    action: str = ""
    content: dict[str, Any] | None = None


class PreModelSwitch(ModelSwitchEvent):
    """The session's model is about to change."""


class PostModelSwitch(ModelSwitchEvent):
    """The session's model has changed."""


class Notification(Event):
    """The client notifies the user.

    Attributes:
        message: the text.
        title: its heading.
        notification_type: what it is about, such as `permission_prompt`, `idle_prompt`, `agent_completed`.
    """

    message: str = ""
    title: str | None = None
    notification_type: str = ""


class MessageDisplay(Event):
    """A piece of the assistant's text is about to appear on the screen.

    Attributes:
        turn_id: the turn.
        message_id: the message.
        index: the piece's position in the message, from 0.
        final: whether it is the last one.
        delta: the text.
    """

    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = False
    delta: str = ""


class Elicitation(ElicitationEvent):
    """An MCP server asks the user something.

    Attributes:
        message: the question.
        url: the page the user is asked to visit, in mode `url`.
        requested_schema: the JSON schema of the form, in mode `form`.
    """

    message: str = ""
    url: str | None = None
    requested_schema: dict[str, Any] | None = None


class ElicitationResult(ElicitationEvent):
    """The user answered an MCP server's question."""
