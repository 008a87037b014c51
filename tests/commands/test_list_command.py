"""`holdfast list` with archived workflows and templates, and `start --template`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of the test's own."""
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return tmp_path / "project"


def test_an_archive_that_cannot_be_read_is_not_empty(root: Path) -> None:
    """Nobody is told that nothing was completed when that is not known."""
    file = Workspace.open(root).ledger.file
    assert file is not None
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    file.mkdir()

    for arguments in (["list", "--archive"], ["list", "--archive", "--json"]):
        said = holdfast(*arguments, root=root, code=1)
        assert said.out == ""
        assert said.err.startswith(f"holdfast: {file}: ")


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
    assert f"{row['completed_at'][:10]} {row['completed_at'][11:16]} UTC" in said
    assert "Pages" in said
    assert "There is no workflow" in holdfast("list", root=root).out


def test_completing_again_is_refused_with_the_reason(root: Path) -> None:
    """A completed workflow is over, whether its file is still there or not."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    holdfast("done", root=root)
    assert '"Pages" was completed at' in holdfast("done", "Pages", root=root, code=1).err
    holdfast("start", "Ship", "--format", "hybrid", "--phase", "A", root=root)
    holdfast("done", root=root)
    before = (root / ".claude/state/workflow.json").read_bytes()
    for more in ([], ["--all"]):
        assert (
            "is completed. To open it again: `holdfast reopen`"
            in holdfast("done", "Ship", *more, root=root, code=1).err
        )
    assert (root / ".claude/state/workflow.json").read_bytes() == before


def test_a_state_file_completed_by_hand_is_removed_by_name(root: Path) -> None:
    """R001-19: what an agent completed in the file itself; `done` finishes that."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    (path,) = root.glob("untracked/workflow-state/*/*.json")
    data = json.loads(path.read_text())
    data["phase"]["status"] = "completed"
    path.write_text(json.dumps(data))
    holdfast("done", "Pages", root=root)
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
    assert "Build @coder, Look" in said
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
    assert "bad.toml: phases: write a list of one or more titles" in said.err
    assert "planning" in said.out
    assert "bad.toml: phases: write a list" in holdfast("start", "T", "--template", "bad", root=root, code=1).err
    assert not list(root.glob("untracked/**/*.json"))


def test_two_lists_at_once_are_a_wrong_call(root: Path) -> None:
    """Not one of them silently."""
    assert "two lists" in holdfast("list", "--archive", "--templates", root=root, code=2).err


ODD = "[bold]x[/bold] \x1b[31mred\x1b[0m \x1b]0;t\x07 \u202e中文 😀 :smile:\nend"
HARMLESS = "[bold]x[/bold] [31mred[0m ]0;t 中文 😀 :smile: end"


def rows_of(root: Path, *more: str) -> list[str]:
    """Return the lines of a list."""
    return holdfast("list", *more, root=root).out.splitlines()


def test_a_list_has_columns(root: Path) -> None:
    """Status, position, title and phase, and what names it; each starts where the one above does."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    holdfast("start", "Ship", "--format", "hybrid", *(["--phase", "A"] * 12), root=root)
    holdfast("done", "--all", "Ship", root=root)

    said = {line.split()[2]: line for line in rows_of(root)}
    assert said["Ship"].startswith("completed  0/12  Ship  (hybrid wf_")
    assert said["Pages"].startswith("active     1/1   Pages - A  (compaction state-pages-")


@pytest.mark.parametrize("more", [(), ("--archive",)])
def test_titles_are_shown_harmlessly(root: Path, more: tuple[str, ...]) -> None:
    """Markup, colours, titles of terminals, directions and line breaks in a title are text, or gone."""
    holdfast("start", ODD, "--phase", "A", root=root)
    if more:
        holdfast("done", root=root)

    (line,) = rows_of(root, *more)
    assert HARMLESS in line
    assert line.isprintable()


@pytest.mark.parametrize("width", [40, 80])
def test_on_a_terminal_long_titles_go_on_under_their_beginning(
    root: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """No line is wider than the terminal, but for a long name: it is never divided, so that it can be copied."""
    holdfast("start", "中文 title " * 30, "--phase", "phase " * 20, root=root)
    holdfast("start", "Short", "--phase", "A", root=root)
    monkeypatch.setenv("COLUMNS", str(width))

    lines = rows_of(root)
    names = [row["id"] for row in holdfast("list", "--json", root=root).json]
    assert (f"active  1/1  Short - A  (compaction {names[0]})" in lines) is (width == 80)
    assert (f"  (compaction {names[0]})" in lines) is (width == 40)
    assert f"  (compaction {names[1]})" in lines
    assert all(cell_len(line) <= width or line.startswith("  (") for line in lines)
    beginnings = [line for line in lines if line.startswith("active  1/1  ")]
    assert len(beginnings) == 2
    assert all(line.startswith((" " * 13, "  (")) for line in lines if line not in beginnings)


def test_wide_characters_count_as_wide_as_they_are(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that has no more characters than the terminal has columns may still be too wide for it."""
    monkeypatch.delenv("COLUMNS", raising=False)
    holdfast("start", "中文中文", "--phase", "A", root=root)
    (line,) = rows_of(root)
    monkeypatch.setenv("COLUMNS", str(len(line)))
    assert len(rows_of(root)) == 2
    monkeypatch.setenv("COLUMNS", str(cell_len(line)))
    assert rows_of(root) == [line]


def test_elsewhere_a_workflow_is_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For programs that search lines."""
    monkeypatch.delenv("COLUMNS", raising=False)
    holdfast("start", "title " * 40, "--phase", "phase " * 20, root=root)

    (line,) = rows_of(root)
    assert len(line) > 300


def test_the_archive_says_which_is_another_worktrees(root: Path) -> None:
    """It is shared by all checkouts of a repository."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    holdfast("done", root=root)
    assert ", in " not in rows_of(root, "--archive")[0]

    project = Workspace.open(root)
    project.ledger.run("UPDATE archive SET worktree = '/elsewhere'")
    project.close()
    assert rows_of(root, "--archive")[0].endswith(", in /elsewhere)")
