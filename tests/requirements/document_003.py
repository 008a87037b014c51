"""A project with document 003's task document, and a clock that is set by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import paths
from holdfast.config import Config
from holdfast.formats.orchestrator import schema
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.workflow.model import Start
from tests.formats.memory import Memory
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from holdfast.formats.orchestrator.run import Run
    from holdfast.testing import HoldfastProject
    from holdfast.workflow.model import Workflow

EXAMPLE = (Path(__file__).parent / "data/document_003/complete-example.json").read_bytes()
DOCUMENT = """# Tasks: User auth

## Safety Bounds

- **Max iterations per task**: 4
- Max cost: $1.00
- Max time: 1 hour

### Phase 1: Foundation

#### Task 1.1: Update the model
**Success Criteria**:
- [ ] model updated
- [ ] migration tested

#### Task 1.2: Write the middleware

### Phase 2: Endpoints

#### Task 2.1: Create the endpoints

```
#### Task 2.9: an example in a fence
```
"""

DRIFTED: dict[str, Any] = {
    "orchestrator": {"status": "executing", "current_task": "1.2"},
    "pending_tasks": ["1.1: Fetch prices"],
    "safety_bounds": {"max_cost": 10, "max_time_hours": 2},
}


class Changed(NamedTuple):
    """The workflow after a change, whether its file was written, and the run."""

    workflow: Workflow
    changed: bool
    run: Run


class Scene:
    """A project with a run of the task document."""

    def __init__(self, root: Path, clock: pytest.MonkeyPatch) -> None:
        self.project = Memory(root.resolve(), Config())
        self.clock = clock
        self.doc = self.project.root / "tasks" / "auth.md"
        self.doc.parent.mkdir(parents=True)
        self.doc.write_text(DOCUMENT)
        self.at("12:00:00")

    def at(self, time: str) -> None:
        """Set the clock."""
        self.clock.setenv("HOLDFAST_NOW", f"2026-01-15T{time}Z")

    def start(self) -> Workflow:
        """Begin the run."""
        return FORMAT.start(self.project, Start(str(self.doc)))

    def do(self, edit: Callable[[Run], object]) -> Changed:
        """Change the run."""
        before = self.path.read_bytes()
        workflow, run = FORMAT.move(self.project, edit, why="test")
        return Changed(workflow, workflow.raw != before, run)

    @property
    def path(self) -> Path:
        return schema.state_path(self.project.root)

    @property
    def data(self) -> dict[str, Any]:
        """What the state file holds."""
        found: dict[str, Any] = json.loads(self.path.read_bytes())
        return found

    @property
    def workflow(self) -> Workflow:
        return FORMAT.view(self.project, FORMAT.load(self.project, self.path))

    def put(self, raw: bytes) -> None:
        """Write the state file as somebody else does."""
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(raw)


def state(project: HoldfastProject) -> dict[str, Any]:
    """Return what a project's state file holds."""
    found: dict[str, Any] = json.loads((project.root / ".claude/agent-state.json").read_bytes())
    return found


def executor(project: HoldfastProject, task: str, number: int = 1) -> Agent:
    """Return an agent for a task."""
    return Agent(project, f"Task {task}", "task-executor", "Do it.", number=number)


def configure(text: str) -> None:
    """Write your configuration."""
    path = paths.user_config()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
