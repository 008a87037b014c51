"""The check names a ledger that can't be used, and sets it aside without deleting anything."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.checks import ledger as check
from holdfast.memory import connection
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from tests.doctoring import examine, healthy, mend, obey, only

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(root: Path) -> Path:
    """A ledger with a session in it."""
    project = Workspace.open(root)
    conversations.note_event(project, "s1")
    project.close()
    return project.ledger_file


def remembered(root: Path) -> list[str]:
    project = Workspace.open(root)
    try:
        assert project.ledger.problem is None
        return [row.id for row in conversations.every(project)]
    finally:
        project.close()


def test_another_versions_ledger_is_named(root: Path, file: Path) -> None:
    """Nothing reads it; the command that removes it is given."""
    former = file.with_name(file.name.replace("-", "-0"))
    former.write_bytes(b"")
    found = only("ledger", root, "notice")
    assert found.text.startswith(f"{former} is another version's ledger; nothing reads it")
    assert found.remedy == f"rm {former}*"


def scribble(file: Path) -> None:
    file.write_bytes(os.urandom(5000))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5000])


def spoil_a_page(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[4096:8192] = b"\xff" * 4096
    file.write_bytes(raw)


def miscount_free_pages(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[36:40] = (7).to_bytes(4, "big")
    file.write_bytes(raw)


@pytest.mark.parametrize("damage", [scribble, cut, spoil_a_page, miscount_free_pages])
def test_a_damaged_one_is_set_aside(root: Path, file: Path, damage: object) -> None:
    """Renamed with what belongs to it, never deleted; after that a new one is begun."""
    assert callable(damage)
    damage(file)
    held = file.read_bytes()
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).write_bytes(b"")

    found = only("ledger", root, "problem")

    assert found.text.startswith(f"{file} is damaged (")
    assert found.remedy == "holdfast doctor --fix"
    obey(found, root)
    assert not file.exists()
    left = {path.name.removeprefix(file.name) for path in file.parent.iterdir()}
    (aside,) = (name for name in left if not name.endswith(("-wal", "-shm")))
    assert aside.startswith(".corrupt-")
    assert left <= {aside, f"{aside}-wal", f"{aside}-shm"}
    assert file.with_name(file.name + aside).read_bytes() == held
    assert remembered(root) == []

    found = only("ledger", root, "notice")
    assert "nothing reads it" in found.text
    obey(found, root)
    healthy("ledger", root)
    assert [path.name for path in file.parent.glob("*corrupt*")] == []


def test_what_is_mended_meanwhile_is_not_set_aside(root: Path, file: Path) -> None:
    """The fix looks again."""
    sound = file.read_bytes()
    scribble(file)
    found = only("ledger", root, "problem")
    file.write_bytes(sound)
    assert found.fix is not None
    assert found.fix() == ""
    assert remembered(root) == ["s1"]


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("bits", [0o400, 0o200])
def test_a_ledger_without_permission_is_opened_for_its_owner(root: Path, file: Path, bits: int) -> None:
    """The command and --fix open it again, for its owner alone."""
    file.chmod(bits)
    found = only("ledger", root, "problem")
    assert found.text == f"{file} can't be read and written, so Holdfast can't remember anything in {file}"
    obey(found, root)
    assert file.stat().st_mode & 0o600 == 0o600
    file.chmod(bits)
    assert found.fix is not None
    assert found.fix() == f"made {file} readable and writable for you"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_is_busy_is_not_damaged(root: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set aside."""
    monkeypatch.setattr(connection, "_CHECK_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM conversations")
        found = [each for each in examine("ledger", root) if each.level != "ok"]
        assert [each.level for each in found] in ([], ["notice"])
        assert mend("ledger", root) == []
    assert file.exists()


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("bits", [0o500, 0o400, 0o000])
def test_a_folder_that_cannot_be_written_is_no_damage(root: Path, file: Path, bits: int) -> None:
    """A sound ledger is never set aside for it: the folder is named, with the command that opens it."""
    held = file.read_bytes()
    file.parent.chmod(bits)

    found = only("ledger", root, "problem")

    assert "damaged" not in found.text
    assert found.text == f"{file.parent} can't be read and written, so Holdfast can't remember anything in {file}"
    assert found.remedy == f"chmod u+rwx {file.parent}"
    assert found.fix is None  # the folders check has it
    obey(found, root)
    assert file.read_bytes() == held
    assert remembered(root) == ["s1"]


@pytest.mark.parametrize("code", ["SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_FULL"])
def test_what_sqlite_cannot_do_now_is_no_damage(
    root: Path, file: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """Only what SQLite itself calls damaged is set aside."""

    def refuse(*given: object, **options: object) -> object:
        error = sqlite3.OperationalError("not now")
        error.sqlite_errorname = code
        raise error

    monkeypatch.setattr(sqlite3, "connect", refuse)
    found = next(iter(check._content(file)))
    assert (found.level, found.fix) == ("problem", None)
    assert "not now" in found.text
    assert found.remedy


def crash_while_open(file: Path) -> None:
    """Leave a write-ahead log beside the ledger, as a process does that is killed."""
    script = f"""
import os, sqlite3
ledger = sqlite3.connect({str(file)!r})
ledger.execute("UPDATE conversations SET prompt = 'x'")
ledger.commit()
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    assert file.with_name(file.name + "-wal").stat().st_size > 0


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("suffixes", [("-wal",), ("-shm",), ("-wal", "-shm"), ("", "-wal", "-shm")])
def test_what_lies_beside_it_must_be_writable_too(root: Path, file: Path, suffixes: tuple[str, ...]) -> None:
    """Command and --fix open all of them, and the ledger can be written."""
    crash_while_open(file)
    shut = [file.with_name(file.name + suffix) for suffix in suffixes]
    for each in shut:
        each.chmod(0o400)

    found = [each for each in examine("ledger", root) if each.level == "problem"]

    assert [str(each) in one.text for each, one in zip(shut, found, strict=True)] == [True] * len(shut)
    for one in found:
        obey(one, root)
    healthy("ledger", root)
    for each in shut:
        each.chmod(0o400)
    assert mend("ledger", root) == [f"made {each} readable and writable for you" for each in shut]
    assert remembered(root) == ["s1"]
