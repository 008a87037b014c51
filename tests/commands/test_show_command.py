"""`holdfast show` prints one page for one workflow, and everything as JSON."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from rich.text import Text

from holdfast.commands import moments, page, sheet
from holdfast.sessions.history import overview
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from holdfast.workflow import views
from holdfast.workflow.model import Found, Phase
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, workflow
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from holdfast.workflow.model import Status

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BUILD = {"description": "Build it", "prompt": "Write it.", "subagent_type": "general-purpose"}
TEST = {"description": "Write and run tests", "prompt": "Test it.", "subagent_type": "task-completion-verifier"}
REPORT = "DELIVERABLES:\n- calculator.py\n- add, subtract\nCONTEXT_FOR_NEXT: it lies at the project's root"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> HoldfastProject:
    """An empty project; output is 80 columns wide and has no colours, however the tests are run."""
    for name in ("LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return holdfast_project({"docs/a.md": "Known."})


@pytest.fixture
def at(project: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give a function that sets the clock to a time of one day; state files that changed since are from then."""
    known: dict[Path, tuple[int, int]] = {}

    def go(time: str, day: str = "2026-03-01") -> None:
        before = datetime.fromisoformat(os.environ.get("HOLDFAST_NOW", f"{day}T{time}Z"))
        for path in (*project.root.glob(".claude/state/*"), *project.root.glob("untracked/*/*/*")):
            if known.get(path) != (path.stat().st_mtime_ns, path.stat().st_ino):
                os.utime(path, (before.timestamp(), before.timestamp()))
                known[path] = (path.stat().st_mtime_ns, path.stat().st_ino)
        monkeypatch.setenv("HOLDFAST_NOW", f"{day}T{time}Z")

    go("10:00:00")
    return go


def shown(project: HoldfastProject, *arguments: str) -> str:
    """Return the page, without the ids that say when the test ran."""
    return holdfast("show", *arguments, root=project.root).out


def page_of(text: str) -> str:
    """Return a page as it stands in a test."""
    return dedent(text).lstrip("\n")


def hybrid(project: HoldfastProject, *more: str) -> None:
    """Start a workflow with agents."""
    phases = ("Build it @general-purpose", "Write and run tests @task-completion-verifier", "Document it")
    given = [argument for phase in phases for argument in ("--phase", phase)]
    holdfast("start", "Create calculator.py", "--format", "hybrid", *given, *more, root=project.root, session=ME)


def returned(project: HoldfastProject, launch: dict[str, str], report: str = REPORT) -> None:
    """Let a foreground agent return."""
    response = recorded.load("PostToolUse-Agent")["tool_response"] | {"content": [{"type": "text", "text": report}]}
    project.fire("PostToolUse", "PostToolUse-Agent", tool_input=launch, tool_response=response)


def test_a_workflow_with_agents(project: HoldfastProject, at: Callable[..., None]) -> None:
    """Everything there is to see, on eighty columns and without colour."""
    project.fire("SessionStart", "SessionStart-startup")
    hybrid(project, "--type", "implementation", "--read", "docs/a.md", "--read", "docs/b.md", "--remind", "Be kind")
    holdfast("update", "--set", "ticket=42", "--set", 'tags=["a", "b"]', root=project.root)
    at("10:01:00")
    project.fire("PreToolUse", "PreToolUse-Agent", tool_input=BUILD)
    at("10:04:05")
    returned(project, BUILD)
    at("10:05:00")
    for event in ("PreToolUse", "PostToolUse"):
        project.fire(event, f"{event}-Agent-background", tool_use_id="toolu_2", tool_input=TEST)
    at("11:30:00")
    project.fire("PreCompact", "PreCompact-auto")
    at("11:31:00")
    project.fire("SessionStart", "SessionStart-compact")
    at("11:33:30")

    assert shown(project) == page_of("""
        Create calculator.py
        active, phase 2/3, 33%, 1h 32m so far
        changed 89 min ago (2026-03-01 10:04:05 UTC)
        hybrid (implementation), wf_20260301_100000, .claude/state/workflow.json

        Phases
          [x] 1. Build it  @general-purpose  3m 05s
                 delivered: calculator.py, add, subtract
                 handed over: it lies at the project's root
          [>] 2. Write and run tests  @task-completion-verifier  1h 29m so far
          [ ] 3. Document it  @general-purpose

        Running agents
          task-completion-verifier  ab8261ac2845e6b52  for phase 2
            in the background for 1h 28m (since 10:05:00 UTC), session 11111111

        To-do list
          [x] Build it
          [>] Write and run tests
          [ ] Document it
          session 11111111 was told this list 2 min ago (2026-03-01 11:31:00 UTC)

        Saved and restored
          Last save     3 min ago (2026-03-01 11:30:00 UTC), by PreCompact (auto) of
                        session 11111111
          Last restore  2 min ago (2026-03-01 11:31:00 UTC), in session 11111111
          Owner         session 11111111, live

        Required reading
          @docs/a.md
          @docs/b.md  missing

        Reminders
          - Be kind

        Context
          ticket = 42
          tags = ["a", "b"]
        """)


