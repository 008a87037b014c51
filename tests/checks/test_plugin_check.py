"""The check says of each plugin copy's environment whether it is being built, ready or failed, and why."""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.install import plugin_copies
from holdfast.install.plugin_copies import Copy
from plugin import build
from tests import pluginhome
from tests.doctoring import examine, healthy, obey, only

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.checks import Finding

pytestmark = pytest.mark.slow


@pytest.fixture
def made(tmp_path: Path) -> Copy:
    """The plugin, installed and enabled; no session has built its environment yet."""
    return pluginhome.enable(pluginhome.copy_of_plugin(tmp_path / "the plugin"), ready=False)


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python and a uv for the commands that build, as in a user's terminal."""
    programs = pluginhome.make(tmp_path / "user")
    programs.add_python()
    programs.add_uv()
    monkeypatch.setenv("PATH", f"{programs.programs}:{os.defpath}")


def fail(copy: Copy, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Have a build fail, with what the builder notes of it."""

    def make(root: Path, environment: Path) -> str:
        raise build.BuildError(words)

    copy.data.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(build, "make", make)
    assert build.main(copy.root, copy.data, "now") == 1


def mended(found: Finding, root: Path) -> None:
    """Do what a finding says; then all is well."""
    obey(found, root)
    healthy("plugin", root)


def test_without_a_plugin_there_is_nothing_to_look_at(root: Path) -> None:
    """Most people have none."""
    assert healthy("plugin", root) == "the Holdfast plugin isn't enabled here"


@pytest.mark.usefixtures("building")
def test_one_that_was_never_built_says_so(made: Copy, root: Path) -> None:
    """A session builds it, or the command at once; it is not the plugin's error."""
    found = only("plugin", root, "notice")
    assert found.text == (
        "the environment of the plugin holdfast@holdfast isn't built yet; the next session of Claude Code builds it"
    )
    assert not made.data.exists(), "looking changes nothing"
    mended(found, root)


def test_a_ready_one_answers(made: Copy, root: Path) -> None:
    """Its hooks are really started, in a home of their own."""
    pluginhome.enable(made.root)
    asked = "through the Python relay, because HOLDFAST_RELAY asks for it"
    said = f"the plugin holdfast@holdfast answers from its environment {made.environment}, {asked}"
    assert healthy("plugin", root) == said
    assert not paths.log_file().exists()


@pytest.mark.usefixtures("building")
def test_one_that_does_not_load_is_built_again(made: Copy, root: Path) -> None:
    """It is marked as ready, so --build alone would leave it."""
    pluginhome.enable(made.root)
    (made.environment / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    found = only("plugin", root, "problem")
    assert f"has its environment {made.environment}, but doesn't answer: with nothing on stdin it ends with 1" in (
        found.text
    )
    mended(found, root)


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize("words", ["The venv was not created because ensurepip is not available", "no route"])
def test_a_failure_is_told_with_its_reason(made: Copy, root: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """What the tool said, what to do, and the command that tries at once."""
    monkeypatch.chdir(root)
    with monkeypatch.context() as patch:
        fail(made, patch, words)
    found = only("plugin", root, "problem")
    assert found.text.startswith(f"{made.data}: Holdfast's plugin could not build its Python environment")
    assert words in found.text
    assert ("python3-venv" if "ensurepip" in words else "HTTPS_PROXY") in found.text
    mended(found, root)


def test_a_failure_of_another_version_is_none_of_this_one(
    made: Copy, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update brings other requirements, whose environment is another."""
    monkeypatch.chdir(root)
    fail(made, monkeypatch, "no route")
    requirements = made.root / "plugin" / "requirements.txt"
    requirements.write_text(requirements.read_text().replace("# environment ", "# environment 9"))
    assert "isn't built yet" in only("plugin", root, "notice").text


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize("text", ["Holdfast's plugin needs Python 3.11 or newer", ""])
def test_without_a_python_it_says_so(made: Copy, root: Path, text: str) -> None:
    """As plugin/build.sh notes it; also where an earlier one left the file empty."""
    made.data.mkdir(parents=True)
    (made.data / "no-python").write_text(text)
    found = only("plugin", root, "problem")
    assert "Python 3.11 or newer" in found.text
    mended(found, root)


def test_the_later_of_two_failures_is_told(made: Copy, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First no Python, then no network, or the other way round."""
    monkeypatch.chdir(root)
    made.data.mkdir(parents=True)
    (made.data / "no-python").write_text("no Python")
    fail(made, monkeypatch, "no route")
    pluginhome.age(made.data / "no-python", 60)
    assert "no route" in only("plugin", root, "problem").text
    pluginhome.age(made.data / "failed", 120)
    assert only("plugin", root, "problem").text == f"{made.data}: no Python"


def test_while_it_is_being_built_it_says_so(made: Copy, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The builder keeps a lock; whatever failed before is no longer of interest. Looking does not get in its way."""
    monkeypatch.chdir(root)
    fail(made, monkeypatch, "no route")
    with build._locked(made.data, 0.0) as alone:
        assert alone
        found = only("plugin", root, "notice")
        assert f"is being built in {made.data}" in found.text
    assert "no route" in only("plugin", root, "problem").text
    with (made.data / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize(("damage", "words"), [("ready", "isn't finished"), ("bin/python", "is gone")])
def test_a_half_one_is_named(made: Copy, root: Path, damage: str, words: str) -> None:
    """The builder was killed, or the interpreter that it was built with was removed."""
    pluginhome.enable(made.root)
    (made.environment / damage).unlink()
    (found,) = examine("plugin", root)
    assert words in found.text
    assert found.level == ("notice" if damage == "ready" else "problem")
    mended(found, root)


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize("what", ["data", "lock", "above"])
def test_what_stands_in_the_builders_way_is_named(made: Copy, root: Path, what: str) -> None:
    """A file where its folder must be, or a folder where its lock must be."""
    place = {"data": made.data, "lock": made.data / "lock", "above": made.data.parent}[what]
    if what == "lock":
        place.mkdir(parents=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    found = only("plugin", root, "problem")
    assert f"its environment can't be built: {place} isn't a {'file' if what == 'lock' else 'folder'}" in found.text
    mended(found, root)


@pytest.mark.usefixtures("building", "anybody")
@pytest.mark.parametrize("what", ["data", "lock", "above"])
def test_what_cannot_be_written_is_named(made: Copy, root: Path, what: str) -> None:
    """The folder or its lock, with the command that opens it."""
    place = {"data": made.data, "lock": made.data / "lock", "above": made.data.parent}[what]
    if what == "lock":
        place.parent.mkdir(parents=True)
        place.touch(0o400)
    else:
        place.mkdir(parents=True)
        place.chmod(0o500)
    found = only("plugin", root, "problem")
    assert f"built: {place} can't be written" in found.text
    assert found.remedy.startswith("chmod u+")
    mended(found, root)


def test_an_enabled_plugin_whose_folder_is_gone_is_named(made: Copy, root: Path) -> None:
    """Somebody emptied the client's cache."""
    shutil.rmtree(made.root)
    found = only("plugin", root, "problem")
    assert found.text == f"the plugin holdfast@holdfast is enabled, but isn't in {made.root}"
    assert found.remedy == "claude plugin update holdfast@holdfast"


def test_what_the_plugin_dir_option_left_is_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file names such a plugin, so it may be over: worth knowing, and no problem."""
    data = scopes.claude_dir() / "plugins" / "data" / "holdfast-inline"
    copy = Copy(paths.plugin_root(), data)
    monkeypatch.chdir(root)
    fail(copy, monkeypatch, "no route")
    assert "no route" in only("plugin", root, "notice").text
    with build._locked(data, 0.0):
        assert f"is being built in {data}" in only("plugin", root, "notice").text
    (data / "failed").unlink()
    (copy.environment / "bin").mkdir(parents=True)
    (copy.environment / "ready").touch()
    assert healthy("plugin", root) == f"{copy.environment} is ready for sessions with --plugin-dir"


def test_a_folder_of_another_plugin_is_left_alone(root: Path) -> None:
    """Its name may begin like ours."""
    data = scopes.claude_dir() / "plugins" / "data" / "holdfast-extras-market"
    data.mkdir(parents=True)
    (data / "notes").touch()
    healthy("plugin", root)


def test_the_builders_own_words_are_understood(made: Copy) -> None:
    """The names of the files that are looked for are those that the builder writes."""
    assert made.environment == made.data / f"env-{build.wanted(made.root)}"
    pluginhome.enable(made.root)
    assert build.sound(made.environment)
    assert plugin_copies.copies(made.root)[0].ready
    (made.environment / "ready").unlink()
    assert not build.sound(made.environment)
    assert not made.ready
