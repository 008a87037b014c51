"""Files are complete, whatever process is killed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import ChangedError, StateError
from holdfast.files import atomic, document
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RunPython


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_new_file_with_parents_and_mode(tmp_path: Path) -> None:
    """A new file gets its folders and the asked mode, less the umask, and nothing is left beside it."""
    before = os.umask(0o027)
    try:
        atomic.write(tmp_path / "a/b/file", b"data", mode=0o646)
    finally:
        os.umask(before)

    assert (tmp_path / "a/b/file").read_bytes() == b"data"
    assert _mode(tmp_path / "a/b/file") == 0o640
    assert _names(tmp_path / "a/b") == ["file"]


@each_row("mode", [0o600, 0o640, 0o755, 0o664, 0o400, 0o2755])
def test_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """Rewriting a file changes its content only."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(mode)

    atomic.write(file, b"new", mode=0o644)

    assert (file.read_bytes(), _mode(file)) == (b"new", mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_existing_file_keeps_its_owner_with_its_mode(tmp_path: Path) -> None:
    """Root who rewrites somebody's file leaves it theirs; the system clears setgid when an owner changes."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    os.chown(file, 65_534, 65_534)
    file.chmod(0o2755)

    atomic.write(file, b"new")

    info = file.stat()
    assert (info.st_uid, info.st_gid, _mode(file)) == (65_534, 65_534, 0o2755)


def test_a_link_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Without `follow` neither link nor target changes, whether the target exists or not."""
    (tmp_path / "target").write_bytes(b"old")
    for name in ("target", "missing"):
        (tmp_path / f"link-{name}").symlink_to(name)
        for act in (_write, _replace):  # even where the target says what is expected
            with pytest.raises(StateError, match=f"link-{name}: is a symbolic link"):
                act(tmp_path / f"link-{name}")

    assert (tmp_path / "target").read_bytes() == b"old"
    assert _names(tmp_path) == ["link-missing", "link-target", "target"]


def test_a_link_is_written_through_on_demand(tmp_path: Path) -> None:
    """With `follow` the target changes and the links stay links."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/real").write_bytes(b"old")
    (tmp_path / "one").symlink_to("dotfiles/real")
    (tmp_path / "two").symlink_to("one")

    atomic.write(tmp_path / "two", b"new", follow=True)

    assert (tmp_path / "dotfiles/real").read_bytes() == b"new"
    assert (tmp_path / "two").is_symlink()
    assert (tmp_path / "one").is_symlink()
    assert _names(tmp_path / "dotfiles") == ["real"]


def test_folders_and_pipes_are_refused(tmp_path: Path) -> None:
    """Only regular files are replaced."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StateError, match="folder: is a folder, not a file"):
        atomic.write(tmp_path / "folder", b"x")
    with pytest.raises(StateError, match="pipe: is not a regular file"):
        atomic.write(tmp_path / "pipe", b"x")


@each_row("step", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """With the disk full at any step the old content stays and the temporary file goes."""
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(StateError, match="file: cannot be written: No space left on device"):
        atomic.write(file, b"new")

    assert file.read_bytes() == b"old"
    assert _names(tmp_path) == ["file"]


_KILL_EVERYWHERE = """
import itertools, os, signal, sys
from pathlib import Path
from holdfast.files import atomic
file, old, new = Path(sys.argv[1]), b"old" * 100, b"new!" * 100
names = ["open", "write", "fchmod", "fsync", "close", "replace"]

def child(boundary):
    calls = itertools.count()
    for name in names:
        def patched(*arguments, _real=getattr(os, name), _name=name, **named):
            if next(calls) == boundary:
                os.kill(os.getpid(), signal.SIGKILL)
            if _name == "write":
                arguments = (arguments[0], bytes(arguments[1])[:150])
            return _real(*arguments, **named)
        setattr(os, name, patched)
    atomic.write(file, new)
    os._exit(0)

for boundary in itertools.count():
    file.write_bytes(old)
    file.chmod(0o640)
    if not (process := os.fork()):
        child(boundary)
    status = os.waitpid(process, 0)[1]
    content = file.read_bytes()
    assert content in (old, new), (boundary, content)
    assert file.stat().st_mode & 0o777 == 0o640, boundary
    if status == 0:
        assert content == new
        break
    assert status == signal.SIGKILL, status
print(boundary)
"""


def test_kill_at_every_boundary_leaves_a_whole_file(tmp_path: Path, run_python: RunPython) -> None:
    """Killed before any of its system calls, a writer leaves the old content or the new one, never a part."""
    boundaries = int(run_python(_KILL_EVERYWHERE, tmp_path / "file"))

    assert boundaries >= 10
    left = [name for name in _names(tmp_path) if name != "file"]
    assert left
    assert all(name.startswith(".file.") and name.endswith(".tmp") for name in left)


def _orphan(folder: Path, name: str, age: float) -> Path:
    orphan = folder / f".{name}.4711.{age:012.0f}.tmp"
    orphan.write_bytes(b"half")
    moment = orphan.stat().st_mtime - age
    os.utime(orphan, (moment, moment))
    return orphan


def test_orphans_of_dead_writers_are_swept(tmp_path: Path) -> None:
    """The next write removes what killed writers of the same file left, and nothing else."""
    orphan = _orphan(tmp_path, "file", 7200)
    kept = [
        _orphan(tmp_path, "file", 120),  # perhaps a living writer's
        _orphan(tmp_path, "other", 7200),
        _orphan(tmp_path, "file.json", 7200),  # the next write of that file sweeps it
    ]
    for name in (
        ".file.notes.tmp",
        ".file.4711.notes.tmp",
        ".file.4711.0123456789ab.tmp.tmp",
        "file.4711.0123456789ab.tmp",
    ):
        kept.append(tmp_path / name)  # somebody's own
        kept[-1].touch()
        os.utime(kept[-1], (0, 0))

    atomic.write(tmp_path / "file", b"x")

    assert not orphan.exists()
    assert all(path.exists() for path in kept)


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beside it meanwhile is as closed to others as the file itself, from its first byte on."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o600)
    seen: list[int] = []
    real = os.write

    def look(descriptor: int, data: memoryview) -> int:
        seen.extend(_mode(each) for each in tmp_path.iterdir())
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", look)
    atomic.write(file, b"secret", mode=0o644)

    assert seen == [0o600, 0o600]


def _write(file: Path) -> None:
    atomic.write(file, b"new")


def _replace(file: Path) -> object:
    return atomic.replace(file, b"new", b"old")


def _create(file: Path) -> object:
    return atomic.replace(file.with_name("other"), b"new", None)


def _copy_aside(file: Path) -> object:
    return document.copy_aside(file, b"new")


@each_row("act", [_write, _replace, _create, atomic.take, atomic.remove, document.set_aside, _copy_aside])
def test_what_was_done_outlives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Path], object]
) -> None:
    """New content is synced before it gets its name, and the folder after everything else."""
    real, synced, folders = os.fsync, list[str](), list[dict[str, bytes]]()
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def contents() -> dict[str, bytes]:
        return {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}

    def sync(descriptor: int) -> None:
        real(descriptor)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            folders.append(contents())
        else:
            synced.extend(name for name, content in contents().items() if content == b"new")

    monkeypatch.setattr(os, "fsync", sync)
    act(file)

    assert folders
    assert folders[-1] == contents() != {"file": b"old"}
    assert [name[-4:] for name in synced] == [".tmp"] * (b"new" in contents().values())