def test_a_workflow_with_agents_as_it_begins(project: HoldfastProject, at: Callable[..., None]) -> None:
    """Nothing has happened yet, and that is said."""
    hybrid(project)
    at("10:00:30")

    assert shown(project) == page_of("""
        Create calculator.py
        pending, phase 0/3, 0%
        changed just now (2026-03-01 10:00:00 UTC)
        hybrid, wf_20260301_100000, .claude/state/workflow.json

        Phases
          [ ] 1. Build it  @general-purpose
          [ ] 2. Write and run tests  @task-completion-verifier
          [ ] 3. Document it  @general-purpose

        Running agents
          none

        To-do list
          [ ] Build it
          [ ] Write and run tests
          [ ] Document it
          the model hasn't been given this list yet

        Saved and restored
          Last save     just now (2026-03-01 10:00:00 UTC), at "start"
          Last restore  never
          Owner         session 11111111, not live
        """)


def test_a_workflow_that_failed(project: HoldfastProject, at: Callable[..., None]) -> None:
    """A failed phase has its error text, attempts and duration."""
    hybrid(project)
    at("10:01:00")
    project.fire("PreToolUse", "PreToolUse-Agent", tool_input=BUILD)
    at("10:01:12")
    failing = ("hybrid", "phase", "phase_0", "--status")
    holdfast(*failing, "failed", "--error", "no disk space", root=project.root)
    at("10:05:00")
    holdfast(*failing, "active", root=project.root)
    at("10:07:30")
    holdfast(*failing, "failed", "--error", "the compiler crashed:\n  line 3: " + "what " * 14, root=project.root)
    at("13:00:00")

    assert shown(project) == page_of("""
        Create calculator.py
        failed, phase 1/3, 0%, 2h 59m so far
        changed 2 h ago (2026-03-01 10:07:30 UTC)
        hybrid, wf_20260301_100000, .claude/state/workflow.json

        Phases
          [!] 1. Build it  @general-purpose  failed, 2m 42s, 2 attempts
                 error: the compiler crashed:
                     line 3: what what what what what what what what what what what what
                   what what
          [ ] 2. Write and run tests  @task-completion-verifier
          [ ] 3. Document it  @general-purpose

        Running agents
          general-purpose  for phase 1
            in the foreground for 2h 59m (since 10:01:00 UTC), session 11111111

        To-do list
          [ ] Build it
          [ ] Write and run tests
          [ ] Document it
          session 11111111 was told an older one 2 h ago (2026-03-01 10:01:00 UTC)

        Saved and restored
          Last save     2 h ago (2026-03-01 10:07:30 UTC), at "phase_0 failed"
          Last restore  never
          Owner         session 11111111, not live
        """)


