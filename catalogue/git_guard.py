"""Refuses git commands that destroy work or history: forced pushes, pushes to main, `reset --hard`, ….

Where a command can't be read well enough to tell, it asks you.

Known evasions: git aliases, abbreviated options (`--har`), `git checkout FILE`, scripts and programs that call git, and
a configuration that sends the current branch to another one.

Cost: about 11 ms for a command with pipes, 4 ms for plain words.
"""

import re
import shlex
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel

from holdfast import Outcome, ask, deny, hookimpl
from holdfast.events import Command, PreToolUse


class Options(BaseModel):
    """What is refused: pushes to `protected` branches (globs), and `commands`."""

    protected: list[str] = ["main", "master", "trunk", "production", "release/*"]
    commands: list[str] = [
        *("git reset --hard", "git clean -f", "git clean --force", "git checkout --", "git checkout ."),
        *("git checkout -f", "git checkout --force", "git restore --worktree", "git restore -W", "git rm -r -f"),
        *("git switch -f", "git switch --force", "git switch --discard-changes", "git stash clear", "git stash drop"),
        *("git branch -D", "git branch -d -f", "git branch --delete --force", "git worktree remove --force"),
        *("git push -f", "git push --force", "git push --mirror", "git push --all", "git push --prune", "git push +*"),
        *("git filter-branch", "git filter-repo", "git reflog expire", "git reflog delete", "git update-ref -d"),
    ]


@hookimpl(
    match="shell",
    on_failure="ask",
    examples={
        "git push --force": "deny",
        "sudo git push origin HEAD:main": "deny",
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
        found.append(command.runs("git", "restore") and not {"--staged", "-S"} & {*command.argv})
        if command.runs("git", "push"):
            folders = [each for before, each in pairwise(command.argv) if before == "-C"]
            found.append(pushes_to(options.protected, command, Path(event.cwd, command.folder or "", *folders)))
        if True in found:
            return deny(f"`{' '.join(command.argv)}` destroys work or history, or pushes to a protected branch")
        doubt |= None in found
    return ask("This command can't be read well enough to tell what it does to the repository") if doubt else None


def pushes_to(protected: list[str], command: Command, folder: Path) -> bool | None:
    """Return whether a push goes to a protected branch, or to one that can't be told; None if it may."""
    words = command.argv[command.argv.index("push") + 1 :]
    _, *refs = [each for each in words if not each.startswith("-")] or [""]
    if not refs and "--tags" not in words:
        refs = [current_branch(folder)]
    targets = [re.sub("^(refs/)?heads/", "", each.rpartition(":")[2]) for each in refs]
    targets = [(current_branch(folder) or "HEAD") if each in ("HEAD", "@") else each for each in targets]
    if ":" in refs or any(fnmatchcase(each, glob) for each in targets for glob in (*protected, "HEAD")):
        return True
    return False if command.sure else None


def current_branch(folder: Path) -> str:
    """Return the branch that is checked out; empty if that can't be told."""
    git = next((each / ".git" for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if git and git.is_file():  # a worktree
        git = git.parent / git.read_text().removeprefix("gitdir:").strip()
    return (git / "HEAD").read_text().strip().removeprefix("ref: refs/heads/") if git else ""
