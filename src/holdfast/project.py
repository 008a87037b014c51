"""A project: the root a session works in, with its identity and configuration; once it is open, with its ledger."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from holdfast import log, paths
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.ledger.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.config import Config
    from holdfast.files.transcript import Transcripts
    from holdfast.ledger.database import Ledger

_BRANCH = "ref: refs/heads/"
_GIT_FILE_LIMIT_BYTES = 65536


@dataclass(frozen=True)
class Project:
    """One project root (absolute, links resolved) with its loaded configuration.

    `untrusted_id` is the `project.id` of a file that is not trusted. It names nothing; it only tells which ledger
    trusting the file would join.
    """

    root: Path
    config: Config
    client: str = "claude-code"
    untrusted_id: str = ""

    @classmethod
    def open(cls, root: Path, *, trusted: bool = False, tell: bool = True) -> Self:
        """Return the project at `root`; problems of its configuration go to the log, and the rest of it counts.

        With `tell` false they do not: another process that works on the same has said so.
        """
        from holdfast import config

        real = root.resolve()
        loaded = config.load(real, trusted=trusted)
        opened = cls(real, loaded.config, untrusted_id=loaded.untrusted_id)
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

        A trusted `project.id`, else where the project lies. The two never meet: a place begins with `/`, an id never
        does (`config`).
        """
        return self.config.project.id or self.location

    @cached_property
    def location(self) -> str:
        """Where the project lies, as the same text in all of its worktrees; it always begins with `/`.

        The git common folder with the path inside the repository, else the root's path. A `.git` that only claims to
        belong to a repository elsewhere, which git has no record of, names none.
        """
        if self._git is None:
            return str(self.root)
        top, folder = self._git
        common = _common(top, folder)
        if common is None:
            return str(self.root)
        inner = self.root.relative_to(top).as_posix()
        return str(common) if inner == "." else f"{common}:{inner}"

    @cached_property
    def key(self) -> str:
        """The identity as 16 hexadecimal digits, for file names and ledger rows."""
        return _key(self.identity)

    def contains(self, path: Path) -> bool:
        """Tell whether a path lies in this project, links resolved: in its root, or in the same folder of a worktree.

        Raises ValueError for what no path can be.
        """
        return contains(self.root, path)

    @property
    def worktree(self) -> str:
        """The real path of this checkout's root: tells worktrees of one project apart."""
        return str(self.root)

    @property
    def in_git(self) -> bool:
        """Whether the project lies in a git checkout."""
        return self._git is not None

    @property
    def branch(self) -> str | None:
        """The branch checked out now, or None outside git and on a detached head."""
        head = _first_line(self._git[1] / "HEAD") if self._git else ""
        return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) and not head.endswith("/.invalid") else None

    @property
    def ledger_file(self) -> Path:
        """Where the project's ledger lies; it need not exist."""
        return _ledger_file(self.identity)

    @property
    def untrusted_ledger(self) -> Path | None:
        """Where the ledger lies that trusting the project's `holdfast.toml` would join; None if there is none."""
        file = _ledger_file(self.untrusted_id) if self.untrusted_id else None
        return file if file and file.is_file() else None

    @cached_property
    def _git(self) -> tuple[Path, Path] | None:
        """The checkout's top folder and its git folder, or None outside git; read from files, git is never run."""
        return _checkout(self.root)


@dataclass(frozen=True)
class OpenProject(Project):
    """A project that an event or a command works in: with its ledger, and what reads its sessions' transcripts.

    `patience` is the time there is to wait for processes that have locked the ledger: an event's, unless given.
    `reader` returns the client's own reader of transcripts; without one they are as good as missing.
    """

    patience: Patience = field(default_factory=Patience, compare=False)
    reader: Callable[[], Transcripts] | None = field(default=None, compare=False)

    @cached_property
    def ledger(self) -> Ledger:
        """The project's ledger, opened at first use; in memory where it cannot be kept.

        That is said once: in the log, or to the person who typed a command.
        """
        from holdfast.ledger.database import Ledger

        return Ledger.open(self.ledger_file, self.patience, self._tell)

    @cached_property
    def transcripts(self) -> Transcripts:
        """What reads the transcripts of the project's sessions."""
        if self.reader:
            return self.reader()
        from holdfast.files.transcript import Unread

        return Unread()

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


def contains(root: Path, path: Path) -> bool:
    """Tell whether a path lies in the project at `root`; see `Project.contains`."""
    real = _real(path)
    if real.is_relative_to(root):
        return True
    ours, theirs = _checkout(root), _checkout(real)
    if ours is None or theirs is None or not real.is_relative_to(theirs[0] / root.relative_to(ours[0])):
        return False
    common = _common(*theirs)
    return common is not None and common == _common(*ours)


def _key(identity: str) -> str:
    import hashlib

    return hashlib.sha256(os.fsencode(identity)).hexdigest()[:16]


def _ledger_file(identity: str) -> Path:
    return paths.state_dir() / "projects" / f"{_key(identity)}.db"


def _checkout(start: Path) -> tuple[Path, Path] | None:
    """Return the top folder of the checkout around a real path, with its git folder; None outside git."""
    for top in (start, *start.parents):
        if not os.path.exists(f"{top}/.git"):  # noqa: PTH110 - most have none, and each event asks
            continue
        folder = _git_folder(top / ".git")
        if folder is not None:
            return top, folder
    return None


def _git_folder(entry: Path) -> Path | None:
    """Return the git folder that `.git` is or, in worktrees and submodules, names; None if it is neither."""
    if _is_file(entry):
        line = _first_line(entry)
        if not line.startswith("gitdir:"):
            return None
        entry = entry.parent / line.removeprefix("gitdir:").strip()
    return _real(entry) if _is_file(entry / "HEAD") else None


def _common(top: Path, folder: Path) -> Path | None:
    """Return the folder that all worktrees of a repository share; None if git has no record of this checkout there.

    Anybody can put a `.git` into an archive that names somebody else's repository. An archive cannot hold what git
    writes into the repository itself: the place of each worktree (`worktrees/NAME/gitdir`) and of a submodule
    (`core.worktree`).
    """
    if folder.parent == top:  # `.git` itself, or a bare repository beside the `.git` file
        return folder
    shared = _first_line(folder / "commondir")
    if not shared:
        tree = _work_tree(folder)
        return folder if tree and _real(folder / tree) == top else None
    common, link = folder.parent.parent, folder / _first_line(folder / "gitdir")
    own = folder.parent.name == "worktrees" and _real(folder / shared) == common
    return common if own and link.name == ".git" and _real(link.parent) == top else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # closed to us, or longer than a path can be
        return False


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _work_tree(folder: Path) -> str:
    """Return the `core.worktree` of a git folder; empty if it has none."""
    found, section = "", ""
    for name in ("config", "config.worktree"):
        for line in _lines(folder / name):
            key, _, value = line.partition("=")
            if line.startswith("["):
                section = line.lower()
            elif section == "[core]" and key.strip().lower() == "worktree":
                found = value.strip().strip('"')
    return found


def _first_line(file: Path) -> str:
    """Return the first line of a small file of git's, or nothing if there is none."""
    return next(iter(_lines(file)), "")


def _lines(file: Path) -> list[str]:
    """Return the lines of a small file of git's, or none; never waits on a pipe or device."""
    try:
        data = document.read(file, _GIT_FILE_LIMIT_BYTES)[0]
    except (StateError, ValueError):
        return []
    if b"\0" in data:  # no path, and no text of git's
        return []
    return [line.strip() for line in os.fsdecode(data).split("\n")]
