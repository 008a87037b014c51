"""Folders, links, ids, branches and processes that get in a run's way: nothing is lost, and each is said plainly."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.formats.skills import places, store
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.permissions import counting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject

FEATURE = "features/login.md"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a run of /dev at its first task."""
    made = holdfast_project({FEATURE: "# Login\n\n- [ ] Add model\n- [ ] Add login\n"})
    skills(made, "start", "dev", "--feature", FEATURE)
    skills(made, "phase", "create_branch")
    skills(made, "task", "1", "--start")
    return made


def skills(project: HoldfastProject, *words: str, code: int = 0) -> str:
    said = holdfast("skills", *words, root=project.root, code=code)
    return said.out + said.err


def file(project: HoldfastProject) -> Path:
    (path,) = (project.root / places.TOP / "active").glob("*.json")
    return path


def listed(root: Path) -> list[str]:
    index: dict[str, Any] = json.loads((root / places.TOP / "index.json").read_bytes())
    return [each["id"] for each in index["active_workflows"]]


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Let nobody write into the folders of the format, not even root."""
    folders = [path for path in (root / ".claude", *(root / ".claude").rglob("*")) if path.is_dir()]
    with ExitStack() as stack:
        for each in folders:
            stack.callback(each.chmod, each.stat().st_mode & 0o777)
            each.chmod(0o555)
        stack.enter_context(counting())
        yield


@pytest.mark.parametrize(
    "words",
    [
        ("phase", "verification"),
        ("task", "1", "--done"),
        ("checkpoint", "lint", "--passed"),
        ("block", "No key"),
        ("complete", "--all"),
        ("abandon",),
        ("start", "tdd", "--task", "Another"),
    ],
)
def test_a_read_only_folder_is_named_and_nothing_changes(project: HoldfastProject, words: tuple[str, ...]) -> None:
    """The command fails with the file and the reason; what is there can still be shown."""
    if words[0] == "phase":
        skills(project, "task", "1", "--done")
        skills(project, "task", "2", "--done")
    before = {path: path.read_bytes() for path in (project.root / places.TOP).rglob("*.json")}
    with read_only(project.root):
        said = skills(project, *words, code=1)
        assert "ermission" in said and "workflow-state" in said, said
        assert "Task execution" in skills(project, "resume")
    assert {path: path.read_bytes() for path in (project.root / places.TOP).rglob("*.json")} == before
    assert skills(project, *words)


def test_a_compaction_in_a_read_only_folder_gives_the_run_back(project: HoldfastProject) -> None:
    """It isn't in the history then, which is better than no restoration."""
    with read_only(project.root):
        project.fire("PreCompact", "PreCompact-auto")
        fired = project.fire("SessionStart", "SessionStart-compact")
    assert fired.faults == []
    assert "Resuming task 1/2" in fired.context
    assert "context_compacted" not in file(project).read_text()


def test_a_completed_folder_behind_a_link_is_not_followed(project: HoldfastProject, tmp_path: Path) -> None:
    """The run stays where it is, and is moved away once the link is gone."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = project.root / places.TOP / "completed"
    link.symlink_to(elsewhere)
    stem = file(project).stem
    assert "symbolic link" in skills(project, "complete", "--all", code=1)
    assert list(elsewhere.iterdir()) == []
    assert file(project).stem == stem
    link.unlink()
    assert "no workflow of a skill is unfinished" in skills(project, "pending", code=1)
    assert [path.stem for path in link.glob("*.json")] == [stem]
    assert listed(project.root) == []


def test_a_state_behind_a_link_is_neither_read_nor_replaced(project: HoldfastProject, tmp_path: Path) -> None:
    """It is named with the link."""
    path = file(project)
    target = path.rename(tmp_path / "elsewhere.json")
    raw = target.read_bytes()
    path.symlink_to(target)
    for words in (("start", "dev", "--feature", FEATURE), ("phase", "verification"), ("check",)):
        assert "symbolic link" in skills(project, *words, code=1), words
    assert (target.read_bytes(), path.is_symlink()) == (raw, True)


def test_an_id_that_is_not_the_files_name_finds_it_too(project: HoldfastProject) -> None:
    """By the file's name and by the id; there is one entry in the index whichever the other program wrote."""
    path = file(project)
    data = json.loads(path.read_bytes())
    data["workflow"]["id"] = "dev-login-a1b2c3"
    path.write_text(json.dumps(data))
    index = path.parent.parent / "index.json"
    index.write_text(index.read_text().replace(path.stem, "dev-login-a1b2c3"))
    for key in (path.stem, "dev-login-a1b2c3", FEATURE):
        assert "dev-login-a1b2c3" in skills(project, "resume", key), key
    assert "which differs from its file's name" in skills(project, "check")
    skills(project, "task", "1", "--done", "--workflow", "dev-login-a1b2c3")
    assert listed(project.root) == [path.stem]
    skills(project, "complete", "--all", "--workflow", "dev-login-a1b2c3")
    assert listed(project.root) == []


