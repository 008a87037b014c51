"""`holdfast list` of what was completed and of templates, and `start --template`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of the test's own."""
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return tmp_path / "project"


def test_the_archive_lists_what_was_completed(root: Path) -> None:
    """R000-38: with the time; empty, it says so; for programs it is a list."""
    assert "No workflow" in holdfast("list", "--archive", root=root).out
    assert holdfast("list", "--archive", "--json", root=root).json == []
    holdfast("start", "Pages", "--phase", "A", root=root)
    holdfast("done", root=root)
    (row,) = holdfast("list", "--archive", "--json", root=root).json
    assert (row["format"], row["title"], row["status"], row["current"], row["total"]) == (
        *("compaction", "Pages", "completed"),
        *(1, 1),
    )
    assert row["completed_at"].endswith("Z")
    assert row["worktree"] == str(root)
    said = holdfast("list", "--archive", root=root).out
    assert row["completed_at"][:16] in said
    assert "Pages" in said
    assert "No workflows" in holdfast("list", root=root).out


def test_completing_again_is_refused_with_the_reason(root: Path) -> None:
    """A completed workflow is over, whether its file is still there or not."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    holdfast("done", root=root)
    assert "'Pages' was completed at" in holdfast("done", "Pages", root=root, code=1).err
    holdfast("start", "Ship", "--format", "hybrid", "--phase", "A", root=root)
    holdfast("done", root=root)
    before = (root / ".claude/state/workflow.json").read_bytes()
    for more in ([], ["--all"]):
        assert "is completed; `holdfast hybrid reopen" in holdfast("done", "Ship", *more, root=root, code=1).err
    assert (root / ".claude/state/workflow.json").read_bytes() == before


def test_a_state_file_completed_by_hand_is_removed_by_name(root: Path) -> None:
    """R001-19: what an agent completed in the file itself; `done` says how, `done --all` does it."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    (path,) = root.glob("untracked/workflow-state/*/*.json")
    data = json.loads(path.read_text())
    data["phase"]["status"] = "completed"
    path.write_text(json.dumps(data))
    assert "done --all" in holdfast("done", "Pages", root=root, code=1).err
    assert path.exists()
    holdfast("done", "--all", "Pages", root=root)
    assert not path.exists()
    assert [row["title"] for row in holdfast("list", "--archive", "--json", root=root).json] == ["Pages"]


def test_templates_are_listed_and_used(root: Path) -> None:
    """What --template takes, and what is given beside it is added."""
    folder = root / ".claude" / "templates"
    folder.mkdir()
    (folder / "team.toml").write_text(
        'format = "hybrid"\nphases = ["Build @coder", "Look"]\nread = ["a.md"]\nremind = ["r"]\n[set]\nk = 1\n'
    )
    said = holdfast("list", "--templates", root=root).out
    assert "Build @coder → Look" in said
    assert "qa-loop" in said
    rows = holdfast("list", "--templates", "--json", root=root).json
    assert [row["name"] for row in rows] == ["team", "implementation", "planning", "qa-loop"]
    holdfast("start", "One", "--template", "team", "--read", "b.md", "--set", "n=2", root=root)
    shown = holdfast("show", "One", "--json", root=root).json
    assert [(phase["title"], phase["agent"]) for phase in shown["phases"]] == [
        ("Build", "coder"),
        ("Look", "general-purpose"),
    ]
    assert (shown["required_reading"], shown["context"]) == (["@a.md", "@b.md"], {"k": 1, "n": 2})


def test_phases_and_format_replace_those_of_the_template(root: Path) -> None:
    """The command line says more exactly what is wanted."""
    holdfast("start", "One", "--template", "planning", "--phase", "Only", "--format", "hybrid", root=root)
    shown = holdfast("show", "One", "--json", root=root).json
    assert [phase["title"] for phase in shown["phases"]] == ["Only"]
    assert (shown["format"], shown["type"]) == ("hybrid", "planning")


def test_a_template_that_cannot_be_used_is_named(root: Path) -> None:
    """Beside the good ones in the list, as the error where it is asked for."""
    (root / ".claude" / "templates").mkdir()
    (root / ".claude" / "templates" / "bad.toml").write_text("phases = 1")
    said = holdfast("list", "--templates", root=root)
    assert "bad.toml: key 'phases'" in said.err
    assert "planning" in said.out
    assert "bad.toml: key 'phases'" in holdfast("start", "T", "--template", "bad", root=root, code=1).err
    assert not list(root.glob("untracked/**/*.json"))


def test_two_lists_at_once_are_a_wrong_call(root: Path) -> None:
    """Not one of them silently."""
    assert "two different lists" in holdfast("list", "--archive", "--templates", root=root, code=2).err
