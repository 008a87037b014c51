"""`holdfast log` shows, compares and restores earlier contents of a workflow's file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions import archive, contents, owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests import doctoring
from tests.commandline import holdfast
from tests.handmade import HERE, ME, OTHER
from tests.ledgers import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

HYBRID, VIEW = ".claude/state/workflow.json", ".claude/workflow_state_system.md"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    return holdfast_project({})


@pytest.fixture
def hybrid(project: HoldfastProject) -> Path:
    """A hybrid workflow of which three contents were kept; returns its file."""
    phases = ("--phase", "Build it @builder", "--phase", "Test it @tester")
    holdfast("start", "Calculator", "--format", "hybrid", *phases, root=project.root)
    holdfast("next", root=project.root)
    holdfast("done", "--note", "handed over", root=project.root)
    return project.root / HYBRID


def kept(project: HoldfastProject, path: Path) -> dict[int, bytes]:
    """Return the generations of a file by number."""
    there = Workspace.open(project.root)
    rows = {
        each.number: contents.content(there, path, each.number) or b"" for each in contents.list_versions(there, path)
    }
    there.close()
    return rows


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def rows(project: HoldfastProject) -> dict[str, list[dict[str, object]]]:
    """Return all that the ledger has."""
    there = Workspace.open(project.root)
    found = {name: there.ledger.rows(f"SELECT * FROM {name}") for name in COLUMNS}
    there.close()
    return found


def run(project: HoldfastProject, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process, its output a pipe."""
    environ = os.environ | {"PYTHONPATH": f"{HERE / 'src'}", "HOLDFAST_PROJECT_DIR": str(project.root)}
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "restore", *arguments],
        env=environ,
        capture_output=True,
        timeout=500,
        check=False,
    )


def test_show_prints_a_generation_to_a_pipe_byte_for_byte(project: HoldfastProject, hybrid: Path) -> None:
    """Whatever bytes it has: CRLF, no last line break, other scripts, escapes of a terminal."""
    data = json.loads(hybrid.read_bytes()) | {"task": "Rechner \x1b[31m é 😀"}
    odd = json.dumps(data, ensure_ascii=False, indent=1).replace("\n", "\r\n").encode()
    hybrid.write_bytes(odd)
    there = Workspace.open(project.root)
    contents.keep(there, hybrid, odd, why="odd")
    there.close()
    number = max(kept(project, hybrid))

    done = run(project, "--show", str(number))

    assert (done.returncode, done.stdout) == (0, odd)
    assert run(project, "--show", "1", "--workflow", HYBRID).stdout == kept(project, hybrid)[1]
    there = Workspace.open(project.root)
    contents.keep(there, hybrid, b"no UTF-8: \xff\x00", why="odder")
    there.close()
    assert run(project, "--show", str(number + 1)).stdout == b"no UTF-8: \xff\x00"


def test_a_generation_that_is_not_there_is_named_with_those_that_are(project: HoldfastProject, hybrid: Path) -> None:
    """Numbers are the file's own; what is no number is no generation."""
    for wrong in ("0", "99", "-1"):
        said = holdfast("restore", "--show", "--", wrong, root=project.root, code=1)
        assert f"no version {wrong} of {HYBRID}; there are 1 to 3" in said.err
    for wrong in ("x", "²"):
        said = holdfast("restore", "--diff", wrong, root=project.root, code=2)
        assert f"'{wrong}' isn't the number of a version; to name a workflow: --workflow {wrong}\n" in said.err
    assert (
        'no workflow is named "nothing"'
        in holdfast("restore", "--show", "1", "--workflow", "nothing", root=project.root, code=1).err
    )


def test_a_file_that_nobody_saved_has_no_version(project: HoldfastProject) -> None:
    """It was written by hand, and no session has seen it yet."""
    phase = {"current": 1, "total": 2, "name": "One", "status": "in_progress"}
    project.write({"untracked/workflow-state/x/state-x-1.json": {"workflow": "X", "phase": phase}})
    for arguments, words in (
        (("--diff",), "has no saved version, so there is nothing to compare"),
        (("1", "--show"), "there is no version 1 of untracked/workflow-state/x/state-x-1.json; none is saved"),
    ):
        assert words in holdfast("restore", *arguments, "--workflow", "X", root=project.root, code=1).err
    assert "state-x-1.json was kept" in holdfast("restore", "--workflow", "X", root=project.root).err


