"""Which facts about the files of the Workflow tool no longer hold: what Holdfast reads of an undocumented format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.workflow_runs import NAME, WorkflowRuns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LINES: dict[str, tuple[set[str], set[str]]] = {
    "launched": (set(), set()),
    "started": ({"key", "agentId"}, {"label", "phase"}),
    "result": ({"key", "agentId", "result"}, {"remoteControlDeviceReport", "toolsUsed", "sessionId"}),
    "failed": ({"key", "agentId"}, set()),
}
"""The kinds of a journal's lines: what each has, and what it may have."""


def changes(transcript: Path, run: str, script: str, labels: set[str], *, ended: bool) -> list[str]:
    """Return each fact that doesn't hold of a run's files, in a line; what builds upon it is not looked at then.

    Args:
        transcript: the session's transcript.
        run: the run's id.
        script: the script that was launched.
        labels: how the script labels its agents.
        ended: whether the run has ended.
    """
    session = transcript.with_suffix("")
    folder = session / "subagents" / "workflows" / run
    if not (folder / NAME).is_file():
        return [f"folder: no <session>/subagents/workflows/{run}/{NAME}"]
    found = [*_of_lines(folder), *_beside(session, run, script, ended=ended)]
    return found or [*_of_agents(folder, labels)]


def _of_lines(folder: Path) -> Iterator[str]:
    """Compare the shapes of a journal's lines, and the version of their keys."""
    lines: list[dict[str, Any]] = [json.loads(each) for each in (folder / NAME).read_text().splitlines()]
    shapes = {(str(each.get("type")), frozenset(each) - {"type"}) for each in lines}
    for kind, fields in sorted(shapes, key=str):
        needed, known = _LINES.get(kind, (None, set()))
        if needed is None:
            yield f"line: the journal has lines of the unknown kind {kind!r} with {sorted(fields)}"
        elif missing := needed - fields:
            yield f"line: {kind!r} has no {sorted(missing)}"
        elif more := fields - needed - known:
            yield f"line: {kind!r} has the new {sorted(more)}"
    versions = {str(each["key"]).partition(":")[0] for each in lines if "key" in each}
    if versions - {"v2"}:
        yield f"key version: {sorted(versions)} in place of v2"


def _beside(session: Path, run: str, script: str, *, ended: bool) -> Iterator[str]:
    """Compare the record that is written at a run's end, and the script's copy."""
    record = session / "workflows" / f"{run}.json"
    if record.exists() != ended:
        yield f"record: workflows/{run}.json is {'missing after' if ended else 'there before'} the run's end"
    elif ended and json.loads(record.read_text()).get("status") != "completed":
        yield f"record: its status is {json.loads(record.read_text()).get('status')!r} in place of 'completed'"
    copies = [*(session / "workflows" / "scripts").glob(f"*-{run}.js")]
    if [each.read_text() for each in copies] != [script]:
        yield f"script: workflows/scripts/<name>-{run}.js is not the script that was launched"


def _of_agents(folder: Path, labels: set[str]) -> Iterator[str]:
    """Compare the agents that the journal names."""
    journal = WorkflowRuns().journal(folder)
    found = {each.label for each in journal.agents} if journal else set()
    if found != labels:
        yield f"labels: {sorted(found)} in place of {sorted(labels)}"
