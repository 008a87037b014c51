"""`TeammateIdle` fires when a team member is about to go idle; blocking keeps it working.

Example::

    from holdfast import block, hookimpl

    @hookimpl
    def on_teammate_idle(event, context):
        if event.teammate_name == "tester" and (context.root / "FAILING").exists():
            return block("the tests have not passed yet")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class TeammateIdle(Event):
    """A team member is about to go idle; blocking keeps it working.

    Attributes:
        teammate_name: the team member.
        team_name: deprecated by the client.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"block", "stop", "tell_user", "terminal"})

    teammate_name: str | None = None
    team_name: str | None = None
