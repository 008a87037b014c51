"""The check names folders that are missing, not writable, not private or full, with the command that repairs them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast import paths
from tests.doctoring import examine, healthy, mend, obey, only


def programs() -> Path:
    return paths.launcher().parent


OWN = [paths.config_dir, paths.state_dir, programs]
PLACES = [".claude", ".claude/state", ".claude/holdfast", "untracked", "untracked/workflow-state"]


def _access(path: str | Path, wanted: int) -> bool:
    try:
        return (Path(path).stat().st_mode >> 6) & wanted == wanted
    except OSError:
        return False


@pytest.fixture(autouse=True)
def by_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions count as for anybody, also when root runs the tests."""
    monkeypatch.setattr(os, "access", _access)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_not_there_can_be_made(root: Path) -> None:
    """An empty home and an empty project are fine."""
    said = healthy("folders", root)
    assert str(paths.state_dir()) in said
    assert "the project's workflow folders are writable" in said


@pytest.mark.parametrize("place", OWN)
def test_a_folder_that_is_write_protected(root: Path, place: Any) -> None:
    """Of our own it is made writable by the command and by --fix."""
    folder = paths.ensure_private(place())
    folder.chmod(0o500)

    found = only("folders", root, "problem")

    assert found.text == f"{folder} isn't writable for you"
    obey(found, root)
    healthy("folders", root)
    folder.chmod(0o500)
    assert mend("folders", root) == [f"made {folder} readable and writable for you"]
    healthy("folders", root)


def test_a_folder_that_cannot_be_made(root: Path) -> None:
    """The one above it is named, once for all that it keeps from being made; it is not ours to change unasked."""
    above = paths.state_dir().parent
    above.mkdir(parents=True)
    above.chmod(0o500)

    found = only("folders", root, "problem")

    assert found.text == f"{paths.state_dir()} can't be created or reached: {above} isn't writable for you"
    assert found.fix is None
    obey(found, root)
    healthy("folders", root)


def test_a_link_to_nothing_in_place_of_a_folder(root: Path) -> None:
    """It is removed; what it was to lead to isn't made."""
    paths.ensure_private(paths.state_dir().parent)
    paths.state_dir().symlink_to(root / "nowhere")

    found = only("folders", root, "problem")

    assert (found.text, found.fix) == (f"{paths.state_dir()} is a symbolic link to nothing", None)
    obey(found, root)
    healthy("folders", root)


@pytest.mark.parametrize("name", PLACES)
def test_a_file_where_a_folder_must_be(root: Path, name: str) -> None:
    """It is moved aside, not deleted."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rmdir()
    path.write_text("mine")

    found = only("folders", root, "problem")

    assert f"{path} is a file, but must be a folder" in found.text
    obey(found, root)
    healthy("folders", root)
    assert path.with_name(f"{path.name}.aside").read_text() == "mine"


@pytest.mark.parametrize("name", PLACES)
def test_a_link_in_the_project_is_not_followed(root: Path, tmp_path: Path, name: str) -> None:
    """What lies behind it is copied into its place, and stays where it is."""
    path, real = root / name, tmp_path / "real"
    path.parent.mkdir(parents=True, exist_ok=True)
    real.mkdir()
    (real / "kept").write_text("state")
    if path.is_dir():
        path.rmdir()
    path.symlink_to(real)

    found = only("folders", root, "problem")

    assert found.text.startswith(f"{path} is a symbolic link")
    assert found.fix is None
    obey(found, root)
    healthy("folders", root)
    assert not path.is_symlink()
    assert (path / "kept").read_text() == (real / "kept").read_text() == "state"


def test_somebody_elses_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a run with sudo: only an administrator can give it back."""
    folder = paths.ensure_private(paths.state_dir())
    folder.chmod(0o500)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)

    found = only("folders", root, "problem")

    assert found.text == f"{folder} isn't writable for you"
    assert found.remedy == f'sudo chown -R "$(id -un)" {folder}'
    assert found.fix is None