def test_a_linked_worktree_has_its_own_branch(project: HoldfastProject, tmp_path: Path) -> None:
    """A state that was copied there is of another branch; on a detached head no branch is checked out."""
    git = ("git", "-C", str(project.root), "-c", "user.name=A", "-c", "user.email=a@b.c")
    for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "Begin")):
        subprocess.run([*git, *words], check=True)
    skills(project, "abandon")
    skills(project, "start", "dev", "--feature", FEATURE)
    second = tmp_path / "second"
    subprocess.run([*git, "worktree", "add", "-q", "-b", "other", str(second)], check=True)
    copy = second / places.TOP / "active" / file(project).name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(file(project).read_bytes())

    said = holdfast("skills", "resume", root=second).out
    assert "State is for branch 'main' but current branch is 'other'" in said
    assert "Options: 1) Switch to main  2) Abandon state and start fresh" in said
    assert "Options" not in skills(project, "resume")
    subprocess.run(["git", "-C", str(second), "checkout", "-q", "--detach"], check=True)
    assert "State is for branch 'main' but no branch is checked out" in holdfast("skills", "resume", root=second).out


@pytest.mark.slow
def test_two_processes_on_one_key_start_it_once(project: HoldfastProject) -> None:
    """One starts it and the other goes on with it; what both then record is all there."""

    def at_once(*many: tuple[str, ...]) -> list[tuple[int, str]]:
        began = [
            subprocess.Popen(
                [sys.executable, "-m", "holdfast", "skills", *words, "--project", str(project.root)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for words in many
        ]
        said = [each.communicate(timeout=500)[0] for each in began]
        return [(each.returncode, out) for each, out in zip(began, said, strict=True)]

    told = at_once(*[("start", "tdd", "--task", "One key")] * 3)
    started = [out for code, out in told if code == 0 and "Starting new workflow" in out]
    assert len(started) == 1, told
    others = [out for _, out in told if out not in started]
    assert all("Resuming workflow" in out or "in_progress" in out or "is active" in out for out in others), told
    name = f"{places.stem('tdd', 'One key')}"
    assert listed(project.root).count(name) == 1
    names = ("lint", "test", "security_review", "code_simplifier")
    for code, out in at_once(*[("checkpoint", each, "--passed", "--workflow", FEATURE) for each in names]):
        assert code == 0, out
    data = json.loads((project.root / places.TOP / "active" / f"{places.stem('dev', FEATURE)}.json").read_bytes())
    assert all(data["checkpoints"][each]["passed"] for each in names)
    assert sorted(each["checkpoint"] for each in data["history"] if each["event"] == "checkpoint") == sorted(names)


def test_a_broken_file_that_was_finished_stays_where_it_is(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content is an earlier one: a person may want what was written into it since."""
    path = file(project)
    with monkeypatch.context() as killed:
        killed.setattr(store, "move_away", lambda *_: (_ for _ in ()).throw(HoldfastError("killed")))
        skills(project, "abandon", code=1)
    path.write_text("{ what a person wrote")

    skills(project, "start", "tdd", "--task", "Another")
    skills(project, "cleanup")

    assert path.read_text() == "{ what a person wrote"
    assert not list((project.root / places.TOP / "completed").glob("*"))


def test_a_phase_with_a_tasks_id_for_a_name_is_no_task(project: HoldfastProject) -> None:
    """People may call their phases so; each goes from one to the next, and no event fails."""
    started = ("start", "Names", "--format", "skills", "--phase", "task-1", "--phase", "task-2")
    holdfast(*started, root=project.root, session=project.session)
    holdfast("next", root=project.root, session=project.session)
    for event, recorded in (("PostToolUse", "PostToolUse-Agent"), ("PreCompact", "PreCompact-auto")):
        assert project.fire(event, recorded).faults == []
    assert "task-1" in project.fire("SessionStart", "SessionStart-compact").context
    for _ in range(2):
        holdfast("done", root=project.root, session=project.session)
    assert [path.name[:6] for path in places.completed(Workspace.open(project.root)).glob("*.json")] == ["other-"]


def test_a_phase_without_a_status_is_pending(project: HoldfastProject) -> None:
    """It can be entered and completed like any other."""
    path = file(project)
    state = json.loads(path.read_bytes())
    for each in state["state_machine"]["phases"]:
        del each["status"]
    for each in state["tasks"]:
        each["status"] = "completed"
    path.write_text(json.dumps(state))
    assert "task_execution" in skills(project, "phase", "task_execution")
    assert "verification" in skills(project, "phase", "verification")
    phases = json.loads(path.read_bytes())["state_machine"]["phases"]
    assert [each["status"] for each in phases] == [*("completed",) * 3, "in_progress", "pending"]
