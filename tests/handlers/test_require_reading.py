"""Required reading is watched, mentioned once after a compaction, and listed in the guidance with its status."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.sessions import required
from holdfast.sessions.workspace import Workspace
from tests.client_output import assert_acceptable
from tests.commandline import holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject

TRANSCRIPTS = Path(__file__).parents[1] / "sessions" / "transcripts"
REMINDED = "Read these required files; you haven't since the compaction."


def named(told: str) -> list[str]:
    """What a reminder names, between its tags."""
    lines = told.splitlines()
    assert [lines[1][:15], lines[-1][:16]] == ["<workflow-data-", "</workflow-data-"]
    return lines[2:-1]


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with two documents and a workflow of this session that requires them, and one that is not there."""
    project = holdfast_project({"docs/a.md": "about a\n", "docs/b.md": "about b\n"})
    start(project, "docs/a.md", "docs/b.md", "docs/gone.md")
    return project


def start(project: HoldfastProject, *readings: str, title: str = "Book", session: str = ME) -> None:
    asked = [item for each in readings for item in ("--read", each)]
    holdfast("start", title, "--phase", "Write", "--phase", "Print", *asked, root=project.root, session=session)


def fire(project: HoldfastProject, event: str, recorded: str | None = None, **changes: Any) -> Fired:
    fired = project.fire(event, recorded, **changes)
    assert_acceptable(event, fired.stdout)
    assert fired.faults == []
    return fired


def read(project: HoldfastProject, place: str, *, asked: dict[str, Any] | None = None, **changes: Any) -> Fired:
    """Have the model read a file whole, as the client tells it."""
    path = project.root / place
    text = path.read_text()
    lines = text.count("\n") + 1
    file = {"filePath": str(path), "content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
    given = {"file_path": str(path), **(asked or {})}
    response = {"type": "text", "file": file}
    return fire(project, "PostToolUse", "PostToolUse-Read", tool_input=given, tool_response=response, **changes)


def compact(project: HoldfastProject, **changes: Any) -> str:
    """Let a compaction happen; return what the model is given after it."""
    fire(project, "PreCompact", "PreCompact-auto", **changes)
    fire(project, "SubagentStop", "SubagentStop-compaction", **changes)
    return fire(project, "SessionStart", "SessionStart-compact", **changes).context


def prompt(project: HoldfastProject, **changes: Any) -> str:
    """Submit a prompt after a turn; return what Claude is told beside it."""
    fire(project, "Stop", "Stop", **changes)
    return fire(project, "UserPromptSubmit", "UserPromptSubmit", **changes).context


def said_of(text: str, entry: str) -> str:
    """Return the line the guidance has for a required file."""
    return next(line for line in text.split("\n") if line.startswith(f"- {entry}"))


# The guidance


def test_the_guidance_says_of_each_file_what_became_of_it(project: HoldfastProject) -> None:
    """Unchanged, changed, missing; nothing where this session never read it."""
    read(project, "docs/a.md")
    text = compact(project)
    assert said_of(text, "@docs/a.md") == "- @docs/a.md (unchanged)"
    assert said_of(text, "@docs/b.md") == "- @docs/b.md"
    assert said_of(text, "@docs/gone.md") == "- @docs/gone.md (missing)"
    project.write({"docs/a.md": "another a\n"})
    assert said_of(compact(project), "@docs/a.md") == "- @docs/a.md (changed)"


# The reminder


def test_one_reminder_after_each_compaction(project: HoldfastProject) -> None:
    """At the next prompt, of what was not read again; then no more until the next compaction."""
    for _ in range(2):
        compact(project)
        told = prompt(project)
        assert told.startswith(REMINDED)
        assert named(told) == ["Workflow: Book", "- @docs/a.md", "- @docs/b.md"]
        assert [prompt(project), prompt(project)] == ["", ""]


def test_what_was_read_again_is_not_reminded_of(project: HoldfastProject) -> None:
    """Only a compaction takes it away again, not a change of the file."""
    read(project, "docs/a.md")
    compact(project)
    read(project, "docs/a.md")
    assert named(prompt(project)) == ["Workflow: Book", "- @docs/b.md"]
    compact(project)
    read(project, "docs/a.md")
    read(project, "docs/b.md")
    assert prompt(project) == ""
    (project.root / "docs/b.md").write_text("another b\n")
    assert prompt(project) == ""


@pytest.mark.parametrize("client", ["2.1.329", "2.1.197"])
@pytest.mark.parametrize("attached", [True, False])
def test_what_the_client_attached_again_is_not_reminded_of(
    project: HoldfastProject, tmp_path: Path, client: str, attached: bool
) -> None:
    """Its transcript tells, once it is written; until then nobody is reminded of anything."""
    data = (TRANSCRIPTS / f"worked-{client}-todo.jsonl").read_bytes().replace(b"/docs/req.md", b"/docs/a.md")
    data = data.replace(b"/home/user/project", os.fsencode(project.root)).replace(b"requirement one", b"about a")
    lines = [line for line in data.splitlines(keepends=True) if attached or b'"attachment":{"type":"file"' not in line]
    cut = next(number for number, line in enumerate(lines) if b'"subtype":"compact_boundary"' in line)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:cut]))
    where = {"transcript_path": str(path)}
    text = compact(project, **where)
    assert prompt(project, **where) == ""
    arrived = {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [text]}}
    path.write_bytes(b"".join(lines) + json.dumps(arrived).encode() + b"\n")
    left = ["- @docs/b.md"] if attached else ["- @docs/a.md", "- @docs/b.md"]
    assert named(prompt(project, **where)) == ["Workflow: Book", *left]
    assert prompt(project, **where) == ""


