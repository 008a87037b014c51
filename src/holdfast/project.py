"""A project: the root that a session works in, with its identity, its configuration and, once open, its ledger."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from holdfast import config, log, paths
from holdfast.config import Config
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.memory import SCHEMA_VERSION
from holdfast.memory.patience import Patience

if TYPE_CHECKING:
    from holdfast.clients.client import Client, Transcripts
    from holdfast.memory.store import Ledger

_BRANCH = "ref: refs/heads/"
_GIT_FILE_LIMIT_BYTES = 65536
_REFS_LIMIT_BYTES = 16 * 1024 * 1024  # packed references of a very large repository
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class Project:
    """One project root (absolute, links resolved) with its loaded configuration.

    `untrusted_id` is the `project.id` in a configuration file that is not trusted, or empty. It doesn't name the
    project; it only tells which ledger the project would join if you trusted the file.
    """

    root: Path
    config: Config
    untrusted_id: str = ""

    @classmethod
    def open(cls, root: Path, *, trusted: bool = False, tell: bool = True, **fields: Any) -> Self:
        """Return the project at `root`, and log the problems of its configuration, whose other keys count.

        Args:
            root: the project's root.
            trusted: whether its configuration file is trusted as it is now.
            tell: False if another process that answers the same event or command logs the problems.
            fields: the class's other fields.
        """
        real = root.resolve()
        loaded = config.load(real, trusted=trusted)
        opened = cls(real, loaded.config, untrusted_id=str(loaded.ignored.get("project.id", "")), **fields)
        opened.name_in_log()
        for problem in loaded.problems if tell else ():
            log.write("warning", problem)
        for key in loaded.ignored if tell else ():
            log.write("debug", f"{paths.project_config(real)}: key {key!r} is ignored until the project is trusted")
        return opened

    def name_in_log(self) -> None:
        """Set this process's log level from the project's configuration, and name the project in each line."""
        log.set_level(self.config.log_level)
        log.set_project(self.root)

    @cached_property
    def identity(self) -> str:
        """A text that is the same for all sessions that share this project's memory.

        It is the trusted `project.id`, or else `location`. The two are never equal: a location begins with `/`, an id
        never does (`config`).
        """
        return self.config.project.id or self.location

    @cached_property
    def location(self) -> str:
        """A path-like text that is the same in all worktrees of the project; it always begins with `/`.

        It is git's common folder with the path inside the repository, or else the root's path. A `.git` file that
        claims a repository which has no record of this checkout doesn't count.
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
        """Return whether a path, links resolved, lies in this project's root or in the same folder of another worktree.

        Raises ValueError if it can't be a path.
        """
        return contains(self.root, path)

    @property
    def worktree(self) -> str:
        """The real path of the project's root, which differs between the worktrees of one project."""
        return str(self.root)

    def place(self, path: Path) -> str:
        """Return a path relative to the root; absolute if it is outside."""
        return (path.relative_to(self.root) if path.is_relative_to(self.root) else path).as_posix()

    @property
    def enclosing(self) -> Path | None:
        """The top folder of the git checkout that this project lies in; None if it is that folder, or outside git."""
        return self._git[0] if self._git and self._git[0] != self.root else None

    @property
    def in_git(self) -> bool:
        """Whether the project lies in a git checkout."""
        return self._git is not None

    @property
    def branch(self) -> str | None:
        """The branch that is checked out, or None outside git and on a detached head."""
        head = _first_line(self._git[1] / "HEAD") if self._git else ""
        return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) and not head.endswith("/.invalid") else None

    @property
    def head(self) -> str:
        """The sha of the commit that HEAD stands for; empty outside git, before the first commit, or if unreadable."""
        if self._git is None:
            return ""
        head = _first_line(self._git[1] / "HEAD")
        name = head.removeprefix("ref:").strip()
        if not head.startswith("ref:"):
            return head if _SHA.fullmatch(head) else ""
        homes = list(filter(None, (self._git[1], _common(*self._git))))
        packed = [line for home in homes for line in _lines(home / "packed-refs", _REFS_LIMIT_BYTES)]
        shas = [line.partition(" ")[0] for line in packed if line.endswith(f" {name}")]
        return next(filter(_SHA.fullmatch, (*(_first_line(home / name) for home in homes), *shas)), "")

    @property
    def head_changed_at(self) -> float:
        """When a commit or a checkout last changed what HEAD is, in seconds since 1970; 0 where git keeps no log."""
        try:
            return (self._git[1] / "logs" / "HEAD").stat().st_mtime if self._git else 0
        except OSError:
            return 0

    @property
    def ledger_file(self) -> Path:
        """The path of the project's ledger; it may not exist."""
        return _ledger_file(self.identity)

    @property
    def former_ledgers(self) -> list[Path]:
        """The ledgers of the project that other versions of Holdfast made; nothing reads them."""
        return sorted({*self.ledger_file.parent.glob(f"{self.key}*.db")} - {self.ledger_file})

    @property
    def untrusted_ledger(self) -> Path | None:
        """The path of the ledger that the project would join if you trusted its `holdfast.toml`, or None."""
        file = _ledger_file(self.untrusted_id) if self.untrusted_id else None
        return file if file and file.is_file() else None

    @cached_property
    def _git(self) -> tuple[Path, Path] | None:
        """The checkout's top folder and its git folder, or None outside git. Read from files: git is never run."""
        return _checkout(self.root)


