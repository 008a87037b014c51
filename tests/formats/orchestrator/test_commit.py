"""What git's own files say, read without running git."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.formats.orchestrator import commit

if TYPE_CHECKING:
    from pathlib import Path

MAIN, OTHER, OLD = "a" * 40, "b" * 40, "c" * 40


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone whose branch is `main`, without a commit."""
    made = tmp_path / "clone"
    (made / ".git/refs/heads").mkdir(parents=True)
    (made / ".git/logs").mkdir()
    (made / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return made


def test_the_branchs_commit_is_found_from_any_folder(root: Path) -> None:
    """Before the first commit there is none."""
    (root / "deep").mkdir()
    assert commit.head(root) == commit.NONE
    (root / ".git/refs/heads/main").write_text(f"{MAIN}\n")
    assert commit.head(root) == commit.head(root / "deep") == MAIN


def test_a_detached_head_is_its_commit(root: Path) -> None:
    """SHA-256 too."""
    for sha in (MAIN, "d" * 64):
        (root / ".git/HEAD").write_text(f"{sha}\n")
        assert commit.head(root) == sha


@pytest.mark.parametrize("name", ["../../outside", "refs/../../../outside", "/{root}/outside"])
def test_a_branch_outside_gits_folder_is_not_read(root: Path, name: str) -> None:
    """A cloned repository can't have a line of another file put into the state."""
    outside = root.parent / "outside"
    outside.write_text(f"{MAIN}\n")
    (root / ".git/HEAD").write_text(f"ref: {name.replace('/{root}', str(root.parent))}\n")
    assert commit.head(root) == commit.NONE


def test_packed_references_are_read_by_their_whole_name(root: Path) -> None:
    """Git packs them at times; a loose one counts first."""
    packed = f"{OTHER} refs/remotes/refs/heads/main\n{OLD} xrefs/heads/main\n{MAIN} refs/heads/main\n"
    (root / ".git/packed-refs").write_text(f"# pack-refs with: peeled\n{packed}")
    assert commit.head(root) == MAIN
    (root / ".git/refs/heads/main").write_text(f"{OTHER}\n")
    assert commit.head(root) == OTHER


@pytest.mark.parametrize("absolute", [True, False])
def test_a_linked_worktree_shares_the_branches_and_has_its_own_head(root: Path, absolute: bool) -> None:
    """Its `.git` is a file that names git's folder; that one names the shared one."""
    own, linked = root / ".git/worktrees/linked", root.parent / "linked"
    (own / "logs").mkdir(parents=True)
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {own if absolute else '../clone/.git/worktrees/linked'}\n")
    (own / "HEAD").write_text("ref: refs/heads/side\n")
    (own / "commondir").write_text("../..\n")
    (own / "logs/HEAD").write_text(_move(MAIN, OTHER, 7, "commit: Task 1.1"))
    (root / ".git/refs/heads/side").write_text(f"{OTHER}\n")

    assert commit.head(linked) == OTHER
    assert [each.sha for each in commit.moves(linked)] == [OTHER]


def test_moves_are_read_from_the_end_of_the_log(root: Path) -> None:
    """Each with the commits before and after it; a line that was cut is left out, and so is what lies far back."""
    log = root / ".git/logs/HEAD"
    assert commit.moves(root) == []
    first = _move(OLD, MAIN, 1, "commit (initial): first")
    log.write_text(first + "torn\n" + _move(MAIN, OTHER, 2, "reset: moving to x"))
    assert commit.moves(root)[1] == (MAIN, OTHER, 2, "reset: moving to x")
    assert [each.before for each in commit.moves(root)] == [OLD, MAIN]

    log.write_text(first + "".join(_move(MAIN, OTHER, number, "commit: x" * 20) for number in range(2, 2_000)))
    moves = commit.moves(root)
    assert moves[-1].at == 1_999
    assert moves[0].at > 1, "the log has no end, so only its last part is read"


def _move(before: str, sha: str, at: int, message: str) -> str:
    return f"{before} {sha} A B <a@b.c> {at} +0000\t{message}\n"
