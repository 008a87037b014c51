"""What to register with Claude Code: from what the handlers want to the entries of a settings file."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import config, paths
from holdfast.clients.claude import claude, versions
from holdfast.clients.claude.events import EVENTS, OLDEST_CLIENT_EVENTS, SINCE
from holdfast.clients.claude.matchers import (
    NARROW_EVENTS,
    NO_MATCHER,
    TOOL_EVENTS,
    alternatives,
    as_regex,
    called_as,
    selects_all,
    valid,
)
from holdfast.clients.claude.replies import EXIT_CODE_EVENTS
from holdfast.dispatch import background
from holdfast.plugins import discovery
from holdfast.plugins.deadlines import needed_client_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.scan import Route

LAUNCHER = "$HOME/.local/share/holdfast/run"
"""The launcher's path in every registered command: the same text on every machine (docs/decisions.md)."""

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
# Constructs that number or name groups, and those that JavaScript's regular expressions read differently.
_UNSAFE_TO_JOIN = re.compile(r"\(\?(?:<(?![=!])|[aiLmsux-])|\\[AZk1-9]|\}\+")


class Wish(NamedTuple):
    """What one handler function wants: an event, the values that its matcher selects (None: all), its own timeout.

    The event is what the registered command is called with: for handlers in the background `background.entry(event)`,
    so these have an entry of their own. All of this module takes such names for events.
    """

    event: str
    match: str | None = None
    timeout_s: float | None = None


class Entry(NamedTuple):
    """An event's entry in a settings file: its matcher (None: every value), and its timeout if it needs one."""

    matcher: str | None = None
    timeout_s: int | None = None


Matchers = Mapping[str, str | None]
"""Event -> the matcher of an entry; None for every value."""

NOTHING: Matchers = MappingProxyType({})


def entries(
    wishes: Iterable[Wish],
    known: Collection[str],
    *,
    plugin: Matchers = NOTHING,
    present: Matchers = NOTHING,
    keep: bool = False,
) -> dict[str, Entry]:
    """Return event -> the one entry that settings need so that every wish is met.

    Args:
        wishes: what the handlers want.
        known: the events that may be registered.
        plugin: what an enabled plugin registers. Only what goes beyond it is added.
        present: what the settings register now. An event that they register by themselves stays registered in full:
            nothing would be left if the plugin were removed.
        keep: whether all that's present stays, because a handler that can't be read may want it.
    """
    by_event: dict[str, list[Wish]] = {}
    for wish in wishes:
        by_event.setdefault(wish.event, []).append(wish)
    names = [name for event in EVENTS if event in known for name in (event, background.entry(event))]
    found = {name: _entry(background.event(name), by_event[name]) for name in names if name in by_event}
    for event, matcher in present.items() if keep else ():
        wanted, plain = found.get(event, Entry(matcher)), background.event(event)
        both = matcher if covers(plain, matcher, wanted.matcher) else union(plain, [matcher, wanted.matcher])
        found[event] = wanted._replace(matcher=both)
    return {
        event: left for event, entry in found.items() if (left := _beyond(event, entry, plugin, present)) is not None
    }


def beyond(event: str, matcher: str | None, plugin: Matchers) -> Entry | None:
    """Return the entry for what a matcher selects and the plugin's doesn't, None if there is nothing.

    If one of them is a regular expression, the entry may select more.
    """
    if event not in plugin:
        return Entry(matcher)
    covered = plugin[event]
    if covered is None or selects_all(covered) or matcher == covered or event in NO_MATCHER:
        return None
    if matcher is None or selects_all(matcher):
        return Entry(None)
    names, theirs = alternatives(matcher, event), alternatives(covered, event)
    if names is None or theirs is None:
        return Entry(matcher)
    rest = "|".join(name for name in names if name not in theirs)
    return Entry(rest) if rest else None


def _beyond(event: str, entry: Entry, plugin: Matchers, present: Matchers) -> Entry | None:
    if event in present and beyond(event, present[event], plugin) != Entry(present[event]):
        return entry  # registered in full
    rest = beyond(event, entry.matcher, plugin)
    if rest is None:  # a plugin's hooks can't have a longer time limit
        return entry if entry.timeout_s else None
    return rest._replace(timeout_s=entry.timeout_s)


