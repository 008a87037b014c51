"""The fields of `TeammateIdle`."""

from holdfast.clients.claude.events.event import Event


class TeammateIdle(Event):
    """What the client sends with `TeammateIdle`.

    Attributes:
        teammate_name: the team member.
        team_name: deprecated by the client.
    """

    teammate_name: str | None = None
    team_name: str | None = None
