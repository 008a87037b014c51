"""The main job on recorded events of the real client, each sent as the client sends it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast import paths, recorded, registration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION = "0d3f0d5e-0000-4000-8000-000000000001"
MEMORY = """# Current Workflow State

Workflow: Page Orchestration - Case Studies
Phase: 4/10 - SEO Generation

@CLAUDE/PageOrchestration.md
@CLAUDE/Sitemap/case-studies.md
"""
READING = ("CLAUDE/PageOrchestration.md", "CLAUDE/Sitemap/case-studies.md")
TASK = "Create calculator.py with tests and verify they pass"
PHASES = ("Create calculator module @general-purpose", "Write and run tests @task-completion-verifier")
REPORT = """The module is written.

DELIVERABLES:
- calculator.py
- add, subtract, multiply, divide
CONTEXT_FOR_NEXT: calculator.py lies at the project root and has four functions"""
TESTED = "DELIVERABLES: test_calculator.py\n\nAll tests pass."


class DemoFailed(Exception):
    """The demo did not show what it promises; the message says what was missing."""


@dataclass(frozen=True)
class Shown:
    """One step of the demo.

    Attributes:
        title: what it shows.
        did: the event and how it was sent, or the command that was run.
        said: what the model, the summariser or the user gets to read.
        file: a state file worth looking at afterwards, relative to the project.
        content: what it holds.
    """

    title: str
    did: str
    said: str = ""
    file: str = ""
    content: str = ""


@dataclass
class Demo:
    """A project and a home of their own, with Holdfast installed as a user installs it.

    Attributes:
        root: an empty folder for the project.
        home: an empty folder for everything else.
    """

    root: Path
    home: Path
    environ: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "CLAUDECODE": "1",
            "CLAUDE_PROJECT_DIR": str(self.root),
            "CLAUDE_ENV_FILE": str(self.home / "session-env.sh"),
        }

    def steps(self) -> Iterator[Shown]:
        """Run the demo, a step at a time.

        Raises:
            DemoFailed: something that was promised did not happen.
        """
        yield self._install()
        yield from self._compaction()
        yield from self._agents()
        yield from self._second_compaction()
        yield self._last_phase()

    def log(self) -> list[str]:
        """Return what Holdfast wrote to its log in this home, the last lines."""
        files = self.home.rglob("holdfast.log")
        return [line for file in files for line in file.read_text().splitlines()][-20:]

    def _install(self) -> Shown:
        (self.root / ".claude").mkdir(parents=True)
        self._run([sys.executable, "-m", "holdfast", "install", "--scope", "project", "--allow-cli"])
        self._fire("SessionStart-startup")
        variables = self.home / "session-env.sh"
        told = variables.read_text() if variables.exists() else ""
        self._promise("HOLDFAST_PROJECT_DIR" in told, "the model's Bash tool can call the command line")
        return self._shown(
            "Installed in an empty project", "holdfast install --scope project", "", self.root / ".claude/settings.json"
        )

    def _compaction(self) -> Iterator[Shown]:
        (self.root / "CLAUDE.local.md").write_text(MEMORY)
        for name in READING:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("What has to be known about these pages.\n")
        said = self._fire("PreCompact-manual")
        state = next((self.root / "untracked" / "workflow-state").glob("*/state-*.json"), None)
        if state is None:
            raise DemoFailed("not shown: PreCompact writes a state file")
        self._promise("Page Orchestration" in said and not said.startswith("{"), "the summariser is told in plain text")
        yield self._shown("Saved before the compaction, from CLAUDE.local.md", "PreCompact (manual)", said, state)
        context = self._context(self._fire("SessionStart-compact"))
        for fact in ("Page Orchestration - Case Studies", "4/10", "@CLAUDE/Sitemap/case-studies.md", "ACTION REQUIRED"):
            self._promise(fact in context, f"{fact!r} stands in the guidance")
        yield Shown("Restored after it, into the model's context", "SessionStart (source: compact)", context)
        self._holdfast("done", "--all")
        (self.root / "CLAUDE.local.md").unlink()

    def _agents(self) -> Iterator[Shown]:
        phases = [argument for phase in PHASES for argument in ("--phase", phase)]
        said = self._holdfast("start", TASK, "--format", "hybrid", *phases)
        yield self._shown("A workflow with agents", f"holdfast start {TASK!r} --format hybrid …", said, self._view())
        launch = {"description": "Create calculator module", "prompt": "Write it.", "subagent_type": "general-purpose"}
        before = self._context(self._fire("PreToolUse-Agent", tool_input=launch))
        yield self._shown(
            "Its first phase begins when its agent is launched", "PreToolUse (Agent)", before, self._view()
        )
        self._fire("SubagentStart")
        self._fire("SubagentStop", last_assistant_message=REPORT)
        after = self._context(self._finish(launch, REPORT))
        view = self._view().read_text()
        self._promise(
            "- [x] Phase 0: Create calculator module → calculator.py" in view, "the view shows the deliverables"
        )
        self._promise(
            "task-completion-verifier" in after and "TodoWrite" in after, "the next agent and the list are named"
        )
        yield self._shown(
            "The agent finished: the phase, the view and the to-do list move on",
            "PostToolUse (Agent)",
            after,
            self._view(),
        )

    def _second_compaction(self) -> Iterator[Shown]:
        said = self._fire("PreCompact-auto", session_id=SESSION)
        yield Shown("Another compaction, this time automatic", "PreCompact (auto)", said)
        context = self._context(self._fire("SessionStart-compact"))
        for fact in (TASK, "2/2", "Write and run tests", "four functions"):
            self._promise(fact in context, f"{fact!r} stands in the guidance")
        yield Shown("The current state comes back, not an older one", "SessionStart (source: compact)", context)

    def _last_phase(self) -> Shown:
        launch = {
            "description": "Write and run tests",
            "prompt": "Test it.",
            "subagent_type": "task-completion-verifier",
        }
        self._fire("PreToolUse-Agent", tool_use_id="toolu_second", tool_input=launch)
        said = self._context(self._finish(launch, TESTED, tool_use_id="toolu_second"))
        state = json.loads((self.root / ".claude" / "state" / "workflow.json").read_text())
        self._promise(state["status"] == "completed" and state["current_phase"] is None, "the workflow is completed")
        return self._shown(
            "The last agent finished, and so did the workflow", "PostToolUse (Agent)", said, self._view()
        )

    def _finish(self, launch: dict[str, str], report: str, **changes: Any) -> str:
        payload = recorded.load("PostToolUse-Agent")
        response = payload["tool_response"] | {"content": [{"type": "text", "text": report}]}
        return self._fire("PostToolUse-Agent", tool_input=launch, tool_response=response, **changes)

    def _fire(self, name: str, **changes: Any) -> str:
        """Send a recorded payload through the command that settings.json registers, as the client does."""
        fields = {"session_id": SESSION, "cwd": str(self.root), "transcript_path": ""} | changes
        payload = json.dumps(recorded.load(name, **fields)) + "\n"
        event = name.split("-")[0]
        ran = subprocess.run(
            ["/bin/sh", "-c", registration.command(event)],
            input=payload,
            capture_output=True,
            text=True,
            cwd=self.root,
            env=self.environ,
            timeout=60,
            check=False,
        )
        self._promise(ran.returncode == 0, f"{name} exits with 0, not {ran.returncode}")
        return ran.stdout

    def _holdfast(self, *arguments: str) -> str:
        """Run the command line as the model's Bash tool does, from the folder that SessionStart put on its PATH."""
        return self._run([str(self.home / ".local/share/holdfast/bin/holdfast"), *arguments])

    def _run(self, command: list[str]) -> str:
        environ = self.environ | {"CLAUDE_CODE_SESSION_ID": SESSION, "PYTHONPATH": str(paths.package_root())}
        ran = subprocess.run(
            command, capture_output=True, text=True, cwd=self.root, env=environ, timeout=60, check=False
        )
        self._promise(ran.returncode == 0, f"{' '.join(command)} succeeds: {ran.stderr}")
        return ran.stdout

    def _view(self) -> Path:
        return self.root / ".claude" / "workflow_state_system.md"

    def _shown(self, title: str, did: str, said: str, file: Path) -> Shown:
        return Shown(title, did, said, file.relative_to(self.root).as_posix(), file.read_text())

    @staticmethod
    def _context(stdout: str) -> str:
        """Return the text that reaches the model."""
        if not stdout:
            return ""
        context: str = json.loads(stdout)["hookSpecificOutput"].get("additionalContext", "")
        return context

    @staticmethod
    def _promise(kept: bool, promise: str) -> None:
        if not kept:
            raise DemoFailed(f"not shown: {promise}")
