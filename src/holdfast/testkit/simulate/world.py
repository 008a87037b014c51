"""A throw-away home and project in which what is registered runs as the client runs it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import clock, events, paths
from holdfast.plugins import matching
from holdfast.process import trial
from holdfast.testkit.simulate import belongings
from holdfast.testkit.throwaway import Throwaway

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BEGIN = datetime(2025, 6, 2, 9, 0, tzinfo=UTC)  # long past everywhere, so that files written now are never old
STEP = timedelta(seconds=5)  # from one event to the next
PATIENCE = 120.0  # seconds after which a process that does not end has failed
_GIVEN_ENV_FILE = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})  # client fact §4.5
_AS_BASH = '. "$0"; exec "$@"'  # the model's Bash tool reads what SessionStart left there
_PLUGIN = '"$CLAUDE_PLUGIN_ROOT/hooks/dispatch.py" {event} 2>/dev/null; exit 0'
_AS_TEXT = frozenset({"SessionStart", "UserPromptSubmit"})  # whose plain stdout reaches the model (client fact §1.3)


class Broken(Exception):
    """Something that has to work for anything to be judged does not; the message says what."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the client reads of one event.

    Attributes:
        event: the event's name.
        outs: the stdout of each command that ran for it.
        codes: how each ended; None where it had to be ended.
    """

    event: str
    outs: tuple[str, ...] = ()
    codes: tuple[int | None, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """The strings that reach the model, before the client cuts them."""
        return tuple(text for text in map(self._context, self.outs) if text)

    def _context(self, out: str) -> str:
        try:
            reply = json.loads(out) if out.startswith("{") else None
        except ValueError:
            reply = None  # broken JSON arrives as text (client-rig)
        if isinstance(reply, dict):
            return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))
        return out.strip() if self.event in _AS_TEXT else ""


@dataclass
class World(Throwaway):
    """Where one row is played; nothing outside `top` is read or written.

    Settings, launcher, ledger and transcripts lie in its `home`.

    Attributes:
        now: the time that every process is told.
        limits: shell words in front of every command, such as `ulimit -f 0;`.
        variables: what every process gets in its environment beside the client's own.
        plugin: the folder of the plugin's copy, where it is registered beside the settings.
    """

    now: datetime = BEGIN
    limits: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    plugin: Path | None = None

    @property
    def settings(self) -> Path:
        """The user's settings."""
        return self.home / ".claude" / "settings.json"

    def install(self) -> None:
        """Install Holdfast as a user does.

        Raises:
            Broken: it failed.
        """
        for folder in (self.root / ".claude", self.home):
            folder.mkdir(parents=True, exist_ok=True)
        environ = self.environ(self.root) | {"PYTHONPATH": str(paths.package_root())}
        command = [sys.executable, "-m", "holdfast", "install", "--allow-cli"]
        ended = trial.run(command, b"", environ, self.root, PATIENCE)
        if ended.exit_code != 0 or not self.settings.exists():
            raise Broken(f"holdfast install ended with {ended.exit_code}: {ended.stderr.strip()}")

    def install_plugin(self) -> None:
        """Register the plugin's copy of the entrypoint beside the settings'."""
        self.plugin = self.home / "plugin"
        (self.plugin / "hooks").mkdir(parents=True)
        shutil.copy(self.launcher, self.plugin / "hooks" / "dispatch.py")

    def environ(self, root: Path) -> dict[str, str]:
        """Return what every process gets, made from nothing."""
        given = {"HOME": str(self.home), "PATH": os.defpath, "LANG": "C.UTF-8", "CLAUDE_PROJECT_DIR": str(root)}
        given["HOLDFAST_SERVER"] = "off"  # each process is to be one that can be killed at any of its writes
        return {**given, "HOLDFAST_NOW": clock.stamp(self.now), **self.variables}

    def tick(self, step: timedelta = STEP) -> None:
        """Let time go by."""
        self.now += step

    def fire(self, payload: Mapping[str, Any], environ: Mapping[str, str], env_file: Path) -> Heard:
        """Send a payload through what the settings register for it, each command a process of its own."""
        event = str(payload["hook_event_name"])
        self.tick()
        given = {"HOLDFAST_NOW": clock.stamp(self.now)}
        given |= {"CLAUDE_ENV_FILE": str(env_file)} if event in _GIVEN_ENV_FILE else {}
        runs = [(command, {**environ, **given}) for command in self._registered(event, payload)]
        if self.plugin and runs:
            runs.append((_PLUGIN.format(event=event), {**environ, **given, "CLAUDE_PLUGIN_ROOT": str(self.plugin)}))
        data, here = json.dumps(payload).encode() + b"\n", Path(payload["cwd"])

        def run(command: str, environ: Mapping[str, str]) -> trial.Ended:
            return trial.run(["/bin/sh", "-c", self.limits + command], data, environ, here, PATIENCE)

        if len(runs) < 2:
            ended = [run(*each) for each in runs]
        else:
            with ThreadPoolExecutor(len(runs)) as pool:  # the client runs the hooks of an event side by side
                ended = list(pool.map(lambda each: run(*each), runs))
        return Heard(event, tuple(each.stdout for each in ended), tuple(each.exit_code for each in ended))

    def command_line(self, arguments: Sequence[str], environ: Mapping[str, str], env_file: Path | None) -> trial.Ended:
        """Run the command line as the model's Bash tool does: it knows the project from the environment file only.

        Without such a file it is told the project.
        """
        self.tick()
        told = {} if env_file else {"HOLDFAST_PROJECT_DIR": environ["CLAUDE_PROJECT_DIR"]}
        environ = {name: value for name, value in environ.items() if name != "CLAUDE_PROJECT_DIR"} | told
        program = self.home / ".local" / "share" / "holdfast" / "bin" / "holdfast"
        words = ["/bin/sh", "-c", self.limits + _AS_BASH, str(env_file or os.devnull), str(program), *arguments]
        return trial.run(words, b"", environ | {"HOLDFAST_NOW": clock.stamp(self.now)}, self.top, PATIENCE)

    def write(self, path: str | Path, text: str, *, root: Path | None = None, age: timedelta | None = None) -> Path:
        """Write a file of a project, by default the first one's; `age` makes it that much older than now."""
        target = (root or self.root) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        if age is not None:
            moment = (self.now - age).timestamp()
            os.utime(target, (moment, moment))
        return target

    def log(self) -> list[str]:
        """Return what Holdfast logged as errors in this world."""
        files = sorted(self.home.rglob("holdfast.log"))
        lines = [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]
        return [line for line in lines if line.split(" ", 2)[1:2] == ["error"]]

    def _registered(self, event: str, payload: Mapping[str, Any]) -> list[str]:
        """Return the commands registered for an event, as far as their matchers select it; identical ones once."""
        settings = json.loads(self.settings.read_text("utf-8"))
        value = events.parse(payload).matcher_value
        groups = settings["hooks"].get(event, [])
        chosen = [group for group in groups if matching.matches(group.get("matcher"), value, event)]
        return list(dict.fromkeys(hook["command"] for group in chosen for hook in group["hooks"]))


@contextmanager
def opened(here: Path | None = None) -> Iterator[World]:
    """Yield a world in a folder that is removed afterwards.

    Args:
        here: a project whose handlers and configuration are taken along, with the user's own.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as folder:
        world = World(Path(folder).resolve())
        world.root.mkdir()
        world.home.mkdir()
        if here is not None:
            belongings.take_along(here, world.root, world.home)
        yield world
