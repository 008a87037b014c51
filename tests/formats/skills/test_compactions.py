"""A compaction is written into the history of the run that its session gets back (R004-18)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.skills import adapter
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired, HoldfastProject

RECORDED = {"event": "context_compacted", "note": "session resumed"}


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a run of /dev at its first task."""
    made = holdfast_project({})
    holdfast("skills", "start", "dev", "--task", "Log in", "--item", "Add model", "--item", "Add login", root=made.root)
    holdfast("skills", "phase", "create_branch", root=made.root)
    holdfast("skills", "task", "1", "--start", root=made.root)
    return made


def compact(project: HoldfastProject, trigger: str = "auto") -> Fired:
    project.fire("PreCompact", f"PreCompact-{trigger}")
    return project.fire("SessionStart", "SessionStart-compact")


def state(project: HoldfastProject) -> dict[str, Any]:
    (path,) = (project.root / ".claude/workflow-state/active").glob("*.json")
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def recorded(project: HoldfastProject) -> list[dict[str, Any]]:
    """Return what the history says of compactions, without the times."""
    found = [each for each in state(project)["history"] if each["event"] == RECORDED["event"]]
    assert all(each.pop("at") for each in found)
    return found


def test_each_compaction_is_recorded_once(project: HoldfastProject) -> None:
    """R004-18, as the document writes it; nothing else of the state changes but when it was updated."""
    before = state(project)
    for number, trigger in enumerate(("auto", "manual"), 1):
        assert "task 1/2" in compact(project, trigger).context
        project.fire("UserPromptSubmit", prompt="go on")
        assert recorded(project) == [RECORDED] * number
    after = state(project)
    index = json.loads((project.root / ".claude/workflow-state/index.json").read_bytes())
    assert index["active_workflows"][0]["last_activity"] == after["workflow"]["updated_at"]
    assert after["history"][:-2] == before["history"]
    for each in (before, after):
        del each["history"], each["workflow"]["updated_at"]
    assert after == before


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_no_other_start_is_recorded(project: HoldfastProject, source: str) -> None:
    """Nor is a compaction that was announced and did not come."""
    project.fire("PreCompact", "PreCompact-auto")
    project.fire("SessionStart", "SessionStart-compact", source=source)
    assert recorded(project) == []


def test_a_blocked_run_is_recorded_and_stays_blocked(project: HoldfastProject) -> None:
    """Its session goes on after the compaction, too."""
    holdfast("skills", "block", "No key", root=project.root)
    told = compact(project).context
    assert "(blocked)" in told and "No key" in told
    assert recorded(project) == [RECORDED]
    assert state(project)["workflow"]["status"] == "blocked"


def test_a_finished_run_is_never_recorded(project: HoldfastProject) -> None:
    """Whether it was moved away, or somebody completes it between reading and writing."""
    space = Workspace.open(project.root)
    (seen,) = adapter.find(space).workflows
    (path,) = (project.root / ".claude/workflow-state/active").glob("*.json")
    path.write_text(path.read_text("utf-8").replace('"status": "in_progress"', '"status": "completed"', 1))
    raw = path.read_bytes()
    assert adapter.compacted(space, seen).finished
    assert path.read_bytes() == raw
    compact(project)
    assert path.read_bytes() == raw


def test_what_cannot_be_written_is_restored_all_the_same(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says that the compaction wasn't recorded, and no handler fails."""
    from holdfast.errors import StateError
    from holdfast.formats.skills import store

    def refuse(space: object, workflow: Any, *_: object, **__: object) -> None:
        raise StateError(workflow.path, "it can't be written")

    monkeypatch.setattr(store, "change", refuse)
    fired = compact(project)
    assert "task 1/2" in fired.context
    assert fired.faults == []
    assert recorded(project) == []


def test_a_broken_file_stays_as_it_is(project: HoldfastProject) -> None:
    """Its last content is restored, and no hook writes into it."""
    project.fire("UserPromptSubmit", prompt="go on")
    (path,) = (project.root / ".claude/workflow-state/active").glob("*.json")
    path.write_bytes(path.read_bytes()[:300])
    raw = path.read_bytes()
    fired = compact(project)
    assert fired.faults == []
    assert path.read_bytes() == raw


def in_green(root: Path) -> None:
    """Bring a run of seven tasks to GREEN of its fifth."""
    for number in "1234":
        holdfast("skills", "task", number, "--done", root=root)
    holdfast("skills", "task", "5", "--start", root=root)
    holdfast("skills", "tdd", "red", "--test-name", "test_login", "--reason", "no login", root=root)
    holdfast("skills", "tdd", "green", root=root)


def before_verification(root: Path) -> None:
    """Complete all tasks of a run; those checkpoints are pending that the document's line names."""
    for number in "1234567":
        holdfast("skills", "task", number, "--done", root=root)
    holdfast("skills", "checkpoint", "code_simplifier", "--passed", root=root)


def before_the_pull_request(root: Path) -> None:
    """Bring a run to its last phase, with its branch pushed."""
    before_verification(root)
    holdfast("skills", "phase", "verification", root=root)
    for name in ("lint", "test", "security_review"):
        holdfast("skills", "checkpoint", name, "--passed", root=root)
    holdfast("skills", "phase", "pr_creation", root=root)


@pytest.mark.parametrize("trigger", ["manual", "auto"])
@pytest.mark.parametrize(
    ("played", "line"),
    [
        (in_green, 'Resuming task 5/7, currently in GREEN phase: "Part 5"'),
        (before_verification, "All tasks complete. Pending: lint, test, security_review, pr"),
        (
            before_the_pull_request,
            "go on with pr_creation: check git status; create the PR if the branch is pushed. Pending: pr",
        ),
    ],
    ids=["in a task", "before verification", "before the pull request"],
)
def test_each_scenario_of_the_document_has_its_line(
    holdfast_project: Callable[..., HoldfastProject], played: Callable[[Path], None], line: str, trigger: str
) -> None:
    """R004-33 to R004-35: it is the whole next step, after a second compaction too, and no prompt brings it again."""
    project = holdfast_project({})
    items = [word for number in range(1, 8) for word in ("--item", f"Part {number}")]
    holdfast("skills", "start", "dev", "--task", "Log in", *items, root=project.root)
    holdfast("skills", "phase", "create_branch", root=project.root)
    holdfast("skills", "phase", "task_execution", root=project.root)
    played(project.root)
    for number in (1, 2):
        restored = compact(project, trigger).context.splitlines()
        assert [each.partition(", then holdfast done")[0] for each in restored if line in each] == [
            f"Next step: {line}"
        ]
        assert "Part 5" not in project.fire("UserPromptSubmit", prompt="go on").context
        assert recorded(project) == [RECORDED] * number
