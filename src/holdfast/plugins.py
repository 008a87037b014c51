"""What the plugin's copies of Holdfast register where the client has one enabled."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import launcher, log, paths, scopes
from holdfast.errors import ConfigError, MissingError, StateError
from holdfast.matching import alternatives, selects_all
from holdfast.registration import NO_MATCHER, PLUGIN_RUNNER, merged
from holdfast.state import document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from holdfast.scopes import Scope, Target

_NAME = "holdfast@"  # and the marketplace it came from
_READ: dict[Scope, tuple[Scope, ...]] = {
    "user": ("user",),
    "project": ("project",),
    "local": ("user", "project", "local"),
}


def running() -> bool:
    """Tell whether this process is a plugin's copy: its environment was built by one (`plugin/build.py`)."""
    return (Path(sys.prefix) / "ready").is_file() and paths.plugin_manifest().is_file()


def registered(target: Target) -> dict[str, str | None]:
    """Return event -> matcher of what an enabled plugin registers wherever the settings of `target` hold.

    For the user's own settings a plugin counts that they enable; for a project's local ones also what the project
    enables; for a project's shared ones, the same on every machine, only what they enable themselves. Empty where
    there is none, or none that is installed.
    """
    enabled: dict[str, bool] = {}
    for scope in _READ[target.scope]:
        enabled.update(_enabled(scopes.target(scope, target.root).real))
    names = [name for name, on in enabled.items() if on]
    if target.scope == "project":
        roots = [paths.shipped("hooks").parent] if names else []
    else:
        roots = [root for name in names for root in _roots(name, target)]
    known = [pair for root in roots for pair in _hooks(root)]
    return merged(known, frozenset(event for event, _ in known))


def remainder(
    wanted: Mapping[str, str | None], plugin: Mapping[str, str | None], kept: Collection[str]
) -> dict[str, str | None]:
    """Return what is left to register beside a plugin: event -> matcher.

    Events in `kept` stay as wanted: they are registered already, and without them nothing would be left if the plugin
    were removed. Both copies answer a firing once (`holdfast.pairing`).
    """
    left = {}
    for event, matcher in wanted.items():
        if event in kept or event not in plugin:
            left[event] = matcher
        else:
            rest = _uncovered(event, matcher, plugin[event])
            if rest:
                left[event] = None if rest == "*" else rest
    return left


def own() -> dict[str, str | None]:
    """Return event -> matcher of what the plugin registers whose copy this is."""
    known = list(_hooks(paths.shipped("hooks").parent))
    return merged(known, frozenset(event for event, _ in known))


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


def _enabled(settings: Path) -> dict[str, bool]:
    plugins = _load(settings).get("enabledPlugins")
    if not isinstance(plugins, dict):
        return {}
    return {name: on is not False for name, on in plugins.items() if name.startswith(_NAME)}


def _roots(name: str, target: Target) -> Iterator[Path]:
    """Give the folders of an installed plugin, as far as the client would run it for the target."""
    folder = os.environ.get("CLAUDE_CODE_PLUGIN_CACHE_DIR")
    known = _load((Path(folder) if folder else scopes.claude_dir() / "plugins") / "installed_plugins.json")
    plugins = known.get("plugins")
    rows = plugins.get(name) if isinstance(plugins, dict) else None
    for row in rows if isinstance(rows, list) else [rows]:
        if not isinstance(row, dict) or not isinstance(row.get("installPath"), str):
            continue
        here = row.get("projectPath")
        if not isinstance(here, str) or (target.scope != "user" and Path(os.path.realpath(here)) == target.root):
            yield Path(row["installPath"])


def _hooks(root: Path) -> Iterator[tuple[str, str | None]]:
    """Give (event, matcher) for each registration in a plugin's hooks.json that is Holdfast's."""
    events = _load(root / "hooks" / "hooks.json").get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            with suppress(AttributeError, TypeError):
                if any(PLUGIN_RUNNER in hook["command"] for hook in group["hooks"]):
                    yield event, group.get("matcher")


def _load(path: Path) -> dict[str, Any]:
    try:
        return document.load(path).data
    except StateError:
        return {}


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