def _entry(event: str, wishes: Sequence[Wish]) -> Entry:
    timeouts = [wish.timeout_s for wish in wishes if wish.timeout_s]
    limit = needed_client_limit(EVENTS[event], timeouts) if timeouts else None
    return Entry(union(event, [wish.match for wish in wishes]), limit or None)


class LeftOut(NamedTuple):
    """Why an event isn't registered, and the command that registers it."""

    why: str
    command: str

    def __str__(self) -> str:
        return f"{self.why}. To register it: {self.command}"


def why_left_out(event: str) -> LeftOut:
    """Return why an event that the oldest client lacks isn't registered, and the command that registers it."""
    client, since = versions.version(), SINCE[event]
    if client is not None and client >= since:
        return LeftOut("it wasn't when you ran the last install", "holdfast install")
    here = f"this is {versions.shown(client)}" if client else "there is no claude on PATH to ask for its version"
    return LeftOut(f"it needs Claude Code {versions.shown(since)}, and {here}", "holdfast install --all-events")


# --- what the handlers want ----------------------------------------------------------------------------------------


def wishes_of(files: Iterable[HandlerFile]) -> list[Wish]:
    """Return the wishes of the active files."""
    return [_wish(route) for file in files if file.active for route in file.routes]


def personal_wishes(files: Sequence[HandlerFile], others: Iterable[Wish] = ()) -> list[Wish]:
    """Return the hooks that a user's own settings, of user or local scope, have to register.

    Args:
        files: what `discovery.find` found for the present project. Its trusted handlers count, with the shipped ones
            and the user's own.
        others: the wishes of other projects whose handlers rely on the same settings.
    """
    return [*wishes_of(visible(files, "shipped", "package", "user")), *project_wishes(files), *others]


def project_wishes(files: Sequence[HandlerFile]) -> list[Wish]:
    """Return the hooks that a project's trusted handlers want, and other handlers that only its configuration enables.

    A handler that changed since it was trusted counts as it was, because an event that it wanted says that it changed.
    These wishes are recorded for the project, so that a session elsewhere doesn't remove them from the user's settings.
    """
    changed = [route for file in files if file.changed for route in discovery.trusted_routes(claude, file)]
    waiting = [file for file in visible(files, "shipped", "package", "user") if file.active and file.runs_when]
    usual = config.load(None, trusted=False).config if waiting else None
    woken = [file for file in waiting if usual and not discovery.runs(file.runs_when, usual)]
    return [*wishes_of([*visible(files, "project"), *woken]), *map(_wish, changed)]


def team_wishes(root: Path) -> list[Wish]:
    """Return the hooks that the settings of the project at `root`, which its whole team has, need to register.

    The shipped handlers and all of the project's count, but no user's files or configuration. A handler of the project
    that is off or not trusted on this machine counts too, because others rely on it.
    """
    own = [_wish(route) for file in _of_project(root) for route in file.routes]
    return [*wishes_of(discovery.offered(claude, "shipped", paths.shipped("handlers"))), *own]


def team_lacks(root: Path) -> bool:
    """Return whether a handler of the project is broken or gone, so that nobody knows what it wants."""
    own = _of_project(root)
    return any(file.faults for file in own) or discovery.lacks_strict(paths.project_handlers(root.resolve()), own)


def visible(files: Iterable[HandlerFile], *places: str) -> list[HandlerFile]:
    """Return the files in `places`, as if there were no files elsewhere.

    A file that only a file in another place replaces counts again, because a user's own handler must not change what a
    team registers.
    """
    chosen = [file for file in files if file.place in places]
    inside = {file.path for file in chosen}
    return [file if file.replaced_by in inside else dataclasses.replace(file, replaced_by=None) for file in chosen]


def _of_project(root: Path) -> list[HandlerFile]:
    return discovery.offered(claude, "project", paths.project_handlers(root.resolve()))


def _wish(route: Route) -> Wish:
    return Wish(name(route), route.match, route.timeout)


