"""The copies of Holdfast's plugin that the client has enabled: what they register, and the relay that they start.

Where a copy brings the native relay for this platform, `plugin/run.sh` starts it from the copy's data folder, if its
run.conf names that copy and its environment. A session's start never goes through it: that event puts the relay in
place, and so replaces one that no longer runs.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients.claude import scopes
from holdfast.errors import HoldfastError, StateError
from holdfast.files import atomic, document
from holdfast.install import launcher, native
from holdfast.install.register import PLUGIN_RUNNER, Matchers, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.clients.claude.scopes import Target

_NAME = "holdfast"


class Copy(scopes.InstalledPlugin):
    """A copy of the plugin that the client runs."""

    def __str__(self) -> str:
        return f"the plugin {self.name}" if self.name else f"the plugin in {self.root}"

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
    def settings(self) -> Path:
        """The file with its hooks."""
        return self.root / "hooks" / "hooks.json"

    @property
    def redo(self) -> str:
        """How to get its files again: a command, or what to do instead."""
        return f"claude plugin update {shlex.quote(self.name)}" if self.name else self.undo

    @property
    def undo(self) -> str:
        """How to remove it from the client: a command, or what to do instead."""
        if not self.name:
            return "start Claude Code without --plugin-dir"
        scope = "" if self.scope == "user" else f" --scope {shlex.quote(self.scope)}"
        return f"claude plugin uninstall {shlex.quote(self.name)}{scope}"

    def commands(self) -> list[tuple[str, str | None, Mapping[str, Any]]]:
        """Return (event, matcher, JSON object of the command) for each of its hooks that is Holdfast's."""
        return _hooks(self.root)

    def registered(self) -> Matchers:
        """Return event -> matcher that it registers."""
        return _merged([self.root])


def running() -> bool:
    """Return whether this process runs from a plugin copy, in the environment that `plugin/build.py` built."""
    return (Path(sys.prefix) / "ready").is_file() and paths.plugin_manifest().is_file()


def registered(target: Target) -> Matchers:
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


def own() -> Matchers:
    """Return event -> matcher that the plugin copy with this package registers."""
    return _merged([paths.shipped("hooks").parent])


def keep() -> None:
    """Bring the launcher and the relay up to date if this process runs from a plugin copy; never raises."""
    for program, update in (("launcher", _keep_launcher), ("relay", _keep_relay)) if running() else ():
        try:
            update()
        except (HoldfastError, OSError) as error:
            log.write("warning", f"the plugin's {program} couldn't be updated: {error}")


def _keep_launcher() -> None:
    """Rewrite the launcher, if a plugin copy installed it, to start the copy that runs now.

    An update of the plugin brings a new folder, and sometimes a new environment, while settings still name the
    launcher.
    """
    known = launcher.installed()
    if known and Path(known.interpreter).is_relative_to(Path(sys.prefix).parent) and launcher.outdated():
        launcher.write()  # may compile the native relay, which an event should do once


def _merged(roots: Iterable[Path]) -> Matchers:
    matchers: dict[str, list[str | None]] = {}
    for root in roots:
        for event, matcher, _ in _hooks(root):
            matchers.setdefault(event, []).append(matcher)
    return {event: union(event, listed) for event, listed in matchers.items()}


def _hooks(root: Path) -> list[tuple[str, str | None, Mapping[str, Any]]]:
    """Return (event, matcher, hook) for each registration in a plugin's hooks.json that is Holdfast's."""
    return [each for each in scopes.plugin_hooks(root) if PLUGIN_RUNNER in each[2]["command"]]


# --- the native relay -----------------------------------------------------------------------------------------------


def _keep_relay() -> None:
    """Put the relay of the copy that runs now into its data folder, or remove an earlier one."""
    copy = Copy(paths.plugin_root(), Path(sys.prefix).parent)
    folder = copy.data / "relay"
    source = native.shipped()
    program = b"" if native.switched_off() or not source.is_file() else source.read_bytes()
    wanted = {**_beside_relay(copy), "run": program}
    if all((folder / name).is_file() and (folder / name).read_bytes() == data for name, data in wanted.items()):
        return
    atomic.remove(folder / "run")
    if not program:
        return
    paths.ensure_private(folder)
    if native.version(program, folder) != native.digest():
        raise StateError(source, "does not run here, or is of another version")
    for name, data in wanted.items():
        atomic.write(folder / name, data, mode=0o755)


def _beside_relay(copy: Copy) -> dict[str, bytes]:
    """Return the files that a copy's relay needs next to it, by name. Raises StateError."""
    interpreter, refuse = str(copy.environment / "bin" / "python"), copy.data / "relay" / "refuse.sh"
    return {
        "refuse.sh": launcher.fallback(launcher.arguments(interpreter)).encode(),
        "run.conf": launcher.conf_of(interpreter, copy.root / "hooks" / "dispatch.py", refuse).encode(),
    }


def has_relay(copy: Copy) -> bool:
    """Return whether the events of a copy go through a native relay."""
    folder = copy.data / "relay"
    try:
        return (
            native.is_native(folder / "run") and (folder / "run.conf").read_bytes() == _beside_relay(copy)["run.conf"]
        )
    except (OSError, StateError):
        return False
