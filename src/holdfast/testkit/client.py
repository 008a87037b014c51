"""The simulated client: a session that sends recorded events to the registered hooks, each a real process."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.process.run_program import run_program
from holdfast.testkit import recorded
from holdfast.testkit.agent import Agent
from holdfast.testkit.reply import Heard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.process.run_program import CompletedProgram
    from holdfast.testkit.place import Place

SESSION = "0d3f0d5e-0000-4000-8000-000000000001"
# Only hooks of these events get the environment file's name (client fact §4.5).
_ENV_FILE_EVENTS = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})
_AS_BASH = '. "$0"; exec "$@"'  # like the model's Bash tool: read SessionStart's variables, then run


@dataclass
class Client:
    """One session in a project.

    Attributes:
        place: the home it runs in.
        root: the project's folder.
        session: the session's id.
        process: the client's process id, as hooks get it; empty for a client that doesn't tell it.
    """

    place: Place
    root: Path
    session: str = SESSION
    process: str = field(default_factory=lambda: str(os.getpid()))
    _calls: Iterator[int] = field(init=False, default_factory=lambda: count(1))

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.place.home

    @property
    def environ(self) -> dict[str, str]:
        """The environment that this client gives to hooks and the Bash tool."""
        variables = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.session}
        return self.place.environ(self.root) | variables | ({"CLAUDE_PID": self.process} if self.process else {})

    @property
    def env_file(self) -> Path:
        """The file in which SessionStart leaves variables for the Bash tool."""
        return self.home / f"env-{self.root.name}.sh"

    @property
    def transcript_path(self) -> str:
        """The path of the session's transcript; empty for a session without one."""
        return ""

    def payload(self, name: str, **changes: Any) -> dict[str, Any]:
        """Return a payload as if it came from this session (`recorded.sent`)."""
        own = {"transcript_path": self.transcript_path, **changes}
        return recorded.sent(name, self.session, self.root, **own)

    def fire(self, name: str, **changes: Any) -> Heard:
        """Send a recorded event to the hooks registered for it.

        Args:
            name: the recorded payload's name, such as `PreCompact-manual`.
            changes: payload fields to set. Session, folder and transcript are set already.
        """
        payload = self.payload(name, **changes)
        self.place.tick()
        hooks = self.place.hooks(payload, self.root)
        runs = [partial(self.run, hook.command, payload, None, **hook.environ) for hook in hooks]
        return Heard(str(payload["hook_event_name"]), tuple(_side_by_side(runs)))

    def fire_aside(self, name: str, **changes: Any) -> Heard:
        """Send an event of a subagent, whose replies reach the subagent."""
        return self.fire(name, **changes)

    def run(
        self, command: str, payload: Mapping[str, Any], limit_s: float | None = None, **variables: str
    ) -> CompletedProgram:
        """Run one command as the client runs a hook.

        Args:
            command: the shell command.
            payload: the event for its stdin.
            limit_s: seconds after which it is killed; by default the place's limit.
            variables: more variables for its environment.
        """
        named = {"CLAUDE_ENV_FILE": str(self.env_file)} if payload["hook_event_name"] in _ENV_FILE_EVENTS else {}
        environ = {**self.environ, **named, **variables}
        words = ["/bin/sh", "-c", self.place.shell_prefix + command]
        return run_program(words, encoded(payload), environ, Path(payload["cwd"]), limit_s or self.place.limit_s)

    def bash(self, *arguments: str, **variables: str) -> CompletedProgram:
        """Run the command line as the model's Bash tool does.

        The tool's environment names the session, but the project only if SessionStart left that in its file.

        Args:
            arguments: the arguments of `holdfast`.
            variables: more variables for the environment.
        """
        self.place.tick()
        environ = {name: value for name, value in self.environ.items() if name != "CLAUDE_PROJECT_DIR"} | variables
        environment = self.env_file if self.env_file.is_file() else os.devnull
        words = [
            "/bin/sh",
            "-c",
            self.place.shell_prefix + _AS_BASH,
            str(environment),
            str(self.place.command),
            *arguments,
        ]
        return run_program(words, b"", environ, self.root, self.place.limit_s)

    def agent(self, name: str, description: str, prompt: str, *, background: bool = False) -> Agent[Heard]:
        """Return a call of the Agent tool that is about to be made."""
        arguments = {
            "description": description,
            "prompt": prompt,
            "subagent_type": name,
            "run_in_background": background,
        }
        run, use = self._ids(next(self._calls))
        return Agent(self.fire, self.fire_aside, arguments, run, use)

    def precompact(self, trigger: str = "auto") -> Heard:
        """Send PreCompact."""
        return self.fire(f"PreCompact-{trigger}")

    def summarised(self, summary: str = "") -> Heard:
        """Send SubagentStop for the summariser, an agent without a type; by default with the recorded summary."""
        return self.fire("SubagentStop-compaction", **({"last_assistant_message": summary} if summary else {}))

    def restarted(self) -> Heard:
        """Send SessionStart for the compacted conversation."""
        return self.fire("SessionStart-compact")

    def postcompacted(self, summary: str = "", trigger: str = "auto") -> Heard:
        """Send PostCompact; by default with the recorded summary."""
        return self.fire(f"PostCompact-{trigger}", **({"compact_summary": summary} if summary else {}))

    def compact(self, trigger: str) -> tuple[Heard, Heard]:
        """Compact the conversation: send all its events, one after another.

        Args:
            trigger: `manual` or `auto`.

        Returns:
            The replies to PreCompact (for the summariser) and to SessionStart (for the model).
        """
        before = self.precompact(trigger)
        self.summarised()
        after = self.restarted()
        self.postcompacted(trigger=trigger)
        return before, after

    def _ids(self, number: int) -> tuple[str, str]:
        """Return the ids of an agent and of the call that launches it."""
        return f"a{number:016x}", f"toolu_{number:024x}"


def _side_by_side(runs: Sequence[Callable[[], CompletedProgram]]) -> list[CompletedProgram]:
    """Run the hooks of an event in parallel, as the client does, and return how each ended, in their order."""
    if len(runs) < 2:
        return [run() for run in runs]
    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(lambda run: run(), runs))


def encoded(payload: Mapping[str, Any]) -> bytes:
    """Return a payload as the client writes it to a hook's stdin: one JSON object and a line break (client fact §0)."""
    return json.dumps(payload).encode() + b"\n"
