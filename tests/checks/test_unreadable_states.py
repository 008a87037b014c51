"""A state file that can't be read isn't broken: no repair or command renames it or touches files outside."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import checks
from holdfast.files import document
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.doctoring import examine

if TYPE_CHECKING:
    from collections.abc import Callable

STATES = {
    "hybrid": ".claude/state/workflow.json",
    "hybrid extra": ".claude/state/workflow.extra.json",
    "compaction": "untracked/workflow-state/*/state-*.json",
    "wfs": ".workflow/WFS-user-auth/workflow-session.json",
    "wfs extra": ".workflow/WFS-user-auth/workflow-session.extra.json",
    "wfs task": ".workflow/WFS-user-auth/.task/IMPL-1.json",
}
TOPS = {"hybrid": ".claude/state", "compaction": "untracked/workflow-state", "wfs": ".workflow"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is no part of the project."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def put_out(path: Path, outside: Path) -> None:
    """Move a file or folder out of the project and leave a link to it."""
    path.rename(outside / path.name)
    path.symlink_to(outside / path.name)


def blow_up(path: Path) -> None:
    os.truncate(path, document.LIMIT_BYTES + 1)


def replace_by(make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


OBSTACLES: dict[str, Callable[[Path], None]] = {
    "closed": lambda path: path.chmod(0),
    "too large": blow_up,
    "folder": replace_by(Path.mkdir),
    "pipe": replace_by(os.mkfifo),
}


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return what lies in a folder: names, inodes and what the files hold."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        found[str(path.relative_to(folder))] = (
            info.st_ino,
            info.st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
    return found


def try_everything(root: Path, name: str) -> list[str]:
    """Do all that could take an unreadable state for a broken one; return what was said."""
    project = Workspace.open(root)
    try:
        found = list(checks.run(project, ("folders", "states", "wfs")))
        said = [done for _, done, _ in checks.mend(each for each in found if "chmod" not in each.remedy)]
    finally:
        project.close()
    format_ = name.split()[0]
    commands = [
        ["start", "User auth", "--format", format_, "--phase", "Design", "--replace"],
        ["update", "--remind", "Again", "--context", "a=1", "user-auth"],
        ["done", "--all", "user-auth"],
    ]
    for command in [*commands, ["doctor", "wfs", "--fix"]]:
        try:
            holdfast(*command, root=root)
        except AssertionError as refused:  # with any exit code
            said.append(str(refused))
    return said


def make(root: Path, name: str) -> Path:
    """Start a workflow and return the state file that is meant."""
    given = ["--phase", "Design", "--phase", "Build", "--remind", "Small steps"]
    holdfast("start", "User auth", "--format", name.split()[0], *given, root=root)
    (path,) = root.glob(STATES[name])
    return path


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("name", STATES)
def test_what_may_not_be_read_stays(root: Path, name: str, obstacle: str, known: bool) -> None:
    """Whatever keeps it from being read, and whether the ledger knows what it held."""
    path = make(root, name)
    if not known:
        forget_all(root)
    OBSTACLES[obstacle](path)
    before = path.lstat()
    said = try_everything(root, name)
    assert os.path.samestat(before, path.lstat()), said
    assert [each.name for each in root.rglob("*.corrupt-*")] == []


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("name", STATES)
def test_what_lies_behind_a_link_stays(root: Path, outside: Path, name: str, known: bool) -> None:
    """A link that leads out of the project, in the place of the file itself."""
    path = make(root, name)
    if not known:
        forget_all(root)
    put_out(path, outside)
    before = tree(outside)
    said = try_everything(root, name)
    assert path.is_symlink(), said
    assert tree(outside) == before
    assert [each.name for each in root.rglob("*.corrupt-*")] == []


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("name", TOPS)
def test_what_lies_in_a_linked_folder_stays(root: Path, outside: Path, name: str, known: bool) -> None:
    """A healthy state in a folder outside, reached through a link; one sentence says so."""
    make(root, name)
    if not known:
        forget_all(root)
    put_out(root / TOPS[name], outside)
    (outside / Path(TOPS[name]).name / ".active-WFS-gone").touch()
    before = tree(outside)
    told = [each for check in ("folders", "states", "wfs") for each in examine(check, root) if each.level != "ok"]
    said = try_everything(root, name)
    assert tree(outside) == before, said
    assert (root / TOPS[name]).is_symlink()
    assert [each.check for each in told] == ["folders"]
    assert "is a symbolic link. Holdfast doesn't follow it" in told[0].text


@pytest.mark.parametrize("name", STATES)
def test_a_disk_that_fails_is_no_broken_file(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the disk passes; the state that it hides stays."""
    path = make(root, name)
    forget_all(root)
    before, opened = path.lstat(), os.open

    def failing(place: Any, *given: Any, **more: Any) -> int:
        if isinstance(place, (str, Path)) and Path(place) == path:
            raise OSError(errno.EIO, "Input/output error", str(place))
        return opened(place, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        said = try_everything(root, name)
    assert os.path.samestat(before, path.lstat()), said
    assert [each.name for each in root.rglob("*.corrupt-*")] == []


def forget_all(root: Path) -> None:
    """Have the ledger know nothing of the project."""
    project = Workspace.open(root)
    file = project.ledger_file
    project.close()
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