def test_a_subagents_prompt_is_no_prompt(project: HoldfastProject) -> None:
    """Nobody has read the reminder then."""
    compact(project)
    assert prompt(project, agent_id="a1", agent_type="builder") == ""
    assert REMINDED in prompt(project)


def configure(text: str) -> None:
    path = paths.user_config()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# Holding


@pytest.fixture
def holding(project: HoldfastProject) -> HoldfastProject:
    """The project, of a user who wants edits held."""
    configure('reading = "hold"\n')
    return project


def edit(project: HoldfastProject, place: str = "src/x.py", tool: str = "Edit", **changes: Any) -> Fired:
    name = "notebook_path" if tool == "NotebookEdit" else "file_path"
    given = {name: str(project.root / place)}
    return fire(project, "PreToolUse", "PreToolUse-Edit", tool_name=tool, tool_input=given, **changes)


def asked(fired: Fired) -> str:
    """Return why the user is asked; empty if the edit goes on."""
    if not fired.stdout:
        return ""
    assert fired.specific["permissionDecision"] == "ask"
    return str(fired.specific["permissionDecisionReason"])


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit"])
def test_edits_are_asked_about_until_all_is_read(holding: HoldfastProject, tool: str) -> None:
    """The unread files are named; a missing one holds nothing, nor an edit of one; a compaction begins it again."""
    for _ in range(2):
        edit(holding, "docs/a.md", tool).assert_silent("hold_edits")
        reason = asked(edit(holding, tool=tool))
        assert 'workflow "Book"' in reason
        assert ': "docs/a.md", "docs/b.md".' in reason
        assert "gone" not in reason
        read(holding, "docs/a.md")
        assert ': "docs/b.md".' in asked(edit(holding, tool=tool))
        read(holding, "docs/b.md")
        edit(holding, tool=tool).assert_silent("hold_edits")
        compact(holding)


