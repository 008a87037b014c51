"""The examples run as their users run them, and each is short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commandline import holdfast
from tests.processes import ROOT

EXAMPLES = ROOT / "examples"
LARGEST_LINES = 60


def test_each_example_is_short_and_listed() -> None:
    """On the page that a newcomer opens."""
    page = (EXAMPLES / "README.md").read_text("utf-8")
    files = [
        file for file in EXAMPLES.rglob("*.*") if file.is_file() and "__" not in str(file) and file.suffix != ".md"
    ]
    assert [file.name for file in files if len(file.read_text("utf-8").splitlines()) > LARGEST_LINES] == []
    listed = [file for file in files if file.relative_to(EXAMPLES).as_posix() in page]
    assert [file.name for file in files if file not in listed] == ["no_force.py"]  # its package is


@pytest.mark.slow
def test_one_person_reads_what_claude_is_told(tmp_path: Path) -> None:
    """The script ends well, and prints the hand-over, the reading and the reminders."""
    program = Path(sys.executable).with_name("holdfast").parent
    environ = {"PATH": f"{program}{os.pathsep}{os.defpath}", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}
    (tmp_path / "project").mkdir()
    done = subprocess.run(
        ["/bin/sh", EXAMPLES / "one_person.sh"],
        cwd=tmp_path / "project",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.partition("== What Claude is told")[2].partition("== The rest")[0]
    for words in (
        "Phase: 2/3 - Build",
        "@docs/style.md",
        "Never write outside of data/",
        "Todos are kept in todos.json",
    ):
        assert words in told
    assert "The workflow is complete." in done.stdout


@pytest.mark.parametrize("file", ["team/no_push_to_main.py", "package/holdfast_no_force/no_force.py"])
def test_a_handler_answers_its_examples(file: str, tmp_path: Path) -> None:
    """`holdfast handlers test` and `check` accept it."""
    assert "examples passed" in holdfast("handlers", "test", str(EXAMPLES / file), root=tmp_path).out
    holdfast("handlers", "check", str(EXAMPLES / file), root=tmp_path)


def test_the_package_names_its_folder_of_handlers() -> None:
    """As `holdfast install` looks for it; tests/api/test_packages.py installs such packages."""
    text = (EXAMPLES / "package" / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points."holdfast.handlers"]\nno_force = "holdfast_no_force"' in text
    assert (EXAMPLES / "package" / "holdfast_no_force" / "__init__.py").exists()
