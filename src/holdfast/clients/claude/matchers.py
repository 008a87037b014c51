"""Match a matcher against a value, by the client's own rules."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.clients.claude.hookspecs import EVENTS
from holdfast.clients.claude.tools import SHELLS as SHELLS

# Client fact §3.4, §4.2: a renamed tool is also tried under its other names.
LEGACY_NAMES = {
    "Task": "Agent",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
    "ListPeers": "ListAgents",
    "Brief": "SendUserMessage",
    "ListMcpResources": "ListMcpResourcesTool",
    "ReadMcpResource": "ReadMcpResourceTool",
    "ReadMcpResourceDir": "ReadMcpResourceDirTool",
    "ProposeGoal": "SetGoal",
}
SHELL = "shell"
"""In a handler's matcher: every tool that runs a shell command, with those that older clients lack."""
TOOL_EVENTS = frozenset(name for name, each in EVENTS.items() if each.matcher == "tool_name")
NO_MATCHER = frozenset(name for name, each in EVENTS.items() if each.matcher is None)
"""Events without a field a matcher could test (client fact §4.2)."""
NARROW_EVENTS = frozenset({"StopFailure", "FileChanged"})
"""Events on which fewer characters of a matcher are plain, and only `|` separates (client fact §4.2)."""
_MONITOR_AS_BASH = frozenset({"PreToolUse", "PermissionRequest"})  # client fact §4.2
_PLAIN = re.compile(r"[A-Za-z0-9_|, -]*")
_NARROW_PLAIN = re.compile(r"[A-Za-z0-9_|]*")
_SHELL_WORD = re.compile(rf"(?<![\w.\\-]){SHELL}(?![\w.*+?{{-])")
_JS_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")
_LITERAL = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]", re.DOTALL)
_PYTHON_ONLY = re.compile(r"\(\?(?:P|#|>|\(|[aiLmsux]+\))|[*+?]\+")


def alternatives(matcher: str, event: str) -> tuple[str, ...] | None:
    """Split a matcher that is not a regular expression into the values it lists.

    Args:
        matcher: the matcher as written.
        event: the event's name; on StopFailure and FileChanged fewer characters are plain, and only `|` separates.

    Returns:
        The listed values, with the tools that `shell` means in its place, or `None` when the client would take the
        matcher for a regular expression.
    """
    narrow = event in NARROW_EVENTS
    if not (_NARROW_PLAIN if narrow else _PLAIN).fullmatch(matcher):
        return None
    parts = [part.strip() for part in re.split(r"\|" if narrow else r"[|,]", matcher)]
    if event not in TOOL_EVENTS or SHELL not in parts:
        return tuple(parts)
    return tuple(name for part in parts for name in (SHELLS if part == SHELL else (part,)))


def as_regex(matcher: str, event: str) -> str:
    """Return a matcher that is a regular expression as the client reads it, with tools for the word `shell`."""
    if event not in TOOL_EVENTS:
        return matcher
    return _SHELL_WORD.sub(f"^(?:{'|'.join(SHELLS)})$", matcher)


def selects_all(matcher: str | None) -> bool:
    """Return whether a matcher selects every value: absent, empty or `*` (client fact §4.2)."""
    return matcher in (None, "", "*")


def matches(matcher: str | None, value: str | None, event: str) -> bool:
    """Return whether a handler's matcher selects an event (client fact §4.2).

    Args:
        matcher: a matcher as in settings.json, or `None`; on tool events it may name `shell`.
        value: the value of the event's matcher field; `None` if the event has none: then every matcher selects it,
            because the client ignores matchers there.
        event: the event's name.

    Returns:
        Whether it does. An invalid regular expression selects nothing.
    """
    return value is None or called_as(matcher, value, event) is not None


def called_as(matcher: str | None, value: str, event: str) -> str | None:
    """Return the value with which the client would call a hook that has a matcher; None if it wouldn't call it.

    The client hands the command of Monitor to a hook for Bash as a call of Bash, unless its matcher selects Monitor.
    """
    if _selects(matcher, value, event):
        return value
    monitored = value == "Monitor" and event in _MONITOR_AS_BASH
    return "Bash" if monitored and _selects(matcher, "Bash", event) else None


def _selects(matcher: str | None, value: str, event: str) -> bool:
    if matcher is None or selects_all(matcher):
        return True
    names = _names(value, event)
    if matcher.isidentifier() and matcher.isascii() and matcher != SHELL:  # most are one name: be quick
        return matcher in names
    exact = alternatives(matcher, event)
    if exact is not None:
        return not names.isdisjoint(exact)
    pattern = _pattern(as_regex(matcher, event))
    return pattern is not None and any(pattern.search(name) for name in names)


def valid(matcher: str | None, event: str) -> bool:
    """Return whether a matcher is valid; the client lets an invalid regular expression select nothing."""
    return matcher is None or alternatives(matcher, event) is not None or matcher == "*" or bool(_pattern(matcher))


def _pattern(matcher: str) -> re.Pattern[str] | None:
    """Compile a JavaScript regular expression; return None if JavaScript or Python can't compile it."""
    if _PYTHON_ONLY.search(_LITERAL.sub("", matcher)):
        return None
    try:
        return re.compile(_JS_NAMED_GROUP.sub("(?P<", matcher))
    except (re.error, RecursionError, OverflowError):
        return None


@lru_cache(maxsize=64)
def _names(value: str, event: str) -> frozenset[str]:
    names = {value}
    if event in TOOL_EVENTS:
        names.update(old for old, new in LEGACY_NAMES.items() if new == value)
        names.update(new for old, new in LEGACY_NAMES.items() if old == value)
    return frozenset(names)
