"""`holdfast status` with archived workflows and templates, and `start --template`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path


def test_an_archive_that_cannot_be_read_is_not_empty(root: Path) -> None:
    """Nobody is told that nothing was completed when that is not known."""
    file = Workspace.open(root).ledger.file
    assert file is not None
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    file.mkdir()

    for arguments in (["status", "--all"], ["status", "--all", "--json"]):
        said = holdfast(*arguments, root=root, code=1)
        assert said.out == ""
        assert said.err.startswith(f"holdfast: {file}: ")


def test_templates_are_listed_and_used(root: Path) -> None:
    """What --template takes, and what is given beside it is added."""
    folder = root / ".claude" / "templates"
    folder.mkdir()
    (folder / "team.toml").write_text(
        'format = "hybrid"\nphases = ["Build @coder", "Look"]\nread = ["a.md"]\nremind = ["r"]\n[set]\nk = 1\n'
    )
    said = holdfast("start", "One", "--template", "no such", root=root, code=1).err
    assert "team, implementation, planning, qa-loop" in said
    holdfast("start", "One", "--template", "team", "--read", "b.md", "--set", "n=2", root=root)
    shown = holdfast("status", "One", "--json", root=root).json
    assert [(phase["title"], phase["agent"]) for phase in shown["phases"]] == [
        ("Build", "coder"),
        ("Look", "general-purpose"),
    ]
    assert (shown["required_reading"], shown["context"]) == (["@a.md", "@b.md"], {"k": 1, "n": 2})


def test_your_phases_replace_how_many_a_template_has(root: Path) -> None:
    """Its total counts its own phases only."""
    (root / ".claude" / "templates").mkdir()
    (root / ".claude" / "templates" / "long.toml").write_text('phases = ["A"]\ntotal = 5\n')
    holdfast("start", "Whole", "--template", "long", root=root)
    holdfast("start", "Short", "--template", "long", "--phase", "Only", root=root)

    totals = [holdfast("status", name, "--json", root=root).json["total"] for name in ("Whole", "Short")]
    assert totals == [5, 1]


def test_a_template_that_cannot_be_used_is_named(root: Path) -> None:
    """With what is wrong in its file."""
    (root / ".claude" / "templates").mkdir()
    (root / ".claude" / "templates" / "bad.toml").write_text("phases = 1")
    assert "bad.toml: phases is not a list" in holdfast("start", "T", "--template", "bad", root=root, code=1).err
    assert not list(root.glob("untracked/**/*.json"))


def rows_of(root: Path, *more: str) -> list[str]:
    """Return the lines of a list."""
    return holdfast("status", *more, root=root).out.splitlines()


def test_the_archive_says_which_is_another_worktrees(root: Path) -> None:
    """It is shared by all checkouts of a repository."""
    holdfast("start", "Pages", "--phase", "A", root=root)
    holdfast("done", root=root)
    assert ", in " not in rows_of(root, "--all")[-1]

    project = Workspace.open(root)
    project.ledger.run("UPDATE workflows SET worktree = '/elsewhere'")
    project.close()
    assert rows_of(root, "--all")[-1].endswith(", in /elsewhere)")
