"""Keep out of everything that Holdfast captures what the user excludes: files by path, text by pattern."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.config import Config


MASK = "[excluded]"
# What can be a path in a text: without quotes and brackets around it, and (_AROUND) without a sentence's punctuation.
_TOKEN = re.compile(r"""[^\s"'`=;,|<>()\[\]{}]+""")
_AROUND = ".:@!?"
_PATH_LIMIT_CHARS = 4_096
_PATHLIKE = re.compile(r"/|\w\.\w|\A\.\w")
# The fields that stay of an event whose content names an excluded file: who, where and which tool.
_KEPT = frozenset(
    {
        *("hook_event_name", "session_id", "transcript_path", "cwd", "permission_mode", "tool_name", "tool_use_id"),
        *("agent_id", "agent_type", "source", "trigger", "reason", "prompt_id"),
    }
)


def allowed(config: Config, path: str | Path) -> bool:
    """Return whether a file's content may be captured.

    Args:
        config: `exclude` has the globs. A glob matches at any depth, unless it begins with `/` or `~/`. `*` and `?`
            stay within a name, `**` stands for any number of folders, and a glob that matches a folder matches
            everything in it. Case doesn't matter.
        path: absolute or relative. A link is excluded if a glob matches either the link or its target.
    """
    return not matches(config.exclude, path)


def matches(globs: Sequence[str], path: str | Path) -> bool:
    """Return whether one of some globs matches a path or a folder that it is in (`allowed` has the rules)."""
    names = [tuple(name.lower().split("/")) for name in _names(os.fspath(path))]
    home = os.path.expanduser("~")  # noqa: PTH111 - it never raises
    return any(_matches(glob, name) for glob in _globs(tuple(globs), home) for name in names)


def text(config: Config, content: str) -> str:
    """Return a text with every match of `exclude_patterns` masked."""
    for pattern in _patterns(tuple(config.exclude_patterns)):
        content = pattern.sub(MASK, content)
    return content


def value(config: Config, content: Any) -> Any:
    """Return a copy of a JSON-like value with every match of `exclude_patterns` masked in its strings and keys."""
    if not config.exclude_patterns:
        return content
    if isinstance(content, str):
        return text(config, content)
    if isinstance(content, dict):
        return {
            text(config, key) if isinstance(key, str) else key: value(config, item) for key, item in content.items()
        }
    if isinstance(content, list | tuple):
        return [value(config, item) for item in content]
    return content


def event(config: Config, payload: dict[str, Any]) -> dict[str, Any]:
    """Return an event's payload as it may be captured.

    If any part names an excluded file, only who, where and which tool are left, because everything else could come
    from that file. Otherwise matches of `exclude_patterns` are masked.
    """
    content = {key: item for key, item in payload.items() if key not in _KEPT}
    if config.exclude and any(not allowed(config, name) for words in _texts(content) for name in _paths(words)):
        payload = {key: item if key in _KEPT else MASK for key, item in payload.items()}
    return dict(value(config, payload))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for key, item in content.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from _texts(item)


def _paths(words: str) -> set[str]:
    """Return everything in a text that can be a path; a one-line text may be one as a whole, as in a tool's input."""
    found = {part for token in set(_TOKEN.findall(words)) for part in _readings(token) if _PATHLIKE.search(part)}
    return found | ({words} if len(words) <= _PATH_LIMIT_CHARS and "\n" not in words else set())


def _readings(token: str) -> Iterator[str]:
    """Yield a word read as a path: without a leading @ and punctuation at its end, and without a line number (grep)."""
    plain = token.lstrip("@").rstrip(_AROUND)
    yield from (plain, plain.split(":")[0])


def _names(path: str) -> set[str]:
    """Return the ways to write a path: as it is, normalised, and with links resolved."""
    try:
        plain = str(Path(path).expanduser()) if path.startswith("~") else path
        found = {plain, os.path.normpath(plain)}
        if Path(plain).is_absolute():
            found.add(os.path.realpath(plain))
    except (OSError, ValueError, RuntimeError):
        return {path}
    return found


@lru_cache(maxsize=8)
def _globs(globs: tuple[str, ...], home: str) -> tuple[tuple[str, ...], ...]:
    """Return each glob's parts; `**` before one that matches at any depth."""
    found = []
    for glob in globs:
        plain = home + glob[1:] if glob.startswith("~/") else glob
        parts = [part for part in plain.lower().split("/") if part not in ("", ".")]
        if glob.strip("/ "):
            found.append(("" if plain.startswith("/") else "**", *parts))
    return tuple(found)


def _matches(glob: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether a glob matches a path, or a folder that the path is in; both as parts."""
    if not glob:
        return True
    if glob[0] == "**":
        rest = glob[1:] or ("*",)
        return any(_matches(rest, name[skipped:]) for skipped in range(len(name) + 1))
    return bool(name) and fnmatchcase(name[0], glob[0]) and _matches(glob[1:], name[1:])


@lru_cache(maxsize=8)
def _patterns(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)
