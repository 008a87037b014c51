"""A change of anything that the server has loaded is noticed, with and without inotify."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.server import changes
from holdfast.server.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["told", "untold"])
def entry(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An entrypoint, on a system that tells of changes and on one that does not."""
    if request.param == "untold":
        monkeypatch.setattr(changes._Watch, "__init__", lambda self: setattr(self, "descriptor", -1))
    file = tmp_path / "run"
    file.write_text("one")
    return file


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module of another package that is loaded."""
    package = tmp_path / "packages" / "foreign"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(package.parent))
    __import__("foreign")
    yield package
    del sys.modules["foreign"]


def look(entry: Path) -> Iterator[Changes]:
    """Look at what is loaded, and let go of it."""
    found = Changes(str(entry))
    yield found
    found.close()


@pytest.mark.parametrize(
    "how",
    ["edited", "grown", "touched", "replaced", "moved there", "linked there", "removed", "moved away", "all moved"],
)
def test_the_entrypoint_is_looked_at(entry: Path, how: str) -> None:
    """An upgrade writes another one, in whatever way; the answer stays until somebody acts on it."""
    times, elsewhere = entry.stat(), entry.with_name("elsewhere")
    elsewhere.mkdir()
    new = elsewhere / "new"
    new.write_text("two")
    os.utime(new, ns=(times.st_atime_ns, times.st_mtime_ns))
    file = entry.with_name("folder") / "run"
    file.parent.mkdir()
    entry.rename(file)
    for seen in look(file):
        assert seen.found() == ""
        if how == "edited":
            file.write_text("three")
        elif how == "grown":
            file.write_text("longer")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        elif how == "touched":
            os.utime(file, (1, 1))
        elif how == "replaced":
            new.rename(file.with_name("new")).rename(file)
        elif how == "moved there":
            new.rename(file)
        elif how == "linked there":
            file.unlink()
            file.hardlink_to(new)
        elif how == "removed":
            file.unlink()
        elif how == "moved away":
            file.rename(elsewhere / "run")
        else:
            file.parent.rename(elsewhere / "folder")
        assert seen.found() == str(file)


@pytest.mark.parametrize("there", [True, False])
def test_the_users_configuration_is_looked_at(entry: Path, there: bool) -> None:
    """Also one that is written for the first time, in a folder that was not there either."""
    file = paths.user_config()
    if there:
        file.parent.mkdir(parents=True)
        file.write_text("")
    for seen in look(entry):
        assert seen.found() == ""
        file.parent.parent.mkdir(exist_ok=True)
        assert seen.found() == ""
        file.parent.mkdir(exist_ok=True)
        assert seen.found() == ""
        file.write_text("server = false\n")
        assert seen.found() == str(file)


def test_a_file_of_ours_is_looked_at(entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one that is loaded, since checkouts are edited."""
    ours = tmp_path / "ours.py"
    ours.write_text("")
    monkeypatch.setattr(changes, "__file__", str(ours))
    for seen in look(entry):
        assert seen.found() == ""
        ours.write_text("# edited")
        assert seen.found() == str(ours)


def test_a_package_of_others_is_looked_at_as_a_folder(entry: Path, module: Path) -> None:
    """An installer adds and removes files there; what a file holds it never changes in place."""
    for seen in look(entry):
        assert seen.found() == ""
        (module / "new.py").write_text("")
        assert seen.found() == str(module)


def test_the_shipped_handlers_are_looked_at_as_a_folder(
    entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more of them may need a module that is not loaded."""
    folder = tmp_path / "shipped" / "handlers"
    folder.mkdir(parents=True)
    monkeypatch.setattr(paths, "shipped", lambda kind: folder)
    for seen in look(entry):
        (folder / "new.py").write_text("")
        assert seen.found() == str(folder)


def test_the_interpreter_is_looked_at(entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one behind the link of an environment; a newer one has another standard library."""
    python, link = tmp_path / "python3", tmp_path / "python"
    python.write_text("")
    link.symlink_to(python)
    monkeypatch.setattr(sys, "executable", str(link))
    for seen in look(entry):
        python.write_text("newer")
        assert seen.found() == str(python)


def test_where_not_everything_can_be_watched_everything_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system allows so many watches to all of a user's programs; what is left of them would miss something."""
    file = tmp_path / "run"
    file.write_text("one")
    monkeypatch.setattr(changes._Watch, "_add", lambda watch, folder: -1)
    for seen in look(file):
        assert seen.fileno() == -1
        assert seen.found() == ""
        file.write_text("three")
        assert seen.found() == str(file)
