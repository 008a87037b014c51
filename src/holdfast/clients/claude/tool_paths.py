"""The shell commands in a tool's input, and the paths that it names."""

from __future__ import annotations

import os
import re
from glob import iglob
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.tools import SHELLS
from holdfast.process import shell
from holdfast.process.shell import nesting
from holdfast.process.shell.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.process.shell.command import Command

_FIELDS = ("file_path", "notebook_path", "path", "paths")
_PATTERNS = {"Glob": "pattern", "Grep": "glob"}  # globs relative to the path
_LONGEST_PATH_CHARS = 4096
_MOST_MATCHES = 1_000
_PRINTERS = ("echo", "printf")
_SEARCHERS = ("grep", "egrep", "fgrep", "rg", "sed", "awk", "jq")
"""Programs whose first operand is an expression, unless an option has it."""
_EXPRESSION = re.compile(r"-\w*[ef]|--(?:regexp|file|files|expression|from-file)\b", re.ASCII)
_MESSAGE = re.compile(r"-\w*m|--(?:message|title|body)\b", re.ASCII)
"""Options of git and gh whose value is text."""
_WITH_MESSAGE = ("commit", "tag", "merge", "stash", "notes")


def commands(tool: str, tool_input: Mapping[str, Any]) -> tuple[Command, ...]:
    """Return the commands that a tool runs in a shell; empty if it runs none.

    Args:
        tool: the tool's name.
        tool_input: its input.
    """
    command = tool_input.get("command")
    if tool not in SHELLS or not isinstance(command, str):
        return ()
    return (shell.Command(command),) if tool == "PowerShell" else shell.read(command)


def paths(tool: str, tool_input: Mapping[str, Any], cwd: str) -> tuple[Path, ...]:
    """Return the paths that a tool's input names, absolute and each once; of globs also the matches on the disk.

    Args:
        tool: the tool's name.
        tool_input: its input.
        cwd: the folder that relative paths are relative to.
    """
    values = [tool_input.get(name) for name in _FIELDS]
    found = [each for value in values for each in (value if isinstance(value, list) else [value])]
    if isinstance(pattern := tool_input.get(_PATTERNS.get(tool, "")), str):
        found.append(f"{tool_input.get('path') or '.'}/{pattern}")
    texts = [_absolute(cwd, each) for each in found if isinstance(each, str)]
    for command in commands(tool, tool_input):
        texts += _texts_of(command, cwd)
    return _with_matches(texts)


def paths_of(command: Command, cwd: str) -> tuple[Path, ...]:
    """Return the paths that one command names, as `paths` does.

    Args:
        command: the command.
        cwd: the folder that the shell starts in.
    """
    return _with_matches(_texts_of(command, cwd))


def _texts_of(command: Command, cwd: str) -> list[str]:
    folder = _absolute(cwd, command.folder or "")
    return [_absolute(folder, re.sub(r"^\$\{?PWD\b\}?", folder, each)) for each in _named(command)]


def _with_matches(texts: list[str]) -> tuple[Path, ...]:
    """Return absolute paths, each once; of globs also what they match on the disk."""
    for text in [each for each in texts if re.search(r"[*?[]", each) and "\0" not in each]:
        texts += islice(iglob(text), _MOST_MATCHES)  # noqa: PTH207 - as the shell does: hidden files aren't matched
    return tuple(Path(each) for each in dict.fromkeys(texts) if len(each) <= _LONGEST_PATH_CHARS)


def _absolute(folder: str, text: str) -> str:
    """Return a path from a folder, with the home folder in place of `~` and `$HOME`; links are not followed."""
    text = os.path.expanduser(re.sub(r"^\$\{?HOME\b\}?", "~", text))  # noqa: PTH111 - it never raises
    return os.path.normpath(text if text.startswith("/") else f"{folder}/{text}")


def _named(command: Command) -> Iterator[str]:
    """Yield the words of a command that may be paths, its redirections, and values that are for later commands."""
    yield from (*command.reads, *command.writes)
    if not command.argv:
        yield from (each for each in command.environment.values() if each and "\n" not in each)
    words = [Word(text, position not in command.unknown) for position, text in enumerate(command.argv)]
    if not words or command.program in _PRINTERS or (nesting.of(words) and command.program != "find"):
        return  # what it runs comes as a command of its own
    if "/" in command.argv[0]:
        yield command.argv[0]
    operands = list(command.argv[1:])
    if command.program in _SEARCHERS and not any(map(_EXPRESSION.match, operands)):
        expression = next((each for each in operands if not each.startswith("-")), None)
        operands = [each for each in operands if each is not expression]
    messages = command.program == "gh" or any(command.runs("git", each) for each in _WITH_MESSAGE)
    for before, text in zip(["", *operands], operands, strict=False):
        if messages and (_MESSAGE.fullmatch(before) or _MESSAGE.match(text)):
            continue
        if text.startswith("-") and "=" not in text:
            text = text[2:] if re.match(r"-\w(?:@|.*[./])", text) else ""  # `-d@.env`
        if text.startswith("file://"):
            yield text.removeprefix("file://")
        elif text and "://" not in text and "\n" not in text:
            yield from dict.fromkeys([text, *re.split(r"[=:@]", text)])  # `if=x`, `HEAD:x`, `host:x`, `@x`
