"""The signals of a conversation and of one subagent, fired in process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.testing import Fired
from holdfast.testkit import agent, recorded
from tests.client_output import assert_acceptable

if TYPE_CHECKING:
    from holdfast.testing import HoldfastProject


def begin(project: HoldfastProject, source: str, **changes: Any) -> Fired:
    """Fire a SessionStart that must be acceptable and without faults."""
    name = "SessionStart-startup-tui" if source == "startup" else f"SessionStart-{source}"
    fired = project.fire("SessionStart", name, **changes)
    assert_acceptable("SessionStart", fired.stdout)
    assert fired.faults == []
    return fired


def asked(project: HoldfastProject, prompt_id: str) -> None:
    """Have a person give a prompt."""
    project.fire("UserPromptSubmit", prompt="Do it.", prompt_id=prompt_id)


def compacted(project: HoldfastProject, session: str = "") -> Fired:
    """Let the conversation begin anew, under another id if one is given."""
    project.fire("PreCompact", "PreCompact-auto")
    project.session = session or project.session
    return begin(project, "compact")


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
        background: whether the call asks for the background.
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
        *,
        background: bool = False,
    ) -> None:
        def fire(name: str, **changes: Any) -> Fired:
            return project.send(recorded.sent(name, session or project.session, project.root, **changes))

        arguments: dict[str, Any] = {"description": description, "prompt": prompt, "subagent_type": kind}
        arguments |= {"run_in_background": True} if background else {}
        super().__init__(fire, fire, arguments, f"a{number:016x}", f"toolu_{number}", tool)

    @property
    def kind(self) -> str:
        """`subagent_type`."""
        return str(self.arguments["subagent_type"])

    def at_work(self) -> Agent:
        """Launch it, for the background."""
        self.about_to()
        self.launched()
        self.started()
        return self

    def finished(self, words: str = "All is well.") -> Agent:
        """Run it to its end."""
        self.about_to()
        self.started()
        self.stopped(words)
        self.returned(words)
        return self

    def returned_api_error(self) -> Fired:
        """PostToolUse of a failed foreground call on client 2.1.197: completed, with the error for a result."""
        return self.returned("API Error: 529 Overloaded.", tokens=0)