def test_remove(tmp_path: Path) -> None:
    """A file is removed; one that is missing is fine; a folder is refused."""
    (tmp_path / "file").write_text("x")
    atomic.remove(tmp_path / "file")
    atomic.remove(tmp_path / "file")
    assert _names(tmp_path) == []

    with pytest.raises(StateError, match="cannot be removed"):
        atomic.remove(tmp_path)


def test_what_is_taken_is_returned_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that can't be read is not deleted."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(type(file), "read_bytes", lambda _: os.read(-1, 1))
        with pytest.raises(StateError, match="file: cannot be removed: Bad file descriptor"):
            atomic.take(file)
    assert _names(tmp_path) == ["file"]

    assert atomic.take(file) == b"old"
    assert _names(tmp_path) == []


@each_row("content", [b"their", b"old+", b"ol", b""])
def test_what_is_not_expected_stands(tmp_path: Path, content: bytes) -> None:
    """A file that says anything else, more or less, is not overwritten."""
    file = tmp_path / "file"
    file.write_bytes(content)

    with pytest.raises(ChangedError, match="file: was saved by somebody else meanwhile"):
        atomic.replace(file, b"new", b"old")

    assert file.read_bytes() == content
    assert _names(tmp_path) == ["file"]


def test_a_new_file_takes_nobodys_place(tmp_path: Path) -> None:
    """Where no file is expected, one that came first stands."""
    file = tmp_path / "deep" / "file"
    atomic.replace(file, b"first", None, mode=0o600)
    assert (file.read_bytes(), _mode(file)) == (b"first", 0o600)

    with pytest.raises(ChangedError, match="deep/file: was saved by somebody else meanwhile"):
        atomic.replace(file, b"second", None)

    assert file.read_bytes() == b"first"
    assert _names(file.parent) == ["file"]


