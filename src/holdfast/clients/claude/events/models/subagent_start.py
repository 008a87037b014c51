"""`SubagentStart` fires when a subagent starts. Advice reaches the subagent, not the main conversation.

Example::

    from holdfast import advise, hookimpl

    @hookimpl(match="Explore")
    def on_subagent_start(event):
        return advise("The folder `vendor/` holds other people's code.")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class SubagentStart(Event):
    """A subagent starts. Advice reaches the subagent, not the main conversation.

    Attributes:
        agent_id: the subagent; empty if the client does not say.
        agent_type: its type, such as `Explore` or `plugin:name`.
    """

    matcher_field: ClassVar[str | None] = "agent_type"
    accepts = frozenset({"advise", "tell_user", "terminal"})

    agent_id: str = ""

    @property
    def reaches_agent(self) -> bool:
        """Always true, even if the subagent has no id."""
        return True
