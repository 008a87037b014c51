"""The copies of Holdfast's plugin that the client has enabled: what they register, and the relay that they start.

Where a copy brings the native relay for this platform, `plugin/run.sh` starts it from the copy's data folder, if its
run.conf names that copy and its environment. A session's start never goes through it: that event puts the relay in
place, and so replaces one that no longer runs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients.claude import scopes
from holdfast.errors import ConfigError, HoldfastError, MissingError, StateError
from holdfast.files import atomic, document
from holdfast.install import launcher, native
from holdfast.install.native import Relay
from holdfast.install.register import PLUGIN_RUNNER, Matchers, union

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

    def registered(self) -> Matchers:
        """Return event -> matcher that it registers."""
        return _merged([self.root])


def running() -> bool:
    """Return whether this process runs from a plugin copy, in the environment that `plugin/build.py` built."""
    return (Path(sys.prefix) / "ready").is_file() and paths.plugin_manifest().is_file()


def is_enabled(target: Target) -> bool:
    """Return whether the settings that apply to `target` enable the plugin."""
    return bool(scopes.enabled_plugins(_NAME, target))


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


def own() -> Matchers:
    """Return event -> matcher that the plugin copy with this package registers."""
    return _merged([paths.shipped("hooks").parent])


def keep() -> None:
    """Bring the launcher and the relay up to date if this process runs from a plugin copy; never raises."""
    if running():
        _keep_launcher()
        _keep_relay()


def _keep_launcher() -> None:
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

_SUMS = "SHA256SUMS"


def shipped_relay(root: Path) -> Relay:
    """Return the program that the plugin at `root` brings for this platform, or why it brings none.

    Raises StateError if its file is missing, or isn't the one whose hash the plugin names.
    """
    if native.switched_off():
        return Relay(b"", f"{native.SWITCH} asks for it")
    system = os.uname()
    name = f"{system.sysname}-{system.machine}".lower()
    folder = root / "plugin" / "relays"
    lines = document.read(folder / _SUMS)[0].decode("utf-8", "replace").splitlines()
    wanted = {words[1]: words[0] for words in map(str.split, lines) if len(words) == 2}
    if name not in wanted:
        return Relay(b"", f"the plugin brings no native one for {name}")
    program = document.read(folder / name)[0]
    if hashlib.sha256(program).hexdigest() != wanted[name]:
        raise StateError(folder / name, f"isn't the program whose hash {_SUMS} names; install the plugin again")
    return Relay(program, "of the plugin")


def _keep_relay() -> None:
    """Put the relay of the copy that runs now into its data folder, or remove an earlier one; never raises."""
    interpreter = Path(sys.executable)
    try:
        _put_relay(Path(sys.prefix).parent / "relay", str(interpreter), paths.plugin_root())
    except (HoldfastError, OSError) as error:
        log.write("warning", f"the plugin's relay couldn't be put in place: {error}")


def _put_relay(folder: Path, interpreter: str, root: Path) -> None:
    run = folder / "run"
    try:
        program = shipped_relay(root).program
    except StateError:
        atomic.remove(run)  # what the doctor calls damaged is not run
        raise
    wanted = _relay_files(folder, interpreter, root, program)
    if wanted and all(path.is_file() and path.read_bytes() == data for path, data in wanted.items()):
        return
    atomic.remove(run)
    if not wanted:
        return
    paths.ensure_private(folder)
    if native.version(program, folder) != native.digest():
        raise StateError(run, "does not run here, or is of another version")
    for path, data in wanted.items():
        atomic.write(path, data, mode=0o755)


def _relay_files(folder: Path, interpreter: str, root: Path, program: bytes) -> dict[Path, bytes]:
    """Return what has to be in the folder, the program last; nothing if there is none that can be started there."""
    refuse = folder / "refuse.sh"
    conf = launcher.conf_of(interpreter, str(root / "hooks" / "dispatch.py"), str(refuse))
    if not (program and conf):
        return {}
    return {
        refuse: launcher.fallback(launcher.arguments(interpreter)).encode("utf-8"),
        folder / "run.conf": conf,
        folder / "run": program,
    }


def relay_of(copy: Copy) -> str:
    """Return which relay a copy with an environment starts, and why, as words for a sentence.

    Raises StateError as `shipped_relay` does.
    """
    found = shipped_relay(copy.root)
    if not found.program:
        return f"without a relay, because {found.origin}"
    folder = copy.data / "relay"
    wanted = _relay_files(folder, str(copy.environment / "bin" / "python"), copy.root, found.program)
    try:
        if wanted and all((folder / name).read_bytes() == wanted[folder / name] for name in ("run.conf", "run")):
            return "through the native relay"
    except OSError:
        pass
    return "without a relay until a session has started"
