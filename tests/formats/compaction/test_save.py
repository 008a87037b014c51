"""PreCompact's merge never loses information, never goes back in time, and never revives a completed workflow."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import StateError
from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.compaction.detection.detect import detect
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.formats.compaction.save import Saved
from holdfast.sessions.history import generations
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start

if TYPE_CHECKING:
    from tests.workflow.conftest import Put, Seed

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


def save(project: Workspace) -> Saved:
    return compaction.save(project, detect(project).extract)


def only_file(project: Workspace) -> Path:
    (path,) = (project.root / FOLDER).glob("*/*")
    return path


def data_of(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def save_and_complete(project: Workspace, put: Put) -> None:
    """Have a memory file's workflow saved and completed."""
    put("CLAUDE.local.md", MEMORY)
    workflow = save(project).workflow
    assert workflow is not None
    verbs.done(project, workflow, everything=True)


def test_without_a_workflow_nothing_is_created(project: Workspace) -> None:
    """R001-14: no workflow, no file and no folder."""
    assert save(project).action == "none"
    assert list(project.root.iterdir()) == []


def test_many_cycles_without_news_write_once(project: Workspace, put: Put, seed: Seed) -> None:
    """R001-15: any number of compactions, one file, the bytes and the time of its last change untouched."""
    put("CLAUDE.local.md", seed("memory.md"))
    save(project)
    before = only_file(project).stat()
    for _ in range(10):
        assert save(project).action == "unchanged"
    assert only_file(project).stat().st_mtime_ns == before.st_mtime_ns


def test_a_new_phase_in_the_memory_file_is_taken_over_and_nothing_else_changes(project: Workspace, put: Put) -> None:
    """R001-12, I001-6: created_at, type, readings, context, reminders and unknown keys stay, in the same file."""
    put("CLAUDE.local.md", MEMORY, age=50)
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    save(project)
    put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "3/3 - Verify"), age=30)
    saved = save(project)
    assert (saved.action, saved.path) == ("updated", path)
    assert only_file(project) == path
    assert data_of(path) == RICH | {
        "phase": {"current": 3, "total": 3, "name": "Verify", "status": "in_progress", "gate": "green"}
    }


def test_an_old_memory_file_never_rolls_the_phase_back(project: Workspace, put: Put) -> None:
    """I001-6: the agent moved its state file on and forgot the memory file."""
    put("CLAUDE.local.md", MEMORY.replace("2/3", "1/3"), age=50)
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    assert save(project).action == "unchanged"
    assert data_of(path) == RICH


def test_a_touched_memory_file_never_rolls_the_phase_back(project: Workspace, put: Put) -> None:
    """A checkout gives an old memory file a new time; its content did not change since it was last seen."""
    put("CLAUDE.local.md", MEMORY.replace("2/3", "1/3"), age=50)
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    save(project)
    put("CLAUDE.local.md", MEMORY.replace("2/3", "1/3"), age=0)
    assert save(project).action == "unchanged"
    assert data_of(path) == RICH


def test_a_memory_file_changed_before_the_state_moved_does_not_roll_it_back(project: Workspace, put: Put) -> None:
    """The state's own phase moved after the memory file was written, so the state knows better."""
    put("CLAUDE.local.md", MEMORY.replace("2/3", "1/3"), age=50)
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    save(project)
    put("CLAUDE.local.md", MEMORY, age=30)
    put(f"{FOLDER}/qa-loop/{path.name}", RICH | {"phase": {**RICH["phase"], "current": 3, "name": "Verify"}}, age=20)
    assert save(project).action == "unchanged"
    assert data_of(path)["phase"]["current"] == 3


def test_a_file_never_seen_before_takes_over_a_newer_memory_file(project: Workspace, put: Put) -> None:
    """I001-6: without a last extract, the newer of the two files speaks."""
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "3/3 - Verify") + "@docs/new.md\n", age=10)
    assert save(project).action == "updated"
    data = data_of(path)
    assert (data["phase"]["current"], data["phase"]["name"]) == (3, "Verify")
    assert data["required_reading"] == ["@CLAUDE/PlanWorkflow.md", "@docs/new.md"]
    assert data["created_at"] == RICH["created_at"]


def test_a_new_number_without_a_name_does_not_keep_the_old_name(project: Workspace, put: Put) -> None:
    """ "Phase 3, Fixing Errors" would be false; the listed name of phase 3 is taken, or none."""
    named = RICH | {"context": {"phases": ["Run QA", "Fixing Errors", "Verify"]}}
    for data, name in ((RICH, "Phase 3"), (named, "Verify")):
        put("CLAUDE.local.md", MEMORY, age=50)
        path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", data, age=40)
        save(project)
        put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "3/3"), age=30)
        save(project)
        assert data_of(path)["phase"]["name"] == name