@pytest.mark.parametrize("taken", [True, False])
def test_a_new_file_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool) -> None:
    """On a file system that knows none the file is made all the same, and overwrites none."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    if taken:
        (tmp_path / "file").write_bytes(b"first")
        with pytest.raises(ChangedError, match="file: was saved by somebody else meanwhile"):
            atomic.replace(tmp_path / "file", b"new", None)
    else:
        atomic.replace(tmp_path / "file", b"new", None)

    assert (tmp_path / "file").read_bytes() == (b"first" if taken else b"new")
    assert _names(tmp_path) == ["file"]


@pytest.mark.parametrize("saved", [b"theirs", None])
def test_what_is_saved_or_removed_meanwhile_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: bytes | None
) -> None:
    """The comparison comes last, after the new content was written beside the file."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    real = os.fsync

    def slow(descriptor: int) -> None:
        real(descriptor)
        file.unlink()
        if saved is not None:
            file.write_bytes(saved)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(ChangedError, match="removed by" if saved is None else "saved by"):
        atomic.replace(file, b"new", b"old")

    assert (file.read_bytes() if file.exists() else None) == saved
    assert _names(tmp_path) == ["file"] * (saved is not None)


class _FailedError(BaseException):
    """What fails; also an interrupt from the keyboard is no Exception."""


@each_row("change", ["replaced", "removed", "untouched"])
@each_row("there", [True, False])
def test_what_a_block_that_fails_did_to_a_file_is_undone(tmp_path: Path, there: bool, change: str) -> None:
    """It holds what it held, or is gone where it was not there; and nothing is left beside it."""
    file = tmp_path / "file"
    if there:
        file.write_bytes(b"old")

    with pytest.raises(_FailedError), atomic.undone_on_failure(file):
        if change == "replaced":
            atomic.write(file, b"new")
        elif change == "removed":
            atomic.remove(file)
        raise _FailedError

    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == ({"file": b"old"} if there else {})


@pytest.mark.parametrize("fails", [False, True])
def test_each_folder_is_synced_once_after_all_that_an_event_did_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Every content is synced before it gets its name as ever. The folders follow at the end, and outside as ever."""
    real, steps = os.fsync, list[str]()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()

    def sync(descriptor: int) -> None:
        real(descriptor)
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    monkeypatch.setattr(os, "fsync", sync)
    with suppress(RuntimeError), atomic.syncing_later():
        for name in ("one/a", "one/b", "other/a"):
            atomic.write(tmp_path / name, b"new")
        atomic.remove(tmp_path / "one" / "a")
        if fails:
            raise RuntimeError
    assert steps == ["file", "file", "file", "folder", "folder"]

    atomic.write(tmp_path / "one" / "c", b"new")
    assert steps[5:] == ["file", "folder"]