def test_a_state_folder_of_another_user_is_not_used_nor_tightened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if this user may write to it."""
    folder = paths.ensure_private(paths.state_dir())
    folder.chmod(0o777)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    found = only("folders", root, "problem")
    assert found.text.startswith(f"{folder} belongs to another user, so Holdfast remembers neither")
    assert found.remedy == f'sudo chown -R "$(id -un)" {folder}'


def test_a_disk_that_can_only_be_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folders look writable and are not."""
    monkeypatch.setattr(os, "access", lambda path, wanted: not Path(path).is_relative_to(root))
    found = [each for each in examine("folders", root) if each.level == "problem"]
    assert len(found) == 2
    assert all(each.remedy.startswith("df ") and each.fix is None for each in found)


@pytest.mark.parametrize(
    ("bits", "level"), [(0o755, "notice"), (0o640, "notice"), (0o777, "problem"), (0o602, "problem")]
)
def test_state_that_others_may_read_or_write(root: Path, bits: int, level: str) -> None:
    """Folder or file: the command and --fix make them private again."""
    folder = paths.ensure_private(paths.state_dir())
    target = folder if bits & 0o100 else folder / "installs.json"
    if target != folder:
        target.write_text("{}")
    target.chmod(bits)

    found = only("folders", root, level)

    assert found.text.startswith(f"{target} is readable by other users")
    obey(found, root)
    healthy("folders", root)
    target.chmod(bits)
    assert len(mend("folders", root)) == 1
    assert mode(target) == bits & 0o700
    healthy("folders", root)


@pytest.mark.parametrize("place", [paths.user_handlers, paths.command_dir])
@pytest.mark.parametrize(("bits", "level"), [(0o775, "notice"), (0o757, "problem")])
def test_code_that_others_may_change(root: Path, place: Any, bits: int, level: str) -> None:
    """Whoever writes there runs code in your sessions; reading is no harm."""
    folder = paths.ensure_private(place())
    (folder / "x").touch(0o644)
    folder.chmod(bits)

    found = only("folders", root, level)

    assert "could change which code runs in your sessions" in found.text
    obey(found, root)
    healthy("folders", root)
    assert mode(folder) == 0o755
    folder.chmod(bits)
    mend("folders", root)
    assert mode(folder) == bits & 0o755


@pytest.mark.parametrize(
    ("free", "files", "level", "words"),
    [(5, 9, "problem", "is full"), (40_000, 9, "notice", "39 MB left"), (10**9, 0, "problem", "is full")],
)
def test_a_disk_that_is_full(
    root: Path, monkeypatch: pytest.MonkeyPatch, free: int, files: int, level: str, words: str
) -> None:
    """Of blocks or of inodes; both places are named."""
    disk = SimpleNamespace(f_bavail=free, f_frsize=1024, f_files=10, f_favail=files)
    monkeypatch.setattr(os, "statvfs", lambda place: disk)

    found = examine("folders", root)

    assert [each.level for each in found] == [level, level]
    for each, place in zip(found, (paths.state_dir(), root), strict=True):
        assert f"the disk of {place}" in each.text
        assert words in each.text
        assert each.remedy.startswith("df -h ")


@pytest.mark.parametrize("name", [*PLACES, "untracked/workflow-state/x"])
def test_a_folder_of_the_project_that_cannot_be_entered(
    root: Path, monkeypatch: pytest.MonkeyPatch, anybody: None, name: str
) -> None:
    """Command and --fix open it."""
    monkeypatch.setattr(os, "access", _access)
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o000)

    found = only("folders", root, "problem")

    assert found.text == f"{folder} isn't writable for you"
    assert mend("folders", root) == [f"made {folder} readable and writable for you"]
    folder.chmod(0o000)
    obey(found, root)
    healthy("folders", root)
