"""With an enabled plugin, an install adds only what the plugin doesn't register."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import claude, scopes
from holdfast.clients.claude.events import EVENTS
from holdfast.install import install, launcher, plugin, register, uninstall, upkeep
from holdfast.install.install import Options
from holdfast.install.register import Entry, Wish
from holdfast.plugins import discovery
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope, Target

pytestmark = pytest.mark.usefixtures("no_client")

SHIPPED = json.loads((ROOT / "settings.example.json").read_text())["hooks"]
NAME = "holdfast@holdfast"


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


def kept(project: Workspace) -> list[str]:
    """Keep registered what the handlers that are there now want, and return what the user is told."""
    return upkeep.keep_registered(project, discovery.find(claude, project))


def events(place: Target) -> dict[str, Any]:
    hooks = json.loads(place.settings.read_text()).get("hooks", {})
    return {event: groups[0].get("matcher") for event, groups in hooks.items()}


def test_nothing_is_added_that_the_plugin_registers(project: Workspace) -> None:
    """With the shipped handlers alone the settings stay byte for byte, and a line says who registers."""
    place = target(project)
    enable(place)
    before = place.settings.read_bytes()
    lines = install.install(place, Options(allow_cli=False))
    assert place.settings.read_bytes() == before
    assert any("an event that the plugin does not register" in line for line in lines)
    assert any(line.startswith("The plugin is enabled and registers SessionStart, ") for line in lines)
    assert install.preview(place) == ""


def test_the_rules_are_added_and_the_skill_is_not(project: Workspace) -> None:
    """The plugin brings its own skill; that the model may call the command unasked only settings can say."""
    place = target(project)
    enable(place)
    install.install(place, Options(allow_cli=True))
    assert json.loads(place.settings.read_text())["permissions"]["allow"] == list(install.ALLOW_RULES)
    assert not place.skill.exists()
    uninstall.uninstall(place)
    assert "permissions" not in json.loads(place.settings.read_text())


@pytest.mark.parametrize(
    ("event", "match", "left"),
    [
        ("notification", None, {"Notification": None}),
        ("pre_tool_use", "Bash", {"PreToolUse": "Bash"}),
        ("pre_tool_use", "Agent|Bash|TodoWrite", {"PreToolUse": "Bash"}),
        ("pre_tool_use", "Agent", {}),
        ("pre_tool_use", None, {"PreToolUse": None}),
        ("pre_tool_use", "mcp__.*", {"PreToolUse": "mcp__.*"}),
        ("stop", None, {}),
        ("session_start", "compact", {}),
    ],
)
def test_only_the_rest_is_added(project: Workspace, event: str, match: str | None, left: dict[str, str | None]) -> None:
    """Events, and where that can be said tools, that a person's own handlers want beyond it."""
    handler(event, match)
    place = target(project)
    enable(place)
    install.install(place)
    found = events(place)
    assert set(found) == set(left)
    if match == "mcp__.*":
        assert "mcp__.*" in found["PreToolUse"]
    else:
        assert found == left


def test_what_was_registered_before_stays(project: Workspace) -> None:
    """Without it nothing would be left once the plugin is removed; each firing is answered once."""
    place = target(project)
    install.install(place)
    before = json.loads(place.settings.read_text())
    enable(place)
    write(place.settings, before | json.loads(place.settings.read_text()))
    files = discovery.find(claude, project)
    assert install.refresh(place, files) == []
    handler("notification")
    (line,) = (line for line in install.install(place) if "leaves to these settings" in line)
    assert set(events(place)) == {*SHIPPED, "Notification"}
    assert [event for event in events(place) if event in line.partition(" For ")[2]] == list(SHIPPED)