def test_a_workflow_by_hand(project: HoldfastProject, at: Callable[..., None]) -> None:
    """The other format, the same page."""
    at("10:00:00")
    memory = "# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: 4/10 - SEO Generation\n\n@docs/a.md\n"
    project.write({"CLAUDE.local.md": memory})
    project.fire("PreCompact", "PreCompact-manual")
    at("10:00:10")
    project.fire("SessionStart", "SessionStart-compact")
    project.fire("SessionEnd", "SessionEnd-other")
    at("10:00:00", "2026-03-04")

    assert shown(project) == page_of("""
        Page Orchestration
        active, phase 4/10, 30%, 3d 00h so far
        changed 3 days ago (2026-03-01 10:00:00 UTC)
        compaction (custom),
          untracked/workflow-state/page-orchestration/state-page-orchestration-20260301_
          100000.json

        Phases
          [>]  4. SEO Generation  3d 00h so far
          9 of 10 have no title in the file

        Running agents
          none

        To-do list
          [>] SEO Generation
          the model hasn't been given this list yet

        Saved and restored
          Last save     3 days ago (2026-03-01 10:00:00 UTC), by PreCompact (manual) of
                        session 11111111
          Last restore  2 days ago (2026-03-01 10:00:10 UTC), in session 11111111
          Owner         session 11111111, not live, last seen 2 days ago (2026-03-01
                        10:00:10 UTC)

        Required reading
          @docs/a.md
        """)


def test_a_workflow_that_is_blocked(project: HoldfastProject, at: Callable[..., None]) -> None:
    """What blocks it is said."""
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    at("10:01:00")
    holdfast("update", "--status", "blocked", "--error", "no answer", root=project.root)
    at("10:03:00")

    assert shown(project) == page_of("""
        Book
        blocked, phase 1/1, 0%, 3m 00s so far
        changed 2 min ago (2026-03-01 10:01:00 UTC)
        compaction (custom),
          untracked/workflow-state/book/state-book-20260301_100000.json

        Phases
          [-] 1. Draft  blocked, 3m 00s so far
                 blocked by: no answer

        Running agents
          none

        To-do list
          [ ] Draft
          the model hasn't been given this list yet

        Saved and restored
          Last save     2 min ago (2026-03-01 10:01:00 UTC), at "update"
          Last restore  never
          Owner         none
        """)


def test_a_workflow_of_the_archive(project: HoldfastProject, at: Callable[..., None]) -> None:
    """Its file is gone, the ledger has it."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", root=project.root)
    at("10:00:20")
    holdfast("done", "--note", "first\n\nsecond", root=project.root)
    at("10:02:00")
    holdfast("done", root=project.root)
    at("12:01:00")

    assert shown(project, "Book") == page_of("""
        Book
        completed, 2/2, 100%, took 2m 00s
        completed 119 min ago (2026-03-01 10:02:00 UTC), kept in the archive
        compaction (custom),
          untracked/workflow-state/book/state-book-20260301_100000.json

        Phases
          [x] 1. Draft  20s
                 handed over: first

                   second
          [x] 2. Review  1m 40s

        To-do list
          [x] Draft
          [x] Review

        Saved and restored
          Last save     119 min ago (2026-03-01 10:02:00 UTC), at "done"
          Last restore  never
          Owner         none
        """)


def test_what_cannot_be_read_is_named(project: HoldfastProject, at: Callable[..., None]) -> None:
    """A broken file of this workflow, with its last good content, and one of no workflow at all."""
    hybrid(project)
    at("10:00:00")
    project.write({".claude/state/workflow.json": "{", "untracked/workflow-state/x/state-x.json": "[]"})
    at("10:00:30")
    said = shown(project)

    assert said.startswith("Create calculator.py\npending, phase 0/3, 0%\n")
    assert said.split("Not read\n")[1] == (
        "  .claude/state/workflow.json: is not JSON: Expecting property name enclosed\n"
        "    in double quotes, line 1 column 2; the last content Holdfast kept is used;\n"
        "    `holdfast doctor --fix` puts it back\n"
        "  untracked/workflow-state/x/state-x.json: holds a JSON array where an object\n"
        "    is expected\n"
    )


def test_without_a_ledger_the_page_says_so(project: HoldfastProject) -> None:
    """Everything still works from the files."""
    state = json.dumps({"workflow": "Book", "workflow_type": "odd", "phase": {"current": 1, "total": 2, "name": "A"}})
    project.write({"untracked/workflow-state/book/state-book.json": state})
    folder = project.root.parent / "home" / "state"
    folder.mkdir(parents=True)
    (folder / "holdfast").write_text("in the way")

    said = shown(project)

    assert "  [>] 1. A" in said
    assert "  Ledger        /" in said
    assert "the ledger cannot be used" in " ".join(said.split())
    assert "Warnings\n  - " in said
    assert '  - "workflow_type" is "odd", not one of planning, qa-loop' in said


def test_for_programs_everything(project: HoldfastProject, at: Callable[..., None]) -> None:
    """What the neutral view knows under the names it always had, and what the ledger knows."""
    hybrid(project, "--read", "docs/a.md", "--remind", "Be kind", "--set", "plan_number=7")
    at("10:01:00")
    project.fire("PreToolUse", "PreToolUse-Agent", tool_input=BUILD)
    at("10:01:30")
    said = holdfast("show", "--json", root=project.root).json

    assert (said["required_reading"], said["key_reminders"]) == (["@docs/a.md"], ["Be kind"])
    assert said["context"] == {"plan_number": 7}
    assert [phase["title"] for phase in said["phases"]] == ["Build it", "Write and run tests", "Document it"]
    assert (said["status"], said["current"], said["percent"], said["owner"]) == ("active", 1, 0, ME)
    assert said["phases"][0]["history"] == {
        "attempts": 1,
        "started_at": "2026-03-01T10:01:00.000000Z",
        "ended_at": None,
        "seconds": 30.0,
        "error": "",
    }
    assert [(each["agent_type"], each["background"]) for each in said["agents"]] == [("general-purpose", False)]
    assert said["todos"][0] == {"content": "Build it", "status": "in_progress", "activeForm": "Working on Build it"}
    assert (said["last_save"]["reason"], said["last_restore"]) == ("phase_0 active", None)


def test_it_needs_a_name_where_there_are_several(project: HoldfastProject) -> None:
    """It does not guess; in a session it means the session's own."""
    hybrid(project)
    holdfast("start", "Book", "--phase", "Draft", root=project.root)

    assert "2 workflows are unfinished" in holdfast("show", root=project.root, code=1).err
    assert holdfast("show", "--json", root=project.root, session=ME).json["title"] == "Create calculator.py"
    assert holdfast("show", "--json", "Book", root=project.root).json["title"] == "Book"


