"""Refuses git commands that destroy work or history: forced pushes, pushes to main, `reset --hard`, ….

Where a command can't be read well enough to tell, it asks you.

Known evasions: git aliases, scripts and programs that call git themselves, a push of the current branch that another
folder's configuration sends to a protected one.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from holdfast import ask, deny, hookimpl

if TYPE_CHECKING:
    from holdfast import Outcome
    from holdfast.events import Command, PreToolUse


class Options(BaseModel):
    """What is refused: pushes to `protected` branches (globs), and `commands`."""

    protected: list[str] = ["main", "master", "trunk", "production", "release/*"]
    commands: list[str] = [
        *("git reset --hard", "git clean -f", "git clean --force", "git checkout --", "git checkout ."),
        *("git checkout -f", "git checkout --force", "git restore --worktree", "git restore -W"),
        *("git switch --discard-changes", "git switch -f", "git switch --force", "git stash clear"),
        *("git stash drop", "git rm -r -f"),
        *("git branch -D", "git branch -d -f", "git branch --delete --force", "git worktree remove --force"),
        *("git push -f", "git push --force", "git push --mirror", "git push --all", "git push --prune", "git push +*"),
        *("git filter-branch", "git filter-repo", "git reflog expire", "git reflog delete", "git update-ref -d"),
        "git gc --prune=now",
    ]


@hookimpl(
    match="shell",
    on_failure="ask",
    examples={
        "git push --force": "deny",
        "git push origin HEAD:main": "deny",
        "git reset --hard": "deny",
        "git restore src/app.py": "deny",
        "$GIT push": "ask",
        "git push origin topic": None,
        "git commit -m 'git push --force'": None,
    },
)
def on_pre_tool_use(event: PreToolUse, options: Options) -> Outcome | None:
    """Refuse what destroys work or history."""
    doubt = False
    for command in event.commands:
        found = [command.runs(*shlex.split(each)) for each in options.commands]
        found.append(command.runs("git", "restore") and not any(each in command.argv for each in ("--staged", "-S")))
        if command.runs("git", "push"):
            folders = [each for before, each in pairwise(command.argv) if before == "-C"]
            found.append(pushes_to(options.protected, command, Path(event.cwd, command.folder or "", *folders)))
        if True in found:
            return deny(f"`{' '.join(command.argv)}` destroys work or history, or pushes to a protected branch")
        doubt |= None in found
    return ask("This command can't be read well enough to tell what it does to the repository") if doubt else None


def pushes_to(protected: list[str], command: Command, folder: Path) -> bool | None:
    """Return whether a push goes to a protected branch; None if it may.

    Without a known branch, a push of HEAD counts as one.
    """
    words = command.argv[command.argv.index("push") + 1 :]
    _, *refs = [each for each in words if not each.startswith("-")] or [""]
    if not refs and "--tags" not in words:
        refs = [current_branch(folder)]
    targets = [re.sub("^(refs/)?heads/", "", each.rpartition(":")[2]) for each in refs]
    targets = [(current_branch(folder) or "HEAD") if each in ("HEAD", "@") else each for each in targets]
    if ":" in refs or any(fnmatchcase(each, glob) for each in targets for glob in protected):
        return True
    return True if "HEAD" in targets else False if command.sure else None


def current_branch(folder: Path) -> str:
    """Return the branch that is checked out; empty if that can't be told."""
    for each in (folder, *folder.parents):
        git = each / ".git"
        if git.is_file():  # a worktree
            git = each / git.read_text().removeprefix("gitdir:").strip()
        if git.is_dir():
            return (git / "HEAD").read_text().strip().removeprefix("ref: refs/heads/")
    return ""
