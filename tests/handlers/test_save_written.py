"""What the model itself writes of a workflow is saved at once and belongs to its session."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.sessions.history import generations, history
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

MEMORY = "# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: {0}/4 - Draft {0}\n\n@CLAUDE/Page.md\n"
RESTORED = "WORKFLOW RESTORED AFTER COMPACTION"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    return holdfast_project({})


def write(project: HoldfastProject, path: str, content: Any, *, tool: str = "Write", **changes: Any) -> None:
    """Have the model write a file, and tell the hook."""
    project.write({path: content})
    given = str(project.root / path) if not changes.pop("relative", False) else path
    fired = project.fire("PostToolUse", f"PostToolUse-{tool}", tool_input={"file_path": given}, **changes)
    fired.assert_silent()


def only(project: HoldfastProject) -> tuple[Workspace, Any]:
    there = Workspace.open(project.root)
    (found,) = registry.all_found(there).workflows
    return there, found


def state_file(project: HoldfastProject) -> Path:
    (path,) = (project.root / "untracked" / "workflow-state").glob("*/state-*.json")
    return path


@pytest.mark.parametrize("tool", ["Write", "Edit"])
@pytest.mark.parametrize("relative", [False, True])
def test_a_state_file_that_is_written_belongs_to_the_session(
    project: HoldfastProject, tool: str, relative: bool
) -> None:
    """With a generation of what was written, whoever else is live in the folder."""
    holdfast("start", "Alpha", "--phase", "One", "--phase", "Two", root=project.root)
    project.fire("SessionStart", "SessionStart-startup", session_id=OTHER)
    path = state_file(project)
    data = json.loads(path.read_bytes()) | {"key_reminders": ["by the model"]}

    write(project, path.relative_to(project.root).as_posix(), data, tool=tool, relative=relative, session_id=ME)

    there, found = only(project)
    assert owners.owner(there, found) == ME
    assert generations.latest(there, path) == path.read_bytes()
    assert ME in {each["id"] for each in sessions.all_of(there)}
    again = project.fire("SessionStart", "SessionStart-compact", session_id=ME).context
    assert RESTORED in again and "by the model" in again


def test_another_live_sessions_workflow_stays_its_own(project: HoldfastProject) -> None:
    """Writing into it is kept, and takes nothing."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=OTHER)
    project.fire("SessionStart", "SessionStart-startup", session_id=OTHER)
    path = state_file(project)
    data = json.loads(path.read_bytes()) | {"key_reminders": ["by another"]}

    write(project, path.relative_to(project.root).as_posix(), data, session_id=ME)

    there, found = only(project)
    assert owners.owner(there, found) == OTHER
    assert generations.latest(there, path) == path.read_bytes()


def test_what_a_memory_file_says_is_saved_without_any_precompact(project: HoldfastProject) -> None:
    """Each time it is written; a compaction that nobody announced restores the last of it."""
    project.fire("SessionStart", "SessionStart-startup", session_id=OTHER)
    for phase in (1, 2):
        write(project, "CLAUDE.local.md", MEMORY.format(phase), session_id=ME)
    there, found = only(project)
    assert (found.title, found.current, owners.owner(there, found)) == ("Page Orchestration", 2, ME)

    restored = project.fire("SessionStart", "SessionStart-compact", session_id=ME).context

    assert "Phase: 2/4 - Draft 2 (in_progress)" in restored
    assert "@CLAUDE/Page.md" in restored


def test_a_phase_that_is_completed_by_an_edit_is_in_its_history(project: HoldfastProject) -> None:
    """A transition seen is a transition kept."""
    holdfast("start", "Alpha", "--format", "hybrid", "--phase", "One", "--phase", "Two", root=project.root)
    holdfast("next", root=project.root)
    path = project.root / ".claude" / "state" / "workflow.json"
    data = json.loads(path.read_bytes())
    data["phases"][0]["status"] = "completed"

    write(project, ".claude/state/workflow.json", data)

    there, found = only(project)
    assert history.of(there, found).phases[found.phases[0].id].ended_at


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("src/app.py", {}),
        ("deep/CLAUDE.local.md", {}),
        ("CLAUDE.local.md", {"agent_id": "a1", "agent_type": "general-purpose"}),
        ("untracked/workflow-state/alpha/notes.md", {}),
    ],
)
def test_any_other_file_and_a_subagents_changes_nothing(
    project: HoldfastProject, path: str, changes: dict[str, Any]
) -> None:
    """Not even the ledger."""
    write(project, path, MEMORY.format(1), **changes)
    assert not (project.root / "untracked" / "workflow-state" / "page-orchestration").exists()
    assert not Workspace.open(project.root).ledger_file.exists()


@pytest.mark.parametrize("given", [None, 7, "", [], "\0"])
def test_a_tool_that_names_no_file_is_passed_over(project: HoldfastProject, given: Any) -> None:
    """Whatever a client sends."""
    project.fire("PostToolUse", "PostToolUse-Write", tool_input={"file_path": given}).assert_silent()


def test_what_is_broken_or_finished_is_left(project: HoldfastProject) -> None:
    """A half-written file is no generation; the last good one stays."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root)
    path = state_file(project)
    good = path.read_bytes()

    write(project, path.relative_to(project.root).as_posix(), '{"workflow": ')

    there = Workspace.open(project.root)
    assert generations.latest(there, path) == good


def test_a_memory_file_that_cannot_be_saved_is_said_in_the_log(project: HoldfastProject) -> None:
    """Nothing is raised into the session."""
    project.write({"untracked/workflow-state": "in the way"})
    write(project, "CLAUDE.local.md", MEMORY.format(1))
    assert "was not saved" in paths.log_file().read_text()


def test_an_edit_of_any_other_file_loads_neither_formats_nor_ledger(tmp_path: Path) -> None:
    """Nearly every edit is one: importing what it does not need would be felt."""
    script = (
        "import runpy, sys; from holdfast import paths\n"
        "LATE = ('holdfast.workflow.', 'holdfast.sessions', 'sqlite3')\n"
        "runpy.run_path(str(paths.shipped('handlers') / 'save_written.py'))\n"
        "import pathlib, types; from holdfast import workflows\n"
        "event = types.SimpleNamespace(tool_input={'file_path': 'src/a.py'}, cwd='/project')\n"
        "assert workflows.written(event, types.SimpleNamespace(root=pathlib.Path('/project'))) is None\n"
        "print([name for name in sys.modules if name.startswith(LATE)])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['holdfast.workflow.places']"
