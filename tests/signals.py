"""The signals of one subagent, fired in process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.testing import Fired
from holdfast.testkit import agent, recorded

if TYPE_CHECKING:
    from holdfast.testing import HoldfastProject


@dataclass(frozen=True, init=False)
class Agent(agent.Agent[Fired]):
    """A call of the simulated client's in a test's project; what is not given does not matter to the test.

    Args:
        project: where.
        description: the call's short description.
        kind: `subagent_type`.
        prompt: the call's prompt.
        number: tells call and run apart from others'.
        tool: the tool's name.
        session: the main session, if not the project's.
    """

    def __init__(
        self,
        project: HoldfastProject,
        description: str = "",
        kind: str = "builder",
        prompt: str = "Do it.",
        number: int = 1,
        tool: str = "Agent",
        session: str = "",
    ) -> None:
        def fire(name: str, **changes: Any) -> Fired:
            return project.send(recorded.sent(name, session or project.session, project.root, **changes))

        asked = {"description": description, "prompt": prompt, "subagent_type": kind}
        super().__init__(fire, fire, asked, f"a{number:016x}", f"toolu_{number}", tool)

    @property
    def kind(self) -> str:
        """`subagent_type`."""
        return str(self.arguments["subagent_type"])

    def returned_api_error(self) -> Fired:
        """PostToolUse of a failed foreground call on client 2.1.197: completed, with the error for a result."""
        return self.returned("API Error: 529 Overloaded.", tokens=0)