def test_where_none_is_in_progress_the_last_completed_one_is_shown(
    project: HoldfastProject, at: Callable[..., None]
) -> None:
    """With a line that says so and when it was completed, whether its file is still there or not."""
    assert "there is no workflow in" in (said := holdfast("show", root=project.root, code=1).err)
    assert "`holdfast start TITLE` starts one" in said
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    at("10:05:00")
    holdfast("done", root=project.root)
    at("10:10:00")

    assert shown(project).startswith(
        page_of("""
        No workflow is in progress here. The last one is completed:

        Book
        completed, 1/1, 100%, took 5m 00s
        completed 5 min ago (2026-03-01 10:05:00 UTC), kept in the archive
        """)
    )
    assert holdfast("show", "--json", root=project.root).json["title"] == "Book"
    assert shown(project, "Book").startswith("Book\ncompleted, "), "whoever names it knows"

    hybrid(project)
    state = project.root / ".claude" / "state" / "workflow.json"
    state.write_text(state.read_text().replace('"pending"', '"completed"'))
    at("10:20:00")
    assert "The last one is completed:\n\nCreate calculator.py\n" in (said := shown(project))
    assert "\ncompleted 10 min ago (2026-03-01 10:10:00 UTC)\n" in said, "by hand, in its file"
    archived = holdfast("list", "--archive", "--json", root=project.root).json
    assert {row["title"] for row in archived} == {"Book", "Create calculator.py"}, "what is shown was seen"

    holdfast("start", "Next", "--phase", "One", root=project.root)
    assert shown(project).startswith("Next\nactive, ")


def test_a_name_nothing_has_is_an_error(project: HoldfastProject) -> None:
    """A sentence, and how to begin; the last one is not shown for it."""
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    holdfast("done", root=project.root)

    assert "holdfast start TITLE" in holdfast("show", "Nothing", root=project.root, code=1).err