def test_diff_without_numbers_compares_the_last_two(project: HoldfastProject, hybrid: Path) -> None:
    """With one number, it and the present; where nothing differs, that is said on stderr."""
    last = holdfast("restore", "--diff", root=project.root).out
    assert f"--- {HYBRID} version 2" in last and f"+++ {HYBRID} version 3" in last
    same = holdfast("restore", "--diff", "3", root=project.root)
    assert (same.out, same.err.startswith(f"holdfast: No difference between {HYBRID} version 3, ")) == ("", True)
    hybrid.write_text(hybrid.read_text("utf-8").replace("Calculator", "Abacus"), "utf-8")
    changed = holdfast("restore", "--diff", "3", root=project.root)
    assert (f"+++ {HYBRID} now" in changed.out, changed.err) == (True, "")


def test_a_workflow_whose_file_is_gone_comes_back(project: HoldfastProject) -> None:
    """A completed one of the compaction format: its file was removed, its generations and its tombstone stay."""
    project.write({"CLAUDE.local.md": "# Workflow State\n\nWorkflow: Release\nPhase: 1/2 - Plan\n"})
    project.fire("PreCompact", "PreCompact-manual", session_id=ME)
    there = Workspace.open(project.root)
    (workflow,) = registry.all_found(there).workflows
    there.close()
    whole = workflow.path.read_bytes()
    holdfast("done", "--all", workflow.id, root=project.root)
    assert not workflow.path.parent.exists()
    first = min(kept(project, workflow.path))

    holdfast("restore", str(first), "--workflow", "Release", root=project.root)

    assert workflow.path.read_bytes() == whole
    there = Workspace.open(project.root)
    assert archive.entries(there) == []
    there.close()
    project.fire("PreCompact", "PreCompact-manual", session_id=ME)
    assert workflow.path.read_bytes() == whole  # an unchanged memory file moves it nowhere


def test_another_workflow_in_its_place_gives_way_only_when_asked(project: HoldfastProject, hybrid: Path) -> None:
    """Then it stays in the archive, and its content among the generations."""
    calculator = kept(project, hybrid)
    holdfast("start", "Abacus", "--format", "hybrid", "--phase", "Beads", "--replace", root=project.root)
    abacus = hybrid.read_bytes()
    files = snapshot(project.root)

    said = holdfast("restore", "2", root=project.root, code=1)

    assert '"Abacus" (wf_' in said.err
    assert "already exists in .claude/state/workflow.json (pending, phase 0/1)" in said.err
    assert snapshot(project.root) == files
    holdfast("restore", "2", "--replace", root=project.root)
    assert hybrid.read_bytes() == calculator[2]
    assert "Abacus" in holdfast("status", "--all", root=project.root).out
    assert abacus in kept(project, hybrid).values()


def test_what_was_edited_by_hand_is_a_generation_after_a_restore(project: HoldfastProject, hybrid: Path) -> None:
    """No command has seen it before, and a restore can be undone."""
    edited = hybrid.read_bytes() + b"\n\n"
    hybrid.write_bytes(edited)

    said = holdfast("restore", "1", root=project.root).out

    assert edited in kept(project, hybrid).values()
    assert "kept next to it" not in said
    assert "already holds version 1, so nothing changed." in holdfast("restore", "1", root=project.root).out


def test_a_file_of_another_tool_is_left_alone(project: HoldfastProject, hybrid: Path) -> None:
    """JSON of another schema, or another kind of JSON, is never overwritten."""
    for theirs in (b'{"jobs": []}', b"[1, 2]"):
        hybrid.write_bytes(theirs)
        said = holdfast("restore", "1", "--workflow", HYBRID, root=project.root, code=1)
        assert HYBRID in said.err
        assert hybrid.read_bytes() == theirs


@pytest.mark.parametrize("format_", ["hybrid", "compaction"])
def test_a_workflow_whose_file_holds_no_state_comes_back_by_its_id(project: HoldfastProject, format_: str) -> None:
    """With --replace, since it may be another tool's file: it is kept aside first. The error says so.

    Doctor names the way back, and for hybrid's place first that the file may stay, since it may be another tool's.
    """
    holdfast("start", "Tool", "--format", format_, "--phase", "A", root=project.root)
    (row,) = holdfast("status", "--json", root=project.root).json["workflows"]
    path = project.root / row["path"]
    before = path.read_bytes()
    path.write_text("{}")

    back = f"holdfast restore 1 --replace --workflow {path}"
    refused = holdfast("restore", "1", "--workflow", row["id"], root=project.root, code=1)
    remedies = [each.remedy for each in doctoring.examine("states", project.root) if each.level != "ok"]
    restored = holdfast("restore", "1", "--replace", "--workflow", row["id"], root=project.root)

    assert refused.code == 1
    assert f"holdfast restore 1 --replace --workflow {path}" in refused.err
    assert remedies[-1] == back
    assert ["leave it there" in each for each in remedies[:-1]] == ([True] if format_ == "hybrid" else [])
    assert restored.code == 0
    assert "kept next to it as" in restored.out
    assert path.read_bytes() == before
    assert [each.read_text() for each in path.parent.glob(f"{path.stem}*.corrupt-*")] == ["{}"]
    path.unlink()
    assert holdfast("restore", "1", "--workflow", row["id"], root=project.root).code == 0
    assert path.read_bytes() == before


