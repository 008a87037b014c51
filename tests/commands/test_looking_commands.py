"""`holdfast list`, `explain` and `status` show the state of things to people and programs."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from holdfast import clock, log
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

KEYS = {"format", "id", "title", "status", "current", "total", "phase", "path", "updated_at"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a workflow in each format, the compaction one the older."""
    phases = ("--phase", "Draft", "--phase", "Review")
    more = ("--read", "docs/a.md", "--remind", "Be kind", "--set", "plan_number=7")
    holdfast("start", "Book", *phases, *more, root=tmp_path)
    holdfast("start", "Tool", "--format", "hybrid", *phases, root=tmp_path)
    (path,) = (tmp_path / "untracked" / "workflow-state").glob("*/*.json")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return tmp_path


def test_list_gives_programs_the_same_keys_for_every_format(root: Path) -> None:
    """An array over all formats, the newest first."""
    rows = holdfast("list", "--json", root=root).json

    assert [set(row) >= KEYS for row in rows] == [True, True]
    assert [(row["title"], row["format"]) for row in rows] == [("Tool", "hybrid"), ("Book", "compaction")]
    tool, book = rows
    assert (tool["status"], tool["current"], tool["total"], tool["phase"]) == ("pending", None, 2, "")
    assert (book["status"], book["current"], book["total"], book["phase"]) == ("active", 1, 2, "Draft")
    assert book["updated_at"] == clock.stamp(clock.from_mtime(1_700_000_000))
    assert tool["path"] == str(root / ".claude" / "state" / "workflow.json")
    assert tool["id"].startswith("wf_")


def test_list_shows_people_a_line_each(root: Path) -> None:
    """Status, position, title and id."""
    first, second = holdfast("list", root=root).out.splitlines()

    assert "0/2" in first
    assert "Tool" in first
    assert "1/2" in second
    assert "Book - Draft" in second


def test_list_in_an_empty_project(tmp_path: Path) -> None:
    """An empty array for programs, the way to begin for people."""
    assert holdfast("list", "--json", root=tmp_path).json == []
    assert "holdfast start TITLE" in holdfast("list", root=tmp_path).out


def test_list_names_what_it_cannot_read_on_stderr(root: Path) -> None:
    """The array stays an array; a broken file hides no other."""
    (root / ".claude" / "state" / "workflow.json").write_text("[]")
    said = holdfast("list", "--json", root=root)

    assert {row["title"] for row in said.json} == {"Book", "Tool"}, "the last good content of the broken one is used"
    assert ".claude/state/workflow.json" in said.err


def test_explain_says_what_is_seen_saved_and_restored(root: Path) -> None:
    """R001-27: every candidate with its reason, every state file, what would be saved and restored."""
    (root / "CLAUDE.local.md").write_text("# Current Workflow State\n\nWorkflow: Book\nPhase: 2/2 - Review\n")
    said = holdfast("explain", "--json", root=root).json

    assert said["detected"]["name"] == "Book"
    assert {each["title"] for each in said["state_files"]} == {"Book", "Tool"}
    assert said["would_save"]["action"] == "updated"
    assert len(said["would_restore"]) == 2
    text = holdfast("explain", root=root).out
    assert "CLAUDE.local.md" in text
    assert "Workflows\n" in text


def test_explain_writes_nothing(root: Path) -> None:
    """It may be asked at any time."""
    (root / "CLAUDE.local.md").write_text("# Current Workflow State\n\nWorkflow: New\nPhase: 1/2\n")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}

    holdfast("explain", root=root)

    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


@pytest.fixture
def compacted(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project in which one compaction was restored, one never came, one never announced itself, one had nothing."""
    project = holdfast_project({})
    project.fire("PreCompact", "PreCompact-manual", session_id="empty")
    project.fire("SessionEnd", "SessionEnd-other", session_id="empty")
    holdfast("start", "Book", "--phase", "Draft", root=project.root, session=ME)
    project.fire("PreCompact", "PreCompact-auto")
    project.fire("SessionStart", "SessionStart-compact")
    project.fire("SessionStart", "SessionStart-compact")
    project.fire("PreCompact", "PreCompact-auto")
    return project


def test_status_shows_the_last_compactions(compacted: HoldfastProject) -> None:
    """What was saved, what was restored, and what never came."""
    said = holdfast("status", "--json", root=compacted.root).json

    shown = [(each["trigger"], each["saved_at"] is None, each["restored_in"]) for each in said["compactions"]]
    assert shown == [("auto", False, None), ("none", True, ME), ("auto", False, ME), ("manual", False, None)]
    assert [each["workflows"] for each in said["compactions"]] == [["Book (1/1 Draft)"]] * 3 + [[]]
    text = holdfast("status", root=compacted.root).out
    for words in (
        "PreCompact never fired",
        "not restored",
        "nothing was saved, because it owned no workflow",
        "; restored 2",
        "Book (1/1 Draft)",
    ):
        assert words in text


def test_status_and_log_say_why_nothing_was_restored(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """The state file became unreadable between PreCompact and the session's return: only the trail was given."""
    project = holdfast_project()
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "A @x", root=project.root, session=ME)
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    (project.root / ".claude" / "state" / "workflow.json").write_text("{}")
    project.fire("SessionStart", "SessionStart-compact", session_id=ME)

    (row,) = holdfast("status", "--json", root=project.root).json["compactions"]
    status = holdfast("status", root=project.root).out
    log = holdfast("log", root=project.root).out

    assert (row["restored_at"], row["restored_in"]) == (None, None)
    assert row["not_restored"] == ".claude/state/workflow.json could not be read"
    assert "not restored (.claude/state/workflow.json could not be read): Tool" in status
    assert "not restored: .claude/state/workflow.json could not be read" in log
    (announced,) = (
        each["data"]
        for each in holdfast("log", "--json", root=project.root).json
        if each["what"].startswith("compaction announced")
    )
    assert (announced["restored"], announced["came"]) == (False, False)
    (project.root / ".claude" / "state" / "workflow.json").unlink()
    holdfast("log", "restore", "1", "--of", ".claude/state/workflow.json", root=project.root)
    assert holdfast("show", "--json", root=project.root).json["last_restore"] is None


