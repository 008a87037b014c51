"""The events, matchers and commands that register Holdfast with Claude Code."""

from __future__ import annotations

import dataclasses
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from holdfast.clients import claude
from holdfast.clients.claude import STRICT_EVENTS
from holdfast.clients.claude.events import EVENTS
from holdfast.clients.claude.matchers import NARROW_EVENTS, TOOL_EVENTS, alternatives, as_regex, called_as, selects_all
from holdfast.clients.claude.matchers import NO_MATCHER as NO_MATCHER
from holdfast.clients.claude.replies import EXIT_CODE_EVENTS as EXIT_CODE_EVENTS
from holdfast.plugins.deadlines import needed_client_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from holdfast.plugins.discovery import HandlerFile

LAUNCHER = "$HOME/.local/share/holdfast/run"
"""The launcher's path in every registered command: the same text on every machine (docs/architecture.md)."""

STATUS_LINE = f'p="{LAUNCHER}"; [ -x "$p" ] && exec "$p" --status 2>/dev/null; exit 0'
"""The command of the client's status line: like a registered one, it is silent where the launcher is missing."""

STATUS_REFRESH_S = 30
"""How often the client runs it unasked: a turn that is over, or a command in a terminal, tells it nothing."""

PLUGIN_RUNNER = "$CLAUDE_PLUGIN_ROOT/plugin/run.sh"
"""What a plugin's hooks run instead of the launcher."""

NO_WORKTREE = (
    "Holdfast named no folder for the worktree, so none was made. To see why: holdfast handlers check. "
    "To have Claude Code make worktrees with git, take this hook out of the settings."
)
"""The error shown if WorktreeCreate is registered and no handler makes the worktree, or Holdfast is gone."""

LEAST_TIMEOUT_S = 5.0
"""The time a handler has by default: a shorter registered timeout would cut off answers that are in time."""

_SAME_TOOL = frozenset({"Task", "Agent"})
_OURS = re.compile(
    r"""\s*(?:p=|exec\s+|(?:\[|test)\s+-\S+\s+)?
        (?P<quote>["']?)(?:\$HOME|\$\{HOME\}|~|/[^\s"';]*)/\.local/share/holdfast/run(?P=quote)(?:[\s;]|$)""",
    re.VERBOSE,
)
# Constructs that JavaScript's regular expressions lack or read differently, and those that number or name groups.
_UNSAFE_TO_JOIN = re.compile(r"\(\?(?:P|#|\(|>|<(?![=!])|[aiLmsux-])|\\[AZk1-9]|[*+?}]\+")


def wanted(files: Iterable[HandlerFile], known: frozenset[str]) -> dict[str, str | None]:
    """Return event name -> matcher (None: every value) that the active files want.

    Only events in `known` are included, in the order of `events.EVENTS`.
    """
    return merged(routes(files), known)


def routes(files: Iterable[HandlerFile]) -> list[tuple[str, str | None]]:
    """Return (event, matcher as written) for each route of the active files, in their order."""
    return [(route.event, route.match) for file in files if file.active for route in file.routes]


def merged(pairs: Iterable[tuple[str, str | None]], known: frozenset[str]) -> dict[str, str | None]:
    """Return event name -> one matcher that selects everything that its matchers in `pairs` select."""
    by_event: dict[str, list[str | None]] = {}
    for event, match in pairs:
        by_event.setdefault(event, []).append(match)
    return {event: _union(event, by_event[event]) for event in EVENTS if event in by_event and event in known}


def covers(event: str, registered: str | None, asked: str | None) -> bool:
    """Return whether a registered matcher certainly selects everything that another one selects."""
    if event in NO_MATCHER or registered is None or selects_all(registered) or registered == asked:
        return True
    if asked is None or selects_all(asked):
        return False
    if event in NARROW_EVENTS:
        return set(asked.split("|")) <= set(registered.split("|"))
    names = alternatives(asked, event)
    if names is None:
        return f"(?:{as_regex(asked, event)})" in registered
    return all(called_as(registered, name, event) == name for name in names if name)


def visible(files: Iterable[HandlerFile], *places: str) -> list[HandlerFile]:
    """Return the files that lie in `places`, as if there were no files elsewhere.

    A file that only a file in another place replaces counts again, because a user's own handler must not change what a
    team registers.
    """
    kept = [file for file in files if file.place in places]
    inside = {file.path for file in kept}
    return [file if file.replaced_by in inside else dataclasses.replace(file, replaced_by=None) for file in kept]


def command(event: str) -> str:
    """Return the shell command to register for `event`.

    If the launcher is missing, the command ends silently with 0, because any other exit code could refuse a tool call
    (client fact §1.4). Exit code 2 is passed on only for events where it is a decision. If the launcher of an event
    that can be strict fails (its interpreter is missing, say, or it was killed), `refuse.sh` beside it refuses the
    event if a strict handler is known.

    Only WorktreeCreate's command fails. There the client takes a missing folder name on stdout for an error whatever
    the exit code is (client fact §1.3), and makes no worktree, so silence would only hide why.
    """
    return _command(event, LAUNCHER, "-x", '"$p"', '"${p%/*}/refuse.sh"')