@dataclass(frozen=True)
class OpenProject(Project):
    """A project that an event or a command works in, with its ledger and the client whose sessions work in it.

    Attributes:
        patience: how long to wait for a locked ledger; by default as long as an event may.
        client: the client.
    """

    patience: Patience = field(default_factory=Patience, compare=False)
    client: Client = field(kw_only=True, compare=False)

    @cached_property
    def ledger(self) -> Ledger:
        """The project's ledger, opened at first use; in memory if its file can't be used.

        Such a problem is reported once: in the log, or to the person who typed the command.
        """
        from holdfast.memory.store import Ledger

        return Ledger.open(self.ledger_file, self.patience, self._tell)

    @cached_property
    def transcripts(self) -> Transcripts:
        """The reader of the transcripts of the project's sessions."""
        return self.client.reader()

    def close(self) -> None:
        """Close the ledger if it was opened. The next use opens it again."""
        if "ledger" in self.__dict__:
            self.__dict__.pop("ledger").close()

    def _tell(self, problem: str) -> None:
        if self.patience.reported != problem:
            self.patience.reported = problem
            if self.patience.say:
                self.patience.say(problem)
            else:
                log.write("warning", problem)


def nearest(start: Path, root: Path) -> Path:
    """Return the first folder from `start` upward to `root` that has a ledger, or `root`.

    A folder has one if sessions were started there (each such folder is a project of its own), or if somebody named it
    with `--project`. A folder that declares an identity has a `.claude` folder, so it is a root anyway.

    Args:
        start: the real path of a folder in `root`, or `root`.
        root: the real path of a project's root.
    """

    between = (start, *start.parents)
    inner = between[: between.index(root)] if root in between else ()
    return next((folder for folder in inner if _has_ledger(Project(folder, Config()))), root)


def _has_ledger(project: Project) -> bool:
    return project.ledger_file.exists() or bool(project.former_ledgers)


def contains(root: Path, path: Path) -> bool:
    """Return whether a path lies in the project at `root`; see `Project.contains`."""
    real = _real(path)
    if real.is_relative_to(root):
        return True
    ours, theirs = _checkout(root), _checkout(real)
    if ours is None or theirs is None or not real.is_relative_to(theirs[0] / root.relative_to(ours[0])):
        return False
    common = _common(*theirs)
    return common is not None and common == _common(*ours)


def _key(identity: str) -> str:
    return hashlib.sha256(os.fsencode(identity)).hexdigest()[:16]


def _ledger_file(identity: str) -> Path:
    return paths.state_dir() / "projects" / f"{_key(identity)}-{SCHEMA_VERSION}.db"


def _checkout(start: Path) -> tuple[Path, Path] | None:
    """Return the top folder of the checkout around a real path, with its git folder; None outside git."""
    for top in (start, *start.parents):
        if not os.path.exists(f"{top}/.git"):  # noqa: PTH110 - the quickest way, for each event
            continue
        folder = _git_folder(top / ".git")
        if folder is not None:
            return top, folder
    return None


def _git_folder(entry: Path) -> Path | None:
    """Return the git folder: `.git` itself or, in worktrees and submodules, the folder its text names; else None."""
    if _is_file(entry):
        line = _first_line(entry)
        if not line.startswith("gitdir:"):
            return None
        entry = entry.parent / line.removeprefix("gitdir:").strip()
    return _real(entry) if _is_file(entry / "HEAD") else None


def _common(top: Path, folder: Path) -> Path | None:
    """Return the folder that all worktrees of a repository share; None if that has no record of this checkout.

    Anybody can put a `.git` file into an archive that names another repository. An archive can't forge what git writes
    into the repository itself: the path of each worktree (`worktrees/NAME/gitdir`). Without such a record, as in a
    submodule, a checkout is a project of its own.
    """
    if folder.parent == top:  # `.git` itself, or a bare repository next to the `.git` file
        return folder
    shared = _first_line(folder / "commondir")
    if not shared:
        return None
    common, link = folder.parent.parent, folder / _first_line(folder / "gitdir")
    own = folder.parent.name == "worktrees" and _real(folder / shared) == common
    return common if own and link.name == ".git" and _real(link.parent) == top else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no permission, or longer than a path can be
        return False


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _first_line(file: Path) -> str:
    """Return the first line of one of git's small files, or an empty string."""
    return next(iter(_lines(file)), "")


def _lines(file: Path, limit: int = _GIT_FILE_LIMIT_BYTES) -> list[str]:
    """Return the lines of one of git's files, or none if it can't be read; never waits on a pipe or device."""
    try:
        data = document.read(file, limit)[0]
    except (StateError, ValueError):
        return []
    if b"\0" in data:  # neither a path nor git's text
        return []
    return [line.strip() for line in os.fsdecode(data).split("\n")]