@pytest.mark.parametrize(
    ("line", "current", "total"),
    [("12/10 - Late", 10, 10), ("0/3 - Zero", 1, 3), ("7 - Seven", 7, 7)],
)
def test_a_phase_beyond_the_total_is_brought_within(
    project: Workspace, put: Put, line: str, current: int, total: int
) -> None:
    """I001-17: the file always says 1 <= current <= total."""
    put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", line))
    save(project)
    phase = data_of(only_file(project))["phase"]
    assert (phase["current"], phase["total"]) == (current, total)


def test_an_agents_short_folder_is_found_by_the_workflow_field(project: Workspace, put: Put, seed: Seed) -> None:
    """I001-4: "Feature Implementation (User Auth)" lies in `feature-implementation`, as in the document."""
    place = f"{FOLDER}/feature-implementation/state-feature-implementation-20251209_143052.json"
    path = put(place, seed("compaction-feature-start.json"), age=40)
    put("CLAUDE.local.md", "Workflow: Feature Implementation (User Auth)\nPhase: 3/5 - Testing\n", age=10)
    assert save(project).path == path
    assert data_of(path)["phase"]["name"] == "Testing"


def test_a_folder_is_found_by_the_name_the_memory_file_gives(project: Workspace, put: Put, seed: Seed) -> None:
    """I001-4: where no file names the workflow so, the folder of that name is its own."""
    place = f"{FOLDER}/feature-implementation/state-feature-implementation-20251209_143052.json"
    path = put(place, seed("compaction-feature-start.json"), age=40)
    put("CLAUDE.local.md", "Workflow: Feature Implementation\nPhase: 3/5 - Testing\n", age=10)
    assert save(project).path == path


def test_names_that_share_their_first_letters_stay_two_workflows(project: Workspace, put: Put) -> None:
    """Two long names whose folders are the same after cutting do not become one."""
    for ending in ("one", "two"):
        put("CLAUDE.local.md", f"Workflow: {'long ' * 15}{ending}\nPhase: 1/2 - A\n")
        assert save(project).action == "created"
    assert len(compaction.find(project).workflows) == 2


def test_a_completed_workflow_is_not_revived_by_an_unchanged_memory_file(project: Workspace, put: Put) -> None:
    """I001-6: the tombstone holds however often the memory file is seen again, touched or not."""
    save_and_complete(project, put)
    for age in (0, -100):
        put("CLAUDE.local.md", MEMORY, age=age)
        assert save(project) == Saved(None, "buried", None)
    assert compaction.find(project).workflows == ()


def test_a_workflow_no_compaction_ever_saved_is_buried_too(project: Workspace, put: Put) -> None:
    """Started and completed with the CLI: the memory file that names it was never taken over, and still is buried."""
    workflow = compaction.start(project, Start(title="QA Loop"))
    put("CLAUDE.local.md", MEMORY)
    verbs.done(project, workflow, everything=True)
    assert save(project).action == "buried"


def test_a_workflow_the_ledger_forgot_is_buried_by_its_tombstone_alone(project: Workspace, put: Put) -> None:
    """The tombstone needs no memory of where the state file was."""
    save_and_complete(project, put)
    project.ledger.run("DELETE FROM extracts")
    assert save(project).action == "buried"


def test_a_state_file_removed_by_hand_counts_as_completed(project: Workspace, put: Put) -> None:
    """Document 001 tells agents to `rm -rf` the folder at the end and says nothing about CLAUDE.local.md."""
    put("CLAUDE.local.md", MEMORY)
    save(project)
    shutil.rmtree(project.root / FOLDER / "qa-loop")
    assert save(project).action == "buried"
    shutil.rmtree(project.root / "untracked")
    assert save(project).action == "buried"
    assert not (project.root / "untracked").exists()


def test_a_new_run_of_a_workflow_is_saved_again(project: Workspace, put: Put) -> None:
    """Workflows are repeatable; a memory file that says something new starts a new file."""
    put("CLAUDE.local.md", MEMORY)
    save(project)
    shutil.rmtree(project.root / FOLDER / "qa-loop")
    put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "1/3 - Run QA"))
    assert save(project).action == "created"


