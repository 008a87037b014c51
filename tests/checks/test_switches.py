"""The check finds every switch that keeps hooks from running, with its file and key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import scopes
from tests.doctoring import examine, healthy, only

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_hooks_disabled_in_any_scope(root: Path, scope: Scope) -> None:
    """The file and the key are named; taking it out mends it."""
    file = write(scopes.target(scope, root).settings, {"disableAllHooks": True})

    found = only("switches", root, "problem")

    assert found.text == f'{file}: "disableAllHooks" is true, so Claude Code runs no hook'
    assert found.remedy == f'remove "disableAllHooks" from {file}'
    assert found.fix is None
    write(file, {})
    healthy("switches", root)


def test_a_switch_that_another_file_overrides_is_none(root: Path) -> None:
    """The project's settings override yours, and its local ones override both, key by key."""
    off = {"disableAllHooks": True, "env": {"CLAUDE_CODE_SIMPLE": "1"}}
    on = {"disableAllHooks": False, "env": {"CLAUDE_CODE_SIMPLE": "0"}}
    names: tuple[Scope, ...] = ("user", "project", "local")
    files = {str(scope): scopes.target(scope, root).settings for scope in names}
    wrong = []
    for contents, named in (
        ((off, {}, on), None),
        ((off, on, {}), None),
        ((off, off, on), None),
        ((off, {}, {}), "user"),
        ((on, off, {}), "project"),
        ((off, on, off), "local"),
    ):
        for file, content in zip(files.values(), contents, strict=True):
            write(file, content)
        found = {each.text.partition(": ")[0] for each in examine("switches", root) if each.level != "ok"}
        wrong += [] if found == ({str(files[named])} if named else set()) else [(contents, found)]
    assert not wrong


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"disableAllHooks": True}, '"disableAllHooks" is true'),
        ({"allowManagedHooksOnly": True}, '"allowManagedHooksOnly" is true'),
        ({"strictPluginOnlyCustomization": ["skills", "hooks"]}, '"strictPluginOnlyCustomization" includes hooks'),
        ({"strictPluginOnlyCustomization": True}, '"strictPluginOnlyCustomization" includes hooks'),
    ],
)
@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/10-hooks.json"])
def test_what_an_administrator_forbids(
    root: Path, elsewhere: Path, name: str, policy: dict[str, object], words: str
) -> None:
    """Nobody else can change it, so the remedy is to ask."""
    file = write(elsewhere / name, policy)

    found = only("switches", root, "problem")

    assert found.text.startswith(f"{file}: {words}")
    assert found.remedy == f"ask whoever administers {file} to change it"


def test_a_policy_that_cannot_be_read_is_told(root: Path, elsewhere: Path) -> None:
    """What it forbids is not known."""
    file = write(elsewhere / "managed-settings.json", "{")
    assert only("switches", root, "notice").text.startswith(f"{file}: is not JSON")


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"])
def test_a_variable_that_skips_hooks(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """In the environment, and in a settings file that sets it."""
    monkeypatch.setenv(name, "1")
    found = only("switches", root, "problem")
    assert name in found.text
    assert found.remedy == f"unset {name}"
    monkeypatch.setenv(name, "")
    healthy("switches", root)

    file = write(scopes.target("local", root).settings, {"env": {name: "true"}})
    assert only("switches", root, "problem").text.startswith(f'{file}: "env.{name}" is set')
