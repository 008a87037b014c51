"""The scripts of the Workflow tool: which one a call asks for, what it is called, where a line can be put into it."""

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
MARK = "/* holdfast: results of finished agents */"
_META = re.compile(r"export\s+const\s+meta\s*=\s*(?=\{)")
_NAME = re.compile(r"\bname\s*:\s*(['\"`])((?:\\.|(?!\1).)*)\1")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def script(transcript: str, given: Mapping[str, Any], root: Path) -> str | None:
    """Return the text of the script that a call asks for, without Holdfast's own line; None if it isn't known.

    Args:
        transcript: the session's transcript; unused, as scripts are named by path.
        given: the call's input.
        root: the project's root, against which a relative path is read.
    """
    text = given.get("script")
    if not isinstance(text, str) or not text:
        text = _of_file(given, root)
    return original(text) if text is not None else None


def original(text: str) -> str:
    """Return a script without the line that Holdfast put into it."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(MARK))


def script_name(script: str) -> str:
    """Return the name that a script gives itself; empty if it gives none."""
    found = _META.search(script)
    named = _NAME.search(script, found.end()) if found else None
    return named[2] if named else ""


def with_line(text: str, line: str) -> str | None:
    """Return a script with a line after its `meta`, which has to come first; None if that isn't found."""
    found = _META.match(text.lstrip())
    if not found:
        return None
    at = len(text) - len(text.lstrip()) + found.end()
    end = _closing(text, at)
    if end is None:
        return None
    head, rest = text[:end], text[end:]
    if rest[:1] == ";":
        head, rest = f"{head};", rest[1:]
    # Without the line the script is as it was, if a line ended after `meta`.
    return f"{head}\n{MARK};{line}" + (rest if rest.startswith("\n") else f"\n{rest}")


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


def _closing(text: str, at: int) -> int | None:
    """Return where the object literal that begins at `at` ends; None if it has more in it than literals."""
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
            elif quote == "`" and text.startswith("${", at):
                return None
        elif char in "'\"`":
            quote = char
        elif char == "/":
            mark = text[at : at + 2]
            end = text.find("\n" if mark == "//" else "*/", at + 2) if mark in ("//", "/*") else -1
            if end < 0:
                return None
            at = end if mark == "//" else end + 1
        elif char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return None
