"""A temporary home and project for the simulated client, and the hooks registered in them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock, paths
from holdfast.clients.claude import claude, events, matchers
from holdfast.process.run_program import run_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.process.run_program import CompletedProgram

_STEP = timedelta(seconds=5)  # from one event to the next
_PLUGIN = '"$CLAUDE_PLUGIN_ROOT/hooks/dispatch.py" {event} 2>/dev/null; exit 0'


class Hook(NamedTuple):
    """A command registered for an event, and the variables it gets in addition to what every hook gets."""

    command: str
    environ: Mapping[str, str] = {}


@dataclass
class Place:
    """A temporary home and project; nothing outside of them is read or written.

    Attributes:
        top: the folder that holds both.
        variables: environment variables for every process. By default they switch the server off, because it would
            outlive the place.
        now: the time for every process (HOLDFAST_NOW); None for the real time.
        limit_s: seconds after which a process that hasn't ended has failed.
        shell_prefix: text before every shell command, such as `ulimit -f 0;`.
        plugin: the folder of a plugin copy, if it is registered in addition to the settings.
    """

    top: Path
    variables: dict[str, str] = field(default_factory=lambda: {"HOLDFAST_SERVER": "off"}, kw_only=True)
    now: datetime | None = field(default=None, kw_only=True)
    limit_s: float = field(default=60.0, kw_only=True)
    shell_prefix: str = field(default="", kw_only=True)
    plugin: Path | None = field(default=None, kw_only=True)

    @property
    def root(self) -> Path:
        """The folder of the (first) project."""
        return self.top / "project"

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.top / "home"

    @property
    def launcher(self) -> Path:
        """The entrypoint that registered commands run."""
        return self.home / paths.launcher().relative_to(Path.home())

    @property
    def entrypoint(self) -> Path:
        """What the launcher starts if it is the native relay."""
        return self.home / paths.entrypoint().relative_to(Path.home())

    @property
    def command(self) -> Path:
        """The `holdfast` command that the model's Bash tool finds."""
        return self.home / paths.command_dir().relative_to(Path.home()) / "holdfast"

    def environ(self, root: Path) -> dict[str, str]:
        """Return the complete environment of a process that works on a project."""
        values = {"HOME": str(self.home), "PATH": os.defpath, "LANG": "C.UTF-8", "CLAUDE_PROJECT_DIR": str(root)}
        values["HOLDFAST_RELAY"] = "python"  # compiling another would take longer than most of what is tried here
        return values | ({"HOLDFAST_NOW": clock.stamp(self.now)} if self.now else {}) | self.variables

    def tick(self, step: timedelta = _STEP) -> None:
        """Advance `now`, unless real time is used."""
        if self.now:
            self.now += step

    def holdfast(self, *arguments: str, root: Path | None = None, **variables: str) -> CompletedProgram:
        """Run this package's command line, as a person does in a terminal.

        Args:
            arguments: the arguments of `holdfast`.
            root: the project to run in; by default the first one.
            variables: more variables for the environment.
        """
        where = root or self.root
        environ = self.environ(where) | {"PYTHONPATH": str(paths.package_root())} | variables
        return run_program([sys.executable, "-m", "holdfast", *arguments], b"", environ, where, self.limit_s)

    def install(self, *options: str) -> CompletedProgram:
        """Run `holdfast install` with these options; without options it installs into the home."""
        for folder in (self.root / ".claude", self.home):
            folder.mkdir(parents=True, exist_ok=True)
        return self.holdfast("install", *options, "--yes")

    def install_plugin(self) -> None:
        """Add a plugin copy of the entrypoint, registered in addition to the settings."""
        self.plugin = self.home / "plugin"
        (self.plugin / "hooks").mkdir(parents=True)
        shutil.copy(self.launcher, self.plugin / "hooks" / "dispatch.py")

    def hooks(self, payload: Mapping[str, Any], root: Path) -> list[Hook]:
        """Return the hooks registered for an event whose matchers select it; identical commands once.

        Args:
            payload: the event's payload.
            root: the project, whose settings count in addition to the user's.
        """
        event = str(payload["hook_event_name"])
        value = claude.matcher_value(events.parse(payload))
        chosen = [
            group
            for folder in (self.home, root)
            for group in _settings(folder).get("hooks", {}).get(event, ())
            if matchers.matches(group.get("matcher"), value, event)
        ]
        commands = dict.fromkeys(hook["command"] for group in chosen for hook in group["hooks"])
        found = [Hook(command) for command in commands]
        if self.plugin and found:
            found.append(Hook(_PLUGIN.format(event=event), {"CLAUDE_PLUGIN_ROOT": str(self.plugin)}))
        return found

    def write(self, path: str | Path, text: str, root: Path | None = None) -> Path:
        """Write a file in a project (by default the first one), as a person does in an editor; return its path."""
        target = (root or self.root) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        return target

    def log(self) -> list[str]:
        """Return the lines of Holdfast's log in this home."""
        files = sorted(self.home.rglob("holdfast.log"))
        return [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]


@contextmanager
def opened() -> Iterator[Place]:
    """Yield a place in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder).resolve())
        place.root.mkdir()
        place.home.mkdir()
        yield place


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / ".claude" / "settings.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found
