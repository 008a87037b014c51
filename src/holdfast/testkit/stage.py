"""A throw-away project and home in which recorded events are sent as the client sends them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import events, paths
from holdfast.plugins import matching
from holdfast.testkit import recorded
from holdfast.testkit.shown import NotShown, Panel, promise
from holdfast.testkit.stageagent import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SESSION = "0d3f0d5e-0000-4000-8000-000000000001"
COLUMNS = 76  # what fits between the borders of a panel in a terminal of 80
PATIENCE = 60.0  # seconds after which a process that does not end has failed
# The client names the environment file to no other event's hook (client fact §4.5).
_GIVEN_ENV_FILE = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})
_AS_BASH = '. "$0"; exec "$@"'  # the model's Bash tool reads what SessionStart left there


@dataclass(frozen=True)
class Heard:
    """What the client reads of one event; empty where nothing is registered for it or there is nothing to say."""

    stdout: str = ""

    @property
    def context(self) -> str:
        """The text that reaches the model."""
        return str(self._specific.get("additionalContext", ""))

    @property
    def changed_input(self) -> Mapping[str, Any]:
        """The input a tool call goes on with; empty where it stays as it is."""
        changed: Mapping[str, Any] = self._specific.get("updatedInput", {})
        return changed

    @property
    def _specific(self) -> dict[str, Any]:
        reply = json.loads(self.stdout) if self.stdout.startswith("{") else {}
        specific: dict[str, Any] = reply.get("hookSpecificOutput", {})
        return specific


@dataclass
class Stage:
    """A project and a home of their own, and one session of the client in them.

    Attributes:
        root: the project's folder.
        home: the folder for everything else.
        environ: the environment of hooks, made from nothing.
    """

    root: Path
    home: Path
    environ: dict[str, str] = field(init=False)
    _agents: Iterator[int] = field(init=False, default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "COLUMNS": str(COLUMNS),
            "CLAUDECODE": "1",
            "HOLDFAST_SERVER": "off",  # it would outlive the stage
            "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_CODE_SESSION_ID": SESSION,
            "CLAUDE_PROJECT_DIR": str(self.root),
        }

    def install(self) -> None:
        """Install Holdfast as a team does, into the project's settings, and start the session.

        Raises:
            NotShown: it failed, or the model's Bash tool was not told where the command line and the project are.
        """
        for folder in (self.root / ".claude", self.home):
            folder.mkdir(parents=True, exist_ok=True)
        environ = self.environ | {"PYTHONPATH": str(paths.package_root())}
        command = [sys.executable, "-m", "holdfast", "install", "--scope", "project", "--allow-cli"]
        self._run(command, environ, "holdfast install")
        self.fire("SessionStart-startup")
        told = self._env_file.read_text("utf-8") if self._env_file.exists() else ""
        promise("HOLDFAST_PROJECT_DIR" in told, "the model's Bash tool can call the command line")

    def fire(self, name: str, **changes: Any) -> Heard:
        """Send a recorded payload through what settings.json registers for it, a process of its own.

        Args:
            name: the recorded payload's, such as `PreCompact-manual`.
            changes: payload fields to set beside session, folder and transcript, which are the stage's own.

        Raises:
            NotShown: the process did not end with 0.
        """
        payload = recorded.load(
            name, **{"session_id": SESSION, "cwd": str(self.root), "transcript_path": "", **changes}
        )
        event = name.split("-")[0]
        given = {"CLAUDE_ENV_FILE": str(self._env_file)} if event in _GIVEN_ENV_FILE else {}
        said = [
            self._run(["/bin/sh", "-c", command], self.environ | given, name, json.dumps(payload) + "\n")
            for command in self._registered(event, payload)
        ]
        return Heard("".join(said))

    def holdfast(self, *arguments: str, code: int = 0) -> str:
        """Run the command line as the model's Bash tool does and return what it printed.

        That tool knows the session; the project it only knows from what SessionStart left for it (client-rig).

        Args:
            arguments: what stands behind `holdfast`.
            code: the exit code that is expected.

        Raises:
            NotShown: it ended with another; with what it wrote to stderr.
        """
        environ = {name: value for name, value in self.environ.items() if name != "CLAUDE_PROJECT_DIR"}
        program = self.home / ".local" / "share" / "holdfast" / "bin" / "holdfast"
        command = ["/bin/sh", "-c", _AS_BASH, str(self._env_file), str(program), *arguments]
        return self._run(command, environ, f"holdfast {' '.join(arguments)}", code=code)

    def compact(self, trigger: str) -> tuple[Heard, Heard]:
        """Compact the conversation: send all that the client sends around it, one after another (client-rig).

        Args:
            trigger: `manual` or `auto`.

        Returns:
            What the summariser is told before it, and what the model is told after it.
        """
        before = self.fire(f"PreCompact-{trigger}")
        self.fire("SubagentStop-compaction")  # the summariser is a subagent without a name
        after = self.fire("SessionStart-compact")
        self.fire(f"PostCompact-{trigger}")
        return before, after

    def agent(self, name: str, description: str, prompt: str) -> Agent:
        """Return a call of the Agent tool that is about to be made."""
        return Agent(self, next(self._agents), {"description": description, "prompt": prompt, "subagent_type": name})

    def write(self, path: str, text: str) -> None:
        """Write a file of the project, as a person does in an editor."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")

    def file(self, path: str | Path, lines: int = 40) -> Panel:
        """Return a file of the project to look at, the first `lines` of it.

        Raises:
            NotShown: it is not there.
        """
        target = self.root / path
        title = target.relative_to(self.root).as_posix()
        promise(target.is_file(), f"{title} is there")
        found = target.read_text("utf-8").rstrip().splitlines()
        more = [f"… {len(found) - lines} more lines"] if len(found) > lines else []
        return Panel(title, "\n".join([*found[:lines], *more]))

    def log(self) -> list[str]:
        """Return what Holdfast wrote to its log in this home, the last lines."""
        files = self.home.rglob("holdfast.log")
        return [line for file in files for line in file.read_text("utf-8").splitlines()][-20:]

    @property
    def _env_file(self) -> Path:
        return self.home / "session-env.sh"

    def _registered(self, event: str, payload: Mapping[str, Any]) -> list[str]:
        """Return the commands that the project's settings name for an event, as far as their matchers select it."""
        settings = json.loads((self.root / ".claude" / "settings.json").read_text("utf-8"))
        value = events.parse(payload).matcher_value
        groups = [
            group for group in settings["hooks"].get(event, []) if matching.matches(group.get("matcher"), value, event)
        ]
        return [hook["command"] for group in groups for hook in group["hooks"]]

    def _run(
        self, command: Sequence[str], environ: Mapping[str, str], name: str, stdin: str = "", code: int = 0
    ) -> str:
        try:
            ran = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                text=True,
                encoding="utf-8",
                cwd=self.root,
                env=dict(environ),
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NotShown(f"not shown: {name} ends within {PATIENCE:g} seconds") from error
        promise(ran.returncode == code, f"{name} ends with {code}, not {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout if code == 0 else ran.stdout + ran.stderr


@contextmanager
def opened() -> Iterator[Stage]:
    """Yield a stage in a folder that is removed afterwards; nothing outside it is read or written."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        top = Path(folder).resolve()
        (top / "project").mkdir()
        yield Stage(top / "project", top / "home")
