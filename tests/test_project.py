"""What makes two folders one project."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from holdfast import log, paths
from holdfast.memory import SCHEMA_VERSION
from holdfast.sessions.workspace import Workspace
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", *settings, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=500)


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

    main, tree = Workspace.open(repository), Workspace.open(tmp_path / "tree")

    assert main.identity == tree.identity == str(repository / ".git")
    assert main.key == tree.key
    assert (main.worktree, tree.worktree) == (str(repository), str(tmp_path / "tree"))
    assert (main.branch, tree.branch) == ("main", "feature")


def test_a_folder_inside_the_repository_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    """The path inside the repository is part of the identity, the same in every worktree."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))

    inner, other = Workspace.open(repository / "packages/a"), Workspace.open(tmp_path / "tree/packages/a")

    assert inner.identity == other.identity == f"{repository / '.git'}:packages/a"
    assert inner.key != Workspace.open(repository).key


def test_worktrees_of_a_bare_repository(repository: Path, tmp_path: Path) -> None:
    """Worktrees of a bare repository share the bare folder as identity."""
    _git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    _git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "one", str(tmp_path / "one"))
    _git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "two", str(tmp_path / "two"))

    assert Workspace.open(tmp_path / "one").identity == str(tmp_path / "bare.git")
    assert Workspace.open(tmp_path / "two").identity == str(tmp_path / "bare.git")


def test_a_clone_is_another_project(repository: Path, tmp_path: Path) -> None:
    """Two clones have two memories."""
    _git(tmp_path, "clone", "-q", str(repository), "clone")

    assert Workspace.open(tmp_path / "clone").key != Workspace.open(repository).key


def test_a_submodule_is_another_project(repository: Path, tmp_path: Path) -> None:
    """A submodule is a project of its own, whatever repository it lies in."""
    _git(tmp_path, "clone", "-q", str(repository), "lib")
    _git(repository, "submodule", "add", "-q", str(tmp_path / "lib"), "lib")

    assert Workspace.open(repository / "lib").identity == str(repository / "lib")
    assert Workspace.open(repository / "lib").branch == "main"


def declare(root: Path, name: str) -> None:
    (root / ".claude").mkdir(exist_ok=True)
    paths.project_config(root).write_text(f'[project]\nid = "{name}"\n')


def test_a_trusted_id_wins(repository: Path, tmp_path: Path) -> None:
    """`project.id` makes two clones one project, in the ledger that it always named."""
    _git(tmp_path, "clone", "-q", str(repository), "clone")
    for root in (repository, tmp_path / "clone"):
        declare(root, "shop")

    first, second = (Workspace.open(root, trusted=True) for root in (repository, tmp_path / "clone"))

    assert first.identity == second.identity == "shop"
    assert first.key == second.key == hashlib.sha256(b"shop").hexdigest()[:16]
    assert first.worktree != second.worktree


def test_an_untrusted_id_names_nothing(repository: Path, tmp_path: Path) -> None:
    """It only tells which ledger trusting the file would join."""
    declare(repository, "shop")
    declare(tmp_path, "shop")
    with_id = Workspace.open(repository, trusted=True)
    assert with_id.untrusted_ledger is None
    assert Workspace.open(tmp_path).untrusted_ledger is None
    assert with_id.ledger.file

    hostile = Workspace.open(tmp_path)

    assert hostile.identity == str(tmp_path)
    assert hostile.ledger_file != with_id.ledger_file == hostile.untrusted_ledger
    with_id.close()


@pytest.mark.parametrize("inner", ["", ":packages/a"])
def test_no_id_is_another_projects_place(repository: Path, tmp_path: Path, inner: str) -> None:
    """Not even a trusted one: an id that begins with a slash is refused."""
    declare(tmp_path, f"{repository / '.git'}{inner}")

    assert Workspace.open(tmp_path, trusted=True).identity == str(tmp_path)
    assert "string should match pattern" in log.tail(1)[0]


def by_folder(evil: Path, victim: Path) -> None:
    git_folder(evil, commondir=f"{victim}/.git")


def by_folder_inside(evil: Path, victim: Path) -> None:
    git_folder(evil.parent / "a/worktrees/x", commondir=f"{victim}/.git", gitdir=str(evil))
    evil.write_text("gitdir: a/worktrees/x")


