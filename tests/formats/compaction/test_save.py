"""PreCompact's merge never loses information, never goes back in time, and never revives a completed workflow."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.formats.compaction import merge
from holdfast.formats.compaction.detection.detect import detect
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.formats.compaction.format import FORMAT
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import store, verbs
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from holdfast.formats.compaction.merge import Intent
    from tests.workflow.conftest import Put

FOLDER = "untracked/workflow-state"
RICH: dict[str, Any] = {
    "workflow": "QA Loop",
    "workflow_type": "qa-loop",
    "phase": {"current": 2, "total": 3, "name": "Fixing Errors", "status": "in_progress", "gate": "green"},
    "required_reading": ["@CLAUDE/PlanWorkflow.md"],
    "context": {"iteration": 3},
    "key_reminders": ["Run tests between iterations"],
    "created_at": "2025-12-09T15:00:00Z",
    "ours": {"kept": True},
}
MEMORY = "# Workflow State\n\nWorkflow: QA Loop\nPhase: 2/3 - Fixing Errors\n"


def save(project: Workspace) -> Intent:
    return merge.save(project, detect(project).extract)


def only_file(project: Workspace) -> Path:
    (path,) = (project.root / FOLDER).glob("*/*")
    return path


def data_of(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def test_a_save_finds_the_file_of_its_workflow_among_many(project: Workspace, put: Put) -> None:
    """In a folder that somebody chose, though many others were changed since: no second file is made."""
    state = {"phase": {"current": 1, "total": 3, "name": "Build", "status": "in_progress"}}
    for number in range(store.NEWEST + 10):
        folder = "elsewhere" if number == 0 else f"w{number}"
        put(f"{FOLDER}/{folder}/state-w-20250101_000000.json", state | {"workflow": f"W{number}"}, age=1000 - number)

    saved = merge.save(project, Extract("W0", current=2, total=3, mtime=1_800_000_000.0))

    assert saved.path is not None
    assert (saved.action, saved.path.parent.name) == ("updated", "elsewhere")


def test_the_end_of_one_workflow_buries_none_that_is_only_spelled_alike(project: Workspace, put: Put) -> None:
    """A folder's name tells whose it is only where it says the whole name."""
    put("CLAUDE.local.md", MEMORY.replace("QA Loop", "Größe"))
    other = FORMAT.start(project, Start(title="Grosse", phases=(("One", ""),)))
    assert other.path.parent.name == "grosse"

    verbs.done(project, other, everything=True)

    saved = save(project)
    assert saved.action == "created" and saved.saved is not None
    assert saved.saved.title == "Größe"


def test_saving_works_without_a_usable_ledger(project: Workspace, put: Put) -> None:
    """Without a ledger everything still works from the files."""
    put("CLAUDE.local.md", MEMORY, age=50)
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    project.ledger.close()
    assert save(project).action == "unchanged"
    put("CLAUDE.local.md", MEMORY.replace("2/3", "3/3"), age=10)
    assert save(project).action == "updated"
    assert data_of(path)["phase"]["current"] == 3


texts = st.lists(st.text(alphabet="abc@/. é🚀", min_size=1, max_size=6), max_size=4)
contexts = st.dictionaries(
    st.text(alphabet="kmn", min_size=1, max_size=3), st.integers() | st.text(max_size=4), max_size=3
)
extracted = st.builds(
    Extract,
    name=st.just("QA Loop"),
    current=st.none() | st.integers(0, 12),
    total=st.none() | st.integers(0, 10),
    phase=st.none() | st.text(alphabet="abc é", min_size=1, max_size=5),
    status=st.sampled_from([None, "in_progress", "blocked", "completed", "not_started"]),
    kind=st.sampled_from([None, "qa-loop", "release"]),
    reading=texts.map(lambda found: tuple(f"@{each}" for each in found)),
    reminders=texts.map(tuple),
    context=contexts,
    mtime=st.floats(0, 4e9),
)
states = st.fixed_dictionaries(
    {
        "workflow": st.just("QA Loop"),
        "phase": st.fixed_dictionaries({"current": st.integers(-1, 9), "total": st.integers(0, 9)}),
    },
    optional={
        "workflow_type": st.text(max_size=5),
        "required_reading": texts | st.text(max_size=5),
        "key_reminders": texts | st.none(),
        "context": contexts | texts,
        "created_at": st.text(max_size=10),
        "unknown": st.integers() | contexts,
    },
)


def keys(value: Any) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


@settings(max_examples=60, deadline=None)
@given(states, st.lists(extracted, min_size=1, max_size=4))
def test_no_sequence_of_saves_makes_a_state_poorer(state: dict[str, Any], found: list[Extract]) -> None:
    """I001-6: readings, reminders, context keys and unknown keys only grow, created_at and the type's presence stay."""
    with tempfile.TemporaryDirectory() as folder:
        project = Workspace.open(Path(folder))
        path = project.root / FOLDER / "qa-loop" / "state-qa-loop-20251209_150000.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(state))
        os.utime(path, (1e9, 1e9))
        for extract in found:
            before = data_of(path)
            merge.save(project, extract)
            after = data_of(path)
            assert list(path.parent.iterdir()) == [path]
            assert before.keys() <= after.keys()
            assert before.get("created_at") == after.get("created_at")
            assert before.get("unknown") == after.get("unknown")
            for key in ("required_reading", "key_reminders"):
                assert listed(after.get(key))[: len(listed(before.get(key)))] == listed(before.get(key))
            assert keys(before.get("context")) <= keys(after.get("context"))
            assert bool(before.get("workflow_type")) <= bool(after.get("workflow_type"))
        project.close()


def test_a_type_that_is_corrected_is_taken_over(project: Workspace, put: Put) -> None:
    """R001-06: like all else that the memory file says."""
    for more in ("", "Type: qa-loop\n"):
        put("CLAUDE.local.md", f"{MEMORY}{more}")
        save(project)
    assert data_of(only_file(project))["workflow_type"] == "qa-loop"


def test_what_a_person_took_off_a_list_does_not_come_back(project: Workspace, put: Put) -> None:
    """The memory file said it before, so it is no news; what is added there later is."""
    reading = "\n## Required Reading\n\n- @docs/a.md\n- @docs/b.md\n"
    memory = put("CLAUDE.local.md", MEMORY + reading)
    save(project)
    path = only_file(project)
    path.write_text(json.dumps(data_of(path) | {"required_reading": ["@docs/b.md"]}))
    assert save(project).action == "unchanged"

    memory.write_text(MEMORY + reading + "- @docs/c.md\n")
    assert save(project).action == "updated"
    assert data_of(path)["required_reading"] == ["@docs/b.md", "@docs/c.md"]


@pytest.mark.usefixtures("soon_after")
def test_a_plan_that_waited_behind_a_newer_one_does_not_revive_what_was_completed(project: Workspace, put: Put) -> None:
    """It names the workflow, though nothing was ever saved from it; one day it may be the newest."""
    plan = "# Plan 1: {}\nStatus: In Progress\n## Phase 1: A\n- [x] a\n## Phase 2: B\n- [ ] b\n"
    put("CLAUDE/Plan/001-auth/PLAN.md", plan.format("Auth"), age=50)
    newer = put("CLAUDE/Plan/002-billing/PLAN.md", plan.format("Billing"), age=10)
    own = FORMAT.start(project, Start(title="Auth", phases=(("A", ""), ("B", ""))))
    verbs.done(project, own, everything=True)

    newer.unlink()

    assert save(project).action == "buried"
    assert not list((project.root / FOLDER).glob("*/*"))
