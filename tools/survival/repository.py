"""A minimal git repository: only the files that define its worktrees and branches. Git itself is not needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make(root: Path, branch: str) -> None:
    """Turn a folder into a repository with a branch checked out."""
    (root / ".git" / "objects").mkdir(parents=True)
    checkout(root, branch)


def add_worktree(root: Path, folder: Path, branch: str) -> None:
    """Turn a folder into another worktree of a repository, on its own branch."""
    inner = root / ".git" / "worktrees" / folder.name
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "utf-8")
    (inner / "commondir").write_text("../..\n", "utf-8")
    (inner / "gitdir").write_text(f"{folder / '.git'}\n", "utf-8")
    (folder / ".claude").mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {inner}\n", "utf-8")


def checkout(root: Path, branch: str) -> None:
    """Switch the branch of a repository's first worktree."""
    (root / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "utf-8")
