"""What the model itself writes of a workflow is saved at once and belongs to its session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions import contents, conversations, owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject
RESTORED = "WORKFLOW RESTORED AFTER COMPACTION"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    return holdfast_project({})


def write(project: HoldfastProject, path: str, content: Any, *, tool: str = "Write", **changes: Any) -> None:
    """Have the model write a file, and tell the hook."""
    project.write({path: content})
    given = str(project.root / path) if not changes.pop("relative", False) else path
    fired = project.fire("PostToolUse", f"PostToolUse-{tool}", tool_input={"file_path": given}, **changes)
    fired.assert_silent("save_written")


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
    assert contents.latest(there, path) == path.read_bytes()
    assert ME in {each.id for each in conversations.every(there)}
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
    assert contents.latest(there, path) == path.read_bytes()


@pytest.mark.parametrize("given", [None, 7, "", [], "\0"])
def test_a_tool_that_names_no_file_is_passed_over(project: HoldfastProject, given: Any) -> None:
    """Whatever a client sends."""
    project.fire("PostToolUse", "PostToolUse-Write", tool_input={"file_path": given}).assert_silent("save_written")


def test_what_is_broken_or_finished_is_left(project: HoldfastProject) -> None:
    """A half-written file is no generation; the last good one stays."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root)
    path = state_file(project)
    good = path.read_bytes()

    write(project, path.relative_to(project.root).as_posix(), '{"workflow": ')

    there = Workspace.open(project.root)
    assert contents.latest(there, path) == good