def test_status_shows_workflows_with_their_owners(compacted: HoldfastProject) -> None:
    """And the sessions that were seen."""
    said = holdfast("status", "--json", root=compacted.root).json

    (book,) = said["workflows"]
    assert set(book) >= {*KEYS, "owner"}
    assert book["owner"] == ME
    assert {each["id"] for each in said["sessions"]} == {ME, "empty"}
    assert f"owned by session {ME[:8]}" in holdfast("status", root=compacted.root).out


def test_status_shows_what_failed(compacted: HoldfastProject) -> None:
    """Broken files, handlers at fault and the last warnings, each with its file."""
    compacted.write(
        {
            ".claude/state/workflow.json": "{",
            ".claude/handlers/bad.py": "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event): return 1 / 0\n",
        }
    )
    compacted.trust()
    assert compacted.fire("Stop", "Stop").faults
    log.write("info", "nothing to see")

    said = holdfast("status", "--json", root=compacted.root).json

    assert [each["path"] for each in said["problems"]] == [str(compacted.root / ".claude/state/workflow.json")]
    (fault,) = said["faults"]
    assert fault["file"].endswith("bad.py")
    assert "ZeroDivisionError" in fault["fault"]
    assert any("ZeroDivisionError" in line for line in said["log"])
    assert not any("nothing to see" in line for line in said["log"])
    text = holdfast("status", root=compacted.root).out
    assert "Failing handlers" in text
    assert "Unreadable files" in text
    assert re.search(r"\n  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d error Stop: .*ZeroDivisionError", text)
    assert "project=" not in text


def test_status_shows_what_is_completed_as_that(tmp_path: Path) -> None:
    """In either format where its file stays: as many of its phases as were completed."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "One", "--phase", "Two", root=tmp_path)
    assert "Tool: pending, 0/2 (hybrid)" in holdfast("status", root=tmp_path).out
    holdfast("next", root=tmp_path)
    holdfast("done", "--all", root=tmp_path)

    assert "Tool: completed, 1/2 (hybrid)" in holdfast("status", root=tmp_path).out
    assert holdfast("status", "--json", root=tmp_path).json["workflows"][0]["position"] == "1/2"


def test_status_shows_no_other_projects_warnings(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """All projects share the log; what names none concerns all."""
    there = holdfast_project({".claude/holdfast.toml": "tood = 1\n"})
    there.fire("Stop", "Stop")
    assert any("tood" in line for line in holdfast("status", "--json", root=there.root).json["log"])
    here = there.root.parent / "another project"
    here.mkdir()

    said = holdfast("status", "--json", root=here).json
    assert said["log"] == []
    (here / ".claude").mkdir()
    (here / ".claude" / "holdfast.toml").write_text("fromat = 1\n")
    (line,) = holdfast("status", "--json", root=here).json["log"]
    assert "fromat" in line


def test_status_of_an_empty_project_is_short(tmp_path: Path) -> None:
    """Where it looks and where its ledger lies, and no empty headings."""
    said = holdfast("status", root=tmp_path).out

    assert str(tmp_path) in said
    assert "Ledger" in said
    assert "\n\n" not in said
    assert "There is no workflow in this project. `holdfast start TITLE` starts one." in said
    assert holdfast("status", "--json", root=tmp_path).json["compactions"] == []


def test_status_says_when_the_ledger_cannot_be_used(tmp_path: Path, home: Path) -> None:
    """Without a usable ledger everything still works, and it is said."""
    (home / ".local" / "state").mkdir(parents=True)
    (home / ".local" / "state" / "holdfast").write_text("in the way")

    assert "cannot be used" in holdfast("status", root=tmp_path).out


@each_row("verb", ["list", "show", "explain", "status"])
def test_what_is_printed_for_programs_is_json_whatever_names_hold(tmp_path: Path, verb: str) -> None:
    """Emoji, right-to-left marks, control characters and lone surrogates."""
    name = '😀 \u202eabc\x1b[31m \udcff "quoted" \\ \u2028'
    holdfast("start", name, "--phase", name, "--remind", name, "--set", f"k={name}", root=tmp_path, session=OTHER)

    said = holdfast(verb, "--json", root=tmp_path, session=OTHER)

    assert json.loads(said.out)


def test_what_files_hold_reaches_no_terminal_raw(tmp_path: Path) -> None:
    """A title from a repository's file must not send escape sequences to the user's terminal."""
    holdfast("start", "A\x1b]0;pwn\x07B\nC", "--phase", "one\x1b[2J", root=tmp_path)
    for command in ("list", "show", "status", "next", "explain"):
        said = holdfast(command, root=tmp_path).out
        assert "\x1b" not in said
        assert "\x07" not in said
    assert holdfast("list", root=tmp_path).out.count("\n") == 1
