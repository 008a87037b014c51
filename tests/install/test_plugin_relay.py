"""The plugin starts the native relay that it brings for its platform; without one each event starts cold."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests import pluginhome, relays

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pluginhome import Plugin

pytestmark = pytest.mark.slow
NAME = "{0.sysname}-{0.machine}".format(os.uname()).lower()


def bring(root: Path, program: bytes) -> None:
    """Have a plugin bring a relay for this platform."""
    folder = root / "plugin" / "relays"
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_bytes(program)


@pytest.fixture
def program() -> bytes:
    """A relay for this machine."""
    return relays.compiled().read_bytes()


def unbuilt(folder: Path) -> Plugin:
    """Return a copy without an environment."""
    made = pluginhome.make(folder, pluginhome.copy_of_plugin(folder / "copy"))
    made.add_python()
    made.add_uv(real=True)
    made.extra = {"HOLDFAST_RELAY": "", "HOLDFAST_SERVER": "off"}
    return made


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that is built; it takes seconds."""
    made = unbuilt(tmp_path_factory.mktemp("built"))
    made.build()
    return made.environment


@pytest.fixture
def plugin(tmp_path: Path, program: bytes, environment: Path) -> Plugin:
    """A copy whose environment is built, and that brings a relay for this platform."""
    made = unbuilt(tmp_path)
    bring(made.root, program)
    shutil.copytree(environment, made.environment, symlinks=True)
    return made


def run(plugin: Plugin) -> Path:
    return plugin.data / "relay" / "run"


def start(plugin: Plugin, session: str = "a-session") -> None:
    """Start a session with the environment that is built."""
    ended = plugin.fire("SessionStart", session_id=session)
    assert ended.exit_code == 0, ended.stderr


def passes_through(plugin: Plugin) -> bool:
    """Return whether an event starts the program in the data folder."""
    mark = plugin.data / "started"
    before = run(plugin).read_bytes()
    run(plugin).write_text(f"#!/bin/sh\necho $1 > '{mark}'\n")
    plugin.fire("Stop")
    run(plugin).write_bytes(before)
    return mark.exists()


def told(plugin: Plugin) -> tuple[str, str]:
    """Return the level and the text of what the doctor says of the plugin."""
    findings = json.loads(plugin.cli("doctor", "--json").stdout)["findings"]
    ((level, text),) = [(each["level"], each["text"]) for each in findings if each["check"] == "plugin"]
    return level, text


def test_a_sessions_start_puts_it_in_place(plugin: Plugin, program: bytes) -> None:
    """The next events start it; events are answered."""
    assert told(plugin)[1].endswith("if the plugin brings one that runs")
    start(plugin)
    assert run(plugin).read_bytes() == program
    assert passes_through(plugin)
    level, text = told(plugin)
    assert (level, text.endswith("through the native relay")) == ("ok", True), text
    plugin.place.write("CLAUDE.local.md", "# Current Workflow State\n\nWorkflow: Case Studies\nPhase: 1/2 - Write\n")
    assert plugin.fire("PreCompact").exit_code == 0
    assert "saved 'Case Studies'" in plugin.place.log()


def test_a_damaged_one_in_place_is_mended_by_the_next_session(plugin: Plugin, program: bytes) -> None:
    """A session's start never goes through it."""
    start(plugin)
    run(plugin).write_text("#!/bin/sh\nexit 1\n")
    start(plugin)
    assert run(plugin).read_bytes() == program


def test_without_one_for_this_platform_each_event_is_cold(plugin: Plugin) -> None:
    """The one that was put in place before goes; the doctor says it."""
    start(plugin)
    (plugin.root / "plugin" / "relays" / NAME).unlink()
    start(plugin)
    assert not run(plugin).exists()
    level, text = told(plugin)
    assert (level, "each event cold: " in text) == ("ok", True), text


def test_one_that_does_not_run_here_is_not_put_in_place(plugin: Plugin) -> None:
    """It is tried first."""
    bring(plugin.root, b"\x7fELF of another machine")
    start(plugin)
    assert not run(plugin).exists()


def test_the_variable_takes_it_away(plugin: Plugin) -> None:
    """At the next session's start."""
    start(plugin)
    plugin.extra["HOLDFAST_RELAY"] = "python"
    start(plugin)
    assert not run(plugin).exists()


def test_after_an_update_the_old_copy_is_not_started(plugin: Plugin, tmp_path: Path) -> None:
    """Until the new one's first session start its events go without a relay."""
    start(plugin)
    plugin.root = pluginhome.copy_of_plugin(tmp_path / "newer")
    bring(plugin.root, run(plugin).read_bytes())
    assert not passes_through(plugin)
    start(plugin, "another")  # of one session, two copies' firings would count as one
    assert passes_through(plugin)