def test_nobody_elses_edits_are_held(holding: HoldfastProject) -> None:
    """Not in subagents, not in a session that does not own the workflow, not once it is finished, nor by a Bash."""
    edit(holding, agent_id="a1", agent_type="builder").assert_silent("hold_edits")
    edit(holding, session_id=OTHER).assert_silent("hold_edits")
    assert asked(edit(holding))
    holdfast("done", "--all", "Book", root=holding.root, session=ME)
    edit(holding).assert_silent("hold_edits")


def test_files_outside_the_project_hold_nothing(holding: HoldfastProject, tmp_path: Path) -> None:
    """A Read of them may not be permitted, and headless nobody could give the permission."""
    (tmp_path / "outside.md").write_text("outside\n")
    start(holding, str(tmp_path / "outside.md"), "docs", title="Newer")
    mine = required.own_workflow(Workspace.open(holding.root), ME)
    assert mine is not None
    assert mine.title == "Newer"
    edit(holding).assert_silent("hold_edits")


# What leads out of the project


def by_memory_file(project: HoldfastProject, entries: list[str]) -> None:
    lines = ["## Workflow State", "", "Workflow: Book", "Phase: 1/2 Write", "", "### Required Reading", *entries]
    project.write({"CLAUDE.local.md": "\n".join(lines) + "\n"})


def by_state_file(project: HoldfastProject, entries: list[str]) -> None:
    start(project, "x")
    (path,) = (project.root / "untracked/workflow-state").glob("*/*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"required_reading": entries}))


def by_hybrid(project: HoldfastProject, entries: list[str]) -> None:
    asked = [item for each in entries for item in ("--read", each)]
    said = holdfast(
        *("start", "Book", "--format", "hybrid", "--phase", "Write", "--phase", "Print", *asked),
        root=project.root,
        session=ME,
    )
    assert said.err.count("is outside the project, so no session is asked to read it") == len(entries) - 1


def by_wfs(project: HoldfastProject, entries: list[str]) -> None:
    holdfast("start", "Book", "--format", "wfs", root=project.root, session=ME)
    holdfast("wfs", "task", "add", "Write", root=project.root, session=ME)
    (path,) = project.root.glob(".workflow/*/.task/IMPL-1.json")
    data = json.loads(path.read_text())
    data["context"]["artifacts"] = [{"path": each.removeprefix("@"), "type": "x"} for each in entries]
    path.write_text(json.dumps(data))


@pytest.mark.parametrize("plant", [by_memory_file, by_state_file, by_hybrid, by_wfs])
def test_nobody_is_asked_to_read_what_is_outside(
    holdfast_project: Callable[..., HoldfastProject], tmp_path: Path, plant: Callable[..., None]
) -> None:
    """In every format: neither by the guidance nor the reminder, and no edit waits for it; all of it is listed."""
    project = holdfast_project({"docs/a.md": "about a\n", ".claude/holdfast.toml": 'reading = "hold"\n'})
    project.trust()
    (tmp_path / "secret").write_text("secret\n")
    (project.root / "out.md").symlink_to(tmp_path / "secret")
    outside = ["@/etc/passwd", "@../../secret", f"@{tmp_path}/secret", "@out.md"]
    plant(project, ["@docs/a.md", *outside])

    text = compact(project)

    _, _, left = text.partition("Outside the project; don't read these:\n")
    required = text.partition("REQUIRED READING\n")[2].partition("\nKey")[0].partition("\nO")[0]
    assert "- @docs/a.md" in required.splitlines()
    assert not [each for each in outside if each in required]
    assert [line for line in left.splitlines() if line.startswith("- @")] == [f"- {each}" for each in outside]
    assert named(prompt(project))[1:] == ["- @docs/a.md"]
    held = fire(project, "PreToolUse", "PreToolUse-Edit", tool_input={"file_path": str(project.root / "x.py")})
    assert "docs/a.md" in held.stdout
    assert "out.md" not in held.stdout and "passwd" not in held.stdout
    shown = holdfast("status", root=project.root).out
    assert shown.count("outside the project, not to be read") == len(outside)
