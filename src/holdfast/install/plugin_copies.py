"""What the plugin's copies of Holdfast register where the client has one enabled."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients.claude import scopes
from holdfast.clients.claude.matching import alternatives, selects_all
from holdfast.errors import ConfigError, MissingError, StateError
from holdfast.files import document
from holdfast.install import launcher
from holdfast.install.registration import NO_MATCHER, PLUGIN_RUNNER, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from holdfast.clients.claude.scopes import Scope, Target

_NAME = "holdfast@"  # and the marketplace it came from
_READ: dict[Scope, tuple[Scope, ...]] = {
    "user": ("user",),
    "project": ("project",),
    "local": ("user", "project", "local"),
}


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the plugin that the client runs.

    Attributes:
        root: its folder.
        data: its data folder, which survives updates.
        name: what it is enabled as, `holdfast@` and a marketplace; empty for one that no settings file enables.
        scope: for whom it was installed.
    """

    root: Path
    data: Path
    name: str = ""
    scope: str = "user"

    def __str__(self) -> str:
        return f"the plugin {self.name}" if self.name else f"the plugin in {self.root}"

    @property
    def environ(self) -> dict[str, str]:
        """What the client sets for its hooks (client fact §4.5)."""
        return {"CLAUDE_PLUGIN_ROOT": str(self.root), "CLAUDE_PLUGIN_DATA": str(self.data)}

    @property
    def environment(self) -> Path:
        """Where its Python environment lies, as `plugin/environment.sh` names it.

        Raises StateError when its requirements, whose first line says so, cannot be read.
        """
        requirements = self.root / "plugin" / "requirements.txt"
        words = document.read(requirements)[0].decode("utf-8", "replace").partition("\n")[0].split()
        if words[:2] != ["#", "environment"] or len(words) != 3:
            raise StateError(requirements, "does not name the environment in its first line")
        return self.data / f"env-{words[2]}"

    @property
    def ready(self) -> bool:
        """Whether its hooks have an environment to run in; without one they are silent."""
        try:
            environment = self.environment
        except StateError:
            return False
        return (environment / "ready").is_file() and os.access(environment / "bin" / "python", os.X_OK)

    @property
    def build(self) -> str:
        """The command that builds its environment at once."""
        program = shlex.quote(str(self.root / "bin" / "holdfast"))
        return f"HOLDFAST_PLUGIN_DATA={shlex.quote(str(self.data))} {program} --build"

    @property
    def undo(self) -> str:
        """What removes it from the client."""
        if not self.name:
            return "start the client without --plugin-dir"
        scope = "" if self.scope == "user" else f" --scope {shlex.quote(self.scope)}"
        return f"claude plugin uninstall {shlex.quote(self.name)}{scope}"

    def commands(self) -> list[tuple[str, str | None, Mapping[str, Any]]]:
        """Return (event, matcher, the command's JSON object) for each of its hooks that is Holdfast's."""
        return list(_hooks(self.root))

    def registered(self) -> dict[str, str | None]:
        """Return event -> matcher of what it registers."""
        return _merged([self.root])


def running() -> bool:
    """Tell whether this process is a plugin's copy: its environment was built by one (`plugin/build.py`)."""
    return (Path(sys.prefix) / "ready").is_file() and paths.plugin_manifest().is_file()


def registered(target: Target) -> dict[str, str | None]:
    """Return event -> matcher of what an enabled plugin registers wherever the settings of `target` hold.

    For the user's own settings a plugin counts that they enable; for a project's local ones also what the project
    enables; for a project's shared ones, the same on every machine, only what they enable themselves. Empty where
    there is none, or none that is installed.
    """
    names = _names(target)
    if target.scope == "project":
        return _merged([paths.shipped("hooks").parent] if names else [])
    return _merged([copy.root for name in names for copy in _installed(name, target)])


def copies(root: Path) -> list[Copy]:
    """Return the copies that a session in the project at `root` runs: those enabled and installed for it, and the
    one whose Holdfast runs now, which `--plugin-dir` may have named.
    """
    here = scopes.target("local", root)
    found = {(copy.root.resolve(), copy.data): copy for name in _names(here) for copy in _installed(name, here)}
    if running() and paths.plugin_root() not in {place for place, _ in found}:
        found[paths.plugin_root(), Path(sys.prefix).parent] = Copy(paths.plugin_root(), Path(sys.prefix).parent)
    return list(found.values())


def data_folders() -> list[Path]:
    """Return the data folders that the client made for plugins of our name, also for `--plugin-dir`."""
    return sorted(path for path in (_folder() / "data").glob("holdfast-*") if path.is_dir())


