"""A function's parameters become a command's arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner

from holdfast.commands.verb import Json, ListGroup, verb
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

CALLS: list[Any] = []


@click.group(cls=ListGroup)
def boxes() -> None:
    """Keep boxes."""


@verb("list", boxes)
def _list(*, as_json: Json = False) -> None:
    """List boxes."""
    CALLS.append(("list", as_json))


@verb("pack", boxes)
def _pack(
    project: Workspace,
    box: str,
    *files: Path,
    colour: Annotated[str, click.Choice(("red", "blue")), "-c", "The colour."],
    at_once: Annotated[bool, "Don't wait."] = False,
) -> None:
    """Pack FILES into a BOX."""
    CALLS.append((project.root, box, files, colour, at_once))


@verb("open", boxes)
def _open(box: str = "first") -> None:
    """Open a BOX."""
    CALLS.append(box)


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("", ("list", False)),
        ("--json", ("list", True)),
        ("list --json", ("list", True)),
        ("open", "first"),
        ("open second", "second"),
        ("pack big --colour red", ("big", (), "red", False)),
        ("pack big a b -c blue --at-once", ("big", (Path("a"), Path("b")), "blue", True)),
    ],
)
def test_a_line_calls_the_function_with_its_values(tmp_path: Path, line: str, call: Any) -> None:
    """Arguments, options, their defaults, and the project that `--project` names."""
    CALLS.clear()
    where = ["--project", str(tmp_path)] if line.startswith("pack") else []

    done = CliRunner().invoke(boxes, [*line.split(), *where], catch_exceptions=False)

    assert done.exit_code == 0, done.output
    assert [(tmp_path, *call) if where else call] == CALLS


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pack big", "Missing option"),
        ("pack", "Missing argument 'BOX'"),
        ("pack big -c green", "'green' is not one of"),
        ("open a b", "unexpected extra argument"),
        ("--at-once", "No such option"),
    ],
)
def test_a_wrong_line_is_a_usage_error(line: str, words: str) -> None:
    """And calls nothing."""
    CALLS.clear()

    done = CliRunner().invoke(boxes, line.split())

    assert (done.exit_code, CALLS) == (2, [])
    assert words in done.output


def test_help_is_made_of_the_function() -> None:
    """Its docstring, what each option is for, and `--project` for a project."""
    text = CliRunner().invoke(boxes, ["pack", "--help"]).output

    assert "Usage: boxes pack [OPTIONS] BOX [FILES]..." in text
    assert "Pack FILES into a BOX." in text
    assert "The colour.  [required]" in text
    assert "--project DIR" in text
    assert "Keep boxes." in CliRunner().invoke(boxes, ["--help"]).output


@pytest.mark.parametrize("line", ["server --json --stop", "config --schema --check"])
def test_options_that_exclude_each_other_are_refused(line: str) -> None:
    """Nothing is done."""
    assert "can't be used together; choose one" in holdfast(*line.split(), code=2).err