def test_a_plan_that_changes_does_not_revive_what_the_memory_file_names(project: Workspace, put: Put) -> None:
    """The plan adds to the extract, but only the memory file's own change makes it a new one."""
    save_and_complete(project, put)
    put("CLAUDE/Plan/001-x/PLAN.md", "# Plan 1: Other\nStatus: In Progress\nphase\n")
    assert save(project).action == "buried"


def test_a_memory_file_that_comes_back_names_what_was_completed_meanwhile(project: Workspace, put: Put) -> None:
    """As by a checkout of another branch: nobody removed its state file by mistake."""
    memory = put("CLAUDE.local.md", MEMORY)
    workflow = save(project).workflow
    assert workflow is not None
    memory.unlink()
    verbs.done(project, workflow, everything=True)

    put("CLAUDE.local.md", MEMORY)

    assert save(project) == Saved(None, "buried", None)


def test_the_end_of_one_workflow_buries_none_that_is_only_spelled_alike(project: Workspace, put: Put) -> None:
    """A folder's name tells whose it is only where it says the whole name."""
    put("CLAUDE.local.md", MEMORY.replace("QA Loop", "Größe"))
    other = compaction.start(project, Start(title="Gr e", phases=(("One", ""),)))
    assert other.path.parent.name == "gr-e"

    verbs.done(project, other, everything=True)

    saved = save(project)
    assert saved.action == "created" and saved.workflow is not None
    assert saved.workflow.title == "Größe"


def test_a_memory_file_that_says_completed_creates_nothing(project: Workspace, put: Put) -> None:
    """A finished workflow needs no state file."""
    put("CLAUDE.local.md", MEMORY.replace("2/3", "3/3") + "Status: completed\n")
    assert save(project).action == "none"


def test_a_completed_state_file_is_not_reopened_by_a_newer_memory_file(project: Workspace, put: Put) -> None:
    """Without a last extract to compare with, a finished workflow stays finished."""
    finished = RICH | {"phase": {"current": 3, "total": 3, "name": "Verify", "status": "completed"}}
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", finished, age=40)
    put("CLAUDE.local.md", MEMORY, age=10)
    assert save(project).action == "unchanged"
    assert data_of(path) == finished


@pytest.mark.usefixtures("soon_after")
def test_a_plan_of_its_own_is_marked_as_derived_until_somebody_moves_it(project: Workspace, put: Put) -> None:
    """I001-9: agent-made state outranks plan-derived state."""
    put(
        "CLAUDE/Plan/001-x/PLAN.md",
        "# Plan 1: Auth\nStatus: In Progress\n## Phase 1: A\n- [x] a\n## Phase 2: B\n- [ ] b\n",
    )
    workflow = save(project).workflow
    assert workflow is not None
    assert (workflow.title, workflow.origin, workflow.position) == ("Auth", "plan", "2/2")
    assert verbs.update(project, workflow, Changes(status="blocked")).origin == "agent"


def test_the_newest_readable_file_of_several_is_the_workflows(project: Workspace, put: Put) -> None:
    """I001-7, I001-11: the newest is broken and was never seen, so the next good one counts."""
    put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=60)
    good = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_160000.json", RICH, age=40)
    broken = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_170000.json", '{"workflow": "QA Loop", "pha', age=20)
    put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "3/3 - Verify"), age=10)
    assert save(project).path == good
    assert broken.read_text() == '{"workflow": "QA Loop", "pha'


def test_a_broken_file_is_saved_from_its_last_generation(project: Workspace, put: Put) -> None:
    """The content nobody can read is set aside by our own write and nothing of the last good one is lost."""
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    put("CLAUDE.local.md", MEMORY, age=50)
    save(project)
    generations.keep(project, path, path.read_bytes(), why="seen")
    path.write_text("{ torn")
    put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "3/3 - Verify"), age=-10)
    assert save(project).action == "updated"
    data = data_of(path)
    assert data["phase"]["current"] == 3
    assert data["ours"] == RICH["ours"]
    assert len(list(path.parent.glob("*.corrupt-*"))) == 1


def test_a_foreign_file_in_our_folder_is_never_written(project: Workspace, put: Put) -> None:
    """Lesson 2: another tool's state file stays byte for byte, and the workflow gets a file of its own."""
    foreign = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", {"name": "eslint", "phase": 3})
    before = foreign.read_bytes()
    put("CLAUDE.local.md", MEMORY)
    saved = save(project)
    assert saved.action == "created"
    assert saved.path != foreign
    assert foreign.read_bytes() == before


