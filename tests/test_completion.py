"""A shell completes the command line: in a real bash as on its pages, and without loading what isn't asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast import cli
from holdfast.formats import RECORDS
from tests import processes
from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "guides" / "install.md"
# Completes as bash does when somebody presses the tab key, and prints what it offers, then which modules that loaded.
TAB = """
source <(_HOLDFAST_COMPLETE=bash_source holdfast)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_holdfast_completion holdfast
printf '%s\\n' "${COMPREPLY[@]}"
"""
PROGRAM = """#!/bin/sh
exec {python} -c '
import atexit, os, sys
from holdfast import cli
sys.argv[0] = "holdfast"
atexit.register(lambda: open(os.environ["LOADED"], "w").write("\\n".join(sys.modules)))
cli.main()' "$@"
"""


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder for PATH, with a `holdfast` that says what it loaded."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "holdfast").write_text(PROGRAM.format(python=sys.executable))
    (folder / "holdfast").chmod(0o755)
    return folder


def offered(tmp_path: Path, bin_folder: Path, *words: str) -> tuple[list[str], set[str]]:
    """Return what a real bash offers after these words, and the modules loaded for it."""
    place = processes.make(tmp_path)
    environ = place.environ(LOADED=str(tmp_path / "loaded"))
    environ["PATH"] = f"{bin_folder}:{environ['PATH']}"
    command = ["bash", "--norc", "-c", TAB, "bash", "holdfast", *words]
    done = subprocess.run(command, env=environ, cwd=place.root, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split(), set((tmp_path / "loaded").read_text().split())


def test_bash_completes_commands_without_loading_one(tmp_path: Path, bin_folder: Path) -> None:
    """Those that the help lists, in its order."""
    found, loaded = offered(tmp_path, bin_folder, "")

    assert found == [name for name in cli.commands() if name not in ("server", "dispatch", *RECORDS)]
    assert not {name for name in cli.commands() if cli.module(name) in loaded}
    assert not {"pydantic", "rich", "sqlite3"} & loaded


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["st"], {"start", "status"}),
        (["handlers", "o"], {"on", "off"}),
        (["server", "--s"], {"--stop"}),
        (["--v"], {"--version"}),
        (["start", "Title", "--ph"], {"--phase"}),
        (["start", "Title", "--format", ""], set(RECORDS)),
        (["install", "--scope", "l"], {"local"}),
    ],
)
def test_bash_completes_what_was_begun(tmp_path: Path, bin_folder: Path, words: list[str], some: set[str]) -> None:
    """Subcommands, options, and the values of those that have a choice; only the command that is meant is loaded."""
    found, loaded = offered(tmp_path, bin_folder, *words)

    assert set(found) == some
    assert {name for name in cli.commands() if cli.module(name) in loaded} <= {words[0]}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_page_says_how(tmp_path: Path, bin_folder: Path, shell: str) -> None:
    """Its commands print a script for the shell, which completes `holdfast`."""
    command = rf"^_HOLDFAST_COMPLETE={shell}_source holdfast > (\S+)"
    (line,) = re.findall(command, PAGE.read_text("utf-8"), re.MULTILINE)
    place = processes.make(tmp_path)
    environ = place.environ(LOADED=str(tmp_path / "loaded"), _HOLDFAST_COMPLETE=f"{shell}_source")
    environ["PATH"] = f"{bin_folder}:{environ['PATH']}"

    script = processes.run([str(bin_folder / "holdfast")], b"", environ, place.root).stdout

    assert f"_HOLDFAST_COMPLETE={shell}_complete" in script
    assert line.startswith("~/")