def test_a_broken_file_is_kept_beside_and_then_put_right(project: HoldfastProject, hybrid: Path) -> None:
    """What it held is no content to recover from, so it is no generation; what is put back is the last one."""
    hybrid.write_bytes(b'{"id": "wf_')
    os.utime(hybrid, (1, 1))
    before = kept(project, hybrid)

    said = holdfast("restore", "1", "--workflow", HYBRID, root=project.root)

    (aside,) = hybrid.parent.glob("*.corrupt-*")
    assert aside.name in said.out
    assert aside.read_bytes() == b'{"id": "wf_'
    assert hybrid.read_bytes() == before[1]
    assert kept(project, hybrid) == before | {4: before[1]}


def test_no_link_is_followed(project: HoldfastProject, hybrid: Path, tmp_path: Path) -> None:
    """A state file that became a link out of the project is not written through."""
    outside = tmp_path / "outside.json"
    outside.write_bytes(hybrid.read_bytes())
    hybrid.unlink()
    hybrid.symlink_to(outside)
    said = holdfast("restore", "1", "--workflow", HYBRID, root=project.root, code=1)
    assert "symbolic link" in said.err
    assert outside.read_bytes() == kept(project, hybrid)[3]


def test_what_lies_elsewhere_is_not_put_back(project: HoldfastProject, hybrid: Path) -> None:
    """A copy of a state in a place that no format has is somebody's own."""
    copy = project.root / "docs" / "workflow.json"
    there = Workspace.open(project.root)
    contents.keep(there, copy, hybrid.read_bytes(), why="odd")
    there.close()
    said = holdfast("restore", "1", "--workflow", "docs/workflow.json", root=project.root, code=1)
    assert "isn't a workflow's state" in said.err
    assert not copy.exists()


def test_a_write_that_comes_between_is_not_lost(
    project: HoldfastProject, hybrid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody saves the file while it is put back: what they saved is a generation then."""
    from holdfast.files import atomic

    saved = hybrid.read_bytes().replace(b"handed over", b"saved meanwhile")
    replace = atomic.replace
    times: list[int] = []

    def between(path: Path, data: bytes, expected: bytes | None, *, mode: int = 0o644) -> float:
        if path == hybrid and not times:
            times.append(1)
            path.write_bytes(saved)
        return replace(path, data, expected, mode=mode)

    monkeypatch.setattr(atomic, "replace", between)
    holdfast("restore", "1", root=project.root)

    assert times
    assert saved in kept(project, hybrid).values()
    assert hybrid.read_bytes() == kept(project, hybrid)[1]


def test_the_log_reads_as_git_log_does(project: HoldfastProject, hybrid: Path) -> None:
    """Newest first, in lines; the beginning of a session's id will do, an unknown one or two are named."""
    there = Workspace.open(project.root)
    (workflow,) = registry.all_found(there).workflows
    there.close()
    for session in (ME, OTHER, ME.replace("1111-4", "1112-4")):
        project.fire("SessionStart", "SessionStart-startup-tui", session_id=session)
    there = Workspace.open(project.root)
    owners.own(there, workflow, OTHER)
    there.close()

    lines = holdfast("log", root=project.root).out.splitlines()

    assert [line[:19] for line in lines] == sorted((line[:19] for line in lines), reverse=True)
    assert lines[0].endswith('22222222  now owned by this session: "Calculator"')
    assert len(holdfast("log", "--limit", "2", root=project.root).out.splitlines()) == 2
    assert len(holdfast("log", "--session", "2222", root=project.root).out.splitlines()) == 2
    assert "several sessions begin with '1111'" in holdfast("log", "--session", "1111", root=project.root, code=1).err
    assert (
        "no session of this project begins with '9'" in holdfast("log", "--session", "9", root=project.root, code=1).err
    )
    assert "is not a time" in holdfast("log", "--since", "yesterday", root=project.root, code=2).err
    for command in ("log", "report"):
        said = holdfast(command, "--since", "999999w", root=project.root, code=2).err
        assert f" {command} [OPTIONS]" in said.splitlines()[0]
        assert "'999999w' is before the year 1. Write a later time" in said, command
    assert holdfast("log", "--since", "2h", root=project.root).out.splitlines() == lines
    assert holdfast("log", "--since", "2100-01-01", root=project.root).out == ""
    assert holdfast("log", "--workflow", "Calc", "--json", root=project.root).json[0]["kind"] == "owner"
