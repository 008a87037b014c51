"""Folders, links and broken files that get in a run's way: nothing is lost, and each is named."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.formats.skills import record, upkeep
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
    skills(made, "start", "dev", FEATURE)
    skills(made, "phase", "create_branch")
    skills(made, "task", "1", "--start")
    return made


def skills(project: HoldfastProject, *words: str, code: int = 0) -> str:
    """Run a command of the group, or a general one."""
    group = () if words[0] in ("update", "done", "cancel") else ("skills",)
    said = holdfast(*group, *words, root=project.root, code=code)
    return said.out + said.err


def file(project: HoldfastProject) -> Path:
    (path,) = (project.root / record.TOP / "active").glob("*.json")
    return path


def listed(root: Path) -> list[str]:
    index: dict[str, Any] = json.loads((root / record.TOP / "index.json").read_bytes())
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
        ("update", "--status", "blocked", "--error", "No key"),
        ("done", "--all"),
        ("cancel",),
        ("start", "tdd", "Another"),
    ],
)
def test_a_read_only_folder_is_named_and_nothing_changes(project: HoldfastProject, words: tuple[str, ...]) -> None:
    """The command fails with the file and the reason; what is there can still be shown."""
    if words[0] == "phase":
        skills(project, "task", "1", "--done")
        skills(project, "task", "2", "--done")
    before = {path: path.read_bytes() for path in (project.root / record.TOP).rglob("*.json")}
    with read_only(project.root):
        said = skills(project, *words, code=1)
        assert "ermission" in said and "workflow-state" in said, said
        assert "Task execution" in skills(project, "start", "dev", FEATURE)
    assert {path: path.read_bytes() for path in (project.root / record.TOP).rglob("*.json")} == before
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
    link = project.root / record.TOP / "completed"
    link.symlink_to(elsewhere)
    stem = file(project).stem
    assert "symbolic link" in skills(project, "done", "--all", code=1)
    assert list(elsewhere.iterdir()) == []
    assert file(project).stem == stem
    link.unlink()
    skills(project, "done", "--all", "login")
    assert [path.stem for path in link.glob("*.json")] == [stem]
    assert listed(project.root) == []


def test_a_state_behind_a_link_is_neither_read_nor_replaced(project: HoldfastProject, tmp_path: Path) -> None:
    """It is named with the link."""
    path = file(project)
    target = path.rename(tmp_path / "elsewhere.json")
    raw = target.read_bytes()
    path.symlink_to(target)
    for words in (("start", "dev", FEATURE), ("phase", "verification")):
        assert "symbolic link" in skills(project, *words, code=1), words
    assert (target.read_bytes(), path.is_symlink()) == (raw, True)


def test_a_broken_file_that_was_finished_stays_where_it_is(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content is an earlier one: a person may want what was written into it since."""
    path = file(project)
    with monkeypatch.context() as killed:
        killed.setattr(upkeep, "move_away", lambda *_: (_ for _ in ()).throw(HoldfastError("killed")))
        skills(project, "cancel", code=1)
    path.write_text("{ what a person wrote")

    skills(project, "start", "tdd", "Another")

    assert path.read_text() == "{ what a person wrote"
    assert not list((project.root / record.TOP / "completed").glob("*"))
