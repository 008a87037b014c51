"""Templates: files, shipped ones, and workflows there were."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.errors import HoldfastError
from holdfast.sessions import templates
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_bytes(text.encode("utf-8", "surrogateescape"))


def test_the_projects_goes_before_the_users_before_the_shipped(project: Workspace) -> None:
    """A nearer file of the same name hides the farther one."""
    assert templates.get(project, "planning").phases[0] == ("Research", "")
    put(paths.user_templates(), "planning", 'phases = ["Mine"]')
    assert templates.get(project, "planning").phases == (("Mine", ""),)
    put(paths.project_templates(project.root), "planning", 'phases = ["Ours"]')
    assert templates.get(project, "planning").phases == (("Ours", ""),)
    assert templates.file_names(project) == ["planning", "implementation", "qa-loop"]


@each_row("name", ["../secret", "a/b", "/etc/passwd", ".."])
def test_a_name_is_no_path(project: Workspace, name: str) -> None:
    """Nothing outside the folders is opened."""
    put(project.root / ".claude", "secret", 'phases = ["A"]')
    with pytest.raises(HoldfastError, match="no template"):
        templates.get(project, name)


@each_row(
    "text, said",
    [
        ("phases = 1", "phases is not a list"),
        ("phases = [1]", "phases[0] is not a text"),
        ("phases = []", "phases: list should have at least 1 item"),
        ("", "phases is missing"),
        ('phases = ["A", " "]', "phases[1]: string should have at least 1 character"),
        (
            'phases = ["A"]\nsteps = 2',
            "steps isn't a key of a template; use format, type, phases, total, read, remind, set",
        ),
        ('phases = ["A"]\nformat = "wfs2"', "format: there is no 'wfs2'; write hybrid or compaction"),
        ('phases = ["A"]\ntotal = 0', "total is too small"),
        ('phases = ["A"]\ntotal = "3"', "total is not a whole number"),
        ('phases = ["A", "B"]\ntotal = 1', "total is 1, but 2 phases are named"),
        ('phases = ["A"]\nread = "a.md"', "read is not a list"),
        ('phases = ["A"]\nset = 3', "set is not a table"),
        *(
            (f'phases = ["A"]\nset = {{ k = {value} }}', "set.k: no state file can hold this; write it as a text")
            for value in ("1979-05-27", "[07:32:00]", "nan")
        ),
        ("phases = [", "is not TOML: Invalid value (at end of document)"),
        ('phases = ["\udcff"]', "is not UTF-8: byte at offset 11"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(project: Workspace, text: str, said: str) -> None:
    """Named with its key."""
    put(paths.project_templates(project.root), "bad", text)
    with pytest.raises(HoldfastError) as raised:
        templates.get(project, "bad")
    assert str(raised.value).startswith(f"{paths.project_templates(project.root) / 'bad.toml'}")
    assert said in str(raised.value)


@each_row(
    "text, parts",
    [
        ("Write tests @test-writer", ("Write tests", "test-writer")),
        ("Write tests", ("Write tests", "")),
        ("Mail bob@example.org", ("Mail bob@example.org", "")),
        ("  Tidy up  @plug:in.agent ", ("Tidy up", "plug:in.agent")),
        ("@agent", ("@agent", "")),
    ],
)
def test_a_phase_and_its_agent(text: str, parts: tuple[str, str]) -> None:
    """The agent stands behind the title, apart from it."""
    assert templates.phase(text) == parts


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("fifo", "is not a regular file"),
        ("link", "leads out of"),
        ("large", "is larger than 65536 bytes"),
        ("number", "is not TOML: Exceeds the limit"),
        ("dotted", "line 1 has more than 200 dots"),
    ],
)
def test_a_project_cannot_hold_a_command_up_with_a_template(project: Workspace, kind: str, said: str) -> None:
    """Whatever a repository has put there is a problem with a name."""
    folder = paths.project_templates(project.root)
    folder.mkdir(parents=True)
    texts = {"large": "#" * 70_000, "number": "total = " + "1" * 5000, "dotted": "a." * 30_000 + "a = 1"}
    if kind == "fifo":
        os.mkfifo(folder / "bad.toml")
    elif kind == "link":
        (project.root.parent / "outside.toml").write_text('phases = ["A"]\n')
        (folder / "bad.toml").symlink_to(project.root.parent / "outside.toml")
    else:
        (folder / "bad.toml").write_text(texts[kind])

    with pytest.raises(HoldfastError) as raised:
        templates.get(project, "bad")
    assert str(raised.value).startswith(f"{folder / 'bad.toml'}")
    assert said in str(raised.value)
