"""A change of anything that the server has loaded is noticed, with and without inotify."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from types import ModuleType
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


@pytest.fixture
def seen(entry: Path) -> Iterator[Changes]:
    """What is loaded, as it is now."""
    yield from look(entry)


def test_where_nothing_changes_nothing_is_found(entry: Path, seen: Changes) -> None:
    """Reading is no change, nor is another file beside."""
    entry.read_text()
    entry.with_name("other").write_text("x")
    assert [seen.found() for _ in range(3)] == ["", "", ""]


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


def test_what_was_not_there_is_looked_at(entry: Path) -> None:
    """It may come in one step, as a link to what lies elsewhere."""
    for seen in look(entry.with_name("later")):
        assert seen.found() == ""
        entry.with_name("later").hardlink_to(entry)
        assert seen.found() == str(entry.with_name("later"))


def test_what_is_younger_than_a_moment_is_told(entry: Path, module: Path) -> None:
    """By a fraction of a second, too; a folder may be young because its bytecode was written."""
    moment = time.time() + 1_000
    os.utime(module, (moment + 9, moment + 9))
    os.utime(entry, (moment + 0.5, moment + 0.5))
    for seen in look(entry):
        assert seen.since(moment) == str(entry)
        assert seen.since(moment + 1) == ""
        entry.unlink()
        assert seen.since(moment) == ""


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


def test_packages_below_the_standard_library_are_looked_at_and_it_is_not(
    entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many systems have the folder of what is installed there; the interpreter stands for the library itself."""
    library = tmp_path / "lib"
    for name, folder in (("of_library", library / "part"), ("of_others", library / "site-packages" / "part")):
        folder.mkdir(parents=True)
        loaded = ModuleType(name)
        loaded.__file__ = str(folder / "__init__.py")
        monkeypatch.setitem(sys.modules, name, loaded)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(library))
    for seen in look(entry):
        (library / "part" / "new.py").write_text("")
        assert seen.found() == ""
        (library / "site-packages" / "part" / "new.py").write_text("")
        assert seen.found() == str(library / "site-packages" / "part")


@pytest.mark.parametrize("place", ["", "/main/run"])
def test_the_entrypoints_folder_is_nobodys_package(
    entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """It may be a checkout's, where files come and go, or the folder of all that a user has installed."""
    main = ModuleType("__main__")
    main.__file__ = f"{tmp_path}{place}" if place else "run"
    (tmp_path / "main").mkdir()
    monkeypatch.setitem(sys.modules, "__main__", main)
    for seen in look(entry):
        (tmp_path / "main" / "new.py").write_text("")
        assert seen.found() == ""


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


def test_its_descriptor_is_closed_and_handed_on_to_nobody(tmp_path: Path) -> None:
    """What is started by a handler does not hear of changes; closing twice is fine."""
    seen = Changes(str(tmp_path / "run"))
    if seen.fileno() < 0:
        pytest.skip("nobody tells of changes here")
    assert not os.get_inheritable(seen.fileno())
    descriptor = seen.fileno()
    seen.close()
    seen.close()
    assert seen.fileno() == -1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
