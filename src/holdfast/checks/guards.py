"""Check that each guard saw the calls that it selects, and which tools that reach a shell it sees."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.checks import notice, ok
from holdfast.clients.claude import claude
from holdfast.clients.claude.events import SINCE
from holdfast.install import inspection, register
from holdfast.plugins import activity, discovery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from holdfast.checks import Finding
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.sessions.workspace import Workspace

IDLE_LIMIT = timedelta(days=7)
"""A guard that last ran longer ago than this was asleep, if a call that it selects was made since then."""

DOORS = {
    **{name: (claude.CALL_EVENT, name) for name in ("Bash", "PowerShell", "Monitor")},
    "commands in skills": ("PreSkillShellCommand", "Bash"),
}
"""The event and the tool's name by which each door is guarded."""


def findings(project: Workspace) -> Iterator[Finding]:
    """Check your functions and the project's that run before a call."""
    files = [file for file in discovery.find(claude, project) if file.place != "shipped" and file.active]
    registered = inspection.registered_events(project)
    found = list(_idle(project, files))
    for file in files if registered else ():  # if nothing is registered, `registration` says so
        found += _doors(file, registered)
    yield from found or [ok("no guard of a shell, and each guard ran in the last week or nothing called it")]


def _idle(project: Workspace, files: Sequence[HandlerFile]) -> Iterator[Finding]:
    """Compare when each guard last ran with the tool calls in the transcripts of the project's newest sessions."""
    calls: Sequence[tuple[str, datetime]] | None = None
    for call in activity.guards(files, claude.CALL_EVENT):
        last = activity.last_run(call)
        since = last or clock.from_mtime(call.file.path.stat().st_mtime)
        if clock.now() - since < IDLE_LIMIT:
            continue
        if calls is None:
            calls = claude.reader().tool_calls(project.root)
        missed = [
            (tool, at) for tool, at in calls if at > since and claude.matches(call.route.match, tool, call.route.event)
        ]
        if missed:
            tool, at = max(missed, key=lambda each: each[1])
            ran = "hasn't run since" if last else "has never run, and was written on"
            text = f"{call.label} {ran} {since:%Y-%m-%d}, although Claude called {tool} on {at:%Y-%m-%d}"
            yield notice(text, "holdfast doctor --fire")


def _doors(file: HandlerFile, registered: Mapping[str, Sequence[str | None]]) -> Iterator[Finding]:
    """Yield which shell tools each function sees that is strict, or has a matcher that selects a shell."""
    routes = [each for each in file.routes if (each.strict or each.match) and not each.background]
    for function in dict.fromkeys(each.function for each in routes):
        matchers = {each.event: each.match for each in routes if each.function == function}
        doors = {
            door: any(claude.matches(each, tool, event) for each in registered.get(event, ()))
            for door, (event, tool) in DOORS.items()
            if event in matchers and claude.matches(matchers[event], tool, event)
        }
        if doors:
            yield _row(f"{file.place}/{file.path.name}: {function}", doors)


def _row(label: str, doors: dict[str, bool]) -> Finding:
    """Return the line of one function; `doors` says of each door that it wants whether that is registered."""
    text = f"{label} guards {', '.join(door for door, there in doors.items() if there) or 'no shell'}"
    left_out = [door for door in DOORS if door not in doors]
    text += f"; its matcher leaves out {', '.join(left_out)}" if left_out else ""
    missing = [door for door, there in doors.items() if not there]
    if not missing:
        return ok(text)
    event = DOORS[missing[-1]][0]
    why, command = f"{event} isn't registered for that", "holdfast install"
    if event in SINCE:
        left = register.why_left_out(event)
        why, command = f"{event} isn't registered: {left.why}", left.command
    return notice(f"{text}. It isn't asked about {', '.join(missing)}, because {why}", command)
