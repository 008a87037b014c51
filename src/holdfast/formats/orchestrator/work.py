"""What agents and the main conversation did for a task, as their transcripts show: edits, cost, commits, tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.formats.orchestrator import amounts, prices, schema, store, transitions, view
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.clients.client import Work
    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import AgentWork, Workflow
    from holdfast.workflow.records import Records

COMMITS = 20  # commits of a task that are noted
_COMMIT = r"\bgit\b[^\n|;&]{0,200}\bcommit\b"
_TEST = (
    r"\b(?:pytest|tox|nox|jest|vitest|mocha|phpunit|rspec|ctest)\b"
    r"|\bunittest\b|\b(?:npm|pnpm|yarn|bun|deno|go|cargo|make|mvn|gradle|gradlew|dotnet|swift|mix|rake)\b[^\n|;&]{0,80}\btest"
)
RUNS = re.compile(f"{_COMMIT}|{_TEST}")
"""The commands whose results count."""
_COMMITS, _TESTS = re.compile(_COMMIT), re.compile(_TEST)
_MADE = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,64})\]", re.MULTILINE)
_FAILED = re.compile(r"\b[1-9]\d* (?:failed|errors?|failures?|failing)\b|^(?:FAIL|FAILED)\b|\bFAILED \(", re.MULTILINE)
_PASSED = re.compile(r"\b[1-9]\d* (?:passed|passing)\b|^ok\b|^OK\b|\btest result: ok\b", re.MULTILINE)
_CHAINED = re.compile(r"[|;]")  # the exit code may be another command's


def credit(project: Records, workflow: Workflow, phase_id: str, work: AgentWork) -> None:
    """Note what an agent did until its task is judged; fill in the cost of a task that it completed itself."""
    spent = prices.cost(work.usage, project.config)

    def edit(run: Run) -> None:
        if run.terminal:
            return
        task = run.task(phase_id)
        if task.status == "completed":
            _complement(run, phase_id, spent, work.files)
            return
        if task.status != "active":
            return
        note = run.note(phase_id)
        if work.files:
            note["files"] = list(dict.fromkeys([*values.texts(note.get("files"), "files", []), *work.files]))
        if spent is not None:
            note["spent"] = spent
        _note(run, phase_id, work.runs)

    store.change(project, edit, why=f"{phase_id} work", run_id=workflow.id, silent=True)


def ran(project: Records, workflow: Workflow, runs: Sequence[Work]) -> None:
    """Note commits and test results of the main conversation, if exactly one task is at work: else nobody knows whose
    they are."""

    def edit(run: Run) -> None:
        at_work = run.active()
        if not run.terminal and len(at_work) == 1:
            _note(run, at_work[0], runs)

    store.change(project, edit, why="commits and tests", run_id=workflow.id, silent=True)


def _note(run: Run, task: str, runs: Iterable[Work]) -> None:
    """Note the runs since a task's attempt began."""
    begun = clock.parse(values.text((run.executor(task) or {}).get("started")))
    for each in runs:
        moment = clock.parse(each.at)
        if begun and moment and moment < begun:
            continue
        note: dict[str, Any] = run.note(task)
        if _COMMITS.search(each.command) and not each.failed:
            known = values.texts(note.get("commits"), "commits", [])
            made = [sha for sha in _MADE.findall(each.output) if sha not in known]
            if made:
                note["commits"] = [*known, *made][-COMMITS:]
        if _TESTS.search(each.command) and (passed := _passed(each)) is not None:
            note["criteria"] = {view.TESTS: passed}


def _passed(run: Work) -> bool | None:
    """Return whether tests passed; None if neither their output nor an exit code of their own says so."""
    if run.failed or _FAILED.search(run.output):
        return False
    return True if _PASSED.search(run.output) or not _CHAINED.search(run.command) else None


def _complement(run: Run, task: str, spent: str | None, files: Sequence[str]) -> None:
    """Fill in what is empty in the entry of a task that its agent completed itself (I000-8)."""
    entries = schema.objects(run.data.get("completed_tasks"))
    entry = next((each for each in entries if schema.task_of(each) == task), None)
    if entry is None:
        return
    if files and not entry.get("files_modified"):
        entry["files_modified"] = list(files)
    if spent is not None and entry.get("cost") == amounts.UNKNOWN and run.noted(task).get("uncharged"):
        note = run.note(task)
        note.pop("uncharged")
        entry["cost"] = transitions.charge(run, note.pop("cost", None), spent)
