"""Check which tools that reach a shell each guard is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.checks import notice, ok
from holdfast.clients.claude import claude
from holdfast.clients.claude.events import SINCE
from holdfast.install import inspection, register
from holdfast.plugins import discovery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.checks import Finding
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.sessions.workspace import Workspace

DOORS = {
    **{name: (claude.CALL_EVENT, name) for name in ("Bash", "PowerShell", "Monitor")},
    "commands in skills": ("PreSkillShellCommand", "Bash"),
}
"""The event and the tool's name by which each door is guarded."""


def findings(project: Workspace) -> Iterator[Finding]:
    """Check your functions and the project's that run before a call."""
    files = [file for file in discovery.find(claude, project) if file.place != "shipped" and file.active]
    registered = inspection.registered_events(project)
    # If nothing is registered, `registration` says so.
    found = [each for file in files for each in _doors(file, registered)] if registered else []
    yield from found or [ok("no guard of a shell")]


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
