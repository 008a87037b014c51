"""A test's world: a home with Holdfast, a project, a scripted model and the client between them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.model import Model
    from tests.client.runner import Client, Session

NOISE = " info "
_UNTOLD = "not dispatched: stdin is empty"
_HURRIED = "SessionEnd was stopped before it was answered"  # the client waits 1.5 s, which a busy machine exceeds


@dataclass
class World:
    """What a test works with.

    Attributes:
        client: the client and its home.
        model: the scripted model.
        program: the `holdfast` command of the environment under test.
        version: the client's version.
        other_lines: what clients that others ran for a test wrote to their streams.
    """

    client: Client
    model: Model
    program: Path
    version: str
    other_lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.client.project

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self.client.config / "settings.json"

    @property
    def state(self) -> dict[str, Any]:
        """The hybrid workflow's state file."""
        state: dict[str, Any] = json.loads((self.project / ".claude/state/workflow.json").read_text())
        return state

    @property
    def view(self) -> str:
        """The hybrid workflow's Markdown view."""
        return (self.project / ".claude/workflow_state_system.md").read_text()

    @property
    def log(self) -> list[str]:
        """The lines of Holdfast's log."""
        file = self.client.home / ".local/state/holdfast/log/holdfast.log"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def complaints(self) -> list[str]:
        """The lines of the log that are more than information, but for a session's end that the client cut short."""
        return [line for line in self.log if NOISE not in line[:40] and _HURRIED not in line]

    @property
    def complaints_after_a_kill(self) -> list[str]:
        """The same, but for a hook that the killed client had started and not yet told of its event."""
        return [line for line in self.complaints if not line.rstrip().partition(" project=")[0].endswith(_UNTOLD)]

    def configure(self, text: str) -> None:
        """Write the user's holdfast.toml."""
        file = self.client.home / ".config" / "holdfast" / "holdfast.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def holdfast(self, *arguments: str) -> str:
        """Run the command line as a person would, in the project."""
        environ = {name: value for name, value in self.client.environ.items() if name in ("HOME", "PATH", "LANG")}
        ran = subprocess.run(
            [self.program, *arguments],
            capture_output=True,
            text=True,
            cwd=self.project,
            env=environ,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr + ran.stdout
        return ran.stdout

    @property
    def recorded(self) -> list[str]:
        """The names of the events that Holdfast itself got, in order; none where it was not told to record them."""
        files = (self.client.home / ".local/state/holdfast").rglob("*.jsonl")
        texts = (file.read_text().rpartition("\n")[0] for file in files)  # without a line that is being written
        lines = [json.loads(line) for text in texts for line in text.splitlines()]
        return [line["payload"]["hook_event_name"] for line in sorted(lines, key=lambda line: str(line["at"]))]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return a table of the project's ledger."""
        found: list[dict[str, Any]] = []
        for path in (self.client.home / ".local/state/holdfast/projects").glob("*.db"):
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as ledger:
                ledger.row_factory = sqlite3.Row
                if ledger.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                    found += map(dict, ledger.execute(f"SELECT * FROM {table}"))
        return found

    @property
    def session_ids(self) -> set[str]:
        """The ids of all sessions that the project's ledger knows."""
        return {row["id"] for table in ("conversations", "session_ids") for row in self.rows(table)}

    @property
    def owners(self) -> set[str]:
        """The conversations that own a workflow."""
        return {row["owner"] for row in self.rows("workflows") if row["owner"]}

    @property
    def agents(self) -> list[dict[str, Any]]:
        """The agents in the project's ledger, in the order in which they were first heard of."""
        return [row for row in self.rows("agents") if row["kind"] != "script" and row["verdict"] != "refused"]

    @property
    def scripts(self) -> list[dict[str, Any]]:
        """The calls of scripts in the project's ledger, in their order."""
        return [row for row in self.rows("agents") if row["kind"] == "script"]

    def hooks(self, session: Session) -> list[dict[str, Any]]:
        """Return what the client says each hook answered."""
        return [line for line in session.lines if line.get("subtype") == "hook_response"]
