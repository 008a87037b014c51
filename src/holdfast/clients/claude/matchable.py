"""The known values that matchers are compared with, and checks for matchers that select none of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.clients.claude.hookspecs import EVENTS
from holdfast.clients.claude.matchers import (
    LEGACY_NAMES,
    NARROW_EVENTS,
    NO_MATCHER,
    SHELL,
    TOOL_EVENTS,
    alternatives,
    matches,
    selects_all,
)
from holdfast.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

TOOLS = frozenset(
    {
        *("Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit"),
        *("EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "LS", "LSP", "Monitor"),
        *("MultiEdit", "NotebookEdit", "NotebookRead", "PowerShell", "Read", "SendMessage", "Skill", "SlashCommand"),
        *("StructuredOutput", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate"),
        *("TeamCreate", "TeamDelete", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write"),
        *LEGACY_NAMES,
        *LEGACY_NAMES.values(),
    }
)
"""Claude Code's own tools, present and former. A matcher may also mean an MCP server's (`mcp__…`) or a newer one."""

_RULE = re.compile(r"(?:^|(?<=[|,]))\s*(?P<tool>[A-Za-z]\w*)\((?P<pattern>[^()]*)\)\s*(?=$|[|,])")
TEXT_FIELDS = {
    **dict.fromkeys(("Bash", "PowerShell", "Monitor"), "command"),
    **dict.fromkeys(("Read", "Edit", "Write", "MultiEdit"), "file_path"),
    **dict.fromkeys(("NotebookEdit", "NotebookRead"), "notebook_path"),
    **dict.fromkeys(("Glob", "Grep", "LS"), "path"),
    **dict.fromkeys(("Agent", "Task"), "prompt"),
    "WebFetch": "url",
    "WebSearch": "query",
    "ToolSearch": "query",
}
"""The field of a tool's input that a handler looks at first."""


def never(matcher: str, event: str) -> str:
    """Return why a matcher can't select anything on any client; empty if it may select something."""
    if event not in TOOL_EVENTS or selects_all(matcher) or _selected(matcher, event):
        return ""
    if rules := _rules(matcher):
        tool = rules[0]
        field = f'["{TEXT_FIELDS[tool]}"]' if tool in TEXT_FIELDS else ""
        return (
            f"match={matcher!r} is a permission rule, and a matcher is compared with the tool's name alone. "
            f'Use match="{SHELL if tool == "Bash" else tool}" and look at event.tool_input{field} in the function'
        )
    names = [name for name in alternatives(matcher, event) or () if name]
    right = {name: _spelled(name) for name in names}
    if names and all(right.values()):
        wanted = "|".join(dict.fromkeys(right.values()))
        return f'match={matcher!r} selects no tool, because tool names are case-sensitive. Use match="{wanted}"'
    return ""


def doubt(matcher: str | None, event: str) -> str:
    """Return which part of a matcher probably selects nothing or has no effect; empty if all is well."""
    if matcher is None or selects_all(matcher):
        return ""
    if event in NO_MATCHER:
        return f"match={matcher!r} has no effect, because {event} has nothing to match: the function always runs"
    if event in NARROW_EVENTS and re.search(r"(?:^|\|)\s|\s(?:\||$)", matcher):
        return f"match={matcher!r} has spaces around a name, and on {event} they are part of it"
    known = _known(event)
    if not known:
        return ""
    what = "tool of Claude Code" if known is TOOLS else f"value that {event} is known to have"
    if rules := _rules(matcher) if known is TOOLS else []:
        return f"match={matcher!r} selects nothing for {rules[0]}(…): a matcher is compared with the tool's name alone"
    listed = alternatives(matcher, event)
    if listed is None:
        if _selected(matcher, event) or (known is TOOLS and "mcp" in matcher):
            return ""
        return f"match={matcher!r} selects no {what}"
    odd = [name for name in listed if name and not _plausible(name, known)]
    if odd:
        names = ", ".join(map(repr, odd))
        return f"match={matcher!r}: {names} is no {what}{_hint(odd[0], known | {SHELL} if known is TOOLS else known)}"
    if event == "PreToolUse" and "Bash" in listed and "PowerShell" not in listed:
        wanted = "|".join(SHELL if name == "Bash" else name for name in listed if name not in ("", "Monitor"))
        return f'match={matcher!r} leaves out PowerShell. To check the commands of every shell, write match="{wanted}"'
    return ""


def _plausible(name: str, known: frozenset[str]) -> bool:
    """Return whether a plain name may be a value: a known one, or an MCP server's tool, which can't be known here."""
    return name in known or (known is TOOLS and re.fullmatch(r"mcp__.+?__.+", name) is not None)


def _hint(name: str, known: Iterable[str]) -> str:
    if re.fullmatch(r"mcp__\w+?", name):
        return f"; for all tools of a server write {name}__.*"
    return did_you_mean(name, sorted(known))


def _selected(matcher: str, event: str) -> bool:
    return any(matches(matcher, value, event) for value in _known(event))


def _known(event: str) -> frozenset[str]:
    """Return the known values of an event's matcher field; empty if any text may occur."""
    return TOOLS if event in TOOL_EVENTS else frozenset(EVENTS[event].values)


def _rules(matcher: str) -> list[str]:
    """Return the tools that a matcher names like a permission rule, `Bash(rm *)`; none for a regular expression."""
    found = list(_RULE.finditer(matcher))
    return [each["tool"] for each in found if each["tool"] in TOOLS and not _selected(each[0].strip(), "PreToolUse")]


def _spelled(name: str) -> str:
    """Return a tool's correct name if `name` differs from it only in case; else an empty string."""
    return next((tool for tool in sorted(TOOLS) if tool.casefold() == name.casefold()), "")
