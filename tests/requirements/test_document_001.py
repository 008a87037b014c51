"""Document 001 as a whole: compaction cycles, handlers, the document's test areas and its troubleshooting questions."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from tests import processes
from tests.handmade import ME, OTHER
from tests.requirements import document_001 as document
from tests.requirements.document_001 import FOLDER, RESTORED, Desk, state, under

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

pytestmark = pytest.mark.slow

CYCLES = 10


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


def test_ten_compactions_lose_nothing(desk: Desk) -> None:
    """R001-15: transitions and hand edits between them, an old memory file, several workflows: lossless every time."""
    phases = [f"Step {number:02d}" for number in range(1, CYCLES + 1)]
    desk.put("CLAUDE.local.md", document.words("memory-file.md"), age=3_600)
    desk.keep(document.words("example-2.json"), "qa-loop", age=1_800)
    desk.keep(document.words("example-3.json"), "migration", age=1_700)
    desk.precompact()  # turns the memory file into a state file
    asides = {path: path.read_bytes() for path in desk.files}
    assert len(asides) == 3
    arguments = [item for each in phases for item in ("--phase", each)]
    arguments += ["--read", "docs/first.md", "--remind", "Reminder 0", "--set", "value0=0"]
    desk.run("start", "Long Work", "--type", "implementation", *arguments, session=ME)
    (path,) = set(desk.files) - set(asides)
    born = desk.read(path)

    for cycle in range(CYCLES):
        text = desk.compaction()

        assert f"Phase: {cycle + 1}/{CYCLES} - {phases[cycle]} (in_progress)" in text
        assert under(text, "Key reminders") == [f"Reminder {number}" for number in range(cycle + 1)]
        assert [entry.split()[0] for entry in under(text, "REQUIRED READING")] == [
            "@docs/first.md",
            *(f"@docs/{number}.md" for number in range(1, cycle + 1)),
        ]
        values = under(text, "Context:")
        assert [f"value{number}: {number}" for number in range(cycle + 1)] == [
            v for v in values if v.startswith("value")
        ]
        assert [phase in text for phase in phases[cycle:]] == [True] * (CYCLES - cycle)
        for title in ("QA Loop", "Database Migration", "Page Orchestration - Case Studies"):
            assert f'"{title}" (compaction): phase ' in text
        now = desk.read(path)
        assert document.violations(now) == []
        assert now["created_at"] == born["created_at"]
        assert {other: other.read_bytes() for other in asides} == asides
        assert set(desk.files) == {path, *asides}
        _go_on(desk, path, cycle + 1)

    assert not path.exists()
    assert {other: other.read_bytes() for other in asides} == asides


def _go_on(desk: Desk, path: Path, number: int) -> None:
    """Work on: a new reminder, reading and value, by command and by hand in turn, and the next phase."""
    if number % 2:
        desk.run("update", "--remind", f"Reminder {number}", "--set", f"value{number}={number}", session=ME)
        desk.run("update", "--read", f"docs/{number}.md", session=ME)
    else:
        data = desk.read(path)
        data["key_reminders"].append(f"Reminder {number}")
        data["required_reading"].append(f"@docs/{number}.md")
        data["context"][f"value{number}"] = number
        path.write_text(json.dumps(data, indent=4, ensure_ascii=False), "utf-8")
    desk.put("CLAUDE.local.md", document.words("memory-file.md"), age=0 if number % 3 else 3_600)
    desk.run("done", "--note", f"noted {number}", session=ME)


def test_ten_compactions_without_an_agents_help(desk: Desk) -> None:
    """R001-15: the memory file alone, moved on by hand: each cycle updates the one file and restores what it says."""
    for cycle in range(1, CYCLES + 1):
        desk.put(
            "CLAUDE.local.md",
            f"# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: {cycle}/10 - Part {cycle}\n\n"
            f"@docs/{cycle}.md\n",
            age=-cycle,
        )
        text = desk.compaction()

        assert f"Phase: {cycle}/10 - Part {cycle}" in text
        assert desk.state["required_reading"] == [f"@docs/{number}.md" for number in range(1, cycle + 1)]
        if cycle == 1:
            path, born = desk.file, desk.state["created_at"]
    assert desk.files == [path]
    assert desk.state["created_at"] == born


OURS = {"save_workflow": "PreCompact", "restore_workflow": "SessionStart"}


@pytest.mark.parametrize("name", OURS)
def test_both_handlers_are_shipped_and_registered(desk: Desk, name: str) -> None:
    """R001-24: what the document calls PreCompactHandler and RestorationHandler, under this project's names."""
    (row,) = [row for row in _listed(desk, OURS[name]) if row["file"].endswith(f"/{name}.py")]

    assert row["place"] == "shipped"
    assert not row["broken"]
    assert not row["off"]
    assert row["match"] is None, "the source is compared in the code (I001-18)"
    (group,) = desk.run("install", "--print").json["hooks"][OURS[name]]
    assert "matcher" not in group
    assert f" {OURS[name]} " in group["hooks"][0]["command"]


