"""Check that no setting or variable keeps the client from running hooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.checks import notice, ok, problem
from holdfast.clients.claude import scopes
from holdfast.errors import StateError
from holdfast.install import registrations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

VARIABLES = {"CLAUDE_CODE_SIMPLE": "--bare", "CLAUDE_CODE_SAFE_MODE": "--safe-mode"}
"""Variables that make a session skip every hook, with the options that do the same (client fact §4.3)."""

_TRUE = ("1", "true", "yes", "on")


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at the settings of every scope, including the administrator's, and at the environment."""
    found = [*_policies(), *_settings(project), *_environment()]
    yield from found
    if not found:
        yield ok("no setting or variable stops Claude Code from running hooks")


def _policies() -> Iterator[Finding]:
    """Yield the prohibitions in the administrator's settings; these keys count only there (client fact §4.3)."""
    for file in scopes.managed_files():
        remedy = f"ask whoever administers {file} to change it"
        try:
            policy = registrations.read(file)
        except StateError as error:
            yield notice(f"{error}, so it may forbid hooks", remedy)
            continue
        if policy.get("disableAllHooks") is True:
            yield problem(f'{file}: "disableAllHooks" is true, so Claude Code runs no hook', remedy)
        if policy.get("allowManagedHooksOnly") is True:
            text = f'{file}: "allowManagedHooksOnly" is true, so Claude Code runs neither your hooks nor a project\'s'
            yield problem(text, remedy)
        elif scopes.forbids_own_hooks(policy):
            text = f'{file}: "strictPluginOnlyCustomization" includes hooks, so Claude Code runs only plugin hooks'
            yield problem(text, remedy)


def _settings(project: Workspace) -> Iterator[Finding]:
    """Yield the features that the settings switch off. A file overrides the keys of the files before it."""
    disabling: Path | None = None
    variables: dict[str, Path] = {}
    for target, settings in registrations.readable(project):
        if "disableAllHooks" in settings:
            disabling = target.settings if settings["disableAllHooks"] is True else None
        env = settings.get("env")
        own = env if isinstance(env, dict) else {}
        variables = {name: file for name, file in variables.items() if name not in own}
        variables |= dict.fromkeys(_set(own), target.settings)
    if disabling:
        text = f'{disabling}: "disableAllHooks" is true, so Claude Code runs no hook'
        yield problem(text, f'remove "disableAllHooks" from {disabling}')
    for name, file in variables.items():
        text = f'{file}: "env.{name}" is set, so a session skips every hook'
        yield problem(text, f'remove "{name}" from "env" in {file}')


def _environment() -> Iterator[Finding]:
    for name in _set(dict(os.environ)):
        text = f"the variable {name} is set here, so a session that you start here skips every hook, as with"
        yield problem(f"{text} {VARIABLES[name]}", f"unset {name}")


def _set(variables: dict[str, Any]) -> list[str]:
    return [name for name in VARIABLES if str(variables.get(name, "")).strip().lower() in _TRUE]
