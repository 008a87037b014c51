"""Document 001, what PreCompact saves and that it always allows (R001-13, R001-14, I001-6)."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.handmade import ME, OTHER
from tests.requirements import document_001 as document
from tests.requirements.document_001 import FOLDER, Desk, untouched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

MEMORY = "# Current Workflow State\n\nWorkflow: QA Loop\nPhase: 2/3 - Fixing Errors\n"
LAST = "# Current Workflow State\n\nWorkflow: QA Loop\nPhase: 3/3 - Verify\n"


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


def test_precompact_detects_extracts_sanitizes_and_creates(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """R001-13: no file of this workflow yet: one is created with the start time now, from the document's example."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52.123456Z")
    desk.put("CLAUDE.local.md", document.words("memory-file.md"))

    desk.precompact()

    slug = "page-orchestration-case-studies"
    assert desk.file == desk.root / FOLDER / slug / f"state-{slug}-20251209_143052.json"
    assert document.violations(desk.state) == []
    assert desk.state == {
        "workflow": "Page Orchestration - Case Studies",
        "workflow_type": "custom",
        "phase": {"current": 4, "total": 10, "name": "SEO Generation", "status": "in_progress"},
        "required_reading": ["@CLAUDE/PageOrchestration.md", "@CLAUDE/Sitemap/case-studies.md"],
        "context": {},
        "key_reminders": [],
        "created_at": "2025-12-09T14:30:52.123456Z",
    }


def test_precompact_updates_the_file_that_is_there(desk: Desk) -> None:
    """R001-13: an existing file of this workflow is updated, created_at kept, and none is created beside it."""
    path = desk.keep(document.words("example-2.json"), "qa-loop", age=60)
    example = document.example("example-2")
    desk.put("CLAUDE.local.md", LAST)

    desk.precompact()

    assert desk.files == [path]
    verify = {"current": 3, "total": 3, "name": "Verify", "status": "in_progress"}
    assert desk.state == example | {"phase": verify}


def test_without_a_workflow_nothing_is_created_and_nothing_said(desk: Desk) -> None:
    """R001-14: allow, no file."""
    before = sorted(desk.root.rglob("*"))

    assert desk.precompact() == ""
    assert sorted(desk.root.rglob("*")) == before


def _symlink(desk: Desk) -> None:
    desk.put("CLAUDE.local.md", MEMORY)
    (desk.root / "elsewhere").mkdir()
    (desk.root / "untracked").symlink_to(desk.root / "elsewhere")


def _same_second(desk: Desk) -> None:
    for number in range(3):
        desk.put("CLAUDE.local.md", f"# Workflow State\nWorkflow: {'w' * 60} {number}\nPhase: 1/2 - A\n")
        desk.precompact()


ADVERSITIES: dict[str, Callable[[Desk], object]] = {
    "the memory file is no text": lambda desk: desk.put("CLAUDE.local.md", bytes(range(256)) * 40),
    "the memory file is a folder": lambda desk: desk.put("CLAUDE.local.md/x", ""),
    "the memory file is a link to itself": lambda desk: (desk.root / "CLAUDE.local.md").symlink_to("CLAUDE.local.md"),
    "the memory file is huge": lambda desk: desk.put("CLAUDE.local.md", MEMORY + "word " * 400_000),
    "the folder of state files is a file": lambda desk: (
        desk.put("untracked", "in the way"),
        desk.put("CLAUDE.local.md", MEMORY),
    ),
    "a folder of state files leads elsewhere": _symlink,
    "a state file is truncated": lambda desk: (
        desk.keep('{"workflow": "QA Lo', "qa-loop"),
        desk.put("CLAUDE.local.md", MEMORY),
    ),
    "a state file is a folder": lambda desk: (
        desk.put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_143052.json/x", ""),
        desk.put("CLAUDE.local.md", MEMORY),
    ),
    "every value has another type": lambda desk: desk.keep(
        {key: [{"x": None}] for key in document.example("required-fields")} | {"workflow": 5}
    ),
    "a plan is no text": lambda desk: desk.put("CLAUDE/Plan/001/PLAN.md", b"\xff\xfe\x00\xd8 In Progress"),
    "a plan is a folder": lambda desk: desk.put("CLAUDE/Plan/001/PLAN.md/x", ""),
    "two names share their first fifty characters": _same_second,
}


@pytest.mark.parametrize("adversity", ADVERSITIES)
@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_precompact_always_allows(desk: Desk, adversity: str, trigger: str) -> None:
    """R001-14: whatever happens, exit 0, no fault, no JSON; R001-16: and the session starts again afterwards."""
    ADVERSITIES[adversity](desk)

    desk.precompact(trigger)
    desk.begin()


