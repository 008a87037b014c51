"""A project: the root a session works in, with its identity, configuration and ledger."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.state.patience import Patience

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.state.ledger import Ledger

_BRANCH = "ref: refs/heads/"


@dataclass(frozen=True)
class Project:
    """One project root (absolute, links resolved) with its loaded configuration.

    `patience` is the time there is to wait for processes that have locked the ledger: an event's, unless given.
    """

    root: Path
    config: Config
    client: str = "claude-code"
    patience: Patience = field(default_factory=Patience, compare=False)

    @classmethod
    def open(cls, root: Path, *, trusted: bool = False, tell: bool = True, patience: Patience | None = None) -> Project:
        """Return the project at `root`; problems of its configuration go to the log, and the rest of it counts.

        With `tell` false they do not: another process that works on the same has said so.
        """
        from holdfast import config

        real = root.resolve()
        loaded = config.load(real, trusted=trusted)
        opened = cls(real, loaded.config, patience=patience or Patience())
        opened.name_in_log()
        for problem in loaded.problems if tell else ():
            log.write("warning", problem)
        for key in loaded.ignored if tell else ():
            log.write("debug", f"{paths.project_config(real)}: key {key!r} is ignored until the project is trusted")
        return opened

    def name_in_log(self) -> None:
        """Have this process log as the project's configuration says, and name the project in each line."""
        log.set_level(self.config.log_level)
        log.set_project(self.root)

    @cached_property
    def identity(self) -> str:
        """The same text for every session that shares this project's memory.

        `project.id` if declared, else the git common folder with the path inside the repository, so that worktrees
        share it, else the root's path.
        """
        if self.config.project.id:
            return self.config.project.id
        if self._git is None:
            return str(self.root)
        top, folder = self._git
        inner = self.root.relative_to(top).as_posix()
        common = _common(folder)
        return str(common) if inner == "." else f"{common}:{inner}"

    @cached_property
    def key(self) -> str:
        """The identity as 16 hexadecimal digits, for file names and ledger rows."""
        import hashlib

        return hashlib.sha256(os.fsencode(self.identity)).hexdigest()[:16]

    @property
    def worktree(self) -> str:
        """The real path of this checkout's root: tells worktrees of one project apart."""
        return str(self.root)

    @property
    def branch(self) -> str | None:
        """The branch checked out now, or None outside git and on a detached head."""
        head = _first_line(self._git[1] / "HEAD") if self._git else ""
        return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) and not head.endswith("/.invalid") else None

    @property
    def ledger_file(self) -> Path:
        """Where the project's ledger lies; it need not exist."""
        return paths.state_dir() / "projects" / f"{self.key}.db"

    @cached_property
    def ledger(self) -> Ledger:
        """The project's ledger, opened at first use; in memory where it cannot be kept.

        That is said once: in the log, or to the person who typed a command.
        """
        from holdfast.state.ledger import Ledger

        return Ledger.open(self.ledger_file, self.patience, self._tell)

    @cached_property
    def host(self) -> str:
        """The name of this machine."""
        return os.uname().nodename

    def close(self) -> None:
        """Close the ledger if it was opened."""
        if "ledger" in self.__dict__:
            self.ledger.close()

    def _tell(self, problem: str) -> None:
        if self.patience.told != problem:
            self.patience.told = problem
            if self.patience.say:
                self.patience.say(problem)
            else:
                log.write("warning", problem)

    @cached_property
    def _git(self) -> tuple[Path, Path] | None:
        """The checkout's top folder and its git folder, or None outside git; read from files, git is never run."""
        for top in (self.root, *self.root.parents):
            folder = _git_folder(top / ".git")
            if folder is not None:
                return top, folder
        return None


def nearest(start: Path, root: Path) -> Path:
    """Return the first folder from `start` upward to `root` that has a ledger, or `root`.

    Sessions were started there (each folder is a project of its own), or somebody named it with `--project`. Folders
    that declare an identity have a `.claude` folder, and are roots for that reason already.

    Args:
        start: the real path of a folder in `root`, or `root`.
        root: the real path of a project's root.
    """
    from holdfast.config import Config

    between = (start, *start.parents)
    inner = between[: between.index(root)] if root in between else ()
    return next((folder for folder in inner if Project(folder, Config()).ledger_file.exists()), root)


def _git_folder(entry: Path) -> Path | None:
    """Return the git folder that `.git` is or, in worktrees and submodules, names; None if it is neither."""
    if entry.is_file():
        line = _first_line(entry)
        if not line.startswith("gitdir:"):
            return None
        entry = entry.parent / line.removeprefix("gitdir:").strip()
    return entry.resolve() if (entry / "HEAD").is_file() else None


def _common(folder: Path) -> Path:
    """Return the folder that all worktrees of a repository share."""
    line = _first_line(folder / "commondir")
    return (folder / line).resolve() if line else folder


def _first_line(file: Path) -> str:
    """Return the first line of a small file of git's, or nothing if there is none."""
    try:
        with file.open("rb") as stream:
            return os.fsdecode(stream.read(8192).split(b"\n")[0]).strip()
    except OSError:
        return ""
