"""One writer at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files.lock import locked
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunPython


def _taken(folder: Path) -> bool:
    """Return whether another owner holds the folder, by asking from a thread of its own."""
    answers: list[bool] = []

    def ask() -> None:
        try:
            with locked(folder, timeout=0):
                answers.append(False)
        except StateError:
            answers.append(True)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return answers[0]


def test_waiting_ends_with_a_sentence(tmp_path: Path, run_python: RunPython) -> None:
    """A folder that stays locked by another process is an error that names it and says what to do."""
    script = """
import sys
from pathlib import Path
from holdfast.errors import StateError
from holdfast.files.lock import locked
try:
    with locked(Path(sys.argv[1]), timeout=0.05):
        print("taken")
except StateError as error:
    print(error)
"""
    with locked(tmp_path):
        answer = run_python(script, tmp_path)

    expected = f"{tmp_path}: locked by another process for 0.05 s; try again when it has finished\n"
    assert answer == expected
    assert run_python(script, tmp_path) == "taken\n"


def test_a_lock_is_taken_again_as_often_as_it_is_wanted(tmp_path: Path) -> None:
    """Also by the same thread, as by a server's that answers one event after another."""
    for _ in range(2):
        with locked(tmp_path), locked(tmp_path):
            assert _taken(tmp_path)
        assert not _taken(tmp_path)


def test_the_lock_ends_with_a_killed_process(tmp_path: Path, run_python: RunPython) -> None:
    """A holder that is killed leaves no lock behind."""
    script = """
import os, signal, sys
from pathlib import Path
from holdfast.files.lock import locked
folder = Path(sys.argv[1])
ready, holding = os.pipe()
if not (child := os.fork()):
    with locked(folder):
        os.write(holding, b"1")
        signal.pause()
os.read(ready, 1)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
with locked(folder, timeout=5):
    print("taken")
"""
    assert run_python(script, tmp_path) == "taken\n"


def test_a_forked_child_does_not_own_its_parents_lock(tmp_path: Path, run_python: RunPython) -> None:
    """A child forked inside the block must wait for the lock, and its end does not end the parent's."""
    script = """
import os, sys
from pathlib import Path
from holdfast.errors import StateError
from holdfast.files.lock import locked
folder = Path(sys.argv[1])

def refused():
    try:
        with locked(folder, timeout=0):
            return False
    except StateError:
        return True

parent = os.getpid()
try:
    with locked(folder):
        if not os.fork():
            assert refused()
            sys.exit(0)
        assert os.wait()[1] == 0
        if not os.fork():
            os._exit(0 if refused() else 1)
        assert os.wait()[1] == 0, "the first child ended the lock"
        ready, go = os.pipe()
        if not (lingering := os.fork()):
            os.close(go)
            os.read(ready, 1)
            os._exit(0)
    if not os.fork():
        os._exit(1 if refused() else 0)
    assert os.wait()[1] == 0, "a child that lives on prolonged the lock"
    os.close(go)
except SystemExit:
    if os.getpid() == parent:
        raise
    os._exit(0)
print("ok")
"""
    assert run_python(script, tmp_path) == "ok\n"


def test_a_folder_replaced_while_waiting_is_locked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock won on a folder that no longer lies at its path does not count."""
    folder, real, replaced = tmp_path / "folder", fcntl.flock, list[bool]()

    def replace_once(descriptor: int, operation: int) -> None:
        if not replaced:
            replaced.append(True)
            folder.rename(tmp_path / "away")
            folder.mkdir()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replace_once)
    with locked(folder):
        monkeypatch.setattr(fcntl, "flock", real)
        assert _taken(folder)


@each_row("refusal", [errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EACCES])
def test_a_mount_that_locks_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int) -> None:
    """Where a folder takes no lock, a private file in the state folder stands in, and is kept."""
    real = fcntl.flock

    def only_files(descriptor: int, operation: int) -> None:
        if os.path.samestat(os.fstat(descriptor), tmp_path.stat()):
            raise OSError(refusal, "refused")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", only_files)
    other_name = tmp_path.parent / f"{tmp_path.name}-link"
    other_name.symlink_to(tmp_path)
    with locked(tmp_path), locked(tmp_path):
        assert _taken(tmp_path) and _taken(other_name)
    assert not _taken(tmp_path)

    files = list((paths.state_dir() / "locks").iterdir())
    assert [(file.suffix, file.stat().st_mode & 0o777) for file in files] == [(".lock", 0o600)]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_locked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's reason; no file stands in for a folder on a disk that fails."""

    def fail(descriptor: int, operation: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(StateError) as refused, locked(tmp_path):
        pass

    assert str(refused.value) == f"{tmp_path}: cannot be locked: Input/output error"
    assert not (paths.state_dir() / "locks").exists()


def _refuse_every_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_a_link_in_the_stand_ins_place_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever put it there does not decide which file is made or opened."""
    _refuse_every_lock(monkeypatch)
    with suppress(StateError), locked(tmp_path):
        pass
    (stand_in,) = (paths.state_dir() / "locks").iterdir()
    stand_in.unlink()
    stand_in.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StateError, match="cannot be locked"), locked(tmp_path):
        pass

    assert not (tmp_path / "elsewhere").exists()


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    """Threads of one process wait for each other like processes do."""
    inside, most, failures = 0, 0, list[BaseException]()

    def work() -> None:
        nonlocal inside, most
        try:
            for _ in range(10):
                with locked(tmp_path, timeout=30):
                    inside += 1
                    most = max(most, inside)
                    inside -= 1
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (most, inside, failures) == (1, 0, [])