def _command(event: str, program: str, test: str, start: str, refuse: str) -> str:
    if event == "WorktreeCreate":
        made = f'p="{program}"; w=$([ {test} "$p" ] && {start} {event}); [ -n "$w" ] && printf "%s\\n" "$w" && exit 0'
        return f'{made}; echo "{NO_WORKTREE}" >&2; exit 1'
    known = f'p="{program}"; [ {test} "$p" ] &&'
    if event in EXIT_CODE_EVENTS:
        return f"{known} {start} {event}; [ $? -eq 2 ] && exit 2; exit 0"
    if event in STRICT_EVENTS:
        return f"{known} {{ {start} {event} || sh {refuse} {event}; }} 2>/dev/null; exit 0"
    return f"{known} {start} {event} 2>/dev/null; exit 0"


def plugin_command(event: str) -> str:
    """Return the shell command that the plugin registers for `event`: like `command`, but with the plugin's runner.

    The client sets CLAUDE_PLUGIN_ROOT; the shell expands it, so its value may hold any character.
    """
    return _command(event, PLUGIN_RUNNER, "-f", 'sh "$p"', '"$CLAUDE_PLUGIN_ROOT/src/holdfast/refuse.sh"')


def ours(text: str) -> bool:
    """Return whether an install wrote a registered command, in this or any earlier form.

    Such a command begins with the launcher's path; one that merely mentions it is somebody else's.
    """
    return _OURS.match(text) is not None


def cuts_off(event: str, limit: object, needed: int | None = None) -> bool:
    """Return whether the `timeout` of one of Holdfast's registered commands is too short for its answers, or no number.

    It never has to be longer than the client's own default for the event, unless `needed` says so (client fact §4.4).

    Args:
        event: the event's name.
        limit: the registered value.
        needed: the seconds its handlers need, if the client's default is too short.
    """
    if needed is not None:
        return isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < needed
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        return True
    return limit < min(LEAST_TIMEOUT_S, EVENTS[event].timeout_s if event in EVENTS else LEAST_TIMEOUT_S)


def timeouts(files: Iterable[HandlerFile]) -> dict[str, int]:
    """Return event -> the timeout (seconds) to register, for events whose handlers need more than the default."""
    by_event: dict[str, list[float]] = {}
    for file in files:
        for route in file.routes if file.active else ():
            if route.timeout:
                by_event.setdefault(route.event, []).append(route.timeout)
    found = {
        event: needed_client_limit(claude.longest_limit_s(event), EVENTS[event].timeout_s, asked)
        for event, asked in by_event.items()
    }
    return {event: limit for event, limit in found.items() if limit}


def group(
    event: str, matcher: str | None, command: Callable[[str], str] = command, timeout: int | None = None
) -> dict[str, Any]:
    """Return the matcher group that registers `event` in settings.json (client fact §4.1)."""
    limit = {} if timeout is None else {"timeout": timeout}
    hooks = {"hooks": [{"type": "command", "command": command(event), **limit}]}
    return hooks if matcher is None else {"matcher": matcher, **hooks}


def settings(
    events: Mapping[str, str | None],
    command: Callable[[str], str] = command,
    timeouts: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return settings that register one command for each event, and nothing else.

    Args:
        events: event -> matcher, None for every value.
        command: returns the shell command of an event.
        timeouts: event -> timeout in seconds, where the client's default is too short.
    """
    groups = {event: [group(event, matcher, command, timeouts.get(event))] for event, matcher in events.items()}
    return {"hooks": groups}


def _union(event: str, matchers: list[str | None]) -> str | None:
    given = [matcher for matcher in matchers if matcher is not None and not selects_all(matcher)]
    if event in NO_MATCHER or len(given) < len(matchers):
        return None
    if event in NARROW_EVENTS:
        return _bar_list(given)
    listed = [alternatives(matcher, event) for matcher in given]
    names = _named({name for part in listed if part is not None for name in part if name}, event)
    regexes = (matcher for matcher, part in zip(given, listed, strict=True) if part is None)
    patterns = list(dict.fromkeys(as_regex(matcher, event) for matcher in regexes))
    if not all(_joinable(pattern) for pattern in patterns):
        return None
    if not patterns:
        return "|".join(names) or None
    exact = [f"^(?:{'|'.join(names)})$"] if names else []
    return "|".join(exact + [f"(?:{pattern})" for pattern in patterns])


def _named(names: set[str], event: str) -> list[str]:
    """Return names sorted; the Agent tool gets both its names, because clients differ (I000-1, client fact §7)."""
    return sorted(names | _SAME_TOOL if event in TOOL_EVENTS and names & _SAME_TOOL else names)


def _bar_list(matchers: list[str]) -> str:
    """Return one `|` list: these events know no other separator, and FileChanged takes its files to watch from it."""
    plain = [matcher for matcher in matchers if not re.search(r"[()\[\]\\]", matcher)]
    others = [matcher for matcher in matchers if matcher not in plain]
    names = sorted({name for matcher in plain for name in matcher.split("|") if name})
    return "|".join(dict.fromkeys(names + others))


def _joinable(pattern: str) -> bool:
    """Return whether a regular expression keeps its meaning as a part of a union.

    If the client can't read one part, it ignores the whole union. So in any doubt the event is registered for every
    value.
    """
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return _UNSAFE_TO_JOIN.search(pattern) is None
