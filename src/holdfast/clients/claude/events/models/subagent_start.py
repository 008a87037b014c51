"""The fields of `SubagentStart`."""

from holdfast.clients.claude.events.event import Event


class SubagentStart(Event):
    """What the client sends with `SubagentStart`.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type, such as `Explore` or `plugin:name`.
    """

    agent_id: str = ""

    @property
    def reaches_agent(self) -> bool:
        """Always true, even if the subagent has no id."""
        return True
