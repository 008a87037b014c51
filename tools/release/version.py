"""The version of a release, which three files name, and what keeps the tree from being released."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENTRY = re.compile(r"^## \[?([^\]\s]+)\]?(.*)\n((?:(?!## ).*\n?)*)", re.MULTILINE)
_DATE = re.compile(r" - \d{4}-\d\d-\d\d")


def of(root: Path) -> str:
    """Return the version in pyproject.toml."""
    return str(_project(root)["version"])


def has_urls(root: Path) -> bool:
    """Return whether pyproject.toml says where the project is public."""
    return bool(_project(root).get("urls"))


def _project(root: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def problems(root: Path) -> Iterator[str]:
    """Yield what has to change before a tree is released, a sentence each; nothing is written.

    Args:
        root: a checkout with its git repository.
    """
    version = of(root)
    plugin = json.loads((root / ".claude-plugin" / "plugin.json").read_text("utf-8"))["version"]
    if plugin != version:
        yield f".claude-plugin/plugin.json has version {plugin}, but pyproject.toml has {version}. Make them agree."
    yield from _of_changelog((root / "CHANGELOG.md").read_text("utf-8"), version)
    status = ["git", "-C", str(root), "status", "--porcelain"]
    if changed := subprocess.run(status, check=True, capture_output=True, text=True).stdout.splitlines():
        more = f" and {len(changed) - 1} more" if changed[1:] else ""
        yield f"Not as committed: {changed[0][3:]}{more}. Commit every change, or take it back."


def _of_changelog(text: str, version: str) -> Iterator[str]:
    entries = {name: (date, changes) for name, date, changes in _ENTRY.findall(text)}
    _, unreleased = entries.pop("Unreleased", ("", ""))
    top = next(iter(entries), "nothing")
    if top != version:
        yield f"The top entry of CHANGELOG.md is {top}, but the version is {version}. Write an entry for {version}."
    elif not _DATE.fullmatch(entries[top][0]):
        yield f'The entry {top} of CHANGELOG.md has no date. Begin it with "## [{top}] - YEAR-MONTH-DAY".'
    if "\n- " in unreleased:
        yield "CHANGELOG.md has changes under [Unreleased]. Move them into the entry of the version you release."
