"""The entries that run Holdfast are read from settings files, whatever else these contain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.install import installs, launcher, register, registrations
from holdfast.install.installs import Install
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Target


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """The settings of a project."""
    made = scopes.target("project", tmp_path / "project")
    made.settings.parent.mkdir(parents=True)
    return made


def write(target: Target, hooks: Any) -> None:
    target.settings.write_text(json.dumps({"hooks": hooks}), "utf-8")


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, **more}]}


def test_an_entry_says_what_it_runs(target: Target, home: Path) -> None:
    """Event, matcher, program, time limit, and whether an install wrote it."""
    write(
        target,
        {
            "Stop": [hook(register.command("Stop"), timeout=7), hook("holdfast dispatch Stop"), hook("make")],
            "PreToolUse": [{"matcher": "Bash", **hook("/x y/../opt/.local/share/holdfast/run PreToolUse", timeout=0)}],
        },
    )

    first, by_hand, third = registrations.entries(target)

    assert (first.event, first.matcher, first.limit_s, first.ours) == ("Stop", None, 7.0, True)
    assert first.program == home / ".local/share/holdfast/run"
    assert (by_hand.ours, by_hand.program) == (False, None)
    assert (third.matcher, third.limit_s) == ("Bash", 600.0)


@pytest.mark.parametrize("command", ["Holdfast Dispatch Stop", "cd /opt/holdfast &&\npython3 dispatch.py Stop"])
def test_what_runs_holdfast_is_found_however_it_is_written(target: Target, command: str) -> None:
    """In capitals and over several lines; a matcher the client cannot read selects as none does."""
    write(target, {"Stop": [{"matcher": 3, **hook(command)}]})
    (entry,) = registrations.entries(target)
    assert (entry.command, entry.matcher, entry.ours) == (command, None, False)


def test_settings_behind_a_link_are_read(target: Target, tmp_path: Path) -> None:
    """As the client reads them."""
    write(target, {"Stop": [hook(register.command("Stop"))]})
    target.settings.rename(tmp_path / "kept.json")
    target.settings.symlink_to(tmp_path / "kept.json")
    assert [entry.event for entry in registrations.entries(target)] == ["Stop"]


def test_the_files_a_session_reads(tmp_path: Path) -> None:
    """Each once, also where the home is the project; what installs know beside them, for this project or for all."""
    root, other = tmp_path / "project", tmp_path / "other"
    for folder in (root, other):
        (folder / ".claude").mkdir(parents=True)
    project = Workspace.open(root)
    usual = [scopes.target(scope, project.root) for scope in ("user", "project", "local")]
    assert registrations.targets(project) == usual

    own, theirs = root / "own.json", other / ".claude" / "settings.json"
    for file, folder in ((own, root), (theirs, other)):
        file.write_text("{}")
        installs.keep(Install(file, "project", folder))
    assert [each.settings for each in registrations.targets(project)] == [*(each.settings for each in usual), own]
    assert registrations.targets(project, everywhere=True)[-1].settings == theirs

    home = Workspace.open(scopes.claude_dir().parent)
    assert [each.scope for each in registrations.targets(home)] == ["user", "local"]


@pytest.mark.parametrize(
    ("policy", "runs"),
    [
        ({}, True),
        ({"strictPluginOnlyCustomization": ["skills"]}, True),
        ({"strictPluginOnlyCustomization": ["hooks"]}, False),
        ({"strictPluginOnlyCustomization": True}, False),
        ({"allowManagedHooksOnly": True}, False),
    ],
)
def test_an_installation_answers_only_where_the_client_runs_its_hooks(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: dict[str, object], runs: bool
) -> None:
    """Otherwise the plugin has to answer (`engine._is_left_to_settings`). An entry in the background doesn't count."""
    monkeypatch.setattr(scopes, "MANAGED", tmp_path / "managed")
    (tmp_path / "managed").mkdir()
    (tmp_path / "managed" / "managed-settings.json").write_text(json.dumps(policy))
    user = scopes.target("user", tmp_path)
    user.settings.parent.mkdir()
    aside = hook(register.command("PreToolUse:background"), **{"async": True})
    write(user, {"Stop": [hook(register.command("Stop"))], "PreToolUse": [hook("other"), aside]})
    installs.keep(Install(user.real, "user", tmp_path))
    launcher.write()
    assert registrations.installed_matchers("Stop", tmp_path) == ([None] if runs else [])
    assert registrations.installed_matchers("PreToolUse", tmp_path) == []
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path / "gone")  # as after an update of the plugin
    launcher.write()
    assert registrations.installed_matchers("Stop", tmp_path) == []
