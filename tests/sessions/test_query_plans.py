"""No event reads a table of the ledger whole: an index finds what it asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.memory.store import Ledger
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from holdfast.workflow import registry
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

SESSION = "33333333-3333-4333-8333-333333333333"
STORY = (
    *("SessionStart-startup", "UserPromptSubmit", "PreToolUse-Agent", "SubagentStart", "SubagentStop"),
    *("PostToolUse-Agent", "PreToolUse-TodoWrite", "PostToolUse-Read", "PreCompact-auto", "SubagentStop-compaction"),
    *("SessionStart-compact", "PostCompact-auto", "UserPromptSubmit", "Stop", "PreCompact-manual"),
    *("SessionStart-compact", "UserPromptSubmit", "StopFailure", "PostToolUse-TodoWrite", "SessionStart-resume"),
)
ALL_OF_A_SESSION = re.compile(r"SEARCH agents USING (COVERING )?INDEX \w+ \(conversation=\?\)$")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Every statement that is run from now on, with how SQLite means to run it."""
    found: dict[str, list[str]] = {}
    attempt = Ledger._attempt

    def explained(self: Ledger, sql: str, values: tuple[Any, ...]) -> Any:
        if sql.split(maxsplit=1)[0] in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            steps = self._connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
            found[sql] = [row["detail"] for row in steps]
        return attempt(self, sql, values)

    monkeypatch.setattr(Ledger, "_attempt", explained)
    return found


def test_no_event_scans_a_table(
    holdfast_project: Callable[..., HoldfastProject], plans: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session's whole life, with workflows, agents and compactions."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    project = holdfast_project({})
    there = Workspace.open(project.root)
    phases = (("look around", "general-purpose"), ("Write it", ""))
    registry.get("hybrid").start(there, Start("Bench", phases=phases))
    registry.get("compaction").start(there, Start("Comp", total=3))
    there.close()
    plans.clear()
    for name in (*STORY, *recorded.names()):
        session = "44444444-4444-4444-8444-444444444444" if name.startswith("SessionEnd") else SESSION
        project.send(recorded.load(name, session_id=session, cwd=str(project.root), transcript_path=""))

    assert len(plans) > 60
    for sql, steps in plans.items():
        # Of a subquery, which is a step of its own here, only the rows that it found are scanned. Whether a table has
        # too many rows an index alone tells, of which at most that many entries are read.
        scans = [
            step
            for step in steps
            if step.startswith("SCAN") and not step.startswith(("SCAN (subquery-", "SCAN json_each"))
        ]
        assert not scans or sql.endswith("LIMIT ? OFFSET ?"), sql
        everyone = "LIMIT -1" in sql and any(ALL_OF_A_SESSION.match(step) for step in steps)
        assert not everyone, f"{sql} goes through all agents: {steps}"
