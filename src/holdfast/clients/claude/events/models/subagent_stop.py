"""The fields of `SubagentStop`."""

from holdfast.clients.claude.events.background import BackgroundTask, SessionCron
from holdfast.clients.claude.events.event import Event


class SubagentStop(Event):
    """What the client sends with `SubagentStop`.

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
