"""`holdfast status`, `explain` and `status` show the state of things to people and programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from holdfast import log
from holdfast.sessions import agents, conversations
from holdfast.sessions.workspace import Workspace
from tests import agentry
from tests.commandline import holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject


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
    text = holdfast("status", "-v", root=compacted.root).out
    for words in (
        "PreCompact never fired",
        "not restored",
        "nothing was saved, because it owned no workflow",
        "; restored 2",
        "Book (1/1 Draft)",
    ):
        assert words in text


def test_status_says_why_nothing_was_restored(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """The state file became unreadable between PreCompact and the session's return: only the trail was given."""
    project = holdfast_project()
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "A @x", root=project.root, session=ME)
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    (project.root / ".claude" / "state" / "workflow.json").write_text("{}")
    project.fire("SessionStart", "SessionStart-compact", session_id=ME)

    (row,) = holdfast("status", "--json", root=project.root).json["compactions"]
    status = holdfast("status", "-v", root=project.root).out

    assert (row["restored_at"], row["restored_in"]) == (None, None)
    assert row["not_restored"] == ".claude/state/workflow.json could not be read"
    assert "not restored (.claude/state/workflow.json could not be read): Tool" in status
    (project.root / ".claude" / "state" / "workflow.json").unlink()
    holdfast("restore", "1", "--workflow", ".claude/state/workflow.json", root=project.root)
    assert holdfast("status", "--json", root=project.root).json["current"]["last_restore"] is None
    holdfast("install", "--scope", "project", root=project.root)
    lost = "Not safe: Tool 0/1 didn't reach Claude after the last compaction (.claude/state/workflow.json could not be"
    assert holdfast("status", root=project.root, session=ME).out.startswith(lost)


def test_status_shows_what_is_unfinished_beside_what_is_finished(
    holdfast_project: Callable[..., HoldfastProject],
) -> None:
    """Although the finished one changed last; the archive is shown when asked for."""
    project = holdfast_project({})
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "A", root=project.root)
    holdfast("done", "--all", "tool", root=project.root)

    assert holdfast("status", "--json", root=project.root).json["current"]["title"] == "Book"
    assert "Archive" not in holdfast("status", root=project.root).out
    assert "Archive" in holdfast("status", "--all", root=project.root).out


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
    late = "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event): pass\n1 / 0\n"
    compacted.write({".claude/handlers/late.py": late})
    compacted.trust()  # nobody has called it yet, and `status` loads nothing
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
    for number in range(9):
        log.write("error", f"late {number}")
    assert "late 8" in holdfast("status", "--json", root=compacted.root).json["log"][-1]


def test_status_lists_no_agents_of_sessions_that_ended(tmp_path: Path) -> None:
    """They can do nothing any more; `holdfast agents` lists them."""
    project = Workspace.open(tmp_path)
    for session in (ME, OTHER):
        conversations.note_event(project, session)
        agentry.launch(project, session, session=session)
        agentry.report(project, "running", run=session, session=session)
        agents.name_run(project, session, session, session)
    conversations.end(project, OTHER)
    project.close()

    assert [each["session"] for each in holdfast("status", "--json", root=tmp_path).json["agents"]] == [ME]


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
