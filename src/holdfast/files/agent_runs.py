"""The protocol for a client's own files about agents that a script starts, with the values it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class ScriptAgent(NamedTuple):
    """An agent that a script's run started.

    Attributes:
        key: what the client knows its call by.
        agent_id: its id; empty if the client gave none.
        label: what the script calls it.
        state: `started`, `finished` or `failed`.
        result: what it returned, as text; empty unless it has finished.
    """

    key: str
    agent_id: str
    label: str
    state: Literal["started", "finished", "failed"]
    result: str = ""


class Journal(NamedTuple):
    """What the client wrote down of a script's run.

    Attributes:
        agents: its agents, in the order in which their calls were made.
        known: whether this is the version of the client's notes that Holdfast knows.
        whole: whether the client itself would serve every finished result again.
    """

    agents: tuple[ScriptAgent, ...]
    known: bool
    whole: bool

    @property
    def done(self) -> int:
        """How many agents have finished with a result."""
        return sum(each.state == "finished" for each in self.agents)


class AgentRuns(Protocol):
    """The files in which a client notes what the agents of a script's run returned."""

    def run_of(self, transcript: str, /) -> str:
        """Return the run that an agent belongs to, from the path of its transcript; empty for no run's agent."""

    def named_in(self, text: str, /) -> list[str]:
        """Return the ids of runs that a text names, each once, in order."""

    def folder(self, transcript: str, run: str, /) -> Path | None:
        """Return the folder of a run in the session with this transcript; None if there can be none."""

    def journal(self, folder: Path, /) -> Journal | None:
        """Return what a run's journal says; None if there is none, or it can't be read."""

    def ended(self, folder: Path, /) -> str:
        """Return how the client says that a run ended (`completed`, `failed`, …); empty while it has not."""

    def script(self, transcript: str, given: Mapping[str, Any], root: Path, /) -> str | None:
        """Return the text of the script that a call asks for; None if it isn't known."""

    def script_name(self, script: str, /) -> str:
        """Return the name that a script gives itself; empty if it gives none."""

    def carry(self, folder: Path, target: Path, /) -> bool:
        """Copy a run's journal, repaired, to a folder that doesn't exist yet; False if it could not be done."""

    def carry_agent(self, transcript: str, agent: str, target: str, /) -> bool:
        """Copy an agent's own transcript beside another session's, so that it can go on there."""
