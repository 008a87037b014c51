"""What makes two folders one project."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from holdfast import log, paths
from holdfast.project import Project

if TYPE_CHECKING:
    from pathlib import Path


def _git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", *settings, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "packages/a").mkdir(parents=True)
    (root / "packages/a/file").write_text("x")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "first")
    return root


def test_worktrees_of_one_repository_are_one_project(repository: Path, tmp_path: Path) -> None:
    """Worktrees share identity and key, and differ in worktree and branch."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))

    main, tree = Project.open(repository), Project.open(tmp_path / "tree")

    assert main.identity == tree.identity == str(repository / ".git")
    assert main.key == tree.key
    assert (main.worktree, tree.worktree) == (str(repository), str(tmp_path / "tree"))
    assert (main.branch, tree.branch) == ("main", "feature")


def test_a_folder_inside_the_repository_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    """The path inside the repository is part of the identity, the same in every worktree."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))

    inner, other = Project.open(repository / "packages/a"), Project.open(tmp_path / "tree/packages/a")

    assert inner.identity == other.identity == f"{repository / '.git'}:packages/a"
    assert inner.key != Project.open(repository).key


def test_worktrees_of_a_bare_repository(repository: Path, tmp_path: Path) -> None:
    """Worktrees of a bare repository share the bare folder as identity."""
    _git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    _git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "one", str(tmp_path / "one"))
    _git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "two", str(tmp_path / "two"))

    assert Project.open(tmp_path / "one").identity == str(tmp_path / "bare.git")
    assert Project.open(tmp_path / "two").identity == str(tmp_path / "bare.git")


def test_a_clone_is_another_project(repository: Path, tmp_path: Path) -> None:
    """Two clones have two memories."""
    _git(tmp_path, "clone", "-q", str(repository), "clone")

    assert Project.open(tmp_path / "clone").key != Project.open(repository).key


def test_a_submodule_is_another_project(repository: Path, tmp_path: Path) -> None:
    """A submodule has the identity of its own git folder."""
    _git(tmp_path, "clone", "-q", str(repository), "lib")
    _git(repository, "submodule", "add", "-q", str(tmp_path / "lib"), "lib")

    assert Project.open(repository / "lib").identity == str(repository / ".git/modules/lib")
    assert Project.open(repository / "lib").branch == "main"


def test_a_declared_id_wins(repository: Path, tmp_path: Path) -> None:
    """`project.id` makes two clones one project."""
    _git(tmp_path, "clone", "-q", str(repository), "clone")
    for root in (repository, tmp_path / "clone"):
        (root / ".claude").mkdir()
        paths.project_config(root).write_text('[project]\nid = "shop"\n')

    first, second = Project.open(repository), Project.open(tmp_path / "clone")

    assert first.identity == second.identity == "shop"
    assert first.key == second.key
    assert first.worktree != second.worktree


def test_outside_git_the_root_is_the_identity(tmp_path: Path) -> None:
    """Without git the real path of the root decides, however it was reached."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to("plain")

    project = Project.open(tmp_path / "link")

    assert project.identity == project.worktree == str(tmp_path / "plain")
    assert project.branch is None
    assert len(project.key) == 16


@pytest.mark.parametrize("content", ["", "gitdir: gone", "gitdir: \0", "nonsense", "gitdir:"])
def test_a_broken_git_file_is_no_repository(tmp_path: Path, content: str) -> None:
    """A .git file that leads nowhere leaves the root's path as identity."""
    (tmp_path / ".git").write_text(content)

    assert Project.open(tmp_path).identity == str(tmp_path)
    assert Project.open(tmp_path).branch is None


def test_an_empty_git_folder_is_no_repository(repository: Path) -> None:
    """An empty .git folder is passed over, as git does."""
    (repository / "packages/a/.git").mkdir()

    assert Project.open(repository / "packages/a").identity == f"{repository / '.git'}:packages/a"


def test_the_branch_is_read_anew(repository: Path) -> None:
    """A branch switched during the run is seen; a detached head has none."""
    project = Project.open(repository)

    _git(repository, "switch", "-q", "-c", "feat/x-1")
    assert project.branch == "feat/x-1"
    _git(repository, "switch", "-q", "--detach")
    assert project.branch is None


def test_an_unborn_branch_has_its_name(tmp_path: Path) -> None:
    """A repository without commits is on its branch already."""
    _git(tmp_path, "init", "-q", "-b", "trunk")

    assert Project.open(tmp_path).branch == "trunk"


def test_worktrees_share_one_ledger(repository: Path, tmp_path: Path) -> None:
    """What one worktree's session remembers, the other's finds, in a file named by the key."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    main, tree = Project.open(repository), Project.open(tmp_path / "tree")

    main.ledger.ensure("CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY)")
    main.ledger.run("INSERT INTO notes VALUES (?)", "a")

    assert tree.ledger.rows("SELECT id FROM notes") == [{"id": "a"}]
    assert tree.ledger.file == paths.state_dir() / "projects" / f"{tree.key}.db"
    main.close()
    tree.close()


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    """Opening a project writes nothing, and closing one whose ledger was never used opens none."""
    project = Project.open(tmp_path)
    project.close()

    assert not paths.state_dir().exists()
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_ledger_is_said_in_the_log_and_costs_nothing(tmp_path: Path) -> None:
    """With a file in the way the ledger works in memory, and the log says why."""
    paths.state_dir().mkdir(parents=True)
    (paths.state_dir() / "projects").write_text("in the way")
    project = Project.open(tmp_path)

    assert project.ledger.one("SELECT 1 AS one") == {"one": 1}
    assert "the ledger cannot be used" in log.tail(1)[0]
    project.close()


def test_configuration_problems_reach_the_log(tmp_path: Path) -> None:
    """A wrong key is named in the log with its file."""
    (tmp_path / ".claude").mkdir()
    paths.project_config(tmp_path).write_text('tood = 1\nformat = "hybrid"\n')

    project = Project.open(tmp_path)

    assert project.config.format == "hybrid"
    assert f"{paths.project_config(tmp_path)}: unknown key 'tood'" in log.tail(1)[0]


def test_the_configured_log_level_holds(tmp_path: Path) -> None:
    """`log_level` decides what reaches the log from then on."""
    paths.config_dir().mkdir(parents=True)
    paths.user_config().write_text('log_level = "error"\n')

    Project.open(tmp_path)
    log.write("warning", "unheard")

    assert log.tail(1) == []


@pytest.mark.parametrize("name", ["commondir", "HEAD"])
def test_a_pipe_among_gits_files_holds_nobody_up(tmp_path: Path, name: str) -> None:
    """An unpacked archive can contain a git folder with anything in it."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(root / ".git" / name)

    project = Project.open(root)

    assert (project.identity != "", project.branch) == (True, "main" if name == "commondir" else None)
