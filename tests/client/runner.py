"""The real client, headless, in a home of its own and with an environment made from nothing."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-ant-api03-scripted-scripted-scripted-scripted"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Ran:
    """What a session printed while it answered one prompt.

    Attributes:
        lines: the messages of the client's stream, in order; the last is the result.
    """

    lines: tuple[dict[str, Any], ...]

    @property
    def result(self) -> str:
        """The result's text."""
        return str(self.lines[-1].get("result", ""))

    @property
    def notices(self) -> list[str]:
        """What the client told its user beside the conversation."""
        quiet = {
            "init",
            "status",
            "compact_boundary",
            "hook_started",
            "hook_response",
            "task_started",
            "thinking_tokens",
            "task_notification",
            "task_progress",
            "session_state_changed",
            "task_updated",
            "background_tasks_changed",
            "commands_changed",
        }
        return [
            json.dumps(line, ensure_ascii=False)
            for line in self.lines
            if line.get("type") == "system" and line.get("subtype") not in quiet
        ]


SERVER = os.environ.get("CLIENT_SERVER", "warm")
"""How the scenarios' events are answered: warm, as users have it; cold; or by a server that is killed all the time."""


@dataclass
class Client:
    """A client with everything that belongs to it.

    Attributes:
        binary: the client's program.
        url: where its model is.
        home: its user's home; settings lie in `.claude` there.
        project: the folder it works in.
        model: the model's name, which decides what to-do tools there are.
        extra: environment variables beside the usual ones.
    """

    binary: Path
    url: str
    home: Path
    project: Path
    model: str = "claude-sonnet-4-5"
    extra: dict[str, str] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)

    @property
    def config(self) -> Path:
        """The client's configuration folder."""
        return self.home / ".claude"

    def prepare(self) -> None:
        """Make the folders, and answer beforehand what the client asks a new user."""
        for folder in (self.config, self.project, self.home / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        file = self.config / ".claude.json"
        known = json.loads(file.read_text())["projects"] if file.exists() else {}
        state = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {**known, str(self.project): {"hasTrustDialogAccepted": True, "allowedTools": []}},
        }
        file.write_text(json.dumps(state))

    @property
    def environ(self) -> dict[str, str]:
        """The environment, made from nothing."""
        return {
            "PATH": SYSTEM_PATH,
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "IS_SANDBOX": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "HOLDFAST_SERVER": "off" if SERVER == "cold" else "on",
        } | self.extra

    def session(self, *arguments: str) -> Session:
        """Start a session that takes one prompt after another."""
        session = Session(self, arguments)
        self.sessions.append(session)
        return session

    def close(self) -> None:
        """Kill everything that was started: a session whose agent gets no answer would not end for 20 seconds."""
        for session in self.sessions:
            session.kill()


class Session:
    """A running client that reads prompts from a pipe."""

    def __init__(self, client: Client, arguments: tuple[str, ...]) -> None:
        command = [str(client.binary), "-p", "--verbose", "--model", client.model, "--input-format", "stream-json"]
        self._errors = client.home / f"stderr-{len(client.sessions)}"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, "--output-format", "stream-json", "--include-hook-events", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=client.project,
                env=client.environ,
                start_new_session=True,
            )
        self.lines: list[dict[str, Any]] = []
        self.junk: list[str] = []
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def id(self) -> str:
        """The session's id."""
        return next(str(line["session_id"]) for line in self.lines if line.get("session_id"))

    def prompt(self, text: str, *, timeout: float = 90) -> Ran:
        """Send a prompt and wait for its result."""
        message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        return self.wait(timeout=timeout)

    def wait(self, *, timeout: float = 90) -> Ran:
        """Wait for the next result, as when a background agent's end makes a turn of its own."""
        seen: list[dict[str, Any]] = []
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._queue.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no result in {timeout} s; seen: {seen[-3:]}; {self.errors}") from None
            if line is None:
                raise EOFError(f"the client ended: {self.errors}; seen: {seen[-3:]}")
            seen.append(line)
            if line.get("type") == "result":
                return Ran(tuple(seen))

    @property
    def errors(self) -> str:
        """What it printed on stderr."""
        return self._errors.read_bytes().decode(errors="replace")

    def kill(self) -> None:
        """End it as a crash does."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._end_input()

    def close(self) -> int:
        """End the session as a user does, by closing its input; then kill what is left of it."""
        self._end_input()
        try:
            code = self._process.wait(20)
        except subprocess.TimeoutExpired:
            code = -1
        self.kill()
        return code

    def _end_input(self) -> None:
        if self._process.stdin and not self._process.stdin.closed:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for raw in stdout:
                try:
                    line = json.loads(raw)
                except ValueError:
                    self.junk.append(raw.decode(errors="replace"))
                    continue
                self.lines.append(line)
                self._queue.put(line)
        self._queue.put(None)