def name(route: Route) -> str:
    """Return the name under which a handler function is registered (`Wish`)."""
    return background.entry(route.event) if route.background else route.event


# --- matchers --------------------------------------------------------------------------------------------------------


def covers(event: str, registered: str | None, wanted: str | None) -> bool:
    """Return whether a registered matcher certainly selects everything that another one selects."""
    if event in NO_MATCHER or registered is None or selects_all(registered) or registered == wanted:
        return True
    if wanted is None or selects_all(wanted):
        return False
    if event in NARROW_EVENTS:
        return set(wanted.split("|")) <= set(registered.split("|"))
    names = alternatives(wanted, event)
    if names is None:
        return f"(?:{as_regex(wanted, event)})" in registered
    return all(called_as(registered, name, event) == name for name in names if name)


def union(event: str, matchers: Sequence[str | None]) -> str | None:
    """Return one matcher that selects everything that any of `matchers` selects."""
    selective = [matcher for matcher in matchers if matcher is not None and not selects_all(matcher)]
    if event in NO_MATCHER or len(selective) < len(matchers):
        return None
    if event in NARROW_EVENTS:
        return _bar_list(selective)
    listed = [alternatives(matcher, event) for matcher in selective]
    names = _named({name for part in listed if part is not None for name in part if name}, event)
    regexes = (matcher for matcher, part in zip(selective, listed, strict=True) if part is None)
    patterns = list(dict.fromkeys(as_regex(matcher, event) for matcher in regexes))
    if any(_UNSAFE_TO_JOIN.search(each) or not valid(each, event) for each in patterns):
        return None  # if the client can't read one part, it ignores the whole: register the event for every value
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


# --- commands --------------------------------------------------------------------------------------------------------


def command(event: str) -> str:
    """Return the shell command to register for `event`.

    If the launcher is missing, the command ends silently with 0, because any other exit code could refuse a tool call
    (client fact §1.4). Exit code 2 is passed on only for events where it is a decision. If the launcher of an event
    that can be strict fails (its interpreter is missing, say, or it was killed), `refuse.sh` next to it refuses the
    event if a strict handler is known; not for its handlers in the background, which nobody waits for.

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
    if event in claude.STRICT_EVENTS:
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


def least_timeout_s(event: str) -> float:
    """Return the shortest timeout of a registered command that doesn't cut answers off (client fact §4.4)."""
    return min(LEAST_TIMEOUT_S, EVENTS[event].timeout_s if event in EVENTS else LEAST_TIMEOUT_S)


def group(event: str, entry: Entry, command: Callable[[str], str] = command) -> dict[str, Any]:
    """Return the matcher group that registers `event` in settings.json (client fact §4.1)."""
    limit = {} if entry.timeout_s is None else {"timeout": entry.timeout_s}
    limit |= {"async": True} if background.is_entry(event) else {}
    hooks = {"hooks": [{"type": "command", "command": command(event), **limit}]}
    return hooks if entry.matcher is None else {"matcher": entry.matcher, **hooks}


def settings(wanted: Mapping[str, Entry], command: Callable[[str], str] = command) -> dict[str, Any]:
    """Return settings that register these entries, and nothing else. `command` returns an event's shell command."""
    found: dict[str, list[dict[str, Any]]] = {}
    for event, entry in wanted.items():
        found.setdefault(background.event(event), []).append(group(event, entry, command))
    return {"hooks": found}


def printed(root: Path) -> str:
    """Return the settings.json text that registers what a team wants; it is the same on every machine."""
    return json.dumps(settings(entries(team_wishes(root), OLDEST_CLIENT_EVENTS)), indent=2) + "\n"


def bundled() -> str:
    """Return the text of the plugin's hooks.json: what the shipped handlers want of the oldest client's events.

    The plugin is the same for everybody; a project's and a user's own handlers are registered by `install`.
    """
    shipped = wishes_of(discovery.offered(claude, "shipped", paths.shipped("handlers")))
    described = {"description": "Routes hook events to Holdfast's handlers"}
    return json.dumps(described | settings(entries(shipped, OLDEST_CLIENT_EVENTS), plugin_command), indent=2) + "\n"