def test_what_keeps_the_last_one_from_being_shown_is_said(project: HoldfastProject) -> None:
    """A file that cannot be read, a ledger that cannot be used: then nobody knows that none was completed."""
    project.write({".claude/state/workflow.json": "{"})
    said = holdfast("show", root=project.root, code=1).err
    assert ".claude/state/workflow.json can't be read: " in said
    assert "none was completed" not in said

    (project.root / ".claude" / "state" / "workflow.json").unlink()
    folder = project.root.parent / "home" / "state"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "holdfast").write_text("in the way")
    said = holdfast("show", root=project.root, code=1).err
    assert "cannot be used" in said
    assert "none was completed" not in said


def test_agents_of_a_workflow_nobody_owns(project: HoldfastProject, at: Callable[..., None]) -> None:
    """A person started it; a session's agents work meanwhile, and the page says whose they are."""
    holdfast("start", "Book", "--phase", "Draft", root=project.root)
    project.fire("SessionStart", "SessionStart-startup")
    at("10:01:00")
    project.fire("PreToolUse", "PreToolUse-Agent", tool_input=BUILD)
    at("10:03:00")

    assert shown(project).split("Running agents\n")[1].split("\n\n")[0] == (
        "  general-purpose\n"
        f"    in the foreground for 2m 00s (since 10:01:00 UTC), session {ME[:8]}, which\n"
        "    owns no workflow"
    )


def test_what_is_shown_was_seen(project: HoldfastProject, at: Callable[..., None]) -> None:
    """What a person moved by hand has its times from the first look on."""
    hybrid(project)
    at("10:01:00")
    state = project.root / ".claude" / "state" / "workflow.json"
    state.write_text(state.read_text().replace('"status": "pending"', '"status": "active"', 2))
    at("10:02:00")

    assert "[>] 1. Build it  @general-purpose  1m 00s so far" in shown(project)
    at("10:03:00")
    assert "[>] 1. Build it  @general-purpose  2m 00s so far" in shown(project)


def test_it_writes_nothing_to_the_project(project: HoldfastProject) -> None:
    """It may be asked at any time."""
    hybrid(project)
    before = {path: path.stat().st_mtime_ns for path in project.root.rglob("*")}
    shown(project)

    assert {path: path.stat().st_mtime_ns for path in project.root.rglob("*")} == before


LONG = "A title that goes on and on, " * 5 + "日本語の題名は二つの欄を取る " * 3 + "x" * 120


def made(root: Path, **changes: Any) -> overview.Overview:
    """Return what there is to see of a workflow made by hand that nobody saved."""
    phases = tuple(
        Phase(f"phase_{number}", number, title, status, "builder", ("a.py", "b.py"), "first\nsecond " * 9)  # type: ignore[arg-type]
        for number, (title, status) in enumerate(
            [("One", "completed"), (LONG, "failed"), ("Three", "blocked"), ("Four", "active"), ("Five", "pending")], 1
        )
    )
    more: dict[str, Any] = {"title": LONG, "phases": phases, "total": 12, "context": {LONG: [LONG]}}
    more |= {"reading": (f"@{'long/' * 30}.md",), "reminders": (LONG,), "warnings": (LONG,)}
    made = workflow(root, "Release", **(more | changes))
    project = Workspace.open(root)
    try:
        return replace(overview.gather(project, made, Found((made,))), at=NOON)
    finally:
        project.close()


@each_row("width", [40, 60, 80, 100])
def test_no_line_is_longer_than_the_page(tmp_path: Path, width: int) -> None:
    """Long titles, paths and values go on below, under their own beginning; nothing is lost."""
    lines = page.full_page(made(tmp_path), NOON, width)

    assert max(line.cell_len for line in lines) <= width
    assert max(line.cell_len for line in lines) > width - 10
    assert not any(line.plain != line.plain.rstrip() for line in lines)
    text = "".join("".join(line.plain.split()) for line in lines)
    assert text.count("".join(LONG.split())) >= 5


