"""Events about the end of a turn, and about subagents."""

from holdfast.clients.claude.events.event import Event, Record


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
