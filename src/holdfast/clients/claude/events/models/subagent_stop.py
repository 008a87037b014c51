"""`SubagentStop` fires when a subagent has finished a run, maybe several times for one agent.

It says nothing about success, and answers go to the subagent.
It also fires for a compaction's own agent (`event.is_compaction`).

Example::

    from holdfast import hookimpl, tell_user

    @hookimpl
    def on_subagent_stop(event):
        if not event.is_compaction and not event.last_assistant_message:
            return tell_user(f"The agent {event.agent_type} ended without a word.")
"""

from typing import ClassVar

from holdfast.clients.claude.events.background import BackgroundTask, SessionCron
from holdfast.clients.claude.events.event import Event


class SubagentStop(Event):
    """A subagent finished a run; says nothing about success, and may come several times for one agent.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type; empty for the agent that writes a compaction's summary.
        stop_hook_active: whether this run was itself forced by a handler.
        agent_transcript_path: the subagent's JSONL file; may be empty or not exist yet.
        last_assistant_message: its last words.
        background_tasks: what still runs, often including this very agent.
        session_crons: the session's schedule.
    """

    matcher_field: ClassVar[str | None] = "agent_type"
    accepts = frozenset({"force_turn", "block", "stop", "tell_user", "terminal"})

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
