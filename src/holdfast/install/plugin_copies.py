"""The copies of Holdfast's plugin that the client has enabled, and what they register."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients.claude import scopes
from holdfast.clients.claude.matchers import alternatives, selects_all
from holdfast.errors import ConfigError, MissingError, StateError
from holdfast.files import document
from holdfast.install import launcher
from holdfast.install.registration import NO_MATCHER, PLUGIN_RUNNER, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.clients.claude.scopes import Target

_NAME = "holdfast"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the plugin that the client runs.

    Attributes:
        root: its folder.
        data: its data folder, which survives updates.
        name: the name it is enabled under, `holdfast@MARKETPLACE`; empty if no settings file enables it.
        scope: the scope it was installed in.
    """

    root: Path
    data: Path
    name: str = ""
    scope: str = "user"

    def __str__(self) -> str:
        return f"the plugin {self.name}" if self.name else f"the plugin in {self.root}"

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that the client sets for its hooks (client fact §4.5)."""
        return scopes.plugin_environ(self.root, self.data)

    @property
    def environment(self) -> Path:
        """The folder of its Python environment, as `plugin/environment.sh` names it.

        Raises StateError if the first line of its requirements, which holds the name, can't be read.
        """
        requirements = self.root / "plugin" / "requirements.txt"
        words = document.read(requirements)[0].decode("utf-8", "replace").partition("\n")[0].split()
        if words[:2] != ["#", "environment"] or len(words) != 3:
            raise StateError(requirements, "does not name the environment in its first line")
        return self.data / f"env-{words[2]}"

    @property
    def ready(self) -> bool:
        """Whether its Python environment is built; without one its hooks do nothing."""
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
        """How to remove it from the client: a command, or what to do instead."""
        if not self.name:
            return "start the client without --plugin-dir"
        scope = "" if self.scope == "user" else f" --scope {shlex.quote(self.scope)}"
        return f"claude plugin uninstall {shlex.quote(self.name)}{scope}"

    def commands(self) -> list[tuple[str, str | None, Mapping[str, Any]]]:
        """Return (event, matcher, JSON object of the command) for each of its hooks that is Holdfast's."""
        return _hooks(self.root)

    def registered(self) -> dict[str, str | None]:
        """Return event -> matcher that it registers."""
        return _merged([self.root])


def running() -> bool:
    """Return whether this process runs from a plugin copy, in the environment that `plugin/build.py` built."""
    return (Path(sys.prefix) / "ready").is_file() and paths.plugin_manifest().is_file()


def registered(target: Target) -> dict[str, str | None]:
    """Return event -> matcher that an enabled plugin registers wherever the settings of `target` apply.

    A plugin counts if the user's settings enable it; for local settings also if the project's do. For a project's
    shared settings, which are the same on every machine, it counts only if they enable it themselves. Empty if no
    plugin is enabled and installed.
    """
    names = scopes.enabled_plugins(_NAME, target)
    if target.scope == "project":
        return _merged([paths.shipped("hooks").parent] if names else [])
    return _merged([copy.root for name in names for copy in scopes.installed_plugins(name, target)])


def copies(root: Path) -> list[Copy]:
    """Return the copies that a session in the project at `root` runs.

    These are the enabled and installed ones, and the copy that runs now, which `--plugin-dir` may have named.
    """
    here = scopes.target("local", root)
    listed = [
        Copy(*each) for name in scopes.enabled_plugins(_NAME, here) for each in scopes.installed_plugins(name, here)
    ]
    found = {(copy.root.resolve(), copy.data): copy for copy in listed}
    if running() and paths.plugin_root() not in {place for place, _ in found}:
        found[paths.plugin_root(), Path(sys.prefix).parent] = Copy(paths.plugin_root(), Path(sys.prefix).parent)
    return list(found.values())


def data_folders() -> list[Path]:
    """Return the data folders that the client made for Holdfast's plugin, including those of `--plugin-dir`."""
    return scopes.plugin_data_folders(_NAME)


def remainder(
    wanted: Mapping[str, str | None], plugin: Mapping[str, str | None], present: Mapping[str, object]
) -> dict[str, str | None]:
    """Return what settings must register in addition to a plugin: event -> matcher.

    Args:
        wanted: event -> matcher that the handlers want.
        plugin: event -> matcher that the plugin registers.
        present: event -> matcher that the settings register now. These stay registered in full, because nothing would
            be left if the plugin were removed; a firing that starts both is answered once
            (`holdfast.dispatch.duplicates`). An entry that was itself only an addition to the plugin stays one.
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
    """Return event -> matcher that the plugin copy with this package registers."""
    return _merged([paths.shipped("hooks").parent])


def keep_launcher() -> None:
    """Rewrite the launcher, if a plugin copy installed it, to start the copy that runs now; never raises.

    An update of the plugin brings a new folder, and sometimes a new environment, while settings still name the
    launcher.
    """
    try:
        known = launcher.started(document.read(launcher.entry())[0].decode("utf-8", "replace"))
        if known and Path(known.interpreter).is_relative_to(Path(sys.prefix).parent) and launcher.outdated():
            launcher.write()  # may compile the native relay, which an event should do once
    except MissingError:
        pass
    except (StateError, ConfigError) as error:
        log.write("warning", f"the launcher couldn't be updated: {error}")


def _merged(roots: Iterable[Path]) -> dict[str, str | None]:
    known = [(event, matcher) for root in roots for event, matcher, _ in _hooks(root)]
    return merged(known, frozenset(event for event, _ in known))


def _hooks(root: Path) -> list[tuple[str, str | None, Mapping[str, Any]]]:
    """Return (event, matcher, hook) for each registration in a plugin's hooks.json that is Holdfast's."""
    return [each for each in scopes.plugin_hooks(root) if PLUGIN_RUNNER in each[2]["command"]]


def _beside(event: str, present: object, plugin: str | None) -> bool:
    """Return whether a registered matcher is a list of names that the plugin selects none of."""
    if not isinstance(present, str) or selects_all(present) or alternatives(present, event) is None:
        return False
    return _uncovered(event, present, plugin) == present


def _uncovered(event: str, wanted: str | None, plugin: str | None) -> str:
    """Return a matcher for what `wanted` selects and `plugin` doesn't; empty for nothing, `*` for every value.

    If one of them is a regular expression, that can't be said exactly: it may select more.
    """
    if plugin is None or selects_all(plugin) or wanted == plugin or event in NO_MATCHER:
        return ""
    if wanted is None or selects_all(wanted):
        return "*"
    names, known = alternatives(wanted, event), alternatives(plugin, event)
    if names is None or known is None:
        return wanted
    return "|".join(name for name in names if name not in known)
