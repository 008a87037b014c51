"""A throw-away double (copy) of a user's home and project, in which handlers run without touching the originals.

It contains the user's configuration, handlers, templates, settings and trust; the project's `.claude`, `CLAUDE`,
`CLAUDE.md`, `CLAUDE.local.md`, workflow folders, branch name, and the files that the events name; and a copy of the
ledger. It doesn't contain other files of the project, its git repository, or anything else in the user's home.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import scopes
from holdfast.install import launcher
from holdfast.project import OpenProject, Project
from holdfast.testkit.place import Place
from tools import belongings
from tools.profile import relocation
from tools.profile.relocation import Move

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WHOLE = (".claude", "CLAUDE", "CLAUDE.md", "CLAUDE.local.md")
"""The files and whole folders that are copied of every project."""
FILE_LIMIT_BYTES = 4 << 20
"""The largest file that is copied; larger ones are left out."""
MAX_FILES = 5_000
"""How many files of a project are copied; the others are left out."""
LIMITS = (
    "All ran in a copy of .claude, the workflows, plans and memory files, the files that the events name and the "
    "ledger: a handler that looks for other files of the project, its git repository or your home finds nothing."
)
"""What you must know to judge the figures."""

_UNWANTED = frozenset({"worktrees", "__pycache__", ".git"})
_STRIPPED = ("CLAUDE", "HOLDFAST_", "XDG_", "GIT_", "PWD", "OLDPWD")  # variables that name the user's own folders


@dataclass
class Double(Place):
    """The double of a project and its user.

    Attributes:
        of: the original project; it is only read.
        kept: the folders of its workflows, relative to its root.
        left_out: files that weren't copied: too large, too many, or not readable.
    """

    of: OpenProject
    kept: Sequence[str]
    left_out: list[Path] = field(default_factory=list)
    _copied: int = 0

    @property
    def servers(self) -> Path:
        """The folder of its warm server's socket; its path must be short."""
        return self.top / "s" / "holdfast" / "server"

    def environ(self, root: Path) -> dict[str, str]:
        """Return the user's environment with the double's folders in it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_STRIPPED)}
        places = {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache"}
        kept |= {f"XDG_{name}_HOME": str(self.home / place) for name, place in places.items()}
        kept |= {"HOME": str(self.home), "XDG_STATE_HOME": str(self.top / "s"), "CLAUDE_PROJECT_DIR": str(root)}
        return kept | self.variables

    def make(self) -> None:
        """Make the copies. Raises OSError, HoldfastError."""
        for folder in (self.root, self.home):
            folder.mkdir()
        belongings.take_along(self.of.root, self.root, self.home)
        settings = scopes.target("user", self.of.root).settings
        if settings.is_file():
            (self.home / ".claude").mkdir()
            shutil.copyfile(settings, self.home / ".claude" / settings.name)
        for program, data in launcher.files(self.home).items():
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_bytes(data)
            program.chmod(0o755)
        apart = [name for name in self.kept if name.partition("/")[0] not in WHOLE]
        for name in (*apart, *WHOLE):  # workflows first, in case there are too many files
            for path in _files(self.of.root / name):
                self._copy(path)
        if self.of.branch:
            (self.root / ".git").mkdir()
            (self.root / ".git" / "HEAD").write_text(f"ref: refs/heads/{self.of.branch}\n", "utf-8")
        self.ledger.parent.mkdir(parents=True)
        if self.of.ledger_file.is_file():
            relocation.ledger(self.of.ledger_file, self.top / "ledger", self._move)
            shutil.copyfile(self.top / "ledger", self.ledger)

    def take(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return a payload with the double's paths, and copy the project's files that it names."""
        for text in relocation.texts(payload):
            path = Path(text)
            if text.startswith(f"{self.of.root}/") and ".." not in path.parts:
                with suppress(OSError, ValueError):  # the text can't be a path
                    if path.is_file() and not (self.root / path.relative_to(self.of.root)).exists():
                        self._copy(path)
        moved: dict[str, Any] = self._move.value(dict(payload))
        folder = Path(str(moved.get("cwd", "")))
        if self.root not in (folder, *folder.parents) or ".." in folder.parts:
            folder = self.root
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError):  # not a possible folder name, or a file's
            folder = self.root
        return moved | {"cwd": str(folder)}

    def keep(self) -> None:
        """Keep a copy of the project's present state for `reset`."""
        shutil.copytree(self.root, self.top / "kept", symlinks=True)

    def reset(self) -> None:
        """Restore the project as `keep` saw it, and the ledger as it was copied."""
        shutil.rmtree(self.root)
        shutil.copytree(self.top / "kept", self.root, symlinks=True)
        for ending in ("-wal", "-shm"):
            self.ledger.with_name(self.ledger.name + ending).unlink(missing_ok=True)
        self.ledger.unlink(missing_ok=True)
        if (self.top / "ledger").exists():
            shutil.copyfile(self.top / "ledger", self.ledger)

    @property
    def ledger(self) -> Path:
        """The path of its ledger."""
        return self.top / "s" / "holdfast" / "projects" / f"{Project(self.root, self.of.config).key}.db"

    @property
    def _move(self) -> Move:
        return Move(self.of.root, self.root)

    def _copy(self, path: Path) -> None:
        target = self.root / path.relative_to(self.of.root)
        with suppress(OSError):  # it is gone, or not readable
            if self._copied < MAX_FILES and path.stat().st_size <= FILE_LIMIT_BYTES:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)  # keep mtimes: they decide which workflow is newest
                self._copied += 1
                return
        self.left_out.append(path)


@contextmanager
def opened(project: OpenProject, kept: Sequence[str] = ()) -> Iterator[Double]:
    """Yield the double of a project, in a private folder that is removed afterwards.

    Args:
        project: the original.
        kept: the folders of its workflows, relative to its root.

    Raises:
        OSError: a necessary file can't be copied.
        HoldfastError: no launcher can be written for this interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        double = Double(Path(folder).resolve(), project, kept, variables={})
        double.make()
        yield double


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or all files in a folder at any depth; linked files are included, linked folders aren't."""
    if path.is_file():
        yield path
    elif path.is_dir() and not path.is_symlink():
        for each in sorted(path.iterdir()):
            if each.name not in _UNWANTED:
                yield from _files(each)