def test_long_titles_hang(tmp_path: Path) -> None:
    """What goes on stands under the title, not under the mark."""
    lines = [line.plain for line in page.full_page(made(tmp_path), NOON, 60)]

    assert lines[1].startswith("  ")
    start = next(number for number, line in enumerate(lines) if line.startswith("  [!]  2. A title"))
    assert all(line.startswith(" " * 10) and line[10] != " " for line in lines[start + 1 : start + 4])


@pytest.mark.parametrize("word", ["a" * 20, "中" * 10])
def test_a_line_never_begins_with_the_space_it_was_divided_at(word: str) -> None:
    """Where a word fills lines to their end; a text's own indents stay."""
    lines = sheet.Sheet(12)
    lines.put(Text(f"{word} xy\n  in\n\nlast"), "- ")

    half = word[: len(word) // 2]
    assert [line.plain for line in lines.lines] == [f"- {half}", f"  {half}", "  xy", "    in", "", "  last"]


def test_a_wide_terminal_gets_no_endless_lines(tmp_path: Path) -> None:
    """Lines of more than a hundred columns are hard to follow."""
    view = made(tmp_path)

    assert [line.plain for line in page.full_page(view, NOON, 300)] == [
        line.plain for line in page.full_page(view, NOON, 100)
    ]


@each_row("width", [1, 12, 20])
def test_a_very_narrow_terminal_breaks_nothing(tmp_path: Path, width: int) -> None:
    """There is a least width; what is narrower is the terminal's business."""
    assert max(line.cell_len for line in page.full_page(made(tmp_path), NOON, width)) <= max(width, 30)


def test_marks_and_words_say_what_colours_say(tmp_path: Path) -> None:
    """Every status has its mark, failed and blocked ones also a word."""
    lines = [line.plain for line in page.full_page(made(tmp_path), NOON, 100)]

    begins = [line.split(". ")[0] for line in lines if re.match(r"  \[.\] +\d", line)]
    assert begins == ["  [x]  1", "  [!]  2", "  [-]  3", "  [>]  4", "  [ ]  5"]
    assert "  [-]  3. Three  @builder  blocked" in lines
    assert "  failed" in " ".join(lines)


def coloured(lines: Any, **environ: str) -> str:
    """Return what a terminal would be sent."""
    console = sheet.console().__class__(
        file=io.StringIO(), force_terminal=True, width=100, _environ={"TERM": "xterm-256color"} | environ
    )
    sheet.put(console, lines)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_colours_only_add(tmp_path: Path) -> None:
    """Without its colours the page is the very same text."""
    lines = page.full_page(made(tmp_path), NOON, 100)
    plain = "\n".join(line.plain for line in lines) + "\n"
    said = coloured(lines)

    assert "\x1b[" in said
    assert re.sub(r"\x1b\[[0-9;]*m", "", said) == plain
    assert not re.search(r"\x1b\[(\d+;)*[34]\d", coloured(lines, NO_COLOR="1"))
    assert coloured(lines, TERM="dumb") == plain


@each_row("status, style", [("completed", "32"), ("active", "1;36"), ("failed", "1;31"), ("blocked", "1;35")])
def test_a_status_has_its_colour(tmp_path: Path, status: Status, style: str) -> None:
    """At the top, and in front of the phase."""
    view = made(tmp_path, status=status, phases=(Phase("phase_1", 1, "One", status),))
    said = coloured(page.full_page(view, NOON, 100))

    assert f"\n\x1b[{style}m{status}\x1b[0m, " in said
    assert f"\n  \x1b[{style}m{views.MARKS[status]}\x1b[0m  1. " in said
    assert (f"\x1b[{style}m  {status}" in said) == (status in ("failed", "blocked"))
    assert ("1. \x1b[1mOne\x1b[0m" in said) == (status == "active")


def test_text_of_files_is_no_markup(tmp_path: Path) -> None:
    """Neither rich's tags and emoji codes nor escape sequences mean anything in a title."""
    odd = "[bold red]x[/] :smile: \x1b[31m\x07 http://x.y 'q' 12"
    view = made(tmp_path, title=odd, phases=(Phase("p", 1, odd, "active", odd, (odd,), odd),))
    said = coloured(page.full_page(view, NOON, 100))

    for shown in ("\x1b[1m[bold red]x[/] :smile: [31m http://x.y 'q' 12\x1b[0m\n", "delivered: \x1b[0m[bold red]x[/]"):
        assert shown in said
    assert "\x07" not in said


def test_a_value_without_end_is_cut(tmp_path: Path) -> None:
    """A page stays a page; programs get all of it."""
    view = made(tmp_path, reminders=("long " * 100_000,))
    lines = [line.plain for line in page.full_page(view, NOON, 80)]

    assert len(lines) < 200
    assert any("(cut; whole with --json)" in line for line in lines)
    assert len(overview.as_json(view)["key_reminders"][0]) == 500_000


def test_a_workflow_may_have_no_title_and_no_phases(tmp_path: Path) -> None:
    """A file that somebody began."""
    view = made(tmp_path, title=" ", phases=(), total=0)
    lines = [line.plain for line in page.full_page(view, NOON, 80)]

    assert lines[0] == "(no title)"
    assert lines[lines.index("Phases") + 1] == "  none"
    assert "To-do list" not in lines


def run(project: HoldfastProject, *arguments: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "show", *arguments],
        cwd=project.root,
        env={**os.environ, **environ},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_terminal_that_lacks_a_letter_shows_a_question_mark(project: HoldfastProject) -> None:
    """A page with one wrong letter beats none."""
    holdfast("start", "Ünïcödé → 日", "--phase", "Draft", root=project.root)

    done = run(project, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[0] == b"?n?c?d? ? ?"


def test_a_reader_that_goes_away_is_nobodys_error(project: HoldfastProject) -> None:
    """`holdfast show | head -1` shows no traceback."""
    holdfast("start", "Book", "--phase", "Draft", "--remind", "long " * 300, root=project.root)

    command = f"{sys.executable} -m holdfast show | head -n 1"
    done = subprocess.run(["sh", "-c", command], cwd=project.root, capture_output=True, timeout=500, check=False)

    assert (done.stdout, done.stderr) == (b"Book\n", b"")


def test_what_programs_read_is_the_same_in_a_session(project: HoldfastProject) -> None:
    """The model's own Bash tool asks like anybody."""
    hybrid(project)

    assert (
        holdfast("show", "--json", root=project.root, session=ME).json["id"]
        == holdfast("show", "Create", "--json", root=project.root, session=OTHER).json["id"]
    )


@each_row(
    "seconds, said",
    [
        (-5, "<1s"),
        (0, "<1s"),
        (0.9, "<1s"),
        (1, "1s"),
        (59.9, "59s"),
        (60, "1m 00s"),
        (150, "2m 30s"),
        (3_599, "59m 59s"),
        (3_600, "1h 00m"),
        (3_900, "1h 05m"),
        (86_399, "23h 59m"),
        (86_400, "1d 00h"),
        (1_000_000, "11d 13h"),
    ],
)
def test_lengths_of_time(seconds: float, said: str) -> None:
    """Two units at most."""
    assert moments.duration(seconds) == said


@each_row(
    "stamp, said",
    [
        ("2026-03-01T12:01:00Z", "just now (2026-03-01 12:01:00 UTC)"),
        ("2026-03-01T12:01:01Z", "2026-03-01 12:01:01 UTC"),
        ("2026-03-01T11:59:01Z", "just now (2026-03-01 11:59:01 UTC)"),
        ("2026-03-01T11:59:00Z", "1 min ago (2026-03-01 11:59:00 UTC)"),
        ("2026-03-01T10:00:01Z", "119 min ago (2026-03-01 10:00:01 UTC)"),
        ("2026-03-01T10:00:00Z", "2 h ago (2026-03-01 10:00:00 UTC)"),
        ("2026-02-27T12:00:01Z", "47 h ago (2026-02-27 12:00:01 UTC)"),
        ("2026-02-27T12:00:00Z", "2 days ago (2026-02-27 12:00:00 UTC)"),
        ("2026-02-27T14:00:00+02:00", "2 days ago (2026-02-27 12:00:00 UTC)"),
        ("yesterday", "at an unknown time"),
    ],
)
def test_moments(stamp: str, said: str) -> None:
    """As people say them, with the time itself in UTC."""
    assert moments.when(stamp, NOON) == said
