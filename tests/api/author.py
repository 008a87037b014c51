"""Write handler files as their author does, and fire events at them, in process and with homes of their own."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from holdfast.testing import HoldfastProject
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from holdfast.testing import Fired

HEAD = """import os, signal, subprocess, sys, time
from holdfast import *
def note(path, text):
    with open(path, "a") as file: file.write(text)
"""
SHIPPED = sorted(path.stem for path in (ROOT / "handlers").glob("*.py"))
_FOLDERS = {"CONFIG": ".config", "STATE": ".local/state", "DATA": ".local/share", "CACHE": ".cache"}


def handler(
    body: str, event: str = "pre_tool_use", options: str = "", arguments: str = "event, context", head: str = HEAD
) -> str:
    """Return a handler file with one function; `body` begins in line 7 and may `note` texts in files."""
    indented = body.replace("\n", "\n    ")
    return f"{head}@hookimpl({options})\ndef on_{event}({arguments}):\n    {indented}\n"


class Author(HoldfastProject):
    """A project whose author has a home without shipped handlers.

    Attributes:
        home: the author's home.
        config: the folder of the author's configuration and handlers.
    """

    def __init__(self, folder: Path) -> None:
        """Make the project and the home in a folder."""
        super().__init__(folder / "project")
        self.checked = False  # many tests are about files that are untrusted or have a fault
        self.home = folder / "home"
        self.config = self.home / ".config" / "holdfast"
        (self.root / ".claude" / "handlers").mkdir(parents=True)
        self.configure("")

    def configure(self, text: str) -> None:
        """Write the author's configuration; the first table is `handlers`."""
        self.write({f"{self.config}/holdfast.toml": f"[handlers]\noff = {json.dumps(SHIPPED)}\n{text}"})

    def mine(self, **texts: str) -> None:
        """Write handler files into the author's folder."""
        self.write({f"{self.config}/handlers/{name}.py": text for name, text in texts.items()})

    def ours(self, **texts: str) -> None:
        """Write handler files into the project's folder; they aren't trusted."""
        self.write({f".claude/handlers/{name}.py": text for name, text in texts.items()})

    def bash(self, command: str = "ls", **changes: Any) -> Fired:
        """Fire the event before a Bash call."""
        return self.fire("PreToolUse", tool_name="Bash", tool_input={"command": command}, **changes)

    def log(self) -> str:
        """Return Holdfast's log."""
        path = self.home / ".local/state/holdfast/log/holdfast.log"
        return path.read_text("utf-8") if path.exists() else ""


class Authors:
    """Makes projects, each with a home of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make them below a folder."""
        self._folder, self._patch, self._numbers = folder, monkeypatch, count()

    def __call__(self, handlers: Mapping[str, str] | None = None) -> Author:
        """Return a new project, whose author has these handlers and whose home is the one of this process."""
        made = Author(self._folder / f"author{next(self._numbers)}")
        self._patch.setenv("HOME", str(made.home))
        for name, place in _FOLDERS.items():
            self._patch.setenv(f"XDG_{name}_HOME", str(made.home / place))
        made.mine(**(handlers or {}))
        return made
