"""An install beside the plugin, and what a process of the plugin keeps up to date."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes, versions
from holdfast.install import install, launcher, plugin, register, uninstall, upkeep
from holdfast.install.install import Options
from holdfast.sessions.workspace import Workspace
from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope, Target

SHIPPED = json.loads((ROOT / "settings.example.json").read_text())["hooks"]
NAME = "holdfast@holdfast"


@pytest.fixture(autouse=True)
def no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "version", lambda: None)


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return Workspace.open(tmp_path / "project")


def target(project: Workspace, scope: Scope = "user") -> Target:
    return scopes.target(scope, project.root)


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def enable(place: Target, on: object = True, *, installed: Path | None = ROOT, **row: str) -> None:
    """Enable the plugin in one settings file, as the client writes it down when it installs one."""
    write(place.settings, {"enabledPlugins": {NAME: on, "other@holdfast": True}})
    rows = [{"scope": "user", "installPath": str(installed), **row}] if installed else []
    write(scopes.claude_dir() / "plugins" / "installed_plugins.json", {"version": 2, "plugins": {NAME: rows}})


def handler(event: str, match: str | None = None, name: str = "mine") -> None:
    paths.user_handlers().mkdir(parents=True, exist_ok=True)
    marker = f"@hookimpl(match={match!r})" if match else "@hookimpl"
    (paths.user_handlers() / f"{name}.py").write_text(
        f"from holdfast import hookimpl\n{marker}\ndef on_{event}(): ...\n"
    )


def events(place: Target) -> dict[str, Any]:
    hooks = json.loads(place.settings.read_text()).get("hooks", {})
    return {event: groups[0].get("matcher") for event, groups in hooks.items()}


def test_the_rules_are_added_and_the_skill_is_not(project: Workspace) -> None:
    """The plugin brings its own skill; that the model may call the command unasked only settings can say."""
    place = target(project)
    enable(place)
    install.install(place, Options(allow_cli=True))
    assert json.loads(place.settings.read_text())["permissions"]["allow"] == list(install.ALLOW_RULES)
    assert not place.skill.exists()
    uninstall.uninstall(place)
    assert "permissions" not in json.loads(place.settings.read_text())


def test_the_clients_notes_are_read_in_each_form(project: Workspace, tmp_path: Path) -> None:
    """One row without a list, as older clients wrote; odd rows and odd values beside it."""
    enable(target(project), {"a": "later form"})
    notes = scopes.claude_dir() / "plugins" / "installed_plugins.json"
    row: dict[str, object] = {"installPath": str(ROOT)}
    for rows in (row, [3, {"installPath": 3}, row]):
        write(notes, {"plugins": {NAME: rows}})
        assert [set(copy.registered()) for copy in plugin.copies(project.root)] == [set(SHIPPED)]
    (tmp_path / "link").symlink_to(project.root)
    write(notes, {"plugins": {NAME: [row | {"projectPath": str(tmp_path / "link")}]}})
    assert len(plugin.copies(project.root)) == 1
    write(notes, {"plugins": {NAME: [row | {"projectPath": str(tmp_path / "other")}]}})
    assert plugin.copies(project.root) == []


def test_the_printed_settings_do_not_depend_on_it(project: Workspace) -> None:
    """`install --print` is the same on every machine."""
    before = register.printed(project.root)
    enable(target(project))
    assert register.printed(project.root) == before


# --- where this process is the plugin's copy ----------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The interpreter's environment is one that the plugin built; returns the data folder."""
    prefix = tmp_path / "data" / "env-0123"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "ready").touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    return prefix.parent


def test_handlers_that_nothing_registers_are_named(project: Workspace, running: Path) -> None:
    """Settings without an entry of ours are left alone: a line says what to run, until it was."""
    assert upkeep.keep_registered(project) == []
    handler("pre_tool_use", "Bash|Agent")
    (line,) = upkeep.keep_registered(project)
    assert line == (
        f"handlers want PreToolUse, which the plugin does not register; run {ROOT / 'bin' / 'holdfast'} install"
    )
    assert not target(project).settings.exists()
    install.install(target(project))
    assert upkeep.keep_registered(project) == []


def test_the_launcher_follows_an_update(project: Workspace, running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a plugin's copy wrote starts the copy and the environment that run now; anybody else's stays."""
    assert launcher.write()
    newer = running / "env-4567"
    (newer / "bin").mkdir(parents=True)
    (newer / "ready").touch()
    monkeypatch.setattr(sys, "prefix", str(newer))
    monkeypatch.setattr(sys, "executable", str(newer / "bin" / "python"))
    upkeep.keep_registered(project)
    assert f"{newer}/bin/python" in paths.launcher().read_text()
    foreign = f"#!/usr/bin/python3 -IS\nROOT = {'/elsewhere'!r}\n"
    paths.launcher().write_text(foreign)
    upkeep.keep_registered(project)
    assert paths.launcher().read_text() == foreign
