"""The check says of each plugin copy's environment whether it is being built, ready or failed, and why."""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.install import plugin
from plugin import build
from tests import pluginhome
from tests.doctoring import healthy, obey, only

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.install.plugin import Copy

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


@pytest.mark.usefixtures("building")
def test_one_that_was_never_built_says_so(made: Copy, root: Path) -> None:
    """A session builds it, or the command at once; it is not the plugin's error."""
    found = only("plugin", root, "notice")
    assert found.text == (
        "the environment of the plugin holdfast@holdfast isn't built; the next session of Claude Code builds it"
    )
    assert not made.data.exists(), "looking changes nothing"
    mended(found, root)


def test_a_ready_one_answers(made: Copy, root: Path) -> None:
    """Its hooks are really started, in a home of their own."""
    pluginhome.enable(made.root)
    asked = "each event cold: a session's start puts a relay in place if the plugin brings one that runs"
    said = f"the plugin holdfast@holdfast answers from its environment {made.environment}, {asked}"
    assert healthy("plugin", root) == said
    assert not paths.log_file().exists()


@pytest.mark.usefixtures("building")
def test_a_ready_one_that_does_not_answer_is_built_again(made: Copy, root: Path) -> None:
    """What is wrong with the answer is said."""
    pluginhome.enable(made.root)
    python = made.environment / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    found = only("plugin", root, "problem")
    assert found.text.startswith(f"the plugin holdfast@holdfast has its environment {made.environment}, but doesn't")
    mended(found, root)


@pytest.mark.usefixtures("building", "anybody")
def test_where_it_cannot_be_built_the_folder_is_named(made: Copy, root: Path) -> None:
    """With the command that opens it, and builds."""
    made.data.parent.mkdir(parents=True, exist_ok=True)
    made.data.parent.chmod(0o500)
    found = only("plugin", root, "problem")
    assert found.text.endswith(f"because its environment can't be built: {made.data.parent} can't be written")
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


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize("text", ["Holdfast's plugin needs Python 3.11 or newer", ""])
def test_without_a_python_it_says_so(made: Copy, root: Path, text: str) -> None:
    """As plugin/build.sh notes it; also where an earlier one left the file empty."""
    made.data.mkdir(parents=True)
    (made.data / "no-python").write_text(text)
    found = only("plugin", root, "problem")
    assert "Python 3.11 or newer" in found.text
    mended(found, root)


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


def test_an_enabled_plugin_whose_folder_is_gone_is_named(made: Copy, root: Path) -> None:
    """Somebody emptied the client's cache."""
    shutil.rmtree(made.root)
    found = only("plugin", root, "problem")
    assert found.text == f"the plugin holdfast@holdfast is enabled, but isn't in {made.root}"
    assert found.remedy == "claude plugin update holdfast@holdfast"


def test_the_builders_own_words_are_understood(made: Copy) -> None:
    """The names of the files that are looked for are those that the builder writes."""
    assert made.environment == made.data / f"env-{build.wanted(made.root)}"
    pluginhome.enable(made.root)
    assert build.sound(made.environment)
    assert plugin.copies(made.root)[0].ready
    (made.environment / "ready").unlink()
    assert not build.sound(made.environment)
    assert not made.ready
