"""Check at which doors to a shell each guard is asked: Bash, PowerShell, Monitor, and commands inside skills."""

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
    from holdfast.sessions.workspace import Workspace

DOORS = {
    **{name: ("PreToolUse", name) for name in ("Bash", "PowerShell", "Monitor")},
    "commands in skills": ("PreSkillShellCommand", "Bash"),
}
"""The event and the tool's name by which each door is guarded."""


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at each function of yours and of the project that is strict, or has a matcher that selects a shell."""
    registered = inspection.registered_events(project)
    rows = list(_rows(project, registered)) if registered else []  # if nothing is registered, `registration` says so
    yield from rows or [ok("no handler guards a shell")]


def _rows(project: Workspace, registered: Mapping[str, Sequence[str | None]]) -> Iterator[Finding]:
    for file in discovery.find(claude, project):
        guards = [each for each in file.routes if (each.strict or each.match) and not each.background]
        routes = guards if file.active else []
        for function in dict.fromkeys(each.function for each in routes if file.place != "shipped"):
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
