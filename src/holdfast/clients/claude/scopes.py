"""Where Claude Code keeps the settings, skills and plugins of each scope."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.errors import StateError, command_line
from holdfast.files import document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")
"""The folder of an administrator's settings: `managed-settings.json`, and more files in `managed-settings.d`."""

Scope = Literal["user", "project", "local"]
SCOPES: tuple[Scope, ...] = ("user", "project", "local")
"""The scopes whose settings a session in a project reads by default."""

_READ: dict[Scope, tuple[Scope, ...]] = {
    "user": ("user",),
    "project": ("project",),
    "local": ("user", "project", "local"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """One settings.json to work on: `settings` is its path as named, `root` the project's folder."""

    scope: Scope
    settings: Path
    root: Path

    @property
    def real(self) -> Path:
        """The file itself, behind any symbolic links; it need not exist."""
        return Path(os.path.realpath(self.settings))

    @property
    def skill(self) -> Path:
        """The path of this scope's copy of Holdfast's skill."""
        folder = claude_dir() if self.scope == "user" else self.root / ".claude"
        return folder / "skills" / "holdfast" / "SKILL.md"

    @property
    def undo(self) -> str:
        """The command that undoes an install into this target."""
        return self._command("uninstall")

    @property
    def redo(self) -> str:
        """The command that installs into this target, or updates it."""
        return self._command("install")

    def _command(self, verb: str) -> str:
        usual = target(self.scope, self.root).settings
        named = [] if self.settings == usual else ["--settings", str(self.settings)]
        project = [] if self.scope == "user" else ["--project", str(self.root)]
        return command_line(verb, "--scope", self.scope, *named, *project)


def claude_dir() -> Path:
    """Return the client's folder for the user: CLAUDE_CONFIG_DIR if set, else `~/.claude`."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named).absolute() if named else Path.home() / ".claude"


def target(scope: Scope, root: Path, settings: Path | None = None) -> Target:
    """Return the target of a scope, with the scope's own settings file unless another is named (client fact §4.3)."""
    if settings is None:
        name = "settings.local.json" if scope == "local" else "settings.json"
        settings = (claude_dir() if scope == "user" else root / ".claude") / name
    return Target(scope, settings.absolute(), root)


def managed_files() -> list[Path]:
    """Return the administrator's settings files, in the order in which the client reads them."""
    return [MANAGED / "managed-settings.json", *sorted((MANAGED / "managed-settings.d").glob("*.json"))]


def forbids_own_hooks(policy: Mapping[str, Any]) -> bool:
    """Return whether an administrator's settings keep the client from running hooks of the other settings files."""
    only = policy.get("strictPluginOnlyCustomization")
    return policy.get("allowManagedHooksOnly") is True or only is True or (isinstance(only, list) and "hooks" in only)


def runs_own_hooks() -> bool:
    """Return whether the client runs hooks of settings files that aren't the administrator's (client fact §4.3)."""
    return not any(forbids_own_hooks(_load(file)) for file in managed_files())


def read_by(process: str | None) -> Collection[Scope]:
    """Return the scopes whose settings a client's process reads: those of its option `--setting-sources`, else all.

    The Agent SDK starts the client with this option. A process that can't be looked at counts as reading all.

    Args:
        process: the client's process id; None if it is unknown.
    """
    option, words = "--setting-sources", _command_line(process) if process and process.isdecimal() else []
    for word, value in pairwise([*words, ""]):
        if word == option or word.startswith(f"{option}="):
            listed = (value if word == option else word.partition("=")[2]).split(",")
            return [scope for scope in SCOPES if scope in listed]
    return SCOPES


def _command_line(process: str) -> list[str]:
    """Return the words of a process's command line; where there is no /proc, `ps` tells them."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text("utf-8", "replace").split("\0")
    with suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(["ps", "-ww", "-o", "args=", "-p", process], capture_output=True, text=True, timeout=1.0)
        return told.stdout.split(" ")
    return []


class InstalledPlugin(NamedTuple):
    """An installed plugin.

    Attributes:
        root: its folder.
        data: its data folder, which survives updates.
        name: the name it is enabled under: `PLUGIN@MARKETPLACE`; empty if no settings file enables it.
        scope: the scope it was installed in.
    """

    root: Path
    data: Path
    name: str = ""
    scope: str = "user"

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that the client sets for its hooks (client fact §4.5)."""
        return {"CLAUDE_PLUGIN_ROOT": str(self.root), "CLAUDE_PLUGIN_DATA": str(self.data)}


def enabled_plugins(plugin: str, here: Target) -> list[str]:
    """Return the names (`PLUGIN@MARKETPLACE`) under which a plugin is enabled in the settings that apply to `here`."""
    found: dict[str, bool] = {}
    for scope in _READ[here.scope]:
        listed = _load(target(scope, here.root).real).get("enabledPlugins")
        for name, on in listed.items() if isinstance(listed, dict) else ():
            if name.startswith(f"{plugin}@"):
                found[name] = on is not False
    return [name for name, on in found.items() if on]


def installed_plugins(name: str, here: Target) -> Iterator[InstalledPlugin]:
    """Yield the copies of an installed plugin that the client would run for `here`."""
    data = _plugins_folder() / "data" / re.sub(r"[^A-Za-z0-9_-]", "-", name)  # client fact §6
    known = _load(_plugins_folder() / "installed_plugins.json")
    plugins = known.get("plugins")
    rows = plugins.get(name) if isinstance(plugins, dict) else None
    for row in rows if isinstance(rows, list) else [rows]:
        if not isinstance(row, dict) or not isinstance(row.get("installPath"), str):
            continue
        project = row.get("projectPath")
        if not isinstance(project, str) or (here.scope != "user" and Path(os.path.realpath(project)) == here.root):
            scope = row.get("scope")
            yield InstalledPlugin(Path(row["installPath"]), data, name, scope if isinstance(scope, str) else "user")


def plugin_hooks(root: Path) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Yield the hooks (`hooks_in`) of each command that a plugin registers."""
    yield from hooks_in(_load(root / "hooks" / "hooks.json"))


def hooks_in(settings: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Yield (event, matcher, JSON object of the command) for each command that settings register.

    Anything that doesn't have the client's shape registers nothing.
    """
    events = settings.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            with suppress(AttributeError, TypeError, KeyError):
                matcher = group.get("matcher")
                for hook in group["hooks"]:
                    if isinstance(hook["command"], str):
                        yield event, matcher if isinstance(matcher, str) else None, hook


def _plugins_folder() -> Path:
    """Return the client's folder for plugins."""
    named = os.environ.get("CLAUDE_CODE_PLUGIN_CACHE_DIR")
    return Path(named) if named else claude_dir() / "plugins"


def _load(path: Path) -> dict[str, Any]:
    try:
        return document.load(path).data
    except StateError:
        return {}
