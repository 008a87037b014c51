"""`holdfast demo` ends with what its reader can do next."""

from __future__ import annotations

import shutil
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from holdfast.commands import demo
from holdfast.testkit import stage
from tests.commandline import holdfast

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def program(folder: Path) -> Path:
    """Put a program of our name into a folder."""
    folder.mkdir()
    file = folder / "holdfast"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_it_names_the_program_as_the_reader_can_call_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name where the shell finds this very program, else by its path, which holds in any folder."""
    ours, other = program(tmp_path / "ours"), program(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ours/holdfast", "demo"])
    monkeypatch.setattr(demo, "narrate", lambda *story: None)  # `make demo` and the wheel's test play it
    monkeypatch.setattr(stage, "opened", nullcontext)
    ending = "\nNow try it on your own work:\n  {} install\n"
    ending += "Then start claude in a project of yours, and type\n  /holdfast start a workflow for login\n"
    for found, name in ((ours, "holdfast"), (other, str(ours)), (None, str(ours))):
        monkeypatch.setattr(shutil, "which", lambda name, found=found: str(found) if found else None)
        assert holdfast("demo").out == ending.format(name)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "holdfast" / "__main__.py"), "demo"])
    assert holdfast("demo").out == ending.format(f"{sys.executable} -m holdfast")
