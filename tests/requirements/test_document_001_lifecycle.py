"""Document 001, a workflow's start, its transitions and its end (R001-11, R001-12, R001-19, R001-20, I001-3)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.handmade import ME
from tests.requirements import document_001 as document
from tests.requirements.document_001 import FOLDER, Desk, state, untouched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


def start_example_1(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Start Example 1 with one command, at its time; return what the document says it is."""
    example = document.example("example-1-start")
    monkeypatch.setenv("HOLDFAST_NOW", example["created_at"])
    arguments = ["--type", example["workflow_type"], "--phase", example["phase"]["name"], "--total", "5"]
    arguments += [each for entry in example["required_reading"] for each in ("--read", entry)]
    arguments += [each for text in example["key_reminders"] for each in ("--remind", text)]
    arguments += [each for key, value in example["context"].items() for each in ("--set", f"{key}={value}")]
    desk.run("start", example["workflow"], *arguments)
    return example


def comparable(data: dict[str, Any]) -> dict[str, Any]:
    """Return a state with what stands in it beside the document's own: our list of phases, microseconds."""
    context = {key: value for key, value in data["context"].items() if key not in ("phases", "phase_notes")}
    return data | {"context": context, "created_at": data["created_at"].replace(".000000", "")}


def test_a_start_and_a_transition_write_the_documents_example(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """R001-11, R001-12: all that Example 1 names; its update is number, name and a reminder more, in its file."""
    example = start_example_1(desk, monkeypatch)
    path = desk.file
    assert document.violations(desk.state) == []
    assert comparable(desk.state) == example
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-10T09:00:00Z")
    update = document.example("example-1-update")

    desk.run("update", "--phase", str(update["phase"]["current"]))
    desk.run("update", "--rename", update["phase"]["name"], "--remind", update["key_reminders"][-1])

    assert desk.files == [path]
    assert comparable(desk.state) == update


def test_a_transition_by_hand_is_what_the_model_gets_back(desk: Desk) -> None:
    """R001-12: the agent writes Example 1's update over its start, and the next compaction restores the update."""
    path = desk.keep(document.words("example-1-start.json"), "feature-implementation", age=60)
    desk.compaction()
    path.write_text(document.words("example-1-update.json"), "utf-8")

    text = desk.compaction()

    assert "Phase: 3/5 - Testing" in text
    assert "Run integration tests after unit tests" in text
    assert path.read_text("utf-8") == document.words("example-1-update.json")


@pytest.mark.parametrize("status", ["not_started", "completed", "blocked"])
def test_a_phase_that_is_moved_to_is_in_progress(desk: Desk, status: str) -> None:
    """R001-12: number, name and status are kept current: the new phase has neither the old one's name nor status."""
    path = desk.keep(state("QA Loop", phase={"status": status}))

    desk.run("update", "--phase", "3")

    phase = desk.read(path)["phase"]
    assert (phase["current"], phase["status"]) == (3, "in_progress")
    assert phase["name"] != "QA Loop middle"


def test_completing_a_phase_is_a_transition_to_the_next(desk: Desk) -> None:
    """R001-12: `holdfast done` moves number, name and status on in the same file and keeps the rest."""
    desk.run(
        "start", "QA Loop", "--type", "qa-loop", "--phase", "Run QA", "--phase", "Fix Issues", "--remind", "Be kind"
    )
    before, path = desk.state, desk.file

    desk.run("done", "--note", "three errors are left")

    assert desk.files == [path]
    after = desk.state
    assert after["phase"] == {"current": 2, "total": 2, "name": "Fix Issues", "status": "in_progress"}
    for key in set(before) - {"phase", "context"}:
        assert after[key] == before[key]
    assert "three errors are left" in desk.compaction()
    desk.run("update", "--total", "3", "--rename", "Fix them")
    desk.run("done")
    titles = [each["title"] for each in desk.show()["phases"]]
    assert titles[:2] == ["Run QA", "Fix them"], "a phase's title outlives it"


def test_completing_removes_the_file_and_its_directory(desk: Desk) -> None:
    """R001-19: when the last phase is done, and not before; also a file that an agent wrote."""
    desk.run("start", "QA Loop", "--phase", "Run QA", "--phase", "Fix", "--phase", "Verify")
    path = desk.file
    for _ in range(2):
        desk.run("done")
        assert desk.files == [path], "not all phases are done"
    assert "completed" in desk.run("done").out
    assert not path.parent.exists()
    assert desk.compaction() == ""

    by_hand = desk.keep(state("By hand", phase={"current": 3}), "qa")
    desk.run("done", "By hand")
    assert not by_hand.parent.exists()


def test_no_hook_ever_deletes_a_state_file(desk: Desk) -> None:
    """R001-19: completing is asked for; a workflow whose last phase says completed stays until then."""
    path = desk.keep(state("QA Loop", phase={"current": 3, "status": "completed"}), "qa-loop")
    desk.put("CLAUDE.local.md", "# Workflow State\nWorkflow: QA Loop\nPhase: 3/3 - Verify\nStatus: completed\n")

    desk.compaction()
    desk.project.fire("SessionEnd", "SessionEnd-clear")

    assert path.exists()


def test_another_workflows_directory_is_not_touched(desk: Desk) -> None:
    """R001-20: completing one workflow leaves every other file, directory and modification time as it was."""
    mine = desk.keep(state("Page"), "page")
    others = [
        desk.keep(state("Page Orchestration"), "page-orchestration"),
        desk.keep(state("Pag"), "pag"),
        desk.keep("{", "page-broken"),
        desk.put(f"{FOLDER}/page-notes/notes.md", "mine"),
        desk.put(f"{FOLDER}/README.md", "mine"),
    ]
    before = [untouched(path) for path in others]

    desk.run("done", "Page", "--all")

    assert not mine.parent.exists()
    assert [untouched(path) for path in others] == before


def test_completion_removes_only_the_state_files_of_that_workflow(desk: Desk) -> None:
    """I001-3: no `rm -rf`: other files in its directory stay, and so does the directory, until it is empty."""
    first = desk.keep(state("QA Loop"), "qa-loop", age=60)
    second = desk.put(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", json.dumps(state("QA Loop")))
    kept = [
        desk.put(f"{FOLDER}/qa-loop/state-other-20251209_150000.json", json.dumps(state("Other"))),
        desk.put(f"{FOLDER}/qa-loop/notes.md", "mine"),
        desk.put(f"{FOLDER}/qa-loop/state.json", json.dumps(state("QA Loop"))),
        desk.put(f"{FOLDER}/qa-loop/deeper/state-x-20251209_150000.json", json.dumps(state("QA Loop"))),
    ]

    desk.run("done", "QA Loop", "--all")

    assert desk.files == sorted(kept)
    assert not first.exists()
    assert not second.exists()


@pytest.mark.parametrize("name", ["", " ", ".", "..", "*", "/"])
def test_completion_never_acts_on_a_name_that_names_nothing(desk: Desk, name: str) -> None:
    """I001-3: never with an empty name, nor with one that would reach further than one workflow."""
    paths = [desk.keep(state("QA Loop"), "qa-loop"), desk.keep(state("Page"), "page")]

    assert desk.run("done", name, "--all", code=1).err
    assert desk.files == sorted(paths)


def test_completion_follows_no_link_out_of_the_project(desk: Desk, tmp_path: Path) -> None:
    """I001-3: a directory that leads elsewhere is not emptied."""
    outside = tmp_path / "outside" / "state-qa-loop-20251209_143052.json"
    outside.parent.mkdir()
    outside.write_text(json.dumps(state("QA Loop")))
    (desk.root / FOLDER).mkdir(parents=True)
    (desk.root / FOLDER / "qa-loop").symlink_to(outside.parent)

    desk.run("done", "QA Loop", "--all", code=1)

    assert outside.exists()


def test_a_completed_workflow_can_be_looked_up_in_the_archive(desk: Desk) -> None:
    """I001-3: what completion removed is kept: listed, and shown with its final content."""
    desk.run("start", "QA Loop", "--phase", "Run QA", "--remind", "Be kind", "--read", "docs/a.md", session=ME)
    desk.run("done", "--all", session=ME)

    assert "no workflow is in progress" in desk.run("status").out
    (row,) = desk.run("status", "--all", "--json").json["archive"]
    assert (row["title"], row["status"], row["format"]) == ("QA Loop", "completed", "compaction")
    shown = desk.show(row["id"])
    assert (shown["key_reminders"], shown["required_reading"]) == (["Be kind"], ["@docs/a.md"])


PLAN = "# Plan 001: User Auth\n\n**Status**: 🔄 In Progress\n\n## Phase 1: Design\n\n- [ ] a\n\n## Phase 2: Build\n"
PLACE = "CLAUDE/Plan/001-auth/PLAN.md"


def test_a_workflow_that_ended_early_goes_on_once_it_is_put_back_and_moved(desk: Desk) -> None:
    """I001-3: until then it is over."""
    desk.run("start", "QA Loop", "--phase", "Run QA", "--phase", "Fix", "--phase", "Ship")
    desk.run("done", "--all")
    last = desk.run("restore", "--workflow", "QA Loop", "--json").json[0]["number"]
    desk.run("restore", str(last), "--workflow", "QA Loop")
    assert desk.run("status", "QA Loop", "--json").json["status"] == "completed"

    desk.run("update", "QA Loop", "--phase", "2")

    shown = desk.run("status", "QA Loop", "--json").json
    assert (shown["status"], shown["phase"]) == ("active", "Fix")


def _move(desk: Desk, place: str) -> None:
    (desk.root / "CLAUDE/Plan/Completed").mkdir()
    (desk.root / place).parent.rename(desk.root / "CLAUDE/Plan/Completed/001-auth")


ENDS: dict[str, tuple[str, str, Callable[[Desk, str], object], str]] = {
    "a plan that says so": (
        *(PLACE, PLAN, lambda desk, place: desk.put(place, PLAN.replace("🔄 In Progress", "✅ Complete"))),
        f"in {PLACE} the status says completed",
    ),
    "a plan that was moved": (PLACE, PLAN, _move, f"{PLACE} is gone"),
    "a plan that was deleted": (PLACE, PLAN, lambda desk, place: (desk.root / place).unlink(), f"{PLACE} is gone"),
    "lines that left the memory file": (
        *("CLAUDE.local.md", "# Workflow State\n\nWorkflow: User Auth\nPhase: 1/2 - Design\n"),
        *(lambda desk, place: desk.put(place, "# Notes\n"), "CLAUDE.local.md no longer names it as unfinished"),
    ),
    "another workflow in the memory file": (
        *("CLAUDE.local.md", "# Workflow State\n\nWorkflow: User Auth\nPhase: 1/2 - Design\n"),
        lambda desk, place: desk.put(place, "# Workflow State\n\nWorkflow: Next\nPhase: 1/2 - Design\n"),
        "CLAUDE.local.md no longer names it as unfinished",
    ),
    "a memory file that was deleted": (
        *("CLAUDE.local.md", "# Workflow State\n\nWorkflow: User Auth\nPhase: 1/2 - Design\n"),
        *(lambda desk, place: (desk.root / place).unlink(), "CLAUDE.local.md is gone"),
    ),
}


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_a_derived_state_ends_with_its_source(desk: Desk, end: str, touched: bool) -> None:
    """I001-6: at once, wherever one looks. What an agent changed since goes on, and the model is told (I001-9)."""
    place, text, finish, why = ENDS[end]
    desk.put(place, text, age=60)
    desk.compaction()
    if touched:
        desk.run("update", "--remind", "Be kind", session=ME)
    path = desk.file

    finish(desk, place)

    wrong = []
    (row,) = [each for each in desk.run("status", "--json").json["workflows"] if each["title"] == "User Auth"]
    if (row["status"], row["ended"]) != ("active" if touched else "completed", why):
        wrong.append(f"status: {row}")
    if f"; {why}\n" not in desk.run("status", "User Auth").out:
        wrong.append("status for people")
    if f"is over: {why}, but its file is still there" not in desk.run("doctor", "compaction").out:
        wrong.append("doctor")
    if touched is not ("User Auth" in desk.begin("clear").context):
        wrong.append("a start")
    told = desk.compaction()
    if touched is not ("Workflow: User Auth" in told and f"{why}. If the work is over: `holdfast done --all" in told):
        wrong.append(f"a compaction: {told}")
    if not touched:
        desk.put(place, text)
        (row,) = [each for each in desk.run("status", "--json").json["workflows"] if each["title"] == "User Auth"]
        wrong += [] if row["status"] == "active" else ["the source is back"]
    assert path.exists() and not wrong, wrong
