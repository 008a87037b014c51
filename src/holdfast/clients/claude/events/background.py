"""What goes on outside a turn: background tasks and scheduled prompts."""

from holdfast.clients.claude.events.record import Record


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
