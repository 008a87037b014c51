"""The workflow of document 000, "Create calculator.py with tests and verify they pass", and the document's examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.formats.hybrid import functions
from tests.commandline import Said, holdfast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.testing import HoldfastProject
    from holdfast.workflow.model import Status

TASK = "Create calculator.py with tests and verify they pass"
CREATE, TEST = "Create calculator module", "Write and run tests"
PHASES = ((CREATE, "general-purpose"), (TEST, "task-completion-verifier"))
DELIVERED = ["/path/to/calculator.py", "add, subtract, multiply, divide functions"]
HANDOVER = "Created calculator.py at /path with 4 functions"
REPORT = f"The module is there.\n\nDELIVERABLES:\n- {DELIVERED[0]}\n- {DELIVERED[1]}\n\nCONTEXT_FOR_NEXT: {HANDOVER}"

STATE = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"
KEYS = ["id", "task", "status", "current_phase", "phases"]
PHASE_KEYS = ["id", "title", "agent", "status", "deliverables", "context_for_next"]
STATUSES = {"pending", "active", "completed", "failed"}
_EXAMPLES = Path(__file__).parent / "data" / "document_000"


def example(name: str) -> str:
    """Return one of the document's examples, word for word."""
    return (_EXAMPLES / name).read_text(encoding="utf-8")


class Calculator:
    """A project in which the workflow may be started, and what its files say."""

    def __init__(self, project: HoldfastProject) -> None:
        """Take an empty project."""
        self.project = project
        self.root = project.root
        self.id = ""

    def create(self, task: str = TASK, phases: Iterable[tuple[str, str]] = PHASES) -> str:
        """Start the workflow, as an orchestrator does, and return its id."""
        self.id = functions.create_workflow_state(task, phases, root=self.root)
        return self.id

    def update(
        self,
        phase: str,
        status: Status,
        deliverables: Sequence[str] | None = None,
        context_for_next: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Set a phase's status, as a worker does, and return the new state."""
        return functions.update_phase_status(
            self.id, phase, status, deliverables, context_for_next, root=self.root, **more
        )

    def run(self, *arguments: str, session: str = "", code: int = 0) -> Said:
        """Run a command in the project."""
        return holdfast(*arguments, root=self.root, session=session, code=code)

    def read(self, place: str) -> str:
        """Return a file of the project."""
        return (self.root / place).read_text(encoding="utf-8")

    @property
    def state(self) -> dict[str, Any]:
        """What the state file says now."""
        state: dict[str, Any] = json.loads(self.read(STATE))
        return state

    @property
    def view(self) -> str:
        """What the Markdown view says now."""
        return self.read(VIEW)

    @property
    def statuses(self) -> list[str]:
        """The phases' statuses now."""
        return [phase["status"] for phase in self.state["phases"]]

    def summary(self) -> tuple[str, str | None, list[str]]:
        """Return the workflow's status, its current phase and the phases' statuses now."""
        return self.state["status"], self.state["current_phase"], self.statuses
