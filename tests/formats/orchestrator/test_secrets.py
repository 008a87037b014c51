"""Secrets in the fields that only this format has are readable in nothing that Holdfast keeps or prints."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest

from holdfast import log
from holdfast.formats.orchestrator import schema
from tests import planted
from tests.commandline import holdfast
from tests.handmade import ME

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject


@pytest.mark.slow
def test_no_secret_in_a_state_or_its_document_is_readable(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in headings, bounds, learnings and agents, nor in what `doctor` says of them and of a broken file."""
    made = holdfast_project({})
    monkeypatch.chdir(made.root)
    lines = itertools.cycle(" ".join(each.text.split()) for each in planted.PLANTED if "\0" not in each.text)
    log.set_level("debug")

    def orchestrator(*arguments: str) -> None:
        holdfast("orchestrator", *arguments, root=made.root, session=ME)

    document = made.root / "tasks.md"
    document.write_text(
        f"# {next(lines)}\n\n## Safety Bounds\n- Max cost: {next(lines)}\n\n### Phase 1: {next(lines)}\n\n"
        f"#### Task 1.1: {next(lines)}\n**Success Criteria**:\n- {next(lines)}\n\n#### Task 1.2: {next(lines)}\n"
        f"### Phase 3: {next(lines)}\n#### Task 1.9: {next(lines)}\n"
    )
    holdfast("start", "tasks.md", "--format", "orchestrator", root=made.root, session=ME)
    orchestrator("approve")
    holdfast("update", "--phase", "1.1", "--status", "failed", "--error", next(lines), root=made.root, session=ME)
    orchestrator("task", "1.1", "--iterate")
    orchestrator("learn", "pattern", next(lines), "--pattern", next(lines))
    conflict = ("--conflict", "pattern", "--severity", "low", "--action", "auto_fix", "--resolution", next(lines))
    orchestrator("supervise", "post_task", "--task", "1.1", *conflict)
    orchestrator("checkpoint")
    orchestrator("task", "1.1", "--cost", "0.2")
    holdfast("update", "--phase", "1.1", "--deliverable", next(lines), root=made.root, session=ME)
    holdfast("done", "1.1", "--note", next(lines), root=made.root, session=ME)
    state = schema.state_path(made.root)
    data = json.loads(state.read_bytes())
    data["orchestrator"]["current_task"] = next(lines)
    data["safety_bounds"] |= {"warnings": [next(lines)], "max_cost": next(lines)}
    data["active_agents"].append({name: next(lines) for name in ("id", "type", "status", "name")} | {"task": "1.2"})
    data["milestones"].append({"name": next(lines), "phase": next(lines)})
    names = ("timestamp", "task", "git_sha", "state_snapshot")
    data["checkpoints"].append({name: next(lines) for name in names} | {"phase": 0})
    state.write_text(json.dumps(data))
    document.write_text(f"{document.read_text()}\n#### Task 1.3: {next(lines)}\n")
    for _ in range(2):
        made.fire("PreCompact", "PreCompact-auto", session_id=ME)
        made.fire("SessionStart", "SessionStart-compact", session_id=ME)
        planted.assert_none_is_kept(made.root)
        planted.assert_none_is_printed(made.root)
        state.write_text(json.dumps({next(lines): next(lines)})[:-1])