def test_a_handler_that_needs_more_time_than_the_plugin_has_gets_it(project: Workspace) -> None:
    """Once it is installed; the plugin leaves the event to these settings."""
    handler("session_end")
    path = paths.user_handlers() / "mine.py"
    path.write_text(path.read_text().replace("@hookimpl", "@hookimpl(timeout=10)"))
    place = target(project)
    enable(place)
    assert "is cut off" in holdfast("handlers", "check", "mine", root=project.root).out
    install.install(place)
    assert json.loads(place.settings.read_text())["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] == 60
    assert "is cut off" not in holdfast("handlers", "check", "mine", root=project.root).out


@pytest.mark.parametrize("match", ["Bash", "Agent|Bash", "mcp__.*", None])
def test_a_second_install_beside_the_plugin_changes_nothing(project: Workspace, match: str | None) -> None:
    """What was added beside it goes on being no more than the rest; with the handler the rest goes."""
    handler("pre_tool_use", match)
    place = target(project)
    enable(place)
    install.install(place)
    first = events(place)["PreToolUse"]
    assert install.refresh(place, discovery.find(claude, project)) == []
    install.install(place)
    assert events(place)["PreToolUse"] == first
    if match == "Bash":
        (paths.user_handlers() / "mine.py").unlink()
        install.refresh(place, discovery.find(claude, project))
        assert "PreToolUse" not in events(place)


@pytest.mark.parametrize("how", ["off", "not installed", "no settings", "damaged", "of another", "gone"])
def test_a_plugin_that_does_not_run_counts_for_nothing(project: Workspace, how: str, tmp_path: Path) -> None:
    """Disabled, enabled but not there, another one's hooks.json, or notes nobody can read."""
    place = target(project)
    enable(place, on=how != "off", installed=None if how == "not installed" else ROOT)
    if how == "no settings":
        place.settings.unlink()
    if how == "damaged":
        (scopes.claude_dir() / "plugins" / "installed_plugins.json").write_text("[")
    if how == "of another":
        write(
            tmp_path / "x" / "hooks" / "hooks.json", {"hooks": {"Stop": [{"hooks": [{"command": "true"}]}, 1], "A": 1}}
        )
        enable(place, installed=tmp_path / "x")
    if how == "gone":
        enable(place, installed=tmp_path / "gone")
    install.install(place)
    assert set(events(place)) == set(SHIPPED)


def test_whose_plugin_counts_for_which_settings(project: Workspace) -> None:
    """A user's settings rely on no project's plugin, a team's on nobody's own; local ones on all of this project."""
    user, team, local = (target(project, scope) for scope in ("user", "project", "local"))
    enable(user)
    assert [bool(plugin.registered(each)) for each in (user, team, local)] == [True, False, True]
    write(user.settings, {})
    enable(team)
    assert [bool(plugin.registered(each)) for each in (user, team, local)] == [False, True, True]
    enable(team, scope="project", projectPath=str(project.root))
    assert [bool(plugin.registered(each)) for each in (user, team, local)] == [False, True, True]
    write(local.settings, {"enabledPlugins": {NAME: False}})
    assert not plugin.registered(local)
    write(local.settings, {})
    enable(team, scope="project", projectPath="/another/project")
    assert not plugin.registered(local)
    enable(team, installed=None)
    assert [bool(plugin.registered(each)) for each in (team, local)] == [True, False], "a teammate has it installed"
    enable(user, scope="project", projectPath=str(project.root))
    assert [bool(plugin.registered(each)) for each in (user, local)] == [False, True]


def test_the_clients_notes_are_read_in_each_form(project: Workspace, tmp_path: Path) -> None:
    """One row without a list, as older clients wrote; odd rows and odd values beside it."""
    place, local = target(project), target(project, "local")
    enable(place, {"a": "later form"})
    notes = scopes.claude_dir() / "plugins" / "installed_plugins.json"
    row: dict[str, object] = {"installPath": str(ROOT)}
    for rows in (row, [3, {"installPath": 3}, row]):
        write(notes, {"plugins": {NAME: rows}})
        assert set(plugin.registered(place)) == set(SHIPPED)
    (tmp_path / "link").symlink_to(project.root)
    write(notes, {"plugins": {NAME: [row | {"projectPath": str(tmp_path / "link")}]}})
    assert (bool(plugin.registered(place)), set(plugin.registered(local))) == (False, set(SHIPPED))


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
    assert kept(project) == []
    handler("pre_tool_use", "Bash|Agent")
    (line,) = kept(project)
    assert line == (
        f"handlers want PreToolUse, which the plugin does not register; run {ROOT / 'bin' / 'holdfast'} install"
    )
    assert not target(project).settings.exists()
    install.install(target(project))
    assert kept(project) == []


def test_the_launcher_follows_an_update(project: Workspace, running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a plugin's copy wrote starts the copy and the environment that run now; anybody else's stays."""
    assert launcher.write()
    newer = running / "env-4567"
    (newer / "bin").mkdir(parents=True)
    (newer / "ready").touch()
    monkeypatch.setattr(sys, "prefix", str(newer))
    monkeypatch.setattr(sys, "executable", str(newer / "bin" / "python"))
    kept(project)
    assert f"{newer}/bin/python" in paths.launcher().read_text()
    foreign = f"#!/usr/bin/python3 -IS\nROOT = {'/elsewhere'!r}\n"
    paths.launcher().write_text(foreign)
    kept(project)
    assert paths.launcher().read_text() == foreign


def test_only_what_goes_beyond_the_plugin_is_registered() -> None:
    """What settings register by themselves stays in full; a longer time limit goes beyond the plugin, too."""
    rows: tuple[tuple[Wish, str | None, str | None, Entry | None], ...] = (
        (Wish("PreToolUse", "Bash"), None, None, None),
        (Wish("PreToolUse", "Bash"), "*", None, None),
        (Wish("PreToolUse", ""), "Bash", None, Entry()),
        (Wish("PreToolUse", "^B"), "^B", None, Entry("(?:^B)")),
        (Wish("PreToolUse", "^B"), "(?:^B)", None, None),
        (Wish("PreToolUse", "^B"), "Bash", None, Entry("(?:^B)")),
        (Wish("PreToolUse", "Bash|Read"), "Read, Edit", None, Entry("Bash")),
        (Wish("PreToolUse", "Bash|Read"), "Read, Edit", "Bash", Entry("Bash")),
        (Wish("PreToolUse", "Bash|Read"), "Read, Edit", "Bash|Read", Entry("Bash|Read")),
        (Wish("PreToolUse", "Bash"), None, "Bash", Entry("Bash")),
        (Wish("SessionEnd", None, 1.0), None, None, None),
        (Wish("SessionEnd", None, 10.0), None, None, Entry(None, 60)),
    )
    for wish, theirs, present, wanted in rows:
        there = {wish.event: present} if present else {}
        entries = register.entries([wish], EVENTS, plugin={wish.event: theirs}, present=there)
        assert entries.get(wish.event) == wanted, wish
