"""The scripts of the Workflow tool: which one a call asks for, and what it is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import scopes
from holdfast.errors import StateError
from holdfast.files import document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LIMIT_CHARS = 524_288  # of a script (client fact §8)
_META = re.compile(r"export\s+const\s+meta\s*=\s*(?=\{)")
_NAME = re.compile(r"\bname\s*:\s*(['\"`])((?:\\.|(?!\1).)*)\1")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def script(transcript: str, given: Mapping[str, Any], root: Path) -> str | None:
    """Return the text of the script that a call asks for; None if it isn't known.

    Args:
        transcript: the session's transcript; unused, as scripts are named by path.
        given: the call's input. The client prefers `scriptPath` to `script`, and that to `name`.
        root: the project's root, against which a relative path is read.
    """
    text = given.get("script")
    if isinstance(text, str) and text and not given.get("scriptPath"):
        return text
    return _of_file(given, root)


def script_name(script: str) -> str:
    """Return the name that a script gives itself; empty if it gives none."""
    found = _META.search(script)
    named = _NAME.search(script, found.end()) if found else None
    return named[2] if named else ""


def _of_file(given: Mapping[str, Any], root: Path) -> str | None:
    path, name = given.get("scriptPath"), given.get("name")
    files: list[Path] = []
    if isinstance(path, str) and path:
        files = [root / path]
    elif isinstance(name, str) and _SAFE_NAME.fullmatch(name):
        files = [folder / "workflows" / f"{name}.js" for folder in (root / ".claude", scopes.claude_dir())]
    for file in files:
        try:
            return document.read(file, LIMIT_CHARS * 4)[0].decode()
        except (OSError, ValueError, StateError):
            continue
    return None