def test_precompact_has_no_priority(desk: Desk) -> None:
    """R001-24: other handlers may stand before or after ours, each is heard, and ours saves either way."""
    _drop_in("aaa", "@hookimpl(tryfirst=True)\ndef on_pre_compact(event): return instruct_summary('before')\n")
    _drop_in("zzz", "@hookimpl(trylast=True)\ndef on_pre_compact(event): return instruct_summary('after')\n")
    _drop_in("mmm", "@hookimpl\ndef on_pre_compact(event): return instruct_summary('in between')\n")
    desk.put("CLAUDE.local.md", document.words("memory-file.md"))

    said = desk.precompact()

    document.assert_order(said, ["before", "Page Orchestration", "after"])
    assert "in between" in said
    assert document.violations(desk.state) == []


@pytest.mark.parametrize("name", OURS)
def test_a_same_named_file_of_the_users_replaces_one_handler_and_not_the_other(desk: Desk, name: str) -> None:
    """R001-24: in a nearer folder, under the same name."""
    hook = {"save_workflow": "on_pre_compact", "restore_workflow": "on_session_start"}[name]
    desk.put("CLAUDE.local.md", document.words("memory-file.md"))
    desk.keep(state("By hand"), "by-hand", age=60)
    _drop_in(name, f"@hookimpl\ndef {hook}(event): return None\n")

    found = [row for row in _listed(desk, OURS[name]) if row["file"].endswith(f"/{name}.py")]
    assert [row["place"] for row in found if not row["inactive_reason"]] == ["user"]
    assert "replaced by" in next(row["inactive_reason"] for row in found if row["place"] == "shipped")
    text = desk.compaction()
    created = [path for path in desk.files if path.parent.name != "by-hand"]
    assert bool(created) is (name != "save_workflow")
    assert (RESTORED in text) is (name != "restore_workflow")


@pytest.mark.parametrize("place", ["PLAN.md", "task_plan.md", ".planning/STATE.md", "CLAUDE/Plan/importer.md"])
def test_explain_names_a_plan_that_is_not_read_and_its_command_takes_it_up(desk: Desk, place: str) -> None:
    """R001-27: a plan at another tool's place, until a workflow requires reading it."""
    desk.put(
        place, "# 🔄 It's an `Importer`\n\n**Status**: In Progress\n\n- [x] Phase 1: Design\n- [ ] Phase 2: Build\n"
    )
    said = desk.run("status", "--why").out
    (line,) = [each for each in said.splitlines() if each.startswith(f"  - {place}: ")]
    program, *arguments = shlex.split(line.split("`")[1])

    desk.run(*arguments)

    assert (program, desk.show()["required_reading"]) == ("holdfast", [f"@{place}"])
    assert f"  - {place}: " not in desk.run("status", "--why").out


