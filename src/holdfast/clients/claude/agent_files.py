"""The kinds of agents that Claude Code offers in a project: built-in ones, and those that files describe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.clients.claude import scopes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUILT_IN = ("general-purpose", "Explore", "Plan", "claude-code-guide", "statusline-setup")
FOLDER = ".claude/agents"
_FILES = 500  # files that are read in one folder
_HEAD_BYTES = 8_192  # of a file, which begins with its name
_NAME = re.compile(r"^name:[ \t]*[\"']?([^\"'\n#]+?)[\"']?[ \t]*$")


def names(root: Path) -> list[str]:
    """Return the kinds of agents that a session of the project can launch, without those of plugins.

    A plugin's agent is called `plugin:agent`, so it can't be taken for another.
    """
    return list(dict.fromkeys([*BUILT_IN, *(name for folder in folders(root) for name in _names(folder))]))


def folders(root: Path) -> list[Path]:
    """Return the folders in which the client looks for agents: the project's, those above it, the user's, managed."""
    above = [folder / FOLDER for folder in (root, *root.parents)]
    return [*above, scopes.claude_dir() / "agents", scopes.MANAGED / FOLDER]


def _names(folder: Path) -> Iterator[str]:
    """Yield the names in the front matter of a folder's Markdown files; a file without one is called as it is named."""
    try:
        files = sorted(folder.rglob("*.md"))[:_FILES]
        for file in files:
            if file.is_file():
                with file.open("rb") as opened:
                    yield _name(opened.read(_HEAD_BYTES).decode("utf-8", "replace")) or file.stem
    except OSError:
        return


def _name(text: str) -> str:
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return ""
    found = (_NAME.match(line) for line in lines[1:])
    return next((each[1].strip() for each in found if each), "")
