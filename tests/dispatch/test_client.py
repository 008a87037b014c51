"""Dispatching and sessions know a client only as an object: they name nothing of one client's own."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from holdfast.clients import client
from holdfast.clients.claude import claude
from holdfast.clients.claude.events import EVENTS, HOOK_NAMES
from tests.commandline import holdfast
from tests.processes import ROOT
from tests.signals import Agent, asked, begin, compacted
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from holdfast.testing import HoldfastProject

SOURCE = ROOT / "src" / "holdfast"
BELOW = (
    "plugins",
    "dispatch",
    "server",
    "workflow",
    "formats",
    "trail",
    "sessions",
    "memory",
    "files",
    "process",
    "log.py",
    "project.py",
)
VARIABLES = {"CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE", "CLAUDE_PID"}
THEIRS = {*EVENTS, *HOOK_NAMES, *VARIABLES, claude.NAME, claude.EVENT_KEY}
ENTRY = re.compile(
    r"toolUseResult|isSidechain|isMeta|isCompact|compact_boundary|tool_(?:use|result)\b|task-notification"
)


def names(path: Path) -> set[str]:
    """Return the texts of a module, docstrings apart, that are a name of Claude Code's or hold a transcript's words."""
    tree = ast.parse(path.read_bytes())
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, scopes)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} - docs
    said = {text.decode("latin-1") if isinstance(text, bytes) else text for text in texts}
    return {text for text in said if isinstance(text, str) and (text in THEIRS or ENTRY.search(text))}


@each_row("place", BELOW)
def test_nothing_of_claude_code_is_named_below_the_entry(place: str) -> None:
    """What lies below the entry module names no event, handler function, variable or transcript's entry of its."""
    files = [SOURCE / place] if place.endswith(".py") else [*(SOURCE / place).rglob("*.py")]
    assert files
    assert {path.name: found for path in files if (found := names(path))} == {}


def test_one_that_keeps_no_files_is_served_too(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without transcripts and scripts of its own: a workflow is saved and restored, and agents are followed."""
    monkeypatch.setattr(claude, "reader", client.Transcripts)
    monkeypatch.setattr(claude, "agent_runs", client.ScriptRuns)
    project = holdfast_project({})
    begin(project, "startup")
    asked(project, "first")
    holdfast("start", "Garden", "--phase", "Dig", "--phase", "Plant", root=project.root, session=project.session)
    agent = Agent(project, "Find a spade")
    agent.finished("It is in the shed.")
    script = {"script": "x", "resumeFromRunId": "wf_d604c20b-bc1"}
    launch: dict[str, Any] = {"tool_name": "Workflow", "tool_input": script}
    assert "updatedInput" not in project.fire("PreToolUse", **launch).stdout
    project.fire("PostToolUse", **launch, tool_response={"status": "async_launched", "runId": "wf_d604c20b-bc1"})
    project.fire("UserPromptSubmit", prompt="Go on with wf_d604c20b-bc1.", prompt_id="second")
    project.fire("Stop", background_tasks=[])

    told = compacted(project).context

    assert "Garden" in told and "Dig" in told
    assert "It is in the shed." in holdfast("agents", agent.run, root=project.root).out
    holdfast("report", str(project.root / "report.html"), root=project.root)
    assert "Garden" in (project.root / "report.html").read_text("utf-8")
    assert not [each for each in holdfast("log", "--json", root=project.root).json if each["kind"] == "fault"]