def _listed(desk: Desk, event: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = desk.run("handlers", "list", "--json").json["events"][event]
    return rows


def _second(stamp: str) -> str:
    """Return a stamp as people see it."""
    return f"{stamp[:10]} {stamp[11:19]}"


def _drop_in(name: str, text: str) -> None:
    folder = paths.user_handlers()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(f"from holdfast import *\n\n{text}")


class Machine:
    """A project on a machine of its own, where every event and every command is a process."""

    def __init__(self, folder: Path) -> None:
        """Set up a home with the shipped handlers."""
        self.place = processes.make(folder)
        (self.place.home / ".config" / "holdfast" / "holdfast.toml").unlink()

    def write(self, path: str, content: str | dict[str, Any]) -> Path:
        """Write a file of the project by hand."""
        return self.place.write(path, content if isinstance(content, str) else json.dumps(content))

    def run(self, *arguments: str) -> str:
        """Run a command as the session's Bash tool does."""
        environ = self.place.environ(CLAUDE_CODE_SESSION_ID=processes.SESSION, PYTHONPATH=str(processes.SOURCE))
        command = [sys.executable, "-m", "holdfast", *arguments]
        ended = processes.run(command, b"", environ, self.place.root)
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout

    def precompact(self) -> str:
        """Announce a compaction; it must be allowed."""
        ended = self.place.fire(self.place.payload("PreCompact-auto"), "PreCompact")
        assert ended.exit_code == 0
        assert not ended.stdout.startswith("{")
        return ended.stdout

    def compaction(self) -> str:
        """Let a compaction happen; return what reaches the model."""
        self.precompact()
        ended = self.place.fire(self.place.payload("SessionStart-compact"), "SessionStart")
        assert ended.exit_code == 0
        return ended.advice

    @property
    def files(self) -> list[Path]:
        """The state files."""
        return sorted((self.place.root / FOLDER).glob("*/*"))


def _detection(machine: Machine) -> None:
    assert machine.precompact() == ""
    machine.write("CLAUDE/Plan/001-auth/PLAN.md", "# Plan 001: Auth\n\n**Status**: 🔄 In Progress\n\n## Phase 1: A\n")
    assert "Auth" in machine.precompact()
    machine.write("CLAUDE.local.md", document.words("memory-file.md"))
    assert "Page Orchestration - Case Studies" in machine.precompact()


def _creation_and_updates(machine: Machine) -> None:
    machine.write("CLAUDE.local.md", document.words("memory-file.md"))
    machine.precompact()
    (path,) = machine.files
    created = json.loads(path.read_bytes())
    machine.write("CLAUDE.local.md", document.words("memory-file.md").replace("4/10 - SEO", "5/10 - Image"))
    machine.precompact()
    assert machine.files == [path]
    phase = created["phase"] | {"current": 5, "name": "Image Generation"}
    assert json.loads(path.read_bytes()) == created | {"phase": phase}


def _directories_and_names(machine: Machine) -> None:
    machine.run("start", "Feature Implementation", "--phase", "Design")
    machine.run("start", "QA Loop", "--phase", "Run QA")
    assert [path.parent.name for path in machine.files] == ["feature-implementation", "qa-loop"]
    for path in machine.files:
        stem, _, moment = path.stem.removeprefix("state-").rpartition(f"{path.parent.name}-")
        assert (stem, path.suffix, len(moment), moment[8]) == ("", ".json", 15, "_")
        assert moment.replace("_", "").isdecimal()


def _at_signs(machine: Machine) -> None:
    wanted = document.code(document.words("required-reading.md"))
    machine.run("start", "Book", "--phase", "One", *[each for entry in wanted for each in ("--read", entry[1:])])
    machine.write("CLAUDE.local.md", "# Workflow State\n\nWorkflow: Book\nPhase: 1/1 - One\n\n@docs/more.md\n")
    text = machine.compaction()
    assert [entry.split()[0] for entry in under(text, "REQUIRED READING")] == [*wanted, "@docs/more.md"]
    (path,) = machine.files
    assert json.loads(path.read_bytes())["required_reading"] == [*wanted, "@docs/more.md"]


def _cycles(machine: Machine) -> None:
    machine.run("start", "Book", *[each for name in ("One", "Two", "Three") for each in ("--phase", name)])
    (path,) = machine.files
    born = json.loads(path.read_bytes())["created_at"]
    for position in ("1/3 - One", "2/3 - Two", "3/3 - Three"):
        assert f"Phase: {position}" in machine.compaction()
        assert json.loads(path.read_bytes())["created_at"] == born
        machine.run("done")
    assert machine.compaction() == ""


def _nothing_active(machine: Machine) -> None:
    machine.write("CLAUDE.local.md", "# Notes\n\nOur git workflow: rebase. Every phase counts.\n")
    machine.write("CLAUDE/Plan/001-auth/PLAN.md", "# Plan 001: Auth\n\n**Status**: ✅ Complete\n\n## Phase 1: A\n")
    assert machine.precompact() == ""
    assert machine.compaction() == ""
    assert machine.files == []


def _several(machine: Machine) -> None:
    machine.write(f"{FOLDER}/qa-loop/state-qa-loop-20251209_150000.json", document.words("example-2.json"))
    migration = machine.write(f"{FOLDER}/m/state-m-20251209_160000.json", document.words("example-3.json"))
    os.utime(migration, (migration.stat().st_mtime + 5, migration.stat().st_mtime + 5))
    text = machine.compaction()
    assert "Workflow: Database Migration" in text
    assert '"QA Loop" (compaction): phase 2/3 "Fixing Errors"' in text
    machine.run("done", "Database Migration", "--all")
    assert [path.parent.name for path in machine.files] == ["qa-loop"]
    assert "Workflow: QA Loop" in machine.compaction()


SCENARIOS: dict[str, Callable[[Machine], None]] = {
    "Workflow detection (CLAUDE.local.md, active plans)": _detection,
    "State file creation/updates": _creation_and_updates,
    "Directory structure and filenames": _directories_and_names,
    "@ syntax preservation": _at_signs,
    "Multiple compaction cycles": _cycles,
    "No workflow active (defensive)": _nothing_active,
    "Concurrent workflows": _several,
}


@pytest.mark.parametrize("area", document.words("test-scenarios.md").splitlines())
def test_each_test_area_of_the_document_holds_from_end_to_end(tmp_path: Path, area: str) -> None:
    """R001-25: detection, creation, names, @ kept, cycles, nothing active, concurrent ones, as real processes."""
    SCENARIOS[area.removeprefix("- ")](Machine(tmp_path))


def _not_created(desk: Desk) -> None:
    said = desk.explain()
    assert said["would_save"]["action"] == "none"
    (memory,) = said["candidates"]
    assert (memory["path"], memory["accepted"]) == (str(desk.root / "CLAUDE.local.md"), False)
    assert "does not exist" in memory["reasons"][0]

    desk.put("CLAUDE.local.md", "Workflow: Release\n")
    plan = desk.put("CLAUDE/Plan/001-auth/PLAN.md", "# Plan 001: Auth\n\n**Status**: Complete\n\n## Phase 1: A\n")
    memory, planned = desk.explain()["candidates"]
    assert "Phase:" in memory["reasons"][0]
    assert (planned["path"], planned["accepted"]) == (str(plan), False)
    assert '"Complete"' in planned["reasons"][0]

    desk.put("CLAUDE.local.md", document.words("memory-file.md"))
    plan.write_text("# Plan 001: Auth\n\n**Status**: 🔄 In Progress\n\n## Phase 1: A\n", "utf-8")
    said = desk.explain()
    memory, planned = said["candidates"]
    assert (memory["accepted"], planned["accepted"]) == (True, True)
    assert "Workflow State" in memory["reasons"][0]
    assert "Phase:" in memory["reasons"][0]
    assert said["detected"]["name"] == "Page Orchestration - Case Studies"
    assert said["would_save"]["action"] == "created"
    page = desk.run("status", "--why").out
    for words in (memory["reasons"][0], planned["reasons"][0], said["would_save"]["path"].rpartition("-")[0]):
        assert words in page
    assert desk.files == [], "asking creates nothing"


def _not_updated(desk: Desk) -> None:
    path = desk.keep(document.words("example-1-start.json"), "feature-implementation", age=86_400)
    row, shown, (listed,) = (
        desk.run("status", "--json").json["workflows"][0],
        desk.show(),
        desk.explain()["state_files"],
    )
    for said in (row, shown, listed):
        assert (said["current"], said["total"], said["phase"]) == (1, 5, "Design")
        assert said["updated_at"] < shown["created_at"].replace("2025", "9999")
        assert said["path"] in (str(path), path.relative_to(desk.root).as_posix())
    assert shown["created_at"] == listed["created_at"] == "2025-12-09T14:30:52Z"
    before = shown["updated_at"]
    desk.run("update", "--phase", "3")
    assert (desk.show()["current"], desk.show()["updated_at"] > before) == (3, True)
    assert desk.show()["created_at"] == "2025-12-09T14:30:52Z"


def _lost(desk: Desk) -> None:
    desk.run("start", "QA Loop", "--phase", "Run", "--phase", "Fix", "--read", "docs/a.md", session=ME)
    desk.precompact()
    (waiting,) = desk.run("status", "--json").json["compactions"]
    assert (waiting["workflows"], waiting["restored_at"]) == (["QA Loop (1/2 Run)"], None)
    assert waiting["saved_at"] >= desk.state["created_at"], "the file was there before the compaction"
    desk.begin()
    (restored,) = desk.run("status", "--json").json["compactions"]
    assert restored["restored_in"] == ME
    assert restored["restored_at"] >= restored["saved_at"]
    assert desk.show()["required_reading"] == ["@docs/a.md"]
    page = desk.run("status", "-v").out
    for words in ("QA Loop", f"saved {_second(restored['saved_at'])}", f"restored {_second(restored['restored_at'])}"):
        assert words in page
    desk.begin("startup", session=OTHER)
    assert OTHER in {each["id"] for each in desk.run("status", "--json").json["sessions"]}


def _accumulating(desk: Desk) -> None:
    older = desk.keep(state("QA Loop"), "qa-loop", age=300)
    desk.put(f"{FOLDER}/qa-loop/state-qa-loop-20251210_150000.json", json.dumps(state("QA Loop")), age=200)
    over = desk.keep(state("Page", phase={"current": 3, "status": "completed"}), "page", age=100)
    desk.keep(state("Database Migration"), "migration")

    said = desk.explain()
    assert len(said["state_files"]) == 4
    assert {each["path"] for each in said["accumulating"]} == {
        path.relative_to(desk.root).as_posix() for path in (older, over)
    }
    page = desk.run("status", "--why").out.partition("Piling up")[2]
    assert older.name in page
    assert over.name in page
    (why,) = [each["reason"] for each in said["accumulating"] if "page" in each["path"]]
    (command,) = document.code(why)
    desk.run(*command.removeprefix("holdfast ").split())
    desk.run("done", "QA Loop", "--all")
    assert desk.explain()["accumulating"] == []
    assert [each["title"] for each in desk.explain()["state_files"]] == ["Database Migration"]


QUESTIONS: dict[str, Callable[[Desk], None]] = {
    "State file not created?": _not_created,
    "State file not updated after phase transition?": _not_updated,
    "Workflow lost after compaction?": _lost,
    "Multiple state files accumulating?": _accumulating,
}
ASKED = [line.removeprefix("### ") for line in document.words("troubleshooting.md").splitlines() if line[:4] == "### "]


@pytest.mark.parametrize("question", ASKED)
def test_each_troubleshooting_question_is_answered_by_a_command(desk: Desk, question: str) -> None:
    """R001-27: what is detected and by which marker, where files lie and when they changed, which ones accumulate."""
    QUESTIONS[question](desk)


def test_what_explain_says_would_be_restored_is_what_is_restored(desk: Desk) -> None:
    """R001-27: "workflow lost after compaction?": the first it names is the one given in full, the others a line."""
    desk.keep(state("Older"), "older", age=300)
    desk.keep(state("Newest"), "newest", age=100)
    desk.keep(state("Over", phase={"current": 3, "status": "completed"}), "over")
    desk.put("CLAUDE/Plan/001-derived/PLAN.md", "# Derived\n\n**Status**: 🔄 In Progress\n\n## Phase 1: A\n")
    desk.precompact()

    said = desk.explain()["would_restore"]

    assert [ref.split("/")[2] for ref in said] == ["newest", "older", "derived"]
    assert "Workflow: Newest" in desk.begin().context