def test_precompact_allows_whatever_the_client_sends(tmp_path: Path) -> None:
    """R001-13, R001-14: the hook alone, as a process, saves; an odd payload is no reason to stop a compaction."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    place.write("CLAUDE.local.md", document.words("memory-file.md"))
    odd: list[dict[str, Any] | bytes] = [
        {"hook_event_name": "PreCompact"},
        {"hook_event_name": "PreCompact", "session_id": "", "trigger": None},
        {"hook_event_name": "PreCompact", "session_id": "x", "trigger": "auto", "custom_instructions": ["x"]},
        *(b"", b'{"hook_event_name": "PreCompact", '),
    ]
    for payload in [place.payload("PreCompact-auto"), place.payload("PreCompact-manual"), *odd]:
        ended = place.fire(payload, "PreCompact")
        assert (ended.exit_code, ended.stdout.startswith("{")) == (0, False), payload
        (path,) = (place.root / FOLDER).glob("*/state-*.json")
        assert document.violations(json.loads(path.read_bytes())) == []


def test_what_the_memory_file_says_is_merged_and_clears_nothing(desk: Desk) -> None:
    """I001-6: the phase that was found wins; type, context, reminders and readings stay, readings are united."""
    data = document.example("example-2") | {"phase": document.example("example-2")["phase"] | {"gate": "green"}}
    path = desk.keep(data | {"ours": {"kept": True}}, "qa-loop", age=60)
    desk.put("CLAUDE.local.md", f"{LAST}\n@CLAUDE/PlanWorkflow.md\n@docs/new.md\n")

    desk.precompact()

    expected = data | {
        "phase": {"current": 3, "total": 3, "name": "Verify", "status": "in_progress", "gate": "green"},
        "required_reading": ["@CLAUDE/PlanWorkflow.md", "@docs/new.md"],
        "ours": {"kept": True},
    }
    assert desk.read(path) == expected


@pytest.mark.parametrize(
    ("memory", "changed"),
    [
        ("# Workflow State\nWorkflow: QA Loop\n", {}),
        ("# Workflow State\nWorkflow: QA Loop\nPhase: 3\n", {"current": 3}),
        ("# Workflow State\nWorkflow: QA Loop\nPhase: 4\n", {"current": 4, "total": 4}),
        ("# Workflow State\nWorkflow: QA Loop\nPhase: Verify\n", {"name": "Verify"}),
        ("# Workflow State\nWorkflow: QA Loop\nPhase: 2/4\n", {"total": 4}),
        ("# Workflow State\nWorkflow: QA Loop\nStatus: blocked\n", {"status": "blocked"}),
    ],
)
def test_only_what_was_really_found_is_taken_over(desk: Desk, memory: str, changed: dict[str, Any]) -> None:
    """I001-6: what the memory file does not say stays as the state file has it."""
    example = document.example("example-2")
    path = desk.keep(example, "qa-loop", age=60)
    desk.put("CLAUDE.local.md", memory)

    desk.precompact()

    now = desk.read(path)
    if "current" in changed:  # a new number under the old name would be a false state
        assert now["phase"].pop("name") != example["phase"].pop("name")
    assert now == example | {"phase": example["phase"] | changed}


RUN_QA = MEMORY.replace("2/3 - Fixing Errors", "1/3 - Run QA")


@pytest.mark.parametrize(
    ("memory", "age", "current", "reading"),
    [
        *((MEMORY, age, 3, []) for age in (600, 0, -60)),  # as it was; touched now; dated into the future
        (RUN_QA, 300, 3, []),
        (RUN_QA, -60, 1, []),
        (f"{MEMORY}\n@docs/new.md\n", -5, 3, ["@docs/new.md"]),
    ],
)
def test_a_memory_file_counts_where_it_changed_after_the_state_moved(
    desk: Desk, memory: str, age: int, current: int, reading: list[str]
) -> None:
    """I001-6: the later of the two knows the position; of a forgotten file only what it newly says is taken over."""
    desk.put("CLAUDE.local.md", MEMORY, age=600)
    desk.precompact()
    desk.run("done")
    moved = untouched(desk.file)
    desk.put("CLAUDE.local.md", memory, age=age)

    assert f"{current}/3" in desk.compaction()
    assert (desk.state["phase"]["current"], desk.state["required_reading"]) == (current, reading)
    assert (untouched(desk.file) == moved) is (current == 3 and not reading)


def test_a_memory_file_from_before_the_state_file_says_nothing(desk: Desk) -> None:
    """I001-6: without a last extract a memory file counts only where it is newer than the state file."""
    path = desk.keep(document.example("example-2"), "qa-loop", age=60)
    before = untouched(path)
    desk.put("CLAUDE.local.md", "# Workflow State\nWorkflow: QA Loop\nPhase: 1/3 - Run QA\n\n@docs/x.md\n", age=600)

    desk.precompact()

    assert untouched(path) == before


def test_a_first_phase_that_is_completed_ends_no_workflow(desk: Desk) -> None:
    """R001-13: phases are left, so there is something to save."""
    desk.put("CLAUDE.local.md", MEMORY.replace("2/3", "1/3") + "Status: completed\n")

    desk.precompact()

    assert desk.state["phase"]["current"] == 1


def test_what_was_taken_out_of_the_state_stays_out(desk: Desk) -> None:
    """I001-6: of a list, only what the memory file newly names is taken over."""
    told = f"{MEMORY}\n@docs/old.md\n\nKey Reminders:\n- Be kind\n"
    desk.put("CLAUDE.local.md", told, age=600)
    desk.precompact()
    assert (desk.state["key_reminders"], desk.state["required_reading"]) == (["Be kind"], ["@docs/old.md"])
    desk.put(str(desk.file.relative_to(desk.root)), {**desk.state, "key_reminders": [], "required_reading": []}, age=60)
    desk.put("CLAUDE.local.md", f"{told}- Be brief\n\n@docs/new.md\n", age=-5)

    desk.precompact()

    assert (desk.state["key_reminders"], desk.state["required_reading"]) == (["Be brief"], ["@docs/new.md"])


def test_nothing_new_is_no_write_but_a_seal(desk: Desk) -> None:
    """I001-6: the file keeps its bytes, its time and its inode; the ledger knows that it was sealed."""
    desk.put("CLAUDE.local.md", MEMORY)
    desk.precompact()
    before = untouched(desk.file)

    for _ in range(3):
        desk.precompact()

    assert untouched(desk.file) == before
    compactions = desk.run("status", "--json").json["compactions"]
    assert [(each["trigger"], each["workflows"]) for each in compactions] == [
        ("auto", ["QA Loop (2/3 Fixing Errors)"])
    ] * 4


def test_a_workflow_no_compaction_ever_saved_leaves_a_tombstone_too(desk: Desk) -> None:
    """I001-6: started and completed with the command line, beside a memory file that goes on naming it."""
    desk.run("start", "QA Loop", "--phase", "Run QA")
    desk.put("CLAUDE.local.md", MEMORY)
    desk.run("done", "--all")

    assert desk.compaction() == ""
    assert desk.files == []


@pytest.mark.parametrize("how", ["by the command", "by the document's rm -rf"])
def test_a_completed_workflow_is_not_created_again_by_an_unchanged_memory_file(desk: Desk, how: str) -> None:
    """I001-6: it leaves a tombstone with the extract's digest; only a memory file that says something new counts."""
    desk.put("CLAUDE.local.md", document.words("memory-file.md"))
    desk.precompact()
    if how == "by the command":
        desk.run("done", "--all")
    else:
        command = document.words("completion-example.txt").replace("page-orchestration", desk.file.parent.name)
        subprocess.run(["sh", "-c", command], cwd=desk.root, check=True)
    assert desk.files == []

    for age in (0, -60):
        desk.put("CLAUDE.local.md", document.words("memory-file.md"), age=age)
        assert desk.compaction() == ""
        assert desk.files == []
    desk.put("CLAUDE.local.md", document.words("memory-file.md") + "\nSome prose at the end.\n")
    assert desk.compaction() == ""
    assert desk.files == [], "the extract is what counts, not the bytes"

    desk.put("CLAUDE.local.md", document.words("memory-file.md").replace("4/10 - SEO Generation", "1/10 - Research"))
    assert "Phase: 1/10 - Research" in desk.compaction(), "a workflow is repeatable: a new run is a new workflow"