@pytest.mark.parametrize("place", ["untracked", FOLDER, f"{FOLDER}/qa-loop"])
def test_a_linked_folder_is_refused(project: Workspace, put: Put, tmp_path: Path, place: str) -> None:
    """Nothing is written through a link out of the project."""
    outside = tmp_path / "outside"
    outside.mkdir()
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    put("CLAUDE.local.md", MEMORY)
    with pytest.raises(StateError, match="symbolic link"):
        save(project)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["../../escape", "/etc/passwd", "🚀", "تطوير", "x" * 10_000, "CON", "a\x00b", "-rf *"])
def test_odd_names_stay_inside_their_folder(project: Workspace, put: Put, name: str) -> None:
    """R001-03: whatever the name, one file in one folder below the state folder, and the name itself kept."""
    put("CLAUDE.local.md", f"Workflow: {name}\nPhase: 1/2 - A\n")
    assert save(project).action == "created"
    path = only_file(project)
    assert path.parent.parent == project.root / FOLDER
    assert data_of(path)["workflow"] == name
    assert save(project).action == "unchanged"


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
            compaction.save(project, extract)
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


def test_a_first_phase_that_is_completed_ends_no_workflow(project: Workspace, put: Put) -> None:
    """Phases are left, so there is something to be restored."""
    put("CLAUDE.local.md", MEMORY.replace("2/3", "1/3") + "Status: completed\n")

    saved = save(project)

    assert saved.action == "created" and saved.workflow is not None
    assert (saved.workflow.position, saved.workflow.finished) == ("1/3", False)


def test_a_memory_file_written_after_the_state_moved_has_the_last_word(project: Workspace, put: Put) -> None:
    """Somebody went back a phase on purpose."""
    put("CLAUDE.local.md", MEMORY)
    workflow = save(project).workflow
    assert workflow is not None
    moved = verbs.done(project, workflow)
    assert moved.position == "3/3"
    memory = put("CLAUDE.local.md", MEMORY.replace("2/3 - Fixing Errors", "1/3 - Again"))
    later = moved.path.stat().st_mtime + 60
    os.utime(memory, (later, later))

    again = save(project).workflow

    assert again is not None
    assert (again.position, again.phase) == ("1/3", "Again")


def test_a_guess_at_how_many_phases_there_are_is_not_written(project: Workspace, put: Put) -> None:
    """A file without a total stays so when the number goes up; one that was exceeded gives way to the number."""
    for phase, total in (({"current": 2}, None), ({"current": 2, "total": 3}, 4)):
        path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH | {"phase": phase}, age=40)
        put("CLAUDE.local.md", MEMORY.replace("2/3", "4"), age=10)

        assert save(project).action == "updated"

        assert (data_of(path)["phase"]["current"], data_of(path)["phase"].get("total")) == (4, total)
        shutil.rmtree(project.ledger_file.parent, ignore_errors=True)
        project = Workspace.open(project.root)


@pytest.mark.usefixtures("soon_after")
def test_what_the_memory_file_names_is_no_copy_of_a_plan(project: Workspace, put: Put) -> None:
    """Though a plan adds its reading to it: a person keeps it (I001-9)."""
    put("CLAUDE.local.md", MEMORY)
    put("CLAUDE/Plan/001-x/PLAN.md", "# Plan 1: Auth\nStatus: In Progress\n## Phase 1: A\n- [x] a\n")

    workflow = save(project).workflow

    assert workflow is not None
    assert (workflow.title, workflow.origin) == ("QA Loop", "agent")
    assert "@CLAUDE/Plan/001-x/PLAN.md" in workflow.reading


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
    own = compaction.start(project, Start(title="Auth", phases=(("A", ""), ("B", ""))))
    verbs.done(project, own, everything=True)

    newer.unlink()

    assert save(project).action == "buried"
    assert not list((project.root / FOLDER).glob("*/*"))


def test_only_a_type_that_the_document_knows_replaces_another(project: Workspace, put: Put) -> None:
    """I001-8: nothing else is written."""
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    for number, (said, written) in enumerate((("release", "qa-loop"), ("planning", "planning"))):
        found = Extract("QA Loop", kind=said, reminders=(f"News {number}",), mtime=2_000_000_000.0)
        assert compaction.save(project, found).action == "updated"
        assert data_of(path)["workflow_type"] == written


def test_a_total_below_the_phase_that_was_reached_brings_it_back(project: Workspace, put: Put) -> None:
    """I001-17: nothing out of bounds is written."""
    path = put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", RICH, age=40)
    compaction.save(project, Extract("QA Loop", total=1, mtime=2_000_000_000.0))
    phase = data_of(path)["phase"]
    assert (phase["current"], phase["total"]) == (1, 1)
