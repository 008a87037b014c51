"""One writer at a time."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files.lock import locked
from tests.tables import each_row

if TYPE_CHECKING:
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


def test_the_lock_excludes_others_until_it_ends(tmp_path: Path) -> None:
    """Another thread cannot have the lock during the block and can afterwards."""
    with locked(tmp_path):
        assert _taken(tmp_path)

    assert not _taken(tmp_path)


def test_no_file_is_left_in_the_folder(tmp_path: Path) -> None:
    """The folder is created, and the lock itself leaves nothing in it."""
    with locked(tmp_path / "a/b"):
        assert list((tmp_path / "a/b").iterdir()) == []


def test_the_same_thread_may_take_it_again(tmp_path: Path) -> None:
    """An inner block neither waits nor ends the outer lock."""
    (tmp_path / "link").symlink_to(".")
    with locked(tmp_path):
        with locked(tmp_path, timeout=0), locked(tmp_path / "link", timeout=0):
            pass
        assert _taken(tmp_path)

    assert not _taken(tmp_path)


def test_folders_are_locked_apart(tmp_path: Path) -> None:
    """A lock on one folder is none on its neighbour or parent."""
    with locked(tmp_path / "a"):
        assert not _taken(tmp_path / "b")
        assert not _taken(tmp_path)


def test_an_exception_ends_the_lock(tmp_path: Path) -> None:
    """A block that fails lets go, at both depths."""
    with pytest.raises(ZeroDivisionError), locked(tmp_path), locked(tmp_path):
        _ = 1 / 0

    assert not _taken(tmp_path)


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


def test_waiting_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """A process that waits ten seconds tries five hundred times."""
    with locked(tmp_path):
        before = len(list(Path("/dev/fd").iterdir()))
        for _ in range(20):
            assert _taken(tmp_path)
        assert len(list(Path("/dev/fd").iterdir())) == before
    assert len(list(Path("/dev/fd").iterdir())) == before - 1, "the lock itself is open still"


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
        monkeypatch.undo()
        assert _taken(folder)


def test_a_folder_removed_while_waiting_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that vanished between opening and locking is created again."""
    folder, real, removed = tmp_path / "folder", fcntl.flock, list[bool]()

    def remove_once(descriptor: int, operation: int) -> None:
        if not removed:
            removed.append(True)
            folder.rmdir()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_once)
    with locked(folder):
        assert folder.is_dir()


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


def _refuse_every_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_where_nothing_can_be_locked_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is tried once; it has no stand-in of its own."""
    _refuse_every_lock(monkeypatch)

    with pytest.raises(StateError, match="cannot be locked: No locks available"), locked(tmp_path):
        pass


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


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file in the way is an error with the path."""
    (tmp_path / "a").write_text("")

    with pytest.raises(StateError, match=r"a/b: can't be created: not a directory"), locked(tmp_path / "a/b"):
        pass


_UPDATE = """
import os, sys
from pathlib import Path
from holdfast.files import document
from holdfast.files.lock import locked
file, processes, updates = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def update(number):
    for turn in range(updates):
        with locked(file.parent, timeout=60):
            found = document.load(file)
            data = dict(found.data)
            data["count"] += 1
            data[f"{number}-{turn}"] = "x" * 50
            document.replace(file, data, found.raw, like=found)

children = []
for number in range(processes):
    if not (child := os.fork()):
        try:
            update(number)
        except BaseException as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    children.append(child)
reads = 0
while children:
    for _ in range(10):
        seen = document.load(file)  # without the lock: never torn
        assert len(seen.data) == seen.data["count"] + 1
        reads += 1
    done, status = os.wait()  # to read on and on would take the processor from those who write
    assert status == 0, status
    children.remove(done)
print(reads)
"""


@pytest.mark.slow
def test_many_processes_updating_one_document_lose_nothing(tmp_path: Path, run_python: RunPython) -> None:
    """Forty processes with five updates each: all two hundred are there, and no read was ever torn."""
    file = tmp_path / "state.json"
    file.write_text('{"count": 0}\n')

    reads = int(run_python(_UPDATE, file, 40, 5))

    data = json.loads(file.read_text())
    assert data["count"] == 200
    assert len(data) == 201
    assert reads == 400
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


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