PLAN = "# Tide\n\n**Status**: 🔄 In Progress\n\n## Phase 1: Measure\n\n## Phase 2: Build\n"


@pytest.mark.parametrize("how", ["by the command", "by the document's rm -rf"])
@pytest.mark.parametrize(("place", "text"), [("CLAUDE.local.md", MEMORY), ("CLAUDE/Plan/001/PLAN.md", PLAN)])
def test_the_same_text_written_anew_is_a_new_run(desk: Desk, place: str, text: str, how: str) -> None:
    """I001-6: if a hook saw the write; until then `explain` says why nothing is taken up, and what would be."""
    desk.written(place, text)
    if how == "by the command":
        desk.run("done", "--all")
    else:
        shutil.rmtree(desk.file.parent)
    wrong = []
    desk.written(place, f"{text}\nA note.\n", tool_name="Edit", tool_input={"old_string": "", "new_string": "A note."})
    if desk.compaction() or desk.files:
        wrong.append("an edit of something else revived it")
    said = desk.run("status", "--why").out
    reason = "this workflow is completed" if how == "by the command" else "the state file was removed"
    wrong += (
        [] if f"nothing: {reason}, and what the file says of it hasn't changed since. If Claude" in said else [said]
    )

    desk.written(place, text)

    (row,) = desk.run("status", "--json").json["workflows"]
    wrong += [] if row["status"] == "active" else [f"no new run: {row}"]
    assert "Workflow: " in desk.compaction() and not wrong, wrong


def test_explain_says_why_nothing_is_taken_up(desk: Desk) -> None:
    """R001-27: the file says that it is over, or the workflow can belong to another session."""
    desk.put("CLAUDE.local.md", f"{LAST}Status: completed\n")
    over = desk.run("status", "--why").out
    desk.put("CLAUDE.local.md", MEMORY)
    desk.precompact(session=OTHER)
    desk.put("CLAUDE.local.md", LAST)
    desk.project.fire("UserPromptSubmit", "UserPromptSubmit", session_id=ME)
    foreign = desk.run("status", "--why", session=ME).out

    assert "nothing: CLAUDE.local.md says that it is completed" in over
    assert "PreCompact can't save what the files say: another live session could own the workflow" in foreign
    desk.precompact()
    assert desk.state["phase"]["current"] == 2