def remainder(
    wanted: Mapping[str, str | None], plugin: Mapping[str, str | None], present: Mapping[str, object]
) -> dict[str, str | None]:
    """Return what is left to register beside a plugin: event -> matcher.

    Events in `present` (event -> matcher) are registered already. They stay as wanted, for without them nothing would
    be left if the plugin were removed; both copies answer a firing once (`holdfast.dispatch.pairing`). Only what itself
    was added beside the plugin goes on being no more than the rest.
    """
    left = {}
    for event, matcher in wanted.items():
        if event not in plugin or (event in present and not _beside(event, present[event], plugin[event])):
            left[event] = matcher
        else:
            rest = _uncovered(event, matcher, plugin[event])
            if rest:
                left[event] = None if rest == "*" else rest
    return left


def own() -> dict[str, str | None]:
    """Return event -> matcher of what the plugin registers whose copy this is."""
    return _merged([paths.shipped("hooks").parent])


def keep_launcher() -> None:
    """Have the launcher that an install by a plugin's copy wrote start the copy that runs now; never raises.

    An update brings another folder, and sometimes another environment; settings go on naming the launcher.
    """
    try:
        known = launcher.started(document.read(paths.launcher())[0].decode("utf-8", "replace"))
        if known and Path(known.interpreter).is_relative_to(Path(sys.prefix).parent):
            launcher.write()
    except MissingError:
        pass
    except (StateError, ConfigError) as error:
        log.write("warning", f"the launcher could not be brought up to date: {error}")


def _folder() -> Path:
    """Return the client's folder for plugins."""
    named = os.environ.get("CLAUDE_CODE_PLUGIN_CACHE_DIR")
    return Path(named) if named else scopes.claude_dir() / "plugins"


def _names(target: Target) -> list[str]:
    """Return the names under which the settings that `target` relies on enable the plugin."""
    enabled: dict[str, bool] = {}
    for scope in _READ[target.scope]:
        enabled.update(_enabled(scopes.target(scope, target.root).real))
    return [name for name, on in enabled.items() if on]


def _enabled(settings: Path) -> dict[str, bool]:
    plugins = _load(settings).get("enabledPlugins")
    if not isinstance(plugins, dict):
        return {}
    return {name: on is not False for name, on in plugins.items() if name.startswith(_NAME)}


def _installed(name: str, target: Target) -> Iterator[Copy]:
    """Give the copies of an installed plugin, as far as the client would run it for the target."""
    data = _folder() / "data" / re.sub(r"[^A-Za-z0-9_-]", "-", name)  # client fact §6
    known = _load(_folder() / "installed_plugins.json")
    plugins = known.get("plugins")
    rows = plugins.get(name) if isinstance(plugins, dict) else None
    for row in rows if isinstance(rows, list) else [rows]:
        if not isinstance(row, dict) or not isinstance(row.get("installPath"), str):
            continue
        here = row.get("projectPath")
        if not isinstance(here, str) or (target.scope != "user" and Path(os.path.realpath(here)) == target.root):
            scope = row.get("scope")
            yield Copy(Path(row["installPath"]), data, name, scope if isinstance(scope, str) else "user")


def _merged(roots: Iterable[Path]) -> dict[str, str | None]:
    known = [(event, matcher) for root in roots for event, matcher, _ in _hooks(root)]
    return merged(known, frozenset(event for event, _ in known))


def _hooks(root: Path) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Give (event, matcher, hook) for each registration in a plugin's hooks.json that is Holdfast's."""
    events = _load(root / "hooks" / "hooks.json").get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            with suppress(AttributeError, TypeError):
                for hook in group["hooks"]:
                    if PLUGIN_RUNNER in hook["command"]:
                        yield event, group.get("matcher"), hook


def _load(path: Path) -> dict[str, Any]:
    try:
        return document.load(path).data
    except StateError:
        return {}


def _beside(event: str, present: object, plugin: str | None) -> bool:
    """Tell whether what is registered are names, and none of them one that the plugin selects."""
    if not isinstance(present, str) or selects_all(present) or alternatives(present, event) is None:
        return False
    return _uncovered(event, present, plugin) == present


def _uncovered(event: str, wanted: str | None, plugin: str | None) -> str:
    """Return the matcher that selects what `plugin` does not, as far as one can say it; `*` for every value."""
    if plugin is None or selects_all(plugin) or wanted == plugin or event in NO_MATCHER:
        return ""
    if wanted is None or selects_all(wanted):
        return "*"
    names, known = alternatives(wanted, event), alternatives(plugin, event)
    if names is None or known is None:
        return wanted
    return "|".join(name for name in names if name not in known)
