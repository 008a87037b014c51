"""A throw-away double of a user's home and project, in which handlers do what they would do, without effect on either.

What it has: the user's configuration, handlers, templates and settings; what the user trusts; of the project `.claude`,
`CLAUDE`, `CLAUDE.md`, `CLAUDE.local.md`, where workflows are kept, the name of the branch, and the files that the
events name; a copy of the ledger. What it has not: any other file of the project, its git repository, and whatever else
lies in the user's home.
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
from holdfast.profile import relocation
from holdfast.profile.relocation import Move
from holdfast.project import OpenProject
from holdfast.testkit import belongings
from holdfast.testkit.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WHOLE = (".claude", "CLAUDE", "CLAUDE.md", "CLAUDE.local.md")
"""What is copied of every project, folders with all that is in them."""
FILE_LIMIT_BYTES = 4 << 20
"""Bytes of a file that is copied; a larger one is left out."""
MAX_FILES = 5_000
"""Files that are copied of a project; the others are left out."""
LIMITS = (
    "All ran in a copy of .claude, the workflows, plans and memory files, the files that the events name and the "
    "ledger: a handler that looks for other files of the project, its git repository or your home finds nothing."
)
"""What one has to know to judge the figures."""

_UNWANTED = frozenset({"worktrees", "__pycache__", ".git"})
_STRIPPED = ("CLAUDE", "HOLDFAST_", "XDG_", "GIT_", "PWD", "OLDPWD")  # what names the user's own places


@dataclass
class Double(Place):
    """The double of a project and its user.

    Attributes:
        of: the project that it is the double of; only read.
        kept: where its workflows are kept, relative to its root.
        left_out: files that were not copied: too large, too many, or not readable.
    """

    of: OpenProject
    kept: Sequence[str]
    left_out: list[Path] = field(default_factory=list)
    _copied: int = 0

    @property
    def servers(self) -> Path:
        """Where its warm server listens: not far down, since a socket's path must be short."""
        return self.top / "s" / "holdfast" / "server"

    def environ(self, root: Path) -> dict[str, str]:
        """Return the user's environment with the double's places in it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_STRIPPED)}
        places = {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache"}
        kept |= {f"XDG_{name}_HOME": str(self.home / place) for name, place in places.items()}
        kept |= {"HOME": str(self.home), "XDG_STATE_HOME": str(self.top / "s"), "CLAUDE_PROJECT_DIR": str(root)}
        return kept | self.variables

    def make(self) -> None:
        """Copy what there is to copy. Raises OSError, HoldfastError."""
        for folder in (self.root, self.home):
            folder.mkdir()
        belongings.take_along(self.of.root, self.root, self.home)
        settings = scopes.target("user", self.of.root).settings
        if settings.is_file():
            (self.home / ".claude").mkdir()
            shutil.copyfile(settings, self.home / ".claude" / settings.name)
        for path, text in launcher.texts().items():
            program = self.home / path.relative_to(Path.home())
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(text, "utf-8")
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
        """Return a payload as if it came from here, and copy the files of the project that it names."""
        for text in relocation.texts(payload):
            path = Path(text)
            if text.startswith(f"{self.of.root}/") and ".." not in path.parts:
                with suppress(OSError, ValueError):  # a text that no path can be
                    if path.is_file() and not (self.root / path.relative_to(self.of.root)).exists():
                        self._copy(path)
        moved: dict[str, Any] = self._move.value(dict(payload))
        folder = Path(str(moved.get("cwd", "")))
        if self.root not in (folder, *folder.parents) or ".." in folder.parts:
            folder = self.root
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError):  # no name that a folder can have, or a file's
            folder = self.root
        return moved | {"cwd": str(folder)}

    def keep(self) -> None:
        """Remember how it is now, for `reset`."""
        shutil.copytree(self.root, self.top / "kept", symlinks=True)

    def reset(self) -> None:
        """Have the project and the ledger as they were."""
        shutil.rmtree(self.root)
        shutil.copytree(self.top / "kept", self.root, symlinks=True)
        for ending in ("-wal", "-shm"):
            self.ledger.with_name(self.ledger.name + ending).unlink(missing_ok=True)
        self.ledger.unlink(missing_ok=True)
        if (self.top / "ledger").exists():
            shutil.copyfile(self.top / "ledger", self.ledger)

    @property
    def ledger(self) -> Path:
        """Where its ledger lies."""
        return self.top / "s" / "holdfast" / "projects" / f"{OpenProject(self.root, self.of.config).key}.db"

    @property
    def _move(self) -> Move:
        return Move(self.of.root, self.root)

    def _copy(self, path: Path) -> None:
        target = self.root / path.relative_to(self.of.root)
        with suppress(OSError):  # it is gone by now, or not ours to read
            if self._copied < MAX_FILES and path.stat().st_size <= FILE_LIMIT_BYTES:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)  # with the time of its change, by which the newest workflow is found
                self._copied += 1
                return
        self.left_out.append(path)


@contextmanager
def opened(project: OpenProject, kept: Sequence[str] = ()) -> Iterator[Double]:
    """Yield the double of a project, in a folder for its owner alone that is removed afterwards.

    Args:
        project: which.
        kept: where its workflows are kept, folders relative to its root.

    Raises:
        OSError: something that has to be copied cannot be.
        HoldfastError: no launcher can be written for this interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        double = Double(Path(folder).resolve(), project, kept, variables={})
        double.make()
        yield double


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or the files in a folder at any depth; what a link names is copied, a linked folder is not."""
    if path.is_file():
        yield path
    elif path.is_dir() and not path.is_symlink():
        for each in sorted(path.iterdir()):
            if each.name not in _UNWANTED:
                yield from _files(each)