def by_link_inside(evil: Path, victim: Path) -> None:
    (evil.parent / "a").symlink_to(victim / ".git")
    evil.write_text("gitdir: a")


FORGERIES: dict[str, Callable[[Path, Path], object]] = {
    "a file that names the repository": lambda evil, victim: evil.write_text(f"gitdir: {victim}/.git"),
    "a file that names a worktree": lambda evil, victim: evil.write_text(f"gitdir: {victim}/.git/worktrees/tree"),
    "a file that names a submodule": lambda evil, victim: evil.write_text(f"gitdir: {victim}/.git/modules/lib"),
    "a link": lambda evil, victim: evil.symlink_to(victim / ".git"),
    "a link to a worktree's": lambda evil, victim: evil.symlink_to(victim / ".git/worktrees/tree"),
    "a folder with a commondir": by_folder,
    "a folder inside": by_folder_inside,
    "a link inside": by_link_inside,
}


def git_folder(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    for name, text in {"HEAD": "ref: refs/heads/main\n", **files}.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_git_entry_joins_no_repository(
    repository: Path, tmp_path: Path, forge: Callable[[Path, Path], object]
) -> None:
    """What an archive can hold is no proof: only what git wrote into the repository itself is."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    _git(tmp_path, "clone", "-q", str(repository), "lib")
    _git(repository, "submodule", "add", "-q", str(tmp_path / "lib"), "lib")
    victims = [Workspace.open(root) for root in (repository, tmp_path / "tree", repository / "lib")]
    evil = tmp_path / "evil"
    evil.mkdir()

    forge(evil / ".git", repository)

    assert Workspace.open(evil).identity.startswith(str(evil))
    assert not {each.key for each in victims} & {Workspace.open(evil).key, Workspace.open(evil / ".claude").key}
    assert not Workspace.open(evil).contains(repository / "packages")


@each_row("text", ["x" * 5_000, "x/" * 3_000, "a\0b", "loop/x"])
@each_row("place", [".git", "wt/worktrees/x/gitdir", "wt/worktrees/x/commondir", "wt/worktrees/x/config"])
def test_nothing_in_a_git_entry_makes_an_event_fail(tmp_path: Path, place: str, text: str) -> None:
    """Whatever stands in its files, the project is found and nothing is waited for."""
    git_folder(tmp_path / "wt/worktrees/x", commondir="../..", config="[core]\nworktree = .\n")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / ".git").write_text("gitdir: wt/worktrees/x")
    (tmp_path / place).write_text(f"gitdir: {text}" if place == ".git" else text)

    assert Workspace.open(tmp_path).identity == str(tmp_path)
    (tmp_path / place).unlink()
    os.mkfifo(tmp_path / place)
    assert Workspace.open(tmp_path).identity == str(tmp_path)


def test_a_repository_beside_its_git_file(repository: Path, tmp_path: Path) -> None:
    """A bare repository in the folder itself, with worktrees beside it, is one project with them."""
    (tmp_path / "shop").mkdir()
    _git(tmp_path / "shop", "clone", "-q", "--bare", str(repository), ".bare")
    (tmp_path / "shop/.git").write_text("gitdir: ./.bare\n")
    _git(tmp_path / "shop", "worktree", "add", "-q", "-b", "one", "one")

    expected = str(tmp_path / "shop/.bare")
    assert [Workspace.open(tmp_path / each).identity for each in ("shop", "shop/one")] == [expected, expected]


def test_worktrees_with_relative_links(repository: Path, tmp_path: Path) -> None:
    """As git writes them with `worktree.useRelativePaths`."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    (tmp_path / "tree/.git").write_text("gitdir: ../repo/.git/worktrees/tree\n")
    (repository / ".git/worktrees/tree/gitdir").write_text("../../../../tree/.git\n")

    assert Workspace.open(tmp_path / "tree").identity == str(repository / ".git")


def test_what_a_project_contains(repository: Path, tmp_path: Path) -> None:
    """Its root and the same folder of its worktrees, links resolved; no other repository and no folder above."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    (repository / "out").symlink_to(tmp_path)
    whole, inner = Workspace.open(repository), Workspace.open(tmp_path / "tree/packages/a")

    for path in (repository, repository / "packages/a/file", repository / "new", tmp_path / "tree/packages"):
        assert whole.contains(path)
    assert inner.contains(repository / "packages/a/file")
    for path in (tmp_path, repository / "out/x", repository / "..", tmp_path / "repo2"):
        assert not whole.contains(path)
    assert not inner.contains(repository / "packages")


def test_outside_git_the_root_is_the_identity(tmp_path: Path) -> None:
    """Without git the real path of the root decides, however it was reached."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to("plain")

    project = Workspace.open(tmp_path / "link")

    assert project.identity == project.worktree == str(tmp_path / "plain")
    assert project.branch is None
    assert len(project.key) == 16


@each_row("content", ["", "gitdir: gone", "gitdir: \0", "nonsense", "gitdir:"])
def test_a_broken_git_file_is_no_repository(tmp_path: Path, content: str) -> None:
    """A .git file that leads nowhere leaves the root's path as identity."""
    (tmp_path / ".git").write_text(content)

    assert Workspace.open(tmp_path).identity == str(tmp_path)
    assert Workspace.open(tmp_path).branch is None


def test_an_empty_git_folder_is_no_repository(repository: Path) -> None:
    """An empty .git folder is passed over, as git does."""
    (repository / "packages/a/.git").mkdir()

    assert Workspace.open(repository / "packages/a").identity == f"{repository / '.git'}:packages/a"


def test_the_branch_is_read_anew(repository: Path) -> None:
    """A branch switched during the run is seen; a detached head has none."""
    project = Workspace.open(repository)

    _git(repository, "switch", "-q", "-c", "feat/x-1")
    assert project.branch == "feat/x-1"
    _git(repository, "switch", "-q", "--detach")
    assert project.branch is None


def test_an_unborn_branch_has_its_name(tmp_path: Path) -> None:
    """A repository without commits is on its branch already."""
    _git(tmp_path, "init", "-q", "-b", "trunk")

    assert Workspace.open(tmp_path).branch == "trunk"


def test_worktrees_share_one_ledger(repository: Path, tmp_path: Path) -> None:
    """What one worktree's session remembers, the other's finds, in a file named by the key."""
    _git(repository, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "tree"))
    main, tree = Workspace.open(repository), Workspace.open(tmp_path / "tree")

    main.ledger.run("CREATE TABLE notes (id TEXT PRIMARY KEY)")
    main.ledger.run("INSERT INTO notes VALUES (?)", "a")

    assert tree.ledger.rows("SELECT id FROM notes") == [{"id": "a"}]
    assert tree.ledger.file == paths.state_dir() / "projects" / f"{tree.key}-{SCHEMA_VERSION}.db"
    main.close()
    tree.close()


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    """Opening a project writes nothing, and closing one whose ledger was never used opens none."""
    project = Workspace.open(tmp_path)
    project.close()

    assert not paths.state_dir().exists()
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_ledger_is_said_in_the_log_and_costs_nothing(tmp_path: Path) -> None:
    """With a file in the way the ledger works in memory, and the log says why."""
    paths.state_dir().mkdir(parents=True)
    (paths.state_dir() / "projects").write_text("in the way")
    project = Workspace.open(tmp_path)

    assert project.ledger.one("SELECT 1 AS one") == {"one": 1}
    assert "the ledger cannot be used" in log.tail(1)[0]
    project.close()


def test_configuration_problems_reach_the_log(tmp_path: Path) -> None:
    """A wrong key is named in the log with its file."""
    (tmp_path / ".claude").mkdir()
    paths.project_config(tmp_path).write_text('tood = 1\nformat = "hybrid"\n')

    project = Workspace.open(tmp_path)

    assert project.config.format == "hybrid"
    assert f"{paths.project_config(tmp_path)}: unknown key 'tood'" in log.tail(1)[0]


def test_the_configured_log_level_holds(tmp_path: Path) -> None:
    """`log_level` decides what reaches the log from then on."""
    paths.config_dir().mkdir(parents=True)
    paths.user_config().write_text('log_level = "error"\n')

    Workspace.open(tmp_path)
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

    project = Workspace.open(root)

    assert (project.identity != "", project.branch) == (True, "main" if name == "commondir" else None)
